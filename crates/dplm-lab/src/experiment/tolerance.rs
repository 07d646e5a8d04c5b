//! Error against the share of gradients clipped, for several lengths of the run.

use super::{DesignName, Experiment, Finished, Measures, Point, Table, cell, gamma, grouped, measure, put_mean};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Plot, Series},
    record::Values,
    stats::Estimate,
    trial::{Data, Descending, distance, seed},
};

/// Error against the proportion clipped.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    design: DesignName,
    p: u32,
    n: u64,
    rho: f64,
    step_size: f64,
    total_steps: Vec<u32>,
    /// gamma / sqrt(p), falling
    clip: Vec<f64>,
    repetitions: u32,
    seed: u64,
}

impl Tolerance {
    fn curve(done: &[Finished], steps: u32) -> Vec<&Finished> {
        let mut curve: Vec<_> = done.iter().filter(|one| one.at("steps") == f64::from(steps)).collect();
        curve.sort_by(|a, b| a.value("clipped").total_cmp(&b.value("clipped")));
        curve
    }

    /// The error at which half of all gradients are clipped, interpolated between the nearest
    /// points.
    fn at_half(curve: &[&Finished]) -> Option<f64> {
        let pair = curve.windows(2).find(|pair| pair[0].value("clipped") <= 0.5 && pair[1].value("clipped") > 0.5)?;
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]].map(|one| (one.value("clipped"), one.value("error")));
        Some(y0 + (y1 - y0) * (0.5 - x0) / (x1 - x0))
    }

    /// The largest share clipped at which the error is no more than twice the least.
    fn tolerated(curve: &[&Finished]) -> f64 {
        let least = curve.iter().map(|one| one.value("error")).fold(f64::INFINITY, f64::min);
        let kept = curve.iter().filter(|one| one.value("error") <= 2.0 * least);
        kept.map(|one| one.value("clipped")).fold(0.0, f64::max)
    }
}

impl Experiment for Tolerance {
    fn points(&self) -> Vec<Point> {
        let point = |steps: u32, clip: f64| {
            let parameters = [
                ("design", self.design.code() as f64),
                ("p", f64::from(self.p)),
                ("n", self.n as f64),
                ("rho", self.rho),
                ("steps", f64::from(steps)),
                ("step_size", self.step_size),
                ("clip", clip),
            ];
            Point::new("tolerance", &parameters, self.repetitions, self.seed)
        };
        self.total_steps.iter().flat_map(|&steps| self.clip.iter().map(move |&clip| point(steps, clip))).collect()
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let (steps, clip) = (point.whole("steps"), point.get("clip"));
        let words = [u64::from(self.p), self.n, repetition];
        let mut data = Data::simulate(&self.design.setting(self.p), self.n, seed(self.seed, "data", &words))?;
        let gamma = gamma(clip, f64::from(self.p));
        let asked = Descending { rho: self.rho, gamma, steps: steps as u32, step_size: self.step_size };
        let run = data.descend(&asked, seed(self.seed, "dpgd", &[words[0], words[1], steps, repetition]))?;
        let clipped = Estimate::mean(&data.clipped(&asked, &run)?).value;
        let found = run.theta.last().expect("a run has a start");
        Ok(Measures::from([measure("clipped", clipped), measure("error", distance(found, data.theta()))]))
    }

    fn summarise(&self, _: &Point, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        ["clipped", "error"].iter().for_each(|name| put_mean(&mut values, repetitions, name));
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let row = |one: &Finished| {
            let [steps, clip] = ["steps", "clip"].map(|name| cell(one.at(name)));
            vec![steps, clip, cell(one.value("clipped")), cell(one.value("error"))]
        };
        let columns = &["total_steps", "gamma_over_sqrtp", "clipped", "error"];
        Table { columns, rows: done.iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let series = self.total_steps.iter().map(|&steps| {
            let mark = |one: &&Finished| Mark::with_error(100.0 * one.value("clipped"), &one.estimate("error"));
            Series::new(format!("{steps} steps"), Tolerance::curve(done, steps).iter().map(mark).collect())
        });
        Figure::plot(
            format!(
                "p = {}, n = {}, ρ = {}, step size {}, {}; γ from {}√p (left) to {}√p (right). Mean of {} repetitions and its 95 % interval.",
                self.p,
                grouped(self.n as f64),
                self.rho,
                self.step_size,
                self.design.words(),
                cell(self.clip.iter().copied().fold(0.0, f64::max)),
                cell(self.clip.iter().copied().fold(f64::INFINITY, f64::min)),
                self.repetitions
            ),
            Plot {
                x: Axis::linear("gradients clipped (%)").from(0.0).to(100.0),
                y: Axis::log("error ‖θ_T − θ*‖"),
                series: series.collect(),
                ..Plot::default()
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let curves: Vec<_> = self.total_steps.iter().map(|&steps| (steps, Tolerance::curve(done, steps))).collect();
        for (steps, curve) in &curves {
            let Some(widest) = curve.first() else { return };
            let half = Tolerance::at_half(curve).unwrap_or(f64::INFINITY);
            let unclipped = widest.value("error");
            claims.add(
                format!("with {steps} steps the error is low even where half of all gradients are clipped"),
                format!(
                    "{half:.4}, against {unclipped:.4} at γ = {}√p ({:.1} % clipped)",
                    widest.at("clip"),
                    100.0 * widest.value("clipped")
                ),
                "no more than with hardly any clipping",
                half <= unclipped,
            );
        }
        let tolerated: Vec<f64> = curves.iter().map(|(_, curve)| Tolerance::tolerated(curve)).collect();
        let words: Vec<String> = curves
            .iter()
            .zip(&tolerated)
            .map(|((steps, _), share)| format!("{:.0} % with {steps}", 100.0 * share))
            .collect();
        claims.add(
            "more steps tolerate more clipping",
            format!("error within twice its least up to {} steps", words.join(", ")),
            "never less with more steps, and more at the last than at the first",
            tolerated.windows(2).all(|pair| pair[1] >= pair[0] - 0.02) && tolerated.last() > tolerated.first(),
        );
    }
}
