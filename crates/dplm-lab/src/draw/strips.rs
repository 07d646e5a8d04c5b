//! Small multiples with a line for each name: positions on a logarithmic axis, in panels side by
//! side.

use super::{
    RIGHT, SMALL, TEXT,
    svg::{Anchor, Svg, short},
};

/// The width of the names at the left, the number of panels side by side, and the height of a line.
const NAMES: f64 = 138.0;
const ACROSS: usize = 4;
const BESIDE: f64 = 9.0;
const LINE: f64 = 12.5;
const ABOVE: f64 = 22.0;
const BELOW: f64 = 30.0;

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The subject of the picture.
    Ours,
    /// The reference for all others.
    Reference,
    /// One of many.
    Plain,
    /// One of many, of another kind: its marks are hollow.
    Hollow,
}

impl Look {
    fn colour(self) -> &'static str {
        match self {
            Look::Ours => "#D55E00",
            Look::Reference => "#1a1a1a",
            Look::Plain => "#0072B2",
            Look::Hollow => "#777777",
        }
    }

    fn band(self) -> Option<&'static str> {
        match self {
            Look::Ours => Some("#fbe3d2"),
            Look::Reference => Some("#e9e9e9"),
            Look::Plain | Look::Hollow => None,
        }
    }
}

/// Lines of names, and panels of marks on them.
#[derive(Clone, Debug)]
pub struct Strips {
    /// The name of the measure.
    pub label: String,
    /// The ends of the axis; values beyond lie at its end.
    pub range: (f64, f64),
    /// The lines, from the top down.
    pub names: Vec<(String, Look)>,
    /// The panels, line by line.
    pub panels: Vec<Strip>,
}

/// One of the panels.
#[derive(Clone, Debug)]
pub struct Strip {
    /// Its title.
    pub title: String,
    /// The values of each line, the last of which is drawn largest; empty if it has none.
    pub values: Vec<Vec<f64>>,
}

impl Strips {
    /// Draws all panels from `top` on; gives the lower edge.
    pub(super) fn draw(&self, svg: &mut Svg, top: f64) -> f64 {
        let height = ABOVE + BELOW + LINE * self.names.len() as f64;
        let width = (RIGHT - NAMES - BESIDE * (ACROSS - 1) as f64) / ACROSS as f64;
        for (index, panel) in self.panels.iter().enumerate() {
            let left = NAMES + (width + BESIDE) * (index % ACROSS) as f64;
            let top = top + height * (index / ACROSS) as f64;
            self.draw_panel(svg, panel, (left, left + width), top + ABOVE);
            if index % ACROSS == 0 {
                self.draw_names(svg, top + ABOVE);
            }
        }
        let bottom = top + height * self.panels.len().div_ceil(ACROSS) as f64;
        svg.text((NAMES + RIGHT) / 2.0, bottom + 6.0, Anchor::Middle, TEXT, &self.label);
        bottom + 10.0
    }

    fn draw_names(&self, svg: &mut Svg, top: f64) {
        for (line, (name, look)) in self.names.iter().enumerate() {
            let y = top + LINE * (line as f64 + 0.5) + 3.5;
            let weight = if look.band().is_some() { " font-weight=\"bold\"" } else { "" };
            svg.styled(NAMES - 6.0, y, Anchor::End, SMALL - 1.0, &format!("fill=\"{}\"{weight}", look.colour()), name);
        }
    }

    fn draw_panel(&self, svg: &mut Svg, panel: &Strip, (left, right): (f64, f64), top: f64) {
        let bottom = top + LINE * self.names.len() as f64;
        svg.text((left + right) / 2.0, top - 6.0, Anchor::Middle, SMALL, &panel.title);
        for (line, (_, look)) in self.names.iter().enumerate() {
            if let Some(colour) = look.band() {
                svg.rect((left, top + LINE * line as f64), (right - left, LINE), &format!("fill=\"{colour}\""));
            }
        }
        let (low, high) = (self.range.0.log10(), self.range.1.log10());
        let place = |value: f64| {
            let along = (value.max(f64::MIN_POSITIVE).log10().clamp(low, high) - low) / (high - low);
            short(left + 5.0 + along * (right - left - 10.0))
        };
        for power in low.ceil() as i32..=high.floor() as i32 {
            let x = place(10f64.powi(power));
            svg.line((x, top), (x, bottom), "stroke=\"#dddddd\" stroke-width=\"0.7\"");
            // Every second one has a label, so that none overlap.
            if power % 2 == 0 {
                svg.text(x, bottom + 12.0, Anchor::Middle, SMALL - 2.0, &power_of_ten(power));
            }
        }
        svg.rect((left, top), (right - left, bottom - top), "fill=\"none\" stroke=\"#999999\" stroke-width=\"0.7\"");
        for (line, values) in panel.values.iter().enumerate() {
            let (y, look) = (top + LINE * (line as f64 + 0.5), self.names[line].1);
            let xs: Vec<f64> = values.iter().map(|&value| place(value)).collect();
            let style = format!("stroke=\"{}\" stroke-width=\"1\" fill=\"none\"", look.colour());
            svg.polyline(xs.iter().map(|&x| (x, y)), &style);
            for (at, &x) in xs.iter().enumerate() {
                let radius = if at + 1 == xs.len() { 3.4 } else { 1.6 };
                let fill = if look == Look::Hollow { "#ffffff" } else { look.colour() };
                svg.circle((x, y), radius, &format!("fill=\"{fill}\" stroke=\"{}\" stroke-width=\"1\"", look.colour()));
            }
        }
    }
}

/// `1`, `10`, `0.01`, or a power for longer numbers.
fn power_of_ten(power: i32) -> String {
    match power {
        -2..=2 => format!("{}", 10f64.powi(power)),
        _ => format!("1e{power}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Figure, pixels_of, png};

    #[test]
    fn every_name_has_a_line_in_every_panel() {
        let names = vec![("ours".to_owned(), Look::Ours), ("a & b".to_owned(), Look::Hollow)];
        let panel = |title: &str| Strip { title: title.into(), values: vec![vec![0.1, 0.01], vec![1e9]] };
        let panels = (0..5).map(|k| panel(&format!("panel {k}"))).collect();
        let text =
            Figure::strips("caption", Strips { label: "excess".into(), range: (1e-4, 10.0), names, panels }).svg("t");
        assert_eq!(text.matches("<circle").count(), 15);
        assert_eq!(text.matches("a &amp; b").count(), 2, "once for each line of panels");
        let bytes = png("test", &text).unwrap();
        assert!(pixels_of(&bytes, "#d55e00") > 50, "our marks");
    }
}
