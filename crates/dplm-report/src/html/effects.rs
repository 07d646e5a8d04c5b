//! What each column does over its whole range, with its interval: sizes that can be compared, since
//! all are shares of the response's range.

use dplm::{
    Effect, Fit,
    number::short,
    options::Family,
    report::text::{outcome, percent},
};

use super::{WIDTH, WORDS, paragraph};
use crate::svg::{Anchor, Point, Scale, Svg};

const RIGHT: f64 = 468.0;
/// The most letters of a name that stands beside its interval.
const BESIDE: usize = 24;

/// The picture and what it shows; nothing when there are no intervals.
pub(super) fn plot(fit: &Fit) -> String {
    let effects = fit.effects(fit.level).unwrap_or_default();
    if effects.is_empty() {
        return String::new();
    }
    let (unit, axis) = unit(fit);
    picture(&effects, unit, &axis) + &paragraph(&caption(fit))
}

/// What counts as 1 on the axis, and what the axis is called.
fn unit(fit: &Fit) -> (f64, String) {
    let model = fit.design.model();
    if fit.family() == Family::Binomial {
        return (1.0, format!("change of the log odds of {}", outcome(fit)));
    }
    match model.response_bounds() {
        Some((low, high)) => {
            ((high - low) / 100.0, format!("change of the mean, in % of the range of {}", model.response()))
        }
        None => (1.0, format!("change of the mean, in standard deviations of {}", model.response())),
    }
}

fn caption(fit: &Fit) -> String {
    let what = match fit.design.model().response_bounds() {
        Some((low, high)) => {
            // Bounds of functions are rounded outwards: those of log(1) hold a little more than 0.
            let shown = |end: f64| short(if end.abs() < 1e-9 * (high - low) { 0.0 } else { end });
            format!("mean response, as a share of the response's own range, {} to {}", shown(low), shown(high))
        }
        None if fit.family() == Family::Binomial => "log odds".to_owned(),
        None => "mean response, in standard deviations of the response".to_owned(),
    };
    format!(
        "What moving a column over its whole range (a category: from its reference level) does to the {what}, with {} % intervals. \
         All else is held: numbers at the middle of their range, categories at their reference. Ranges were stated beforehand, so a wide one makes an \
         effect look large.",
        percent(fit.level)
    )
}

fn picture(effects: &[Effect], unit: f64, axis: &str) -> String {
    let names: Vec<String> = effects.iter().map(name).collect();
    let layout = Layout::of(&names);
    let ends = effects.iter().flat_map(|one| [one.interval.0 / unit, one.interval.1 / unit]);
    // An interval without an end goes on to the edge of the picture.
    let (low, high) =
        ends.filter(|end| end.is_finite()).fold((0.0f64, 0.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let scale = Scale::linear((low, high), (layout.left, RIGHT));
    let bottom = layout.row * effects.len() as f64 + 8.0;
    let mut svg = Svg::new();
    for tick in scale.ticks() {
        let class = if tick.label == "0" { "class=\"zero\"" } else { "class=\"grid\"" };
        svg.line((tick.place, 0.0), (tick.place, bottom), class);
        svg.rich((tick.place, bottom + 14.0), Anchor::Middle, WORDS, "class=\"soft\"", &tick.label);
    }
    for (index, (effect, name)) in effects.iter().zip(&names).enumerate() {
        let y = layout.row * (index as f64 + 1.0) - 7.0;
        let (at, anchor) = layout.place_of_name;
        svg.text((at.0, y + at.1), anchor, "class=\"label\"", name);
        let [from, to] = [effect.interval.0, effect.interval.1].map(|end| scale.nearest(end / unit));
        svg.line((from, y), (to, y), "class=\"bar\"");
        svg.circle((scale.at(effect.estimate / unit), y), 3.5, "class=\"dot\"");
    }
    svg.text(((layout.left + RIGHT) / 2.0, bottom + 30.0), Anchor::Middle, "class=\"soft\"", &shortened(axis, 50));
    svg.within_page("The effect of each column over its range, with its interval", (WIDTH, bottom + 36.0))
}

/// Where names and intervals go: side by side, or long names above.
struct Layout {
    left: f64,
    row: f64,
    /// Relative to the left edge and the interval.
    place_of_name: (Point, Anchor),
}

impl Layout {
    fn of(names: &[String]) -> Layout {
        match names.iter().all(|name| name.chars().count() <= BESIDE) {
            true => Layout { left: 166.0, row: 20.0, place_of_name: ((154.0, 4.0), Anchor::End) },
            false => Layout { left: 12.0, row: 32.0, place_of_name: ((12.0, -10.0), Anchor::Start) },
        }
    }
}

fn name(effect: &Effect) -> String {
    let Effect { column, from, to, .. } = effect;
    format!("{}: {} to {}", shortened(column, 36), shortened(from, 12), shortened(to, 12))
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most - 1).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(column: &str, interval: (f64, f64)) -> Effect {
        let (from, to) = ("0".to_owned(), "1".to_owned());
        Effect { column: column.to_owned(), from, to, estimate: 2.0, interval }
    }

    #[test]
    fn an_interval_without_an_end_goes_to_the_edge() {
        let drawn = picture(&[effect("x", (1.0, 4.0)), effect("z", (-1.0, f64::INFINITY))], 1.0, "change");
        assert!(!drawn.contains("inf") && !drawn.contains("NaN"), "{drawn}");
        assert!(drawn.contains("x2=\"468\"") && drawn.contains("z: 0 to 1"), "{drawn}");
    }

    #[test]
    fn long_names_stand_above_their_intervals() {
        let long = "a column with a rather long name";
        let beside = picture(&[effect("x", (1.0, 4.0))], 1.0, "change");
        let above = picture(&[effect(long, (1.0, 4.0))], 1.0, "change");
        assert!(beside.contains("text-anchor=\"end\" class=\"label\">x: 0 to 1<"), "{beside}");
        assert!(above.contains(&format!("text-anchor=\"start\" class=\"label\">{long}: 0 to 1<")), "{above}");
    }
}
