//! The pictures of the page: the budget over time, and what each analyst has spent.

use dplm_report::svg::{Anchor, Point, Scale, Svg};

use crate::{Account, Allowance, Amount, Entry, balance::Balance};

const WIDTH: f64 = 480.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 470.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 142.0;
const HEIGHT: f64 = 180.0;
/// The approximate height of text.
const WORDS: f64 = 10.0;
/// The end of the names and the start of the bars.
const NAMES: f64 = 120.0;
/// The distance between bars.
const LINE: f64 = 20.0;
const BAR: f64 = 11.0;
/// The width for numbers after a bar.
const NUMBERS: f64 = 110.0;

/// The amounts granted and spent, in steps. A grant that was taken back is left out from its start:
/// one of 10 in place of 0.1 would flatten everything else.
pub fn over_time(account: &Account) -> String {
    let entries = &account.entries;
    let seconds: Vec<f64> = entries.iter().map(seconds).collect();
    let (first, last) =
        seconds.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &time| (low.min(time), high.max(time)));
    let sums = sums_after_each(entries);
    // In an overdrawn account, more is spent than was granted.
    let most = sums.iter().flatten().copied().fold(0.0, f64::max);
    let (across, up) = (Scale::linear((first, last), (LEFT, RIGHT)), Scale::linear((0.0, most), (BOTTOM, TOP)));
    let mut svg = Svg::new();
    for tick in up.ticks() {
        svg.line((LEFT, tick.place), (RIGHT, tick.place), "class=\"grid\"");
        svg.rich((LEFT - 8.0, tick.place + 4.0), Anchor::End, WORDS, "class=\"soft\"", &tick.label);
    }
    for (place, anchor, entry) in [(LEFT, Anchor::Start, entries.first()), (RIGHT, Anchor::End, entries.last())] {
        let time = entry.map_or(String::new(), super::minute);
        svg.text((place, BOTTOM + 18.0), anchor, "class=\"soft\"", &time);
    }
    svg.text(((LEFT + RIGHT) / 2.0, HEIGHT - 6.0), Anchor::Middle, "class=\"soft\"", "time (UTC)");
    for (which, style) in [(0, "class=\"path s1\" stroke-dasharray=\"6 4\""), (1, "class=\"bar\"")] {
        let heights: Vec<f64> = sums.iter().map(|pair| up.at(pair[which])).collect();
        let places: Vec<f64> = seconds.iter().map(|&time| across.at(time)).collect();
        svg.polyline(staircase(&places, &heights, up.at(0.0)), style);
    }
    let words = "The budget over time, in rho: granted, without what was taken back (dashed), and spent (solid)";
    svg.within_page(words, (WIDTH, HEIGHT)) + &format!("<p>{words}.</p>\n")
}

fn seconds(entry: &Entry) -> f64 {
    entry.time.parse().map_or(0.0, |time: jiff::Timestamp| time.as_second() as f64)
}

/// The amounts granted and spent after each entry; a grant counts without what a later entry takes
/// back.
fn sums_after_each(entries: &[Entry]) -> Vec<[f64; 2]> {
    let mut balance = Balance::new(entries);
    let after = |entry| {
        // An account's entries were verified.
        let _ = balance.add(entry);
        [balance.granted, balance.spent].map(|units| Amount(units).to_f64())
    };
    let mut sums: Vec<[f64; 2]> = entries.iter().map(after).collect();
    let mut lasting = f64::INFINITY;
    for [granted, _] in sums.iter_mut().rev() {
        lasting = lasting.min(*granted);
        *granted = lasting;
    }
    sums
}

/// The corners of a line that keeps its height until the next entry. If a clock was set back, the
/// line steps upwards, not backwards.
fn staircase(places: &[f64], heights: &[f64], start: f64) -> Vec<Point> {
    let mut points = vec![(LEFT, start)];
    let (mut latest, mut height) = (LEFT, start);
    for (&place, &next) in places.iter().zip(heights) {
        latest = place.max(latest);
        points.extend([(latest, height), (latest, next)]);
        height = next;
    }
    points.push((RIGHT, height));
    points
}

/// A bar for each analyst: the amount spent, and a mark at the limit. Empty if no analyst has spent
/// or is limited.
pub fn of_analysts(account: &Account) -> String {
    let shown = &account.analysts;
    let most =
        shown.iter().flat_map(|one| [Some(one.spent), one.limit]).flatten().max().map_or(0.0, |most| most.to_f64());
    if shown.is_empty() || most == 0.0 {
        return String::new();
    }
    let across = Scale::linear((0.0, most), (NAMES, RIGHT - NUMBERS));
    let mut svg = Svg::new();
    for (place, one) in (0..).zip(shown) {
        bar(&mut svg, one, &across, TOP + LINE * f64::from(place));
    }
    let height = TOP + LINE * shown.len() as f64;
    let words = "What each analyst has spent, in rho; a vertical mark is their limit";
    svg.within_page(words, (WIDTH, height)) + &format!("<p>{words}.</p>\n")
}

fn bar(svg: &mut Svg, one: &Allowance, across: &Scale, top: f64) {
    let start = across.at(0.0);
    let [spent, limit] = [Some(one.spent), one.limit].map(|amount| amount.map(|amount| across.at(amount.to_f64())));
    let middle = top + BAR / 2.0 + 3.5;
    svg.text((start - 8.0, middle), Anchor::End, "", &short_name(&one.analyst));
    if let Some(limit) = limit {
        svg.rect((start, top), (limit - start, BAR), "class=\"room\"");
    }
    let end = spent.unwrap_or(start);
    svg.rect((start, top), (end - start, BAR), "class=\"f0\"");
    if let Some(limit) = limit {
        svg.line((limit, top - 2.0), (limit, top + BAR + 2.0), "class=\"limit\"");
    }
    let numbers = match one.limit {
        Some(limit) => format!("{} of {limit}", one.spent),
        None => one.spent.to_string(),
    };
    svg.text((end.max(limit.unwrap_or(end)) + 8.0, middle), Anchor::Start, "class=\"soft\"", &numbers);
}

/// A name that fits beside a bar.
fn short_name(name: &str) -> String {
    const MOST: usize = 18;
    match name.char_indices().nth(MOST) {
        None if name.is_empty() => "nobody named".to_owned(),
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}
