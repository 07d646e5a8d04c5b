//! Shares by name, one line for each, with the band in which they should lie.

use super::{
    Frame, RIGHT, SMALL, TEXT,
    plot::{colour, marker},
    svg::{Anchor, Svg, short, width_of},
};

/// Shares near 1 matter most, so the axis is logarithmic in the distance from 1, down to this.
const LEAST_MISSING: f64 = 0.002;
const TICKS: [f64; 9] = [0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995];

/// The width of the names at the left, and the height of a line for each series.
const NAMES: f64 = 208.0;
const LINE: f64 = 9.0;
const GAP: f64 = 7.0;

/// Shares by name, for several series.
#[derive(Clone, Debug, Default)]
pub struct Dots {
    /// The meaning of the shares.
    pub label: String,
    /// The series, in the order of the lines of a row.
    pub series: Vec<DotSeries>,
    /// The lines, from the top down.
    pub rows: Vec<DotRow>,
    /// Where shares should lie.
    pub band: (f64, f64),
}

/// The meaning and the look of the marks of a series.
#[derive(Clone, Debug)]
pub struct DotSeries {
    /// Its name.
    pub label: String,
    /// Its colour and shape; after six styles they repeat with hollow marks.
    pub style: usize,
}

/// A line of the picture.
#[derive(Clone, Debug)]
pub struct DotRow {
    /// Its name.
    pub label: String,
    /// One for each series; `None` if the series has none.
    pub dots: Vec<Option<Dot>>,
}

/// A share with its error bar, and the worst of its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// The share.
    pub value: f64,
    /// The lower end of the bar.
    pub low: f64,
    /// The upper end of the bar.
    pub high: f64,
    /// The lowest share of a part.
    pub worst: Option<f64>,
}

impl Dots {
    /// Draws legend and lines from `top` on; gives the lower edge.
    pub(super) fn draw(&self, svg: &mut Svg, top: f64) -> f64 {
        let first = self.legend(svg, top) + 10.0;
        let heights = self.rows.iter().map(DotRow::height);
        let frame = Frame { left: NAMES, right: RIGHT, top: first, bottom: first + heights.sum::<f64>() };
        let [low, high] = [self.band.0, self.band.1].map(|share| place(&frame, share));
        svg.raw(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#e3f1e3\"/>",
            short(low),
            short(frame.top),
            short(high - low),
            short(frame.bottom - frame.top)
        ));
        draw_ticks(svg, &frame);
        let mut y = frame.top;
        for row in &self.rows {
            row.draw(svg, &frame, y, &self.series);
            y += row.height();
        }
        svg.text((frame.left + frame.right) / 2.0, frame.bottom + 36.0, Anchor::Middle, TEXT, &self.label);
        frame.bottom + 40.0
    }

    /// The names of the series in rows; gives the lower edge.
    fn legend(&self, svg: &mut Svg, top: f64) -> f64 {
        let (mut x, mut y) = (18.0, top + 16.0);
        for DotSeries { label, style } in &self.series {
            let width = 30.0 + width_of(label, SMALL + 1.0);
            if x + width > RIGHT {
                (x, y) = (18.0, y + 16.0);
            }
            marker(svg, *style, x + 6.0, y - 4.0);
            svg.text(x + 16.0, y, Anchor::Start, SMALL + 1.0, label);
            x += width;
        }
        y
    }
}

impl DotRow {
    /// The height for all series with a mark.
    fn height(&self) -> f64 {
        GAP + LINE * self.dots.iter().flatten().count().max(1) as f64
    }

    fn draw(&self, svg: &mut Svg, frame: &Frame, top: f64, series: &[DotSeries]) {
        let height = self.height();
        svg.text(frame.left - 8.0, top + height / 2.0 + 4.0, Anchor::End, SMALL, &self.label);
        svg.line((18.0, top + height), (frame.right, top + height), "stroke=\"#e4e4e4\" stroke-width=\"0.8\"");
        let drawn = series.iter().zip(&self.dots).filter_map(|(one, dot)| dot.map(|dot| (one.style, dot)));
        for (line, (style, dot)) in drawn.enumerate() {
            let y = top + (GAP + LINE) / 2.0 + LINE * line as f64;
            let bar = format!("stroke=\"{}\" stroke-width=\"1.1\"", colour(style));
            svg.line((place(frame, dot.low), y), (place(frame, dot.high), y), &bar);
            if let Some(worst) = dot.worst {
                let x = place(frame, worst);
                svg.line((x, y - 3.5), (x, y + 3.5), &format!("stroke=\"{}\" stroke-width=\"2\"", colour(style)));
            }
            marker(svg, style, place(frame, dot.value), y);
        }
    }
}

fn draw_ticks(svg: &mut Svg, frame: &Frame) {
    for share in TICKS {
        let x = place(frame, share);
        svg.line((x, frame.top), (x, frame.bottom), "stroke=\"#e4e4e4\" stroke-width=\"0.8\"");
        svg.line((x, frame.bottom), (x, frame.bottom + 5.0), "stroke=\"#1a1a1a\" stroke-width=\"1\"");
        svg.text(x, frame.bottom + 18.0, Anchor::Middle, SMALL, &format!("{}", 100.0 * share));
    }
    svg.line((frame.left, frame.bottom), (frame.right, frame.bottom), "stroke=\"#1a1a1a\" stroke-width=\"1\"");
}

/// The position of a share; shares beyond the axis lie at its end.
fn place(frame: &Frame, share: f64) -> f64 {
    let along = (1.0 - share).clamp(LEAST_MISSING, 1.0).ln() / LEAST_MISSING.ln();
    frame.left + along * (frame.right - 6.0 - frame.left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Figure, pixels_of, png};

    #[test]
    fn shares_lie_where_they_should() {
        let frame = Frame { left: 100.0, right: 506.0, top: 0.0, bottom: 10.0 };
        assert_eq!(place(&frame, 0.0), 100.0);
        assert_eq!(place(&frame, -0.1), 100.0);
        assert_eq!(place(&frame, 1.0), 500.0);
        assert!(place(&frame, 0.93) < place(&frame, 0.95) && place(&frame, 0.95) < place(&frame, 0.98));
    }

    #[test]
    fn every_line_has_its_name_and_its_marks() {
        let dot = Dot { value: 0.94, low: 0.92, high: 0.96, worst: Some(0.9) };
        let rows = vec![
            DotRow { label: "first".into(), dots: vec![Some(dot), None] },
            DotRow { label: "second & last".into(), dots: vec![Some(dot), Some(dot)] },
        ];
        let series = [("now", 0), ("before", 6)].map(|(label, style)| DotSeries { label: label.into(), style }).into();
        let text = Figure::dots("caption", Dots { label: "share".into(), series, rows, band: (0.93, 0.98) }).svg("t");
        assert!(text.contains("first") && text.contains("second &amp; last"));
        assert_eq!(text.matches("<circle").count(), 5, "three marks and two in the legend");
        assert_eq!(
            text.matches("<circle").count() - text.matches("stroke=\"#ffffff\" stroke-width=\"0.8\"").count(),
            2,
            "hollow"
        );
        let bytes = png("test", &text).unwrap();
        assert!(pixels_of(&bytes, "#0072b2") > 50, "filled marks");
    }
}
