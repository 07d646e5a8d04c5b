//! The library's SVG writer, with the lab's font, sizes and colours.

use std::fmt::Arguments;

pub(super) use dplm_report::svg::{Anchor, short};

use super::{SMALL, TEXT};

const INK: &str = "#1a1a1a";
const FAINT: &str = "#555555";
const FONT: &str = "font-family=\"'DejaVu Sans', Verdana, sans-serif\"";

/// A picture being written.
pub(super) struct Svg(dplm_report::svg::Svg);

impl Svg {
    pub fn new() -> Svg {
        Svg(dplm_report::svg::Svg::new())
    }

    /// Adds an element as it is.
    pub fn raw(&mut self, element: Arguments<'_>) {
        self.0.raw(element);
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        self.0.line(from, to, style);
    }

    pub fn polyline(&mut self, points: impl IntoIterator<Item = (f64, f64)>, style: &str) {
        self.0.polyline(points, style);
    }

    pub fn polygon(&mut self, corners: impl IntoIterator<Item = (f64, f64)>, style: &str) {
        self.0.polygon(corners, style);
    }

    pub fn circle(&mut self, centre: (f64, f64), radius: f64, style: &str) {
        self.0.circle(centre, radius, style);
    }

    pub fn rect(&mut self, corner: (f64, f64), size: (f64, f64), style: &str) {
        self.0.rect(corner, size, style);
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, size: f64, text: &str) {
        self.styled(x, y, anchor, size, &format!("fill=\"{INK}\""), text);
    }

    pub fn styled(&mut self, x: f64, y: f64, anchor: Anchor, size: f64, style: &str, text: &str) {
        self.0.rich((x, y), anchor, size, &format!("font-size=\"{size}\" {style}"), text);
    }

    pub fn bold(&mut self, x: f64, y: f64, text: &str) {
        self.styled(x, y, Anchor::Middle, TEXT + 1.0, &format!("font-weight=\"bold\" fill=\"{INK}\""), text);
    }

    pub fn caption(&mut self, x: f64, y: f64, text: &str) {
        self.styled(x, y, Anchor::Start, SMALL, &format!("fill=\"{FAINT}\""), text);
    }

    /// Vertical text that reads upwards.
    pub fn upright(&mut self, x: f64, y: f64, text: &str) {
        self.0.upwards((x, y), TEXT, &format!("font-size=\"{TEXT}\" fill=\"{INK}\""), text);
    }

    pub fn finish(self, width: f64, height: f64, title: &str) -> String {
        self.0.alone(title, (width, height), FONT)
    }
}

/// The approximate width of text in the built-in font.
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
}
