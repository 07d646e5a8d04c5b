//! Series of marks against two axes.

use dplm_report::svg::Tick;

use super::{
    Axis, Frame, LEFT, PANEL, RIGHT, SMALL, TEXT,
    axis::Scale,
    svg::{Anchor, Svg, short, width_of},
};
use crate::stats::Estimate;

/// Okabe and Ito's colours, in order of use.
const COLOURS: [&str; 6] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"];

/// The width that dodging series share, and the largest distance between two of them.
const DODGED: f64 = 26.0;
const WIDEST_DODGE: f64 = 6.5;

const DASHED: &str = "stroke=\"#1a1a1a\" stroke-width=\"1.2\" stroke-dasharray=\"6 4\"";

/// Series against two axes.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// The axis across.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The series, in the order of the legend.
    pub series: Vec<Series>,
    /// Dashed lines across.
    pub references: Vec<Reference>,
    /// Whether series are offset, so that error bars do not hide each other.
    pub dodge: bool,
}

/// Marks joined by a line.
#[derive(Clone, Debug)]
pub struct Series {
    label: String,
    marks: Vec<Mark>,
}

/// A value with its error bar and a note.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub(super) x: f64,
    pub(super) y: f64,
    low: f64,
    high: f64,
    note: Option<String>,
}

/// A dashed line across the panel.
#[derive(Clone, Debug)]
pub struct Reference {
    label: String,
    y: f64,
}

impl Series {
    /// A series of marks from left to right.
    pub fn new(label: impl Into<String>, marks: Vec<Mark>) -> Series {
        Series { label: label.into(), marks }
    }
}

impl Mark {
    /// A value with its 95 % interval.
    pub fn with_error(x: f64, y: &Estimate) -> Mark {
        let (low, high) = y.interval();
        Mark::between(x, y.value, low, high)
    }

    /// A value with a bar from `low` to `high`.
    pub fn between(x: f64, y: f64, low: f64, high: f64) -> Mark {
        Mark { x, y, low, high, note: None }
    }

    /// The mark with a note above it.
    #[must_use]
    pub fn noted(self, note: String) -> Mark {
        Mark { note: Some(note), ..self }
    }
}

impl Reference {
    /// A line at height `y`.
    pub fn new(label: impl Into<String>, y: f64) -> Reference {
        Reference { label: label.into(), y }
    }
}

/// The offset of a series: all stay within the margins of the panel.
fn dodged(index: usize, count: usize) -> f64 {
    let last = (count - 1) as f64;
    (index as f64 - last / 2.0) * (DODGED / last.max(1.0)).min(WIDEST_DODGE)
}

impl Plot {
    /// Draws legend and panel from `top` on; gives the lower edge.
    pub(super) fn draw(&self, svg: &mut Svg, top: f64) -> f64 {
        let panel_top = self.legend(svg, top) + 10.0;
        let frame = Frame { left: LEFT, right: RIGHT, top: panel_top, bottom: panel_top + PANEL };
        let marks = || self.series.iter().flat_map(|series| &series.marks);
        let across = self.x.scale(marks().map(|mark| mark.x), frame.left, frame.right);
        let heights = marks().flat_map(|mark| [mark.y, mark.high]).chain(self.references.iter().map(|r| r.y));
        let lows = marks().map(|mark| if mark.low > 0.4 * mark.y { mark.low } else { mark.y });
        let upwards = self.y.scale(heights.chain(lows), frame.bottom, frame.top);
        draw_axes(svg, &frame, &across, &upwards);
        svg.text((frame.left + frame.right) / 2.0, frame.bottom + 40.0, Anchor::Middle, TEXT, self.x.label());
        svg.upright(18.0, (frame.top + frame.bottom) / 2.0, self.y.label());
        self.references.iter().for_each(|reference| reference.draw(svg, &frame, &upwards));
        // The first series is the figure's subject: it is drawn last, on top.
        for (index, series) in self.series.iter().enumerate().rev() {
            let shift = if self.dodge { dodged(index, self.series.len()) } else { 0.0 };
            series.draw(svg, index, shift, &across, &upwards);
        }
        frame.bottom + 44.0
    }

    /// The legend in rows above the panel; gives its lower edge.
    fn legend(&self, svg: &mut Svg, top: f64) -> f64 {
        let series: Vec<String> = self.series.iter().map(|series| series.label.clone()).collect();
        let references: Vec<String> = self.references.iter().map(|reference| reference.label.clone()).collect();
        legend(svg, &series, &references, top)
    }
}

/// A legend of series, then of dashed lines, in rows; gives its lower edge.
pub(super) fn legend(svg: &mut Svg, series: &[String], references: &[String], top: f64) -> f64 {
    let labels: Vec<&String> = series.iter().chain(references).collect();
    let width = |index: usize| 42.0 + width_of(labels[index], SMALL + 1.0);
    let mut y = top;
    for row in in_rows(&(0..labels.len()).map(width).collect::<Vec<_>>(), RIGHT - LEFT) {
        y += 16.0;
        let mut x = (LEFT + RIGHT - row.iter().map(|&index| width(index)).sum::<f64>()) / 2.0;
        for index in row {
            swatch(svg, (index < series.len()).then_some(index), x, y - 4.0);
            svg.text(x + 30.0, y, Anchor::Start, SMALL + 1.0, labels[index]);
            x += width(index);
        }
    }
    y
}

/// A piece of the line of a series, or a dashed line for `None`.
fn swatch(svg: &mut Svg, series: Option<usize>, x: f64, y: f64) {
    let style = series.map_or_else(|| DASHED.to_owned(), line_style);
    svg.line((x, y), (x + 24.0, y), &style);
    if let Some(index) = series {
        marker(svg, index, x + 12.0, y);
    }
}

