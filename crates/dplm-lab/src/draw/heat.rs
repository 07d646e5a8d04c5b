//! A table of numbers as colours.

use super::{
    Axis, Frame, LEFT, RIGHT, SMALL, TEXT,
    svg::{Anchor, Svg, short},
};

/// A table of numbers as colours, each with its number.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// The label across.
    pub x: Axis,
    /// The label upwards.
    pub y: Axis,
    /// The columns, from left to right.
    pub columns: Vec<String>,
    /// The rows, from the bottom up.
    pub rows: Vec<String>,
    /// `values[row][column]`.
    pub values: Vec<Vec<f64>>,
    /// The meaning of the colours.
    pub colour_label: String,
    /// The numbers at the ends of the colours.
    pub range: (f64, f64),
}

/// Viridis: even in lightness, so it also reads in grey.
const COLOURS: [[f64; 3]; 9] = [
    [68.0, 1.0, 84.0],
    [71.0, 44.0, 122.0],
    [59.0, 81.0, 139.0],
    [44.0, 113.0, 142.0],
    [33.0, 144.0, 141.0],
    [39.0, 173.0, 129.0],
    [92.0, 200.0, 99.0],
    [170.0, 220.0, 50.0],
    [253.0, 231.0, 37.0],
];

const ROW: f64 = 34.0;
const BAR: f64 = 16.0;

impl HeatMap {
    /// Draws the table from `top` on; gives the lower edge.
    pub(super) fn draw(&self, svg: &mut Svg, top: f64) -> f64 {
        let height = ROW * self.rows.len() as f64;
        let frame = Frame { left: LEFT, right: RIGHT - 82.0, top, bottom: top + height };
        self.draw_cells(svg, &frame);
        self.draw_bar(svg, &Frame { left: frame.right + 18.0, right: frame.right + 18.0 + BAR, ..frame });
        svg.text((frame.left + frame.right) / 2.0, frame.bottom + 38.0, Anchor::Middle, TEXT, self.x.label());
        svg.upright(20.0, (frame.top + frame.bottom) / 2.0, self.y.label());
        frame.bottom + 42.0
    }

    fn draw_cells(&self, svg: &mut Svg, frame: &Frame) {
        let step = (frame.right - frame.left) / self.columns.len() as f64;
        for (row, (label, values)) in self.rows.iter().zip(&self.values).enumerate() {
            let y = frame.bottom - ROW * (row + 1) as f64;
            svg.text(frame.left - 8.0, y + ROW / 2.0 + 4.0, Anchor::End, SMALL + 1.0, label);
            for (column, &value) in values.iter().enumerate() {
                self.draw_cell(svg, frame.left + step * column as f64, y, step, value);
            }
        }
        for (column, label) in self.columns.iter().enumerate() {
            let x = frame.left + step * (column as f64 + 0.5);
            svg.text(x, frame.bottom + 18.0, Anchor::Middle, SMALL + 1.0, label);
        }
    }

    fn draw_cell(&self, svg: &mut Svg, x: f64, y: f64, width: f64, value: f64) {
        let share = (value - self.range.0) / (self.range.1 - self.range.0);
        let (x, y, width) = (short(x), short(y), short(width));
        let style = format!("fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"1\"", colour(share));
        svg.rect((x, y), (width, ROW), &style);
        let ink = if share > 0.55 { "fill=\"#000000\"" } else { "fill=\"#ffffff\"" };
        svg.styled(x + width / 2.0, y + ROW / 2.0 + 4.0, Anchor::Middle, SMALL + 1.0, ink, &shown(value));
    }

    fn draw_bar(&self, svg: &mut Svg, frame: &Frame) {
        let stops: Vec<String> = (0..COLOURS.len())
            .map(|k| k as f64 / (COLOURS.len() - 1) as f64)
            .map(|share| format!("<stop offset=\"{}\" stop-color=\"{}\"/>", share, colour(share)))
            .collect();
        svg.raw(format_args!(
            "<defs><linearGradient id=\"scale\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">{}</linearGradient></defs>",
            stops.join("")
        ));
        let height = frame.bottom - frame.top;
        let style = "fill=\"url(#scale)\" stroke=\"#1a1a1a\" stroke-width=\"0.8\"";
        svg.rect((frame.left, frame.top), (BAR, height), style);
        for quarter in 0..=4 {
            let share = f64::from(quarter) / 4.0;
            let value = self.range.0 + share * (self.range.1 - self.range.0);
            svg.text(frame.right + 5.0, frame.bottom - share * height + 4.0, Anchor::Start, SMALL, &shown(value));
        }
        svg.upright(frame.right + 48.0, (frame.top + frame.bottom) / 2.0, &self.colour_label);
    }
}

fn shown(value: f64) -> String {
    match value {
        _ if value.is_nan() => "–".to_owned(),
        _ if value >= 9.95 || value == 0.0 => format!("{value:.0}"),
        _ if value >= 0.095 => format!("{value:.1}"),
        _ => "<0.1".to_owned(),
    }
}

fn colour(share: f64) -> String {
    let place = share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    let part = place - place.floor();
    let mix = |k: usize| (COLOURS[below][k] * (1.0 - part) + COLOURS[above][k] * part).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}
