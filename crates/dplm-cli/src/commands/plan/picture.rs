//! Interval length against the budget, as a picture that every browser opens.

use dplm::plan::{AtBudget, Forecast};
use dplm_report::svg::{Anchor, Scale, Svg};

use crate::layout::{grouped, short};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 70.0;

/// Blue and orange that are told apart without colour sight too; the orange line is also dashed,
/// and both are labelled.
const PRIVATE: &str = "#1f5f9e";
const CLASSICAL: &str = "#c05a00";
const SIZE: f64 = 14.0;
const INK: &str = "fill=\"#000000\"";
const SOFT: &str = "fill=\"#666666\"";

/// Draws the picture as SVG.
pub fn draw(forecast: &Forecast) -> String {
    let curve = &forecast.curve;
    let longest = curve.iter().map(|at| at.times_classical).fold(1.0, f64::max);
    let x = Scale::log((curve[0].rho, curve[curve.len() - 1].rho), (LEFT, WIDTH - RIGHT));
    let y = Scale::log((1.0 / 1.6, longest * 1.15), (HEIGHT - BOTTOM, TOP));
    let mut svg = Svg::new();
    title(&mut svg, forecast);
    axes(&mut svg, &x, &y, forecast.level);
    classical_line(&mut svg, &y);
    private_line(&mut svg, &x, &y, curve);
    asked(&mut svg, &x, &y, forecast);
    let font = format!("font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{SIZE}\"");
    svg.alone("Interval length against privacy budget", (WIDTH, HEIGHT), &font)
}

fn title(svg: &mut Svg, forecast: &Forecast) {
    let under =
        format!("{} rows, {} coefficients, method {}", grouped(forecast.rows), forecast.features, forecast.method);
    svg.text((LEFT, 30.0), Anchor::Start, "fill=\"#000000\" font-size=\"18\"", "What privacy costs in interval length");
    svg.text((LEFT, 50.0), Anchor::Start, SOFT, &under);
}

fn axes(svg: &mut Svg, x: &Scale, y: &Scale, level: f64) {
    const GRID: &str = "stroke=\"#e4e4e4\"";
    const EDGE: &str = "stroke=\"#666666\"";
    let (right, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for tick in x.ticks() {
        svg.line((tick.place, TOP), (tick.place, floor), GRID);
        svg.rich((tick.place, floor + 20.0), Anchor::Middle, SIZE, SOFT, &tick.label);
    }
    for tick in y.ticks() {
        svg.line((LEFT, tick.place), (right, tick.place), GRID);
        svg.rich((LEFT - 8.0, tick.place + 5.0), Anchor::End, SIZE, SOFT, &tick.label);
    }
    svg.line((LEFT, floor), (right, floor), EDGE);
    svg.line((LEFT, TOP), (LEFT, floor), EDGE);
    let below = "privacy budget rho (log scale; less is more private)";
    svg.text(((LEFT + right) / 2.0, HEIGHT - 22.0), Anchor::Middle, INK, below);
    let beside = format!("length of a {} % interval, times that without privacy (log scale)", short(100.0 * level));
    svg.upwards((22.0, (TOP + floor) / 2.0), SIZE, INK, &beside);
}

fn classical_line(svg: &mut Svg, y: &Scale) {
    let at = y.at(1.0);
    let dashed = format!("stroke=\"{CLASSICAL}\" stroke-width=\"2.5\" stroke-dasharray=\"8 5\"");
    svg.line((LEFT, at), (WIDTH - RIGHT, at), &dashed);
    let words = "least squares, not private";
    svg.text((LEFT + 10.0, at + 20.0), Anchor::Start, &format!("fill=\"{CLASSICAL}\""), words);
}

fn private_line(svg: &mut Svg, x: &Scale, y: &Scale, curve: &[AtBudget]) {
    let place = |at: &AtBudget| (x.at(at.rho), y.at(at.times_classical));
    let solid = format!("fill=\"none\" stroke=\"{PRIVATE}\" stroke-width=\"2.5\"");
    svg.polyline(curve.iter().map(place), &solid);
    let (right, up) = place(&curve[curve.len() / 5]);
    svg.text((right + 12.0, up - 6.0), Anchor::Start, &format!("fill=\"{PRIVATE}\""), "private fit");
}

/// A dot at the budget asked for.
fn asked(svg: &mut Svg, x: &Scale, y: &Scale, forecast: &Forecast) {
    let (right, up) = (x.at(forecast.rho), y.at(forecast.fit.times_classical));
    let label = format!("rho {}: {:.2} times as long", short(forecast.rho), forecast.fit.times_classical);
    svg.circle((right, up), 5.0, &format!("fill=\"{PRIVATE}\""));
    svg.text((right + 10.0, up - 10.0), Anchor::Start, INK, &label);
}
