//! Coefficients with their intervals, each on a scale of its own standard errors where units differ too much.

use super::{WIDTH, WORDS};
use crate::{
    Coefficient, Fit, Precision,
    report::svg::{Anchor, Scale, Svg},
};

const LEFT: f64 = 146.0;
const ROW: f64 = 22.0;

/// The plot; nothing when there are no intervals.
pub(super) fn plot<'a>(fit: &'a Fit) -> String {
    let drawn = |one: &'a Coefficient| Some((one.name.as_str(), one.estimate?, one.precision.as_ref()?));
    let shown: Vec<(&str, f64, &Precision)> = fit.coefficients.iter().filter_map(drawn).collect();
    if shown.is_empty() {
        return String::new();
    }
    // Columns have their own units, so a common axis would hide most of them: the axis counts standard errors from zero.
    let in_errors = |value: f64, precision: &Precision| value / precision.std_error;
    let ends = shown.iter().flat_map(|(_, _, one)| [one.low, one.high].map(|end| in_errors(end, one)));
    // An interval without an end goes on to the edge of the picture.
    let (low, high) =
        ends.filter(|end| end.is_finite()).fold((-3.0f64, 3.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let scale = Scale::linear((low, high), (LEFT, WIDTH - 16.0));
    let bottom = ROW * shown.len() as f64 + 10.0;
    let mut svg = Svg::new();
    axis(&mut svg, &scale, bottom);
    for (index, (name, estimate, precision)) in shown.into_iter().enumerate() {
        let y = ROW * (index as f64 + 0.5) + 5.0;
        let at = |value: f64| scale.at(in_errors(value, precision).clamp(low, high));
        svg.text((LEFT - 10.0, y + 4.0), Anchor::End, "", &shortened(name));
        svg.line((at(precision.low), y), (at(precision.high), y), "class=\"bar\"");
        svg.circle((at(estimate), y), 4.0, "class=\"dot\"");
    }
    svg.within_page("Each coefficient and its interval, in standard errors from zero", (WIDTH, bottom + 42.0))
}

fn axis(svg: &mut Svg, scale: &Scale, bottom: f64) {
    for tick in scale.ticks() {
        let class = if tick.label == "0" { "class=\"zero\"" } else { "class=\"grid\"" };
        svg.line((tick.place, 0.0), (tick.place, bottom), class);
        svg.rich((tick.place, bottom + 16.0), Anchor::Middle, WORDS, "class=\"soft\"", &tick.label);
    }
    let middle = (LEFT + WIDTH) / 2.0;
    svg.text((middle, bottom + 34.0), Anchor::Middle, "class=\"soft\"", "standard errors from zero");
}

fn shortened(name: &str) -> String {
    const MOST: usize = 19;
    if name.chars().count() <= MOST { name.to_owned() } else { name.chars().take(MOST - 1).chain(['…']).collect() }
}
