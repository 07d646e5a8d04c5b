//! Bias and variance as the clipping threshold moves.

use dplm_simulate::Setting;

use super::{
    DesignName, Experiment, Finished, Measures, Point, Table, all, cell, gamma, grouped, measure, put, put_mean,
};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Plot, Series},
    record::Values,
    stats::Estimate,
    trial::{Data, Descending, distance, seed},
};

/// Squared error, squared bias and variance against gamma.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tradeoff {
    design: DesignName,
    p: u32,
    n: u64,
    rho: f64,
    steps: u32,
    step_size: f64,
    /// gamma / sqrt(p)
    clip: Vec<f64>,
    repetitions: u32,
    seed: u64,
}

const PARTS: [(&str, &str); 3] = [("mse", "mean squared error"), ("bias_sq", "squared bias"), ("variance", "variance")];

impl Tradeoff {
    /// One truth for all repetitions, so that bias is defined; drawn from the sphere like any
    /// other.
    fn setting(&self) -> Result<Setting, LabError> {
        let drawn = self.design.setting(self.p).draw(seed(self.seed, "truth", &[u64::from(self.p)]))?;
        Ok(Setting { theta: Some(drawn.theta().to_vec()), ..self.design.setting(self.p) })
    }

    fn best(done: &[Finished]) -> usize {
        let lower =
            |(_, a): &(usize, &Finished), (_, b): &(usize, &Finished)| a.value("mse").total_cmp(&b.value("mse"));
        done.iter().enumerate().min_by(lower).map_or(0, |(index, _)| index)
    }
}

impl Experiment for Tradeoff {
    fn points(&self) -> Vec<Point> {
        let point = |&clip: &f64| {
            let parameters = [
                ("design", self.design.code() as f64),
                ("p", f64::from(self.p)),
                ("n", self.n as f64),
                ("rho", self.rho),
                ("steps", f64::from(self.steps)),
                ("step_size", self.step_size),
                ("clip", clip),
            ];
            Point::new("tradeoff", &parameters, self.repetitions, self.seed)
        };
        self.clip.iter().map(point).collect()
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let clip = point.get("clip");
        // The same data and the same noise, up to its scale, at every threshold: the curves differ
        // by the threshold alone.
        let words = [u64::from(self.p), self.n, repetition];
        let mut data = Data::simulate(&self.setting()?, self.n, seed(self.seed, "data", &words))?;
        let asked = Descending {
            rho: self.rho,
            gamma: gamma(clip, f64::from(self.p)),
            steps: self.steps,
            step_size: self.step_size,
        };
        let run = data.descend(&asked, seed(self.seed, "dpgd", &words))?;
        let clipped = Estimate::mean(&data.clipped(&asked, &run)?).value;
        let found = run.theta.last().expect("a run has a start");
        let off: Vec<f64> = found.iter().zip(data.theta()).map(|(found, truth)| found - truth).collect();
        Ok(Measures::from([
            measure("clipped", clipped),
            measure("mse", distance(found, data.theta()).powi(2)),
            ("off".to_owned(), off),
        ]))
    }

    fn summarise(&self, _: &Point, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        put_mean(&mut values, repetitions, "clipped");
        put_mean(&mut values, repetitions, "mse");
        let (p, count) = (self.p as usize, repetitions.len() as f64);
        let off = all(repetitions, "off");
        let columns = (0..p).map(|j| off.iter().skip(j).step_by(p).copied().collect::<Vec<f64>>());
        let coordinates: Vec<Estimate> = columns.map(|column| Estimate::mean(&column)).collect();
        // The squared mean of a sample is biased upwards by the variance of that mean.
        let noise: f64 = coordinates.iter().map(|one| one.error.powi(2)).sum();
        let bias_sq = coordinates.iter().map(|one| one.value.powi(2)).sum::<f64>() - noise;
        let bias_error =
            coordinates.iter().map(|one| (2.0 * one.value * one.error).powi(2) + 2.0 * one.error.powi(4)).sum::<f64>();
        put(&mut values, "bias_sq", Estimate { value: bias_sq.max(0.0), error: bias_error.sqrt() });
        let variance = noise * count;
        let freedom = (count - 1.0).max(1.0) * f64::from(self.p);
        put(&mut values, "variance", Estimate { value: variance, error: variance * (2.0 / freedom).sqrt() });
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let row = |one: &Finished| {
            let parts = ["bias_sq", "variance", "mse", "clipped"].map(|name| cell(one.value(name)));
            std::iter::once(cell(one.at("clip"))).chain(parts).collect()
        };
        let columns = &["gamma_over_sqrtp", "bias_sq", "variance", "mse", "clipped"];
        Table { columns, rows: done.iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let series = PARTS.map(|(name, label)| {
            let mark = |one: &Finished| {
                let mark = Mark::with_error(one.at("clip"), &one.estimate(name));
                if name == "mse" { mark.noted(percent(one.value("clipped"))) } else { mark }
            };
            Series::new(label, done.iter().map(mark).collect())
        });
        Figure::plot(
            format!(
                "p = {}, n = {}, ρ = {}, {} steps of size {}, {}, error against θ*. Numbers: percentage of all gradients clipped. \
                 {} repetitions, 95 % intervals.",
                self.p,
                grouped(self.n as f64),
                self.rho,
                self.steps,
                self.step_size,
                self.design.words(),
                self.repetitions
            ),
            Plot {
                x: Axis::log("clipping threshold γ / √p"),
                y: Axis::log("squared error, ‖·‖²").from(1e-4),
                series: series.into(),
                ..Plot::default()
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let (Some(first), Some(last)) = (done.first(), done.last()) else { return };
        let best = &done[Tradeoff::best(done)];
        let above = |end: &Finished| end.estimate("mse").ln().minus(&best.estimate("mse").ln());
        claims.add(
            "the error has the shape of a U: too little and too much clipping both cost",
            format!(
                "best at γ = {}√p; {:.1} times the error at {}√p, {:.1} times at {}√p",
                best.at("clip"),
                above(first).value.exp(),
                first.at("clip"),
                above(last).value.exp(),
                last.at("clip")
            ),
            "both ends above the best, surely",
            above(first).interval().0 > 0.0 && above(last).interval().0 > 0.0,
        );
        claims.add(
            "the lowest error occurs under real clipping",
            format!("{:.0} % of gradients clipped at the best γ", 100.0 * best.value("clipped")),
            "at least 5 %",
            best.value("clipped") >= 0.05,
        );
        let share = |one: &Finished| one.value("bias_sq") / one.value("mse");
        claims.add(
            "low thresholds give bias, high ones variance",
            format!(
                "bias is {:.0} % of the error at the lowest γ and {:.1} % at the highest",
                100.0 * share(first),
                100.0 * share(last)
            ),
            "above 50 % and below 10 %",
            share(first) > 0.5 && share(last) < 0.1,
        );
    }
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        _ if percent >= 9.95 => format!("{percent:.0}"),
        _ if percent >= 0.095 => format!("{percent:.1}"),
        _ if percent > 0.0 => "<0.1".to_owned(),
        _ => "0".to_owned(),
    }
}
