//! Shapes and text as SVG elements.

use std::fmt::Write;

use super::{SMALL, TEXT};

const INK: &str = "#1a1a1a";
const FAINT: &str = "#555555";
const FONT: &str = "'DejaVu Sans', Verdana, sans-serif";

/// A picture being written.
pub(super) struct Svg {
    body: String,
}

/// Where text sits relative to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
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
    pub fn new() -> Svg {
        Svg { body: String::new() }
    }

    /// Adds an element as it is.
    pub fn raw(&mut self, element: std::fmt::Arguments<'_>) {
        self.body.write_fmt(element).expect("writing to memory does not fail");
        self.body.push('\n');
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(short);
        self.raw(format_args!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {style}/>"));
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, size: f64, text: &str) {
        self.styled(x, y, anchor, size, &format!("fill=\"{INK}\""), text);
    }

    pub fn styled(&mut self, x: f64, y: f64, anchor: Anchor, size: f64, style: &str, text: &str) {
        let (x, y, anchor) = (short(x), short(y), anchor.name());
        let text = rich(text, size);
        self.raw(format_args!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{size}\" {style}>{text}</text>"
        ));
    }

    pub fn bold(&mut self, x: f64, y: f64, text: &str) {
        self.styled(x, y, Anchor::Middle, TEXT + 1.0, &format!("font-weight=\"bold\" fill=\"{INK}\""), text);
    }

    pub fn caption(&mut self, x: f64, y: f64, text: &str) {
        self.styled(x, y, Anchor::Start, SMALL, &format!("fill=\"{FAINT}\""), text);
    }

    /// Text that reads upwards.
    pub fn upright(&mut self, x: f64, y: f64, text: &str) {
        let (x, y, text) = (short(x), short(y), rich(text, TEXT));
        self.raw(format_args!(
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\" font-size=\"{TEXT}\" fill=\"{INK}\">{text}</text>"
        ));
    }

    pub fn finish(self, width: f64, height: f64, title: &str) -> String {
        let (height, title) = (height.ceil(), escaped(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"{FONT}\" role=\"img\"><title>{title}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// A coordinate to a tenth of a point.
pub(super) fn short(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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

/// About how wide text is in the built-in font.
pub(super) fn width_of(text: &str, size: f64) -> f64 {
    let narrow = |c: char| {
        matches!(c, '.' | ',' | ';' | ':' | '\'' | 'i' | 'l' | 'j' | 't' | 'f' | '(' | ')' | '|' | ' ' | '\u{302}')
    };
    text.chars().map(|c| if narrow(c) { 0.36 } else { 0.62 }).sum::<f64>() * size
}

/// Lines no wider than `width`.
pub(super) fn wrapped(text: &str, width: f64, size: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && width_of(line, size) + width_of(word, size) > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_and_nothing_is_lost() {
        let text = "a caption that is rather longer than its picture is wide, and so on";
        let lines = wrapped(text, 150.0, 11.0);
        assert!(lines.len() > 2);
        assert_eq!(lines.join(" "), text);
        assert!(lines.iter().all(|line| width_of(line, 11.0) <= 160.0));
    }

    #[test]
    fn an_index_is_set_lower_and_an_exponent_higher() {
        assert!(rich("θ_T", 10.0).contains("<tspan dy=\"2.5\" font-size=\"7.5\">T</tspan>"));
        assert!(rich("10^−3 x", 10.0).contains(">−3</tspan>"));
    }
}
