//! Interval length against the budget, as a picture anybody can open.

use dplm::forecast::{AtBudget, Forecast};

use crate::layout::{grouped, short};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 70.0;

/// Blue and orange that are told apart without colour sight too; the orange line is also dashed, and both are labelled.
const PRIVATE: &str = "#1f5f9e";
const CLASSICAL: &str = "#c05a00";
const GREY: &str = "#666";

/// A logarithmic axis from numbers to places.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// 1, 2 and 5 times powers of ten; only the powers when there would be too many.
    fn ticks(&self) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let inside = |&tick: &f64| tick >= self.low * (1.0 - 1e-9) && tick <= self.high * (1.0 + 1e-9);
        let of = |steps: &[f64]| -> Vec<f64> {
            decades.clone().flat_map(|k| steps.iter().map(move |step| step * 10f64.powi(k))).filter(inside).collect()
        };
        let fine = of(&[1.0, 2.0, 5.0]);
        if fine.len() > 9 { of(&[1.0]) } else { fine }
    }
}

/// Draws the picture as SVG.
pub fn draw(forecast: &Forecast) -> String {
    let curve = &forecast.curve;
    let classical = forecast.classical.length;
    let longest = curve.iter().map(|at| at.length).fold(classical, f64::max);
    let x = Axis { low: curve[0].rho, high: curve[curve.len() - 1].rho, from: LEFT, to: WIDTH - RIGHT };
    let y = Axis { low: classical / 1.6, high: longest * 1.15, from: HEIGHT - BOTTOM, to: TOP };
    let parts = [
        title(forecast),
        axes(&x, &y, forecast.level),
        classical_line(&x, &y, classical),
        private_line(&x, &y, curve),
        asked(&x, &y, forecast),
    ];
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"14\" role=\"img\" aria-label=\"Interval length against privacy budget\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n{}</svg>\n",
        parts.concat()
    )
}

fn title(forecast: &Forecast) -> String {
    let under = format!(
        "{} rows, {} coefficients, errors of standard deviation {}",
        grouped(forecast.rows),
        forecast.features,
        forecast.noise_sd
    );
    text(LEFT, 30.0, "start", "#000", "font-size=\"18\"", "What privacy costs in interval length")
        + &text(LEFT, 50.0, "start", GREY, "", &under)
}

fn axes(x: &Axis, y: &Axis, level: f64) -> String {
    let floor = HEIGHT - BOTTOM;
    let mut svg = String::new();
    for tick in x.ticks() {
        let at = x.place(tick);
        svg += &line(at, TOP, at, floor, "#e4e4e4", "");
        svg += &text(at, floor + 20.0, "middle", GREY, "", &plain(tick));
    }
    for tick in y.ticks() {
        let at = y.place(tick);
        svg += &line(LEFT, at, WIDTH - RIGHT, at, "#e4e4e4", "");
        svg += &text(LEFT - 8.0, at + 5.0, "end", GREY, "", &plain(tick));
    }
    svg += &line(LEFT, floor, WIDTH - RIGHT, floor, GREY, "");
    svg += &line(LEFT, TOP, LEFT, floor, GREY, "");
    svg += &text(
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 22.0,
        "middle",
        "#000",
        "",
        "privacy budget rho (log scale; less is more private)",
    );
    let middle = (TOP + floor) / 2.0;
    let turned = format!("transform=\"rotate(-90 22 {middle})\"");
    svg + &text(
        22.0,
        middle,
        "middle",
        "#000",
        &turned,
        &format!("length of a {} % interval (log scale)", short(100.0 * level)),
    )
}

fn classical_line(x: &Axis, y: &Axis, length: f64) -> String {
    let at = y.place(length);
    line(x.from, at, x.to, at, CLASSICAL, "stroke-width=\"2.5\" stroke-dasharray=\"8 5\"")
        + &text(x.from + 10.0, at + 20.0, "start", CLASSICAL, "", "least squares, not private")
}

fn private_line(x: &Axis, y: &Axis, curve: &[AtBudget]) -> String {
    let points: Vec<String> =
        curve.iter().map(|at| format!("{:.1},{:.1}", x.place(at.rho), y.place(at.length))).collect();
    let label = &curve[curve.len() / 5];
    format!("<polyline points=\"{}\" fill=\"none\" stroke=\"{PRIVATE}\" stroke-width=\"2.5\"/>\n", points.join(" "))
        + &text(x.place(label.rho) + 12.0, y.place(label.length) - 6.0, "start", PRIVATE, "", "private fit")
}

/// A dot at the budget asked for.
fn asked(x: &Axis, y: &Axis, forecast: &Forecast) -> String {
    let (at, height) = (x.place(forecast.rho), y.place(forecast.fit.length));
    let label = format!("rho {}: {:.2} times as long", short(forecast.rho), forecast.fit.times_classical);
    format!("<circle cx=\"{at:.1}\" cy=\"{height:.1}\" r=\"5\" fill=\"{PRIVATE}\"/>\n")
        + &text(at + 10.0, height - 10.0, "start", "#000", "", &label)
}

fn line(x1: f64, y1: f64, x2: f64, y2: f64, colour: &str, more: &str) -> String {
    format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" {more}/>\n")
}

fn text(x: f64, y: f64, anchor: &str, colour: &str, more: &str, words: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\" {more}>{words}</text>\n")
}

/// A tick's number without more digits than it has.
fn plain(tick: f64) -> String {
    let rounded: f64 = format!("{tick:.3e}").parse().expect("a printed number reads back");
    if (1e-4..1e5).contains(&rounded) { format!("{rounded}") } else { format!("{rounded:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_inside() {
        let axis = Axis { low: 0.03, high: 1.5, from: 0.0, to: 1.0 };
        let ticks: Vec<String> = axis.ticks().into_iter().map(plain).collect();
        assert_eq!(ticks, ["0.05", "0.1", "0.2", "0.5", "1"]);
        assert!((axis.place(0.03), axis.place(1.5)) == (0.0, 1.0));
        let wide = Axis { low: 1e-6, high: 1.0, from: 0.0, to: 1.0 };
        assert_eq!(wide.ticks().into_iter().map(plain).next(), Some("1e-6".to_owned()));
    }
}
