//! Small panels side by side, on the same scales, with one legend.

use super::{
    Axis, Frame, LEFT, RIGHT, SMALL, TEXT,
    axis::Scale,
    plot::{Mark, Series, draw_axes, legend},
    svg::{Anchor, Svg},
};

/// The number of panels side by side, the height of one, and the space between them.
const ACROSS: usize = 2;
const HEIGHT: f64 = 170.0;
const BESIDE: f64 = 52.0;
const BELOW: f64 = 52.0;

/// Small panels on the same scales: a series has the same colour and mark in each.
#[derive(Clone, Debug, Default)]
pub struct Panels {
    /// The axis across.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The names of the series.
    pub labels: Vec<String>,
    /// The panels, line by line.
    pub panels: Vec<Panel>,
}

/// One of the panels.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Its title.
    pub title: String,
    /// The marks of each series; empty if a series is not in this panel.
    pub series: Vec<Vec<Mark>>,
}

impl Panels {
    /// Draws the legend and all panels from `top` on; gives the lower edge.
    pub(super) fn draw(&self, svg: &mut Svg, top: f64) -> f64 {
        let first = legend(svg, &self.labels, &[], top) + 26.0;
        let width = (RIGHT - LEFT - BESIDE * (ACROSS - 1) as f64) / ACROSS as f64;
        for (index, panel) in self.panels.iter().enumerate() {
            let left = LEFT + (width + BESIDE) * (index % ACROSS) as f64;
            let top = first + (HEIGHT + BELOW) * (index / ACROSS) as f64;
            panel.draw(svg, &Frame { left, right: left + width, top, bottom: top + HEIGHT }, self);
        }
        let lines = self.panels.len().div_ceil(ACROSS).max(1) as f64;
        let bottom = first + (HEIGHT + BELOW) * lines - BELOW;
        svg.text((LEFT + RIGHT) / 2.0, bottom + 40.0, Anchor::Middle, TEXT, self.x.label());
        svg.upright(18.0, (first + bottom) / 2.0, self.y.label());
        bottom + 44.0
    }

    fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.panels.iter().flat_map(|panel| panel.series.iter().flatten())
    }

    fn scales(&self, frame: &Frame) -> (Scale, Scale) {
        let across = self.x.scale(self.marks().map(|mark| mark.x), frame.left, frame.right);
        (across, self.y.scale(self.marks().map(|mark| mark.y), frame.bottom, frame.top))
    }
}

impl Panel {
    fn draw(&self, svg: &mut Svg, frame: &Frame, all: &Panels) {
        let (across, upwards) = all.scales(frame);
        draw_axes(svg, frame, &across, &upwards);
        svg.text((frame.left + frame.right) / 2.0, frame.top - 6.0, Anchor::Middle, SMALL + 1.0, &self.title);
        // The first series is the figure's subject: it is drawn last, on top.
        for (index, marks) in self.series.iter().enumerate().rev() {
            Series::new("", marks.clone()).draw(svg, index, 0.0, &across, &upwards);
        }
    }
}
