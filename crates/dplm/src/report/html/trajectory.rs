//! The released iterates against the step.

use super::svg::{Scale, WIDTH, label, line, picture, text};
use crate::{Fit, descend::Trajectory};

const HEIGHT: f64 = 210.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 462.0;
const BOTTOM: f64 = 172.0;
/// More points than this per line cannot be told apart.
const MOST_POINTS: usize = 480;

/// The plot of the first run.
pub(super) fn plot(fit: &Fit) -> String {
    let Some(run) = fit.trajectories.first() else { return String::new() };
    let values = run.theta.iter().flatten();
    let (low, high) = values.fold((0.0f64, 0.0f64), |(low, high), &value| (low.min(value), high.max(value)));
    let across = Scale::new((0.0, run.steps() as f64), (LEFT, RIGHT));
    let up = Scale::new((low, high), (BOTTOM, 10.0));
    let mut content = axes(&across, &up);
    for feature in 0..run.theta[0].len() {
        content += &path(run, feature, &across, &up);
    }
    let which = if fit.trajectories.len() > 1 { "the first run" } else { "the run" };
    let title = format!("The released parameters at each step of {which}, in standardised units");
    picture(&title, WIDTH, HEIGHT, &content)
        + &format!(
            "<p>{title}. They start {}, and move with the noise once they have settled; estimates come from their means.</p>\n",
            if run.theta[0].iter().all(|&value| value == 0.0) { "at zero" } else { "near the answer" }
        )
}

fn axes(across: &Scale, up: &Scale) -> String {
    let mut content = String::new();
    for tick in up.ticks() {
        let y = up.place(tick);
        content += &line("grid", (LEFT, y), (RIGHT, y));
        content += &text("soft", "end", (LEFT - 8.0, y + 4.0), &label(tick));
    }
    for tick in across.ticks() {
        content += &text("soft", "middle", (across.place(tick), BOTTOM + 16.0), &label(tick));
    }
    content + &text("soft", "middle", ((LEFT + RIGHT) / 2.0, HEIGHT - 4.0), "step")
}

fn path(run: &Trajectory, feature: usize, across: &Scale, up: &Scale) -> String {
    let every = run.theta.len().div_ceil(MOST_POINTS);
    let points = run.theta.iter().enumerate().step_by(every);
    let points =
        points.map(|(step, theta)| format!("{:.1},{:.1}", across.place(step as f64), up.place(theta[feature])));
    format!("<polyline class=\"path s{}\" points=\"{}\"/>\n", feature % 4, points.collect::<Vec<_>>().join(" "))
}
