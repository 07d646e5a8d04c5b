//! The effects of an event study over its periods.

use dplm::{
    EventEffects, Fit,
    report::{
        event::{same_time, studies, trend},
        text::percent,
    },
};

use super::{WIDTH, WORDS, paragraph, rising_axis};
use crate::svg::{Anchor, Scale, Svg};

const HEIGHT: f64 = 230.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 462.0;
const BOTTOM: f64 = 186.0;

/// A picture of each event study, and what it shows.
pub(super) fn plots(fit: &Fit) -> String {
    studies(fit).iter().map(|event| plot(fit, event)).collect()
}

fn plot(fit: &Fit, event: &EventEffects) -> String {
    let what = match event.study.reference {
        Some(place) => format!(
            "The coefficient of each period against the reference, {} {}",
            event.study.period, event.study.levels[place]
        ),
        None => "The average over cohorts, by periods since theirs".to_owned(),
    };
    let caption = format!(
        "{what}, with {} % intervals: thick ones for each by itself, thin ones that hold for all at once.",
        percent(fit.level),
    );
    let words = [Some(caption), Some(trend(event)), same_time(event)];
    picture(event) + &words.iter().flatten().map(|words| paragraph(words)).collect::<String>()
}

fn picture(event: &EventEffects) -> String {
    let study = &event.study;
    let ends = event.effects.iter().flatten().flat_map(|one| [one.together.0, one.together.1, one.estimate]);
    // An interval without an end goes on to the edge of the picture.
    let (low, high) =
        ends.filter(|end| end.is_finite()).fold((0.0f64, 0.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let up = Scale::linear((low, high), (BOTTOM, 10.0));
    let across = |place: usize| LEFT + (RIGHT - LEFT) * (place as f64 + 0.5) / study.levels.len() as f64;
    let mut svg = Svg::new();
    rising_axis(&mut svg, &up, (LEFT, RIGHT));
    svg.line((LEFT, up.at(0.0)), (RIGHT, up.at(0.0)), "class=\"zero\"");
    if let Some(place) = study.reference {
        svg.line((across(place), 10.0), (across(place), BOTTOM), "class=\"zero\"");
        svg.circle((across(place), up.at(0.0)), 3.5, "class=\"bar\"");
    }
    for (place, one) in event.effects.iter().enumerate().filter_map(|(place, one)| Some((place, one.as_ref()?))) {
        let x = across(place);
        for ((from, to), class) in [(one.together, "class=\"band\""), (one.interval, "class=\"bar\"")] {
            svg.line((x, up.nearest(from)), (x, up.nearest(to)), class);
        }
        svg.circle((x, up.at(one.estimate)), 3.5, "class=\"dot\"");
    }
    let every = study.levels.len().div_ceil(MOST_LABELS);
    for (place, level) in study.levels.iter().enumerate().step_by(every) {
        svg.rich((across(place), BOTTOM + 16.0), Anchor::Middle, WORDS, "class=\"soft\"", level);
    }
    let of = study.of.as_ref().map_or(String::new(), |of| format!(" of {of}"));
    svg.text(((LEFT + RIGHT) / 2.0, HEIGHT - 8.0), Anchor::Middle, "class=\"soft\"", &study.period);
    svg.within_page(&format!("The effect{of} in each {}, with its intervals", study.period), (WIDTH, HEIGHT))
}

/// More labels than this would overlap.
const MOST_LABELS: usize = 16;
