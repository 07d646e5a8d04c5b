//! Pictures as SVG: a writer of plain shapes and text, and scales from numbers to places.
//!
//! It knows no fonts and no colours. A style is attributes as they are written: a class of the page
//! a picture is part of, or colours and widths for a picture that stands alone.
//!
//! # Examples
//! ```
//! use dplm_report::svg::{Anchor, Scale, Svg};
//! let (across, mut svg) = (Scale::linear((0.0, 10.0), (20.0, 180.0)), Svg::new());
//! for tick in across.ticks() {
//!     svg.rich((tick.place, 50.0), Anchor::Middle, 12.0, "fill=\"#555\"", &tick.label);
//! }
//! svg.line((across.at(2.0), 30.0), (across.at(7.0), 30.0), "stroke=\"#1f5fa8\"");
//! assert!(svg.within_page("An interval", (200.0, 60.0)).contains("<line x1=\"52\" y1=\"30\" x2=\"132\" y2=\"30\""));
//! ```

mod scale;

pub use scale::{Scale, Tick};

use std::fmt::{Arguments, Write};

/// A point: how far to the right, and how far down.
pub type Point = (f64, f64);

/// A picture being written.
#[derive(Default)]
pub struct Svg {
    body: String,
}

/// Where text is relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It starts there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

impl Svg {
    /// An empty picture.
    pub fn new() -> Svg {
        Svg::default()
    }

    /// Adds an element as it is.
    pub fn raw(&mut self, element: Arguments<'_>) {
        self.body.write_fmt(element).expect("writing to memory does not fail");
        self.body.push('\n');
    }

    /// A straight line.
    pub fn line(&mut self, from: Point, to: Point, style: &str) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(short);
        self.raw(format_args!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {style}/>"));
    }

    /// A line through points.
    pub fn polyline(&mut self, points: impl IntoIterator<Item = Point>, style: &str) {
        self.raw(format_args!("<polyline points=\"{}\" {style}/>", listed(points)));
    }

    /// A shape with these corners.
    pub fn polygon(&mut self, corners: impl IntoIterator<Item = Point>, style: &str) {
        self.raw(format_args!("<polygon points=\"{}\" {style}/>", listed(corners)));
    }

    /// A disc.
    pub fn circle(&mut self, centre: Point, radius: f64, style: &str) {
        let (x, y) = (short(centre.0), short(centre.1));
        self.raw(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" {style}/>"));
    }

    /// A rectangle by its upper left corner, its width and its height.
    pub fn rect(&mut self, corner: Point, (width, height): Point, style: &str) {
        let [x, y, width, height] = [corner.0, corner.1, width, height].map(short);
        self.raw(format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {style}/>"));
    }

    /// Text as it is.
    pub fn text(&mut self, at: Point, anchor: Anchor, style: &str, text: &str) {
        self.element(at, anchor, style, &escaped(text));
    }

    /// Text of this size in which the sign after `_` is an index and the number after `^` an
    /// exponent.
    pub fn rich(&mut self, at: Point, anchor: Anchor, size: f64, style: &str, text: &str) {
        self.element(at, anchor, style, &rich(text, size));
    }

    /// Rich text that reads upwards.
    pub fn upwards(&mut self, (x, y): Point, size: f64, style: &str, text: &str) {
        let (x, y, text) = (short(x), short(y), rich(text, size));
        self.raw(format_args!(
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\" {style}>{text}</text>"
        ));
    }

    fn element(&mut self, at: Point, anchor: Anchor, style: &str, content: &str) {
        let (x, y, anchor) = (short(at.0), short(at.1), anchor.name());
        self.raw(format_args!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" {style}>{content}</text>"));
    }

    /// The picture as part of a page, whose style it takes; `title` is read out in place of it.
    pub fn within_page(self, title: &str, (width, height): Point) -> String {
        let title = escaped(title);
        let body = self.body;
        format!("<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{title}\">\n{body}</svg>\n")
    }

    /// The picture as a file of its own, on white; `style` holds for all of it.
    pub fn alone(self, title: &str, (width, height): Point, style: &str) -> String {
        let (height, title, body) = (height.ceil(), escaped(title), self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             {style} role=\"img\"><title>{title}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }
}

/// A coordinate to a tenth of a unit.
pub fn short(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Text that is safe inside an element or an attribute.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn listed(points: impl IntoIterator<Item = Point>) -> String {
    let points: Vec<String> = points.into_iter().map(|(x, y)| format!("{} {}", short(x), short(y))).collect();
    points.join(" ")
}

/// Escapes text and sets the sign after `_` as an index, after `^` as an exponent.
fn rich(text: &str, size: f64) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(place) = rest.find(['_', '^']) {
        let (before, after) = rest.split_at(place);
        let mut signs = after.chars();
        let drop = if signs.next() == Some('_') { 0.25 } else { -0.4 } * size;
        let shifted: String = signs.clone().take_while(|c| c.is_ascii_digit() || *c == '−').collect();
        let shifted = if shifted.is_empty() { signs.next().map(String::from).unwrap_or_default() } else { shifted };
        let small = short(0.75 * size);
        let (down, back) = (short(drop), short(-drop));
        out += &escaped(before);
        let shown = escaped(&shifted);
        let _ = write!(
            out,
            "<tspan dy=\"{down}\" font-size=\"{small}\">{shown}</tspan><tspan dy=\"{back}\">\u{200b}</tspan>"
        );
        rest = &after[1 + shifted.len()..];
    }
    out + &escaped(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_set_lower_and_an_exponent_higher() {
        assert!(rich("θ_T", 10.0).contains("<tspan dy=\"2.5\" font-size=\"7.5\">T</tspan>"));
        assert!(rich("10^−3 x", 10.0).contains(">−3</tspan>"));
    }

    #[test]
    fn markup_in_names_is_text() {
        assert_eq!(escaped("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
        let mut svg = Svg::new();
        svg.text((1.0, 2.0), Anchor::End, "class=\"soft\"", "x_1 < 2");
        assert!(svg.within_page("a & b", (3.0, 4.0)).contains("text-anchor=\"end\" class=\"soft\">x_1 &lt; 2</text>"));
    }
}
