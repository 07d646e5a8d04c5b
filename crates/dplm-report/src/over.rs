//! The mean response over a column as a picture of its own.

use dplm::{
    Over, OverPoint, OverValue,
    report::text::{percent, wrapped},
};

use crate::svg::{Anchor, Point, Scale, Svg};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 730.0;
const TOP: f64 = 66.0;
/// The height of a line of words.
const LINE_HEIGHT: f64 = 18.0;
const BOTTOM: f64 = 410.0;
const SIZE: f64 = 14.0;

const INK: &str = "fill=\"#000000\"";
const SOFT: &str = "fill=\"#555555\"";
const GRID: &str = "stroke=\"#e4e4e4\"";
const LINE: &str = "fill=\"none\" stroke=\"#1f5f9e\" stroke-width=\"2.5\"";
const BAND: &str = "fill=\"#1f5f9e\" fill-opacity=\"0.18\"";
const DOT: &str = "fill=\"#1f5f9e\"";

/// A band over the range of a number, or a dot with its interval for each level, as SVG.
pub fn over_svg(over: &Over) -> String {
    let held = held(over);
    let top = TOP + LINE_HEIGHT * held.len() as f64;
    let up = Scale::linear(heights(over), (BOTTOM, top));
    let mut svg = Svg::new();
    for tick in up.ticks() {
        svg.line((LEFT, tick.place), (RIGHT, tick.place), GRID);
        svg.rich((LEFT - 8.0, tick.place + 5.0), Anchor::End, SIZE, SOFT, &tick.label);
    }
    match numbers(over) {
        Some(numbers) => band(&mut svg, over, &numbers, &up, top),
        None => dots(&mut svg, over, &up),
    }
    words(&mut svg, over, &held);
    let font = format!("font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{SIZE}\"");
    svg.alone(&title(over), (WIDTH, HEIGHT), &font)
}

fn title(over: &Over) -> String {
    format!("The mean of {} over {}", over.response, over.column)
}

fn words(svg: &mut Svg, over: &Over, held: &[String]) {
    svg.text((LEFT, 28.0), Anchor::Start, &format!("{INK} font-size=\"18\""), &title(over));
    let intervals = format!("with {} % intervals, {}", percent(over.level), over.coverage);
    svg.text((LEFT, 48.0), Anchor::Start, SOFT, &intervals);
    for (place, line) in held.iter().enumerate() {
        svg.text((LEFT, TOP + LINE_HEIGHT * place as f64), Anchor::Start, SOFT, line);
    }
    svg.text(((LEFT + RIGHT) / 2.0, HEIGHT - 22.0), Anchor::Middle, INK, &over.column);
    svg.line((LEFT, BOTTOM), (RIGHT, BOTTOM), "stroke=\"#666666\"");
}

/// Where the other columns are, on as many lines as that takes.
fn held(over: &Over) -> Vec<String> {
    const MOST: usize = 84;
    if over.held.is_empty() {
        return Vec::new();
    }
    wrapped(&format!("at {}", over.held.join(", ")), MOST, "").lines().map(str::to_owned).collect()
}

fn numbers(over: &Over) -> Option<Vec<f64>> {
    let number = |point: &OverPoint| match point.value {
        OverValue::Number(number) => Some(number),
        OverValue::Level(_) => None,
    };
    over.points.iter().map(number).collect()
}

/// The ends of what is drawn.
fn heights(over: &Over) -> (f64, f64) {
    let of = |point: &OverPoint| {
        let (low, high) = point.prediction.interval.unwrap_or((f64::NAN, f64::NAN));
        [point.prediction.estimate, low, high]
    };
    let finite = over.points.iter().flat_map(of).filter(|height| height.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), height| (low.min(height), high.max(height)));
    let margin = 0.04 * (high - low);
    (low - margin, high + margin)
}

fn band(svg: &mut Svg, over: &Over, numbers: &[f64], up: &Scale, top: f64) {
    let across = Scale::linear((numbers[0], numbers[numbers.len() - 1]), (LEFT, RIGHT));
    for tick in across.ticks() {
        svg.line((tick.place, top), (tick.place, BOTTOM), GRID);
        svg.rich((tick.place, BOTTOM + 20.0), Anchor::Middle, SIZE, SOFT, &tick.label);
    }
    let known = || over.points.iter().zip(numbers).filter_map(|(point, x)| Some((*x, point.prediction.interval?)));
    let lower = known().map(|(x, (low, _))| (across.at(x), up.nearest(low)));
    let upper: Vec<Point> = known().map(|(x, (_, high))| (across.at(x), up.nearest(high))).collect();
    svg.polygon(lower.chain(upper.into_iter().rev()), BAND);
    let middle = over.points.iter().zip(numbers).map(|(point, x)| (across.at(*x), up.at(point.prediction.estimate)));
    svg.polyline(middle, LINE);
}

fn dots(svg: &mut Svg, over: &Over, up: &Scale) {
    let step = (RIGHT - LEFT) / over.points.len() as f64;
    // About seven units a letter: longer names than there is room for are turned.
    let longest = over.points.iter().map(|point| point.value.to_string().chars().count()).max().unwrap_or(0);
    let is_narrow = 7.0 * longest as f64 > step;
    for (index, point) in over.points.iter().enumerate() {
        let x = LEFT + step * (index as f64 + 0.5);
        if let Some((low, high)) = point.prediction.interval {
            svg.line((x, up.nearest(low)), (x, up.nearest(high)), LINE);
        }
        svg.circle((x, up.at(point.prediction.estimate)), 5.0, DOT);
        if is_narrow {
            let turned = format!("{SOFT} transform=\"rotate(-25 {x} {})\"", BOTTOM + 16.0);
            svg.text((x, BOTTOM + 16.0), Anchor::End, &turned, &point.value.to_string());
        } else {
            svg.text((x, BOTTOM + 20.0), Anchor::Middle, SOFT, &point.value.to_string());
        }
    }
}
