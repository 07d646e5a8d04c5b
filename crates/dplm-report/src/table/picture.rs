//! The coefficients of several results as a picture: a panel for each, in its own units, with the
//! interval of each result in it.

use dplm::{number::significant, report::text::wrapped};

use super::{Column, TableOptions, columns_named, names_shown, notes_of_picture, shown};
use crate::svg::{Anchor, Point, Scale, Svg};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 220.0;
const RIGHT: f64 = 600.0;
/// Where estimates are written.
const NUMBERS: f64 = 748.0;
/// The height of a result in a panel, and of what is between panels.
const LINE: f64 = 20.0;
const BETWEEN: f64 = 34.0;
const SIZE: f64 = 14.0;
const INK: &str = "fill=\"#000000\"";
const SOFT: &str = "fill=\"#555555\"";
const GRID: &str = "stroke=\"#e4e4e4\"";
const ZERO: &str = "stroke=\"#777777\" stroke-dasharray=\"4 3\"";
/// Colours that are told apart without colour sight; shapes differ too.
const COLOURS: [&str; 6] = ["#1f5f9e", "#c05a00", "#1b7a5a", "#8e3b8a", "#6b6b00", "#444444"];

/// A coefficient, and its estimate and interval in each result that has it.
struct Panel<'a> {
    name: &'a str,
    found: Vec<Option<Found>>,
}

struct Found {
    estimate: f64,
    ends: Option<(f64, f64)>,
}

/// The picture of the results' coefficients; the intercept only where it is all there is.
pub(super) fn draw(columns: &[Column], options: &TableOptions) -> String {
    let panels = panels(columns);
    let names = legend(columns, options);
    let mut svg = Svg::new();
    let mut y = heading(&mut svg, options, &names);
    for panel in &panels {
        y = draw_panel(&mut svg, panel, y);
    }
    for note in notes_of_picture(columns) {
        for line in wrapped(&note, 112, "").lines() {
            svg.text((14.0, y), Anchor::Start, &format!("{SOFT} font-size=\"12\""), line);
            y += 16.0;
        }
    }
    let font = format!("font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{SIZE}\"");
    svg.alone(options.title.as_deref().unwrap_or("Coefficients with their intervals"), (WIDTH, y + 2.0), &font)
}

fn panels(columns: &[Column]) -> Vec<Panel<'_>> {
    let of = |name| Panel { name, found: columns.iter().map(|column| found(column, name)).collect() };
    let all: Vec<Panel<'_>> = names_shown(columns).into_iter().map(of).collect();
    let is_slope = |panel: &Panel<'_>| panel.name != "(Intercept)";
    let has_slopes = all.iter().any(is_slope);
    all.into_iter().filter(|panel| is_slope(panel) || !has_slopes).collect()
}

fn found(column: &Column, name: &str) -> Option<Found> {
    let one = shown(&column.fit).find(|one| one.name == name)?;
    Some(Found { estimate: one.estimate?, ends: one.precision.as_ref().map(|found| (found.low, found.high)) })
}

/// What each result is called; empty if there is one result, without a name.
fn legend(columns: &[Column], options: &TableOptions) -> Vec<String> {
    let named = columns_named(columns, options);
    let called = |(place, name): (usize, String)| {
        if name.is_empty() { format!("({})", place + 1) } else { format!("({}) {name}", place + 1) }
    };
    if named.len() == 1 && named[0].is_empty() {
        Vec::new()
    } else {
        named.into_iter().enumerate().map(called).collect()
    }
}

