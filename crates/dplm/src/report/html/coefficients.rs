//! Coefficients with their intervals, each on a scale of its own standard errors where units differ too much.

use super::svg::{Scale, WIDTH, label, line, picture, text};
use crate::{Coefficient, Fit, Precision};

const LEFT: f64 = 146.0;
const ROW: f64 = 22.0;

/// The plot; nothing when there are no intervals.
pub(super) fn plot(fit: &Fit) -> String {
    let shown: Vec<(&Coefficient, &Precision)> =
        fit.coefficients.iter().filter_map(|one| one.precision.as_ref().map(|precision| (one, precision))).collect();
    if shown.is_empty() {
        return String::new();
    }
    // Columns have their own units, so a common axis would hide most of them: the axis counts standard errors from zero.
    let in_errors = |value: f64, precision: &Precision| value / precision.std_error;
    let ends = shown
        .iter()
        .flat_map(|(_, precision)| [in_errors(precision.low, precision), in_errors(precision.high, precision)]);
    let (low, high) = ends.fold((-3.0f64, 3.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let scale = Scale::new((low, high), (LEFT, WIDTH - 16.0));
    let bottom = ROW * shown.len() as f64 + 10.0;
    let mut content = axis(&scale, bottom);
    for (index, (one, precision)) in shown.iter().enumerate() {
        let y = ROW * (index as f64 + 0.5) + 5.0;
        let place = |value: f64| scale.place(in_errors(value, precision));
        content += &text("", "end", (LEFT - 10.0, y + 4.0), &shortened(&one.name));
        content += &line("bar", (place(precision.low), y), (place(precision.high), y));
        content += &format!("<circle class=\"dot\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"/>\n", place(one.estimate));
    }
    picture("Each coefficient and its interval, in standard errors from zero", WIDTH, bottom + 42.0, &content)
}

fn axis(scale: &Scale, bottom: f64) -> String {
    let mut content = String::new();
    for tick in scale.ticks() {
        let x = scale.place(tick);
        let class = if tick.abs() < 1e-9 { "zero" } else { "grid" };
        content += &line(class, (x, 0.0), (x, bottom));
        content += &text("soft", "middle", (x, bottom + 16.0), &label(tick));
    }
    content + &text("soft", "middle", ((LEFT + WIDTH) / 2.0, bottom + 34.0), "standard errors from zero")
}

fn shortened(name: &str) -> String {
    const MOST: usize = 19;
    if name.chars().count() <= MOST { name.to_owned() } else { name.chars().take(MOST - 1).chain(['…']).collect() }
}