/// Indices in rows no wider than `width`.
fn in_rows(widths: &[f64], width: f64) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new()];
    let mut used = 0.0;
    for (index, &entry) in widths.iter().enumerate() {
        if used + entry > width && used > 0.0 {
            rows.push(Vec::new());
            used = 0.0;
        }
        rows.last_mut().expect("there is always a row").push(index);
        used += entry;
    }
    rows
}

pub(super) fn draw_axes(svg: &mut Svg, frame: &Frame, across: &Scale, upwards: &Scale) {
    const GRID: &str = "stroke=\"#e4e4e4\" stroke-width=\"0.8\"";
    const EDGE: &str = "stroke=\"#1a1a1a\" stroke-width=\"1\"";
    for Tick { place: x, label } in across.ticks() {
        svg.line((x, frame.top), (x, frame.bottom), GRID);
        svg.line((x, frame.bottom), (x, frame.bottom + 5.0), EDGE);
        svg.text(x, frame.bottom + 20.0, Anchor::Middle, SMALL + 1.0, &label);
    }
    for Tick { place: y, label } in upwards.ticks() {
        svg.line((frame.left, y), (frame.right, y), GRID);
        svg.line((frame.left - 5.0, y), (frame.left, y), EDGE);
        svg.text(frame.left - 8.0, y + 4.0, Anchor::End, SMALL + 1.0, &label);
    }
    across.minor().into_iter().for_each(|x| svg.line((x, frame.bottom), (x, frame.bottom + 3.0), EDGE));
    upwards.minor().into_iter().for_each(|y| svg.line((frame.left - 3.0, y), (frame.left, y), EDGE));
    svg.line((frame.left, frame.bottom), (frame.right, frame.bottom), EDGE);
    svg.line((frame.left, frame.top), (frame.left, frame.bottom), EDGE);
}

impl Reference {
    fn draw(&self, svg: &mut Svg, frame: &Frame, upwards: &Scale) {
        let Some(y) = upwards.place(self.y) else { return };
        svg.line((frame.left, y), (frame.right, y), DASHED);
    }
}

impl Series {
    pub(super) fn draw(&self, svg: &mut Svg, index: usize, shift: f64, across: &Scale, upwards: &Scale) {
        let colour = colour(index);
        let placed: Vec<(f64, f64, &Mark)> = self
            .marks
            .iter()
            .filter_map(|mark| Some((across.place(mark.x)? + shift, upwards.place(mark.y)?, mark)))
            .collect();
        if placed.len() > 1 {
            let style = format!("fill=\"none\" {} stroke-linejoin=\"round\"", line_style(index));
            svg.polyline(placed.iter().map(|(x, y, _)| (*x, *y)), &style);
        }
        for (x, y, mark) in placed {
            error_bar(svg, x, upwards.nearest(mark.low), upwards.nearest(mark.high), colour);
            marker(svg, index, x, y);
            if let Some(note) = &mark.note {
                svg.styled(x, y - 11.0, Anchor::Middle, SMALL - 0.5, "fill=\"#1a1a1a\"", note);
            }
        }
    }
}

fn error_bar(svg: &mut Svg, x: f64, low: f64, high: f64, colour: &str) {
    if !(low.is_finite() && high.is_finite()) || (low - high).abs() < 3.0 {
        return;
    }
    let style = format!("stroke=\"{colour}\" stroke-width=\"1.1\"");
    svg.line((x, low), (x, high), &style);
    [low, high].into_iter().for_each(|y| svg.line((x - 3.0, y), (x + 3.0, y), &style));
}

pub(super) fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// The styles repeat if there are more series than colours: the second round is dotted with hollow
/// marks; the third is dashed with a dark edge.
fn round(index: usize) -> usize {
    index / COLOURS.len()
}

fn line_style(index: usize) -> String {
    let dots = match round(index) {
        0 => "",
        1 => " stroke-dasharray=\"2 3\"",
        _ => " stroke-dasharray=\"7 3\"",
    };
    format!("stroke=\"{}\" stroke-width=\"1.6\"{dots}", colour(index))
}

/// A circle, a square, a triangle, a diamond, a cross or a triangle upside down.
pub(super) fn marker(svg: &mut Svg, index: usize, x: f64, y: f64) {
    let style = match round(index) {
        0 => format!("fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.8\"", colour(index)),
        1 => format!("fill=\"#ffffff\" stroke=\"{}\" stroke-width=\"1.6\"", colour(index)),
        _ => format!("fill=\"{}\" stroke=\"#1a1a1a\" stroke-width=\"1.2\"", colour(index)),
    };
    let (x, y) = (short(x), short(y));
    let mut polygon = |corners: &[(f64, f64)]| svg.polygon(corners.iter().map(|(dx, dy)| (x + dx, y + dy)), &style);
    match index % 6 {
        0 => svg.circle((x, y), 4.2, &style),
        1 => svg.rect((x - 3.8, y - 3.8), (7.6, 7.6), &style),
        2 => polygon(&[(0.0, -5.2), (5.0, 3.8), (-5.0, 3.8)]),
        3 => polygon(&[(0.0, -5.6), (5.2, 0.0), (0.0, 5.6), (-5.2, 0.0)]),
        4 => polygon(&[(0.0, 5.2), (5.0, -3.8), (-5.0, -3.8)]),
        _ => polygon(&[(-4.5, -1.5), (4.5, -1.5), (4.5, 1.5), (-4.5, 1.5)]),
    }
}
