//! The released iterates against the step.

use dplm::{Fit, descend::Trajectory};

use super::{WIDTH, rising_axis, tick_labels_below};
use crate::svg::{Anchor, Scale, Svg};

const HEIGHT: f64 = 210.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 462.0;
const BOTTOM: f64 = 172.0;
/// More points than this per line cannot be told apart.
const MOST_POINTS: usize = 480;

/// The plot of the first run.
pub(super) fn plot(fit: &Fit) -> String {
    let Some(run) = fit.trajectories.first() else { return String::new() };
    let values = run.theta.iter().flatten();
    let (low, high) = values.fold((0.0f64, 0.0f64), |(low, high), &value| (low.min(value), high.max(value)));
    let across = Scale::linear((0.0, run.steps() as f64), (LEFT, RIGHT));
    let up = Scale::linear((low, high), (BOTTOM, 10.0));
    let mut svg = Svg::new();
    rising_axis(&mut svg, &up, (LEFT, RIGHT));
    tick_labels_below(&mut svg, &across, BOTTOM);
    svg.text(((LEFT + RIGHT) / 2.0, HEIGHT - 4.0), Anchor::Middle, "class=\"soft\"", "step");
    for feature in 0..run.theta[0].len() {
        path(&mut svg, run, feature, &across, &up);
    }
    let which = if fit.trajectories.len() > 1 { "the first run" } else { "the run" };
    let title = format!("The released parameters at each step of {which}, in standardised units");
    svg.within_page(&title, (WIDTH, HEIGHT))
        + &format!(
            "<p>{title}. They start {}, and move with the noise once they have settled; estimates come from their means.</p>\n",
            if run.theta[0].iter().all(|&value| value == 0.0) { "at zero" } else { "near the answer" }
        )
}

fn path(svg: &mut Svg, run: &Trajectory, feature: usize, across: &Scale, up: &Scale) {
    let every = run.theta.len().div_ceil(MOST_POINTS);
    let points = run.theta.iter().enumerate().step_by(every);
    let points = points.map(|(step, theta)| (across.at(step as f64), up.at(theta[feature])));
    svg.polyline(points, &format!("class=\"path s{}\"", feature % 4));
}
