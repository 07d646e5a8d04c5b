//! The cost of privacy: the errors from noise and from sampling as n grows.

use super::{
    DesignName, Experiment, Finished, Measures, Point, Repetitions, Table, all, cell, gamma, grouped, measure, put_mean,
};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Plot, Series},
    record::Values,
    stats::{Estimate, Line},
    trial::{Data, Descending, distance, seed},
};

/// Privacy and sampling error at fixed p.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    design: DesignName,
    p: u32,
    n: Vec<u64>,
    rho: f64,
    steps: u32,
    step_size: f64,
    clip: f64,
    repetitions: Repetitions,
    seed: u64,
}

const ERRORS: [(&str, &str); 3] =
    [("privacy", "privacy: ‖θ_T − θ̂‖"), ("sampling", "sampling: ‖θ̂ − θ*‖"), ("total", "total: ‖θ_T − θ*‖")];

impl Cost {
    fn descending(&self) -> Descending {
        let gamma = gamma(self.clip, f64::from(self.p));
        Descending { rho: self.rho, gamma, steps: self.steps, step_size: self.step_size }
    }

    fn line(done: &[Finished], error: &str) -> Line {
        Line::log_log(&done.iter().map(|one| (one.at("n"), one.estimate(error))).collect::<Vec<_>>())
    }

    /// The root mean square of `||theta_T - theta_hat||` that Lemma "distribution without clipping"
    /// gives for `Sigma = I` and the paper's noise:
    /// `q^2T + p eta^2 lambda^2 (1 - q^2T) / (1 - q^2)`, `q = 1 - eta`,
    /// `lambda^2 = 2 T gamma^2 / (rho n^2)`.
    fn predicted(&self, n: f64) -> f64 {
        let Descending { rho, gamma, steps, step_size } = self.descending();
        let lambda_sq = 2.0 * f64::from(steps) * gamma * gamma / (rho * n * n);
        let contraction = (1.0 - step_size).powi(2);
        let left = contraction.powi(steps as i32);
        let noise = step_size * step_size * lambda_sq * (1.0 - left) / (1.0 - contraction);
        (left + f64::from(self.p) * noise).sqrt()
    }

    /// Points where the noise is small enough for the lemma: hardly a gradient is clipped there.
    fn calm<'a>(&self, done: &'a [Finished]) -> Vec<&'a Finished> {
        done.iter().filter(|one| one.value("clipped") < 0.01).collect()
    }
}

impl Experiment for Cost {
    fn points(&self) -> Vec<Point> {
        let point = |(index, &n): (usize, &u64)| {
            let parameters = [
                ("design", self.design.code() as f64),
                ("p", f64::from(self.p)),
                ("n", n as f64),
                ("rho", self.rho),
                ("steps", f64::from(self.steps)),
                ("step_size", self.step_size),
                ("clip", self.clip),
            ];
            Point::new("cost", &parameters, self.repetitions.at(index), self.seed)
        };
        self.n.iter().enumerate().map(point).collect()
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let n = point.whole("n");
        let words = [self.design.code(), u64::from(self.p), n, repetition];
        let mut data = Data::simulate(&self.design.setting(self.p), n, seed(self.seed, "data", &words))?;
        let truth = data.theta().to_vec();
        let ols = data.least_squares()?.theta;
        let asked = self.descending();
        let run = data.descend(&asked, seed(self.seed, "dpgd", &words))?;
        let found = run.theta.last().expect("a run has a start");
        // If noise clips at all, the last iterate is clipped most.
        let clipped = data.clipped(&asked, &run)?.pop().unwrap_or(0.0);
        Ok(Measures::from([
            measure("privacy", distance(found, &ols)),
            measure("sampling", distance(&ols, &truth)),
            measure("total", distance(found, &truth)),
            measure("clipped", clipped),
        ]))
    }