/// The title and the legend; gives how far down they go.
fn heading(svg: &mut Svg, options: &TableOptions, names: &[String]) -> f64 {
    let mut y = 28.0;
    if let Some(title) = &options.title {
        svg.text((14.0, y), Anchor::Start, &format!("{INK} font-size=\"18\""), title);
        y += 26.0;
    }
    let mut x = 20.0;
    for (place, name) in names.iter().enumerate() {
        // About seven units a letter.
        let width = 30.0 + 7.2 * name.chars().count() as f64;
        if x > 20.0 && x + width > WIDTH {
            (x, y) = (20.0, y + LINE);
        }
        mark(svg, (x, y - 5.0), place);
        svg.text((x + 12.0, y), Anchor::Start, SOFT, name);
        x += width;
    }
    y + if names.is_empty() { 0.0 } else { 22.0 }
}

fn draw_panel(svg: &mut Svg, panel: &Panel<'_>, top: f64) -> f64 {
    let bottom = top + LINE * panel.found.len() as f64;
    let across = Scale::linear(reach(panel), (LEFT, RIGHT));
    for tick in across.ticks() {
        svg.line((tick.place, top), (tick.place, bottom), GRID);
        svg.rich((tick.place, bottom + 13.0), Anchor::Middle, 11.0, &format!("{SOFT} font-size=\"11\""), &tick.label);
    }
    if let Some(zero) = across.place(0.0) {
        svg.line((zero, top), (zero, bottom), ZERO);
    }
    let name = shortened(panel.name);
    svg.text((LEFT - 16.0, (top + bottom) / 2.0 + 5.0), Anchor::End, INK, &name);
    for (place, found) in panel.found.iter().enumerate() {
        let y = top + LINE * (place as f64 + 0.5);
        let Some(found) = found else { continue };
        let style = format!("stroke=\"{}\" stroke-width=\"2.5\"", colour(place));
        if let Some((low, high)) = found.ends {
            svg.line((across.nearest(low), y), (across.nearest(high), y), &style);
        }
        mark(svg, (across.at(found.estimate), y), place);
        svg.text((NUMBERS, y + 5.0), Anchor::End, SOFT, &numbers(found));
    }
    bottom + BETWEEN
}

/// An estimate, and what half of its interval is where that is symmetric.
fn numbers(found: &Found) -> String {
    let half = |(low, high): (f64, f64)| {
        let (below, above) = (found.estimate - low, high - found.estimate);
        ((below - above).abs() < 0.01 * (below + above)).then(|| format!(" ± {}", significant((below + above) / 2.0)))
    };
    format!("{}{}", significant(found.estimate), found.ends.and_then(half).unwrap_or_default())
}

/// All intervals, and zero where it is not far from them.
fn reach(panel: &Panel<'_>) -> Point {
    let of = |found: &Found| {
        let (low, high) = found.ends.unwrap_or((found.estimate, found.estimate));
        [found.estimate, low, high]
    };
    let finite = panel.found.iter().flatten().flat_map(of).filter(|end| end.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)));
    if low > high {
        return (0.0, 0.0);
    }
    let far = 2.0 * (high - low);
    let (low, high) =
        (if low > 0.0 && low < far { 0.0 } else { low }, if high < 0.0 && -high < far { 0.0 } else { high });
    let margin = 0.04 * (high - low);
    (low - margin, high + margin)
}

fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

/// A disc, a square, a diamond or a triangle.
fn mark(svg: &mut Svg, (x, y): Point, place: usize) {
    let style = format!("fill=\"{}\"", colour(place));
    match place % 4 {
        0 => svg.circle((x, y), 4.5, &style),
        1 => svg.rect((x - 4.0, y - 4.0), (8.0, 8.0), &style),
        2 => svg.polygon([(x, y - 5.5), (x + 5.5, y), (x, y + 5.5), (x - 5.5, y)], &style),
        _ => svg.polygon([(x, y - 5.5), (x + 5.0, y + 4.0), (x - 5.0, y + 4.0)], &style),
    }
}

/// A name that fits beside its panel.
fn shortened(text: &str) -> String {
    const MOST: usize = 26;
    if text.chars().count() <= MOST { text.to_owned() } else { text.chars().take(MOST - 1).chain(['…']).collect() }
}