    fn summarise(&self, _: &Point, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        for name in ["privacy", "sampling", "total", "clipped"] {
            put_mean(&mut values, repetitions, name);
        }
        let squares: Vec<f64> = all(repetitions, "privacy").iter().map(|e| e * e).collect();
        let mean_sq = Estimate::mean(&squares);
        let rms = mean_sq.value.sqrt();
        super::put(&mut values, "privacy.rms", Estimate { value: rms, error: mean_sq.error / (2.0 * rms) });
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let row = |one: &Finished| {
            let [n, p] = ["n", "p"].map(|name| cell(one.at(name)));
            let [privacy, sampling, total] = ["privacy", "sampling", "total"].map(|name| cell(one.value(name)));
            vec![n, p, cell(self.rho), one.point.repetitions.to_string(), privacy, sampling, total]
        };
        let columns = &["n", "p", "rho", "reps", "privacy_error", "sampling_error", "total_error"];
        Table { columns, rows: done.iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let series = ERRORS.map(|(name, label)| {
            let mark = |one: &Finished| Mark::with_error(one.at("n"), &one.estimate(name));
            Series::new(label, done.iter().map(mark).collect())
        });
        Figure::plot(
            format!(
                "p = {}, ρ = {}, γ = {}√p, {} steps of size {}, {}. Mean of {} and its 95 % interval.",
                self.p,
                self.rho,
                self.clip,
                self.steps,
                self.step_size,
                self.design.words(),
                self.repetitions_in_words()
            ),
            Plot {
                x: Axis::log("number of rows n"),
                y: Axis::log("error, Euclidean norm"),
                series: series.into(),
                ..Plot::default()
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let (Some(first), Some(last)) = (done.first(), done.last()) else { return };
        let privacy = Cost::line(done, "privacy");
        let sampling = Cost::line(done, "sampling");
        claims.add(
            "the error of privacy falls as 1/n",
            format!("slope of log error on log n {}", privacy.slope),
            "-1, within 0.08",
            (privacy.slope.value + 1.0).abs() <= 0.08,
        );
        claims.add(
            "the error of sampling falls as 1/√n",
            format!("slope of log error on log n {}", sampling.slope),
            "-1/2, within 0.05",
            (sampling.slope.value + 0.5).abs() <= 0.05,
        );
        let crossing = ((sampling.intercept - privacy.intercept) / (privacy.slope.value - sampling.slope.value)).exp();
        let ratio = last.estimate("sampling").ln().minus(&last.estimate("privacy").ln());
        claims.add(
            "from some n on sampling dominates privacy",
            format!(
                "lines cross at n = {}; at n = {} sampling error {:.2} times privacy error",
                grouped((crossing / 100.0).round() * 100.0),
                grouped(last.at("n")),
                ratio.value.exp()
            ),
            "a crossing inside the figure",
            ratio.interval().0 > 0.0 && crossing > first.at("n"),
        );
        let calm = self.calm(done);
        let ratios: Vec<Estimate> = calm
            .iter()
            .map(|one| one.estimate("privacy.rms").ln())
            .zip(calm.iter().map(|one| self.predicted(one.at("n")).ln()))
            .map(|(found, predicted)| Estimate { value: found.value - predicted, ..found })
            .collect();
        let mean = pooled(&ratios);
        claims.add(
            "the noise is the paper's: λ² = 2Tγ²/(ρn²), and the error that of Lemma “distribution without clipping”",
            format!(
                "{:.3} of the predicted root mean square (95 %: {:.3} to {:.3})",
                mean.value.exp(),
                mean.interval().0.exp(),
                mean.interval().1.exp()
            ),
            "between 0.93 and 1.07",
            !calm.is_empty() && (0.93..=1.07).contains(&mean.value.exp()),
        );
        let constants: Vec<f64> =
            calm.iter().map(|one| one.value("privacy") * self.rho.sqrt() * one.at("n") / f64::from(self.p)).collect();
        let (low, high) = constants.iter().fold((f64::INFINITY, 0.0f64), |(l, h), &c| (l.min(c), h.max(c)));
        claims.add(
            "Theorem “main accuracy”: ‖θ_T − θ̂‖ is a constant times σp/(√ρ n); at a fixed number of steps, without its logarithms",
            format!("constant between {low:.1} and {high:.1} over n from {} on", calm.first().map_or_else(String::new, |one| grouped(one.at("n")))),
            "largest at most 1.25 times the smallest, and between 2 and 50",
            high <= 1.25 * low && low > 2.0 && high < 50.0,
        );
    }
}

/// The mean of independent estimates, weighted by their precision.
fn pooled(estimates: &[Estimate]) -> Estimate {
    let weights: Vec<f64> = estimates.iter().map(|one| one.error.max(1e-9).powi(-2)).collect();
    let total: f64 = weights.iter().sum();
    let value = estimates.iter().zip(&weights).map(|(one, w)| one.value * w).sum::<f64>() / total;
    Estimate { value, error: total.sqrt().recip() }
}
