//! Error as p grows with n at a fixed ratio: DP-GD, AdaSSP and least squares.

use super::{
    DesignName, Experiment, Finished, Measures, Point, Repetitions, Table, cell, gamma, grouped, measure, put_mean,
};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Plot, Series},
    record::Values,
    stats::{Estimate, Line},
    trial::{Data, Descending, distance, seed},
};

/// Error at a fixed ratio of features to rows.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    design: DesignName,
    p: Vec<u32>,
    rows_per_feature: u64,
    rho: f64,
    steps: u32,
    step_size: f64,
    clip: f64,
    column_sd: f64,
    repetitions: Repetitions,
    seed: u64,
}

const METHODS: [(&str, &str); 3] = [("dpgd", "DP-GD"), ("adassp", "AdaSSP"), ("ols", "OLS")];

impl Ratio {
    fn descending(&self, p: f64) -> Descending {
        Descending { rho: self.rho, gamma: gamma(self.clip, p), steps: self.steps, step_size: self.step_size }
    }

    /// A method's distance from the paper's reference: least squares for the private ones, the
    /// truth for itself.
    fn error(done: &Finished, method: &str) -> Estimate {
        let target = if method == "ols" { "true" } else { "ols" };
        done.estimate(&format!("{method}.{target}"))
    }

    fn line(done: &[Finished], method: &str) -> Line {
        let points: Vec<_> = done.iter().map(|one| (one.at("p"), Ratio::error(one, method))).collect();
        Line::log_log(&points)
    }
}

impl Experiment for Ratio {
    fn points(&self) -> Vec<Point> {
        let point = |(index, &p): (usize, &u32)| {
            let n = (u64::from(p) * self.rows_per_feature) as f64;
            let parameters = [
                ("design", self.design.code() as f64),
                ("p", f64::from(p)),
                ("n", n),
                ("rho", self.rho),
                ("steps", f64::from(self.steps)),
                ("step_size", self.step_size),
                ("clip", self.clip),
                ("column_sd", self.column_sd),
            ];
            Point::new("ratio", &parameters, self.repetitions.at(index), self.seed)
        };
        self.p.iter().enumerate().map(point).collect()
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let (p, n) = (point.get("p"), point.whole("n"));
        let words = [point.whole("design"), p as u64, n, repetition];
        let mut data = Data::simulate(&self.design.setting(p as u32), n, seed(self.seed, "data", &words))?;
        let truth = data.theta().to_vec();
        let ols = data.least_squares()?.theta;
        let asked = self.descending(p);
        let run = data.descend(&asked, seed(self.seed, "dpgd", &words))?;
        let clipped = data.clipped(&asked, &run)?;
        let dpgd = run.theta.last().expect("a run has a start");
        let adassp = data.adassp(self.rho, self.column_sd, seed(self.seed, "adassp", &words))?;
        Ok(Measures::from([
            measure("dpgd.true", distance(dpgd, &truth)),
            measure("dpgd.ols", distance(dpgd, &ols)),
            measure("adassp.true", distance(&adassp.theta, &truth)),
            measure("adassp.ols", distance(&adassp.theta, &ols)),
            measure("adassp.ridge", adassp.ridge / n as f64),
            measure("ols.true", distance(&ols, &truth)),
            measure("clipped", Estimate::mean(&clipped).value),
        ]))
    }

    fn summarise(&self, _: &Point, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        for name in ["dpgd.true", "dpgd.ols", "adassp.true", "adassp.ols", "adassp.ridge", "ols.true", "clipped"] {
            put_mean(&mut values, repetitions, name);
        }
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let rows = done.iter().flat_map(|one| {
            METHODS.map(|(method, _)| {
                let ols = if method == "ols" { 0.0 } else { one.value(&format!("{method}.ols")) };
                let clipped = if method == "dpgd" { cell(one.value("clipped")) } else { String::new() };
                let [p, n] = ["p", "n"].map(|name| cell(one.at(name)));
                let reps = one.point.repetitions.to_string();
                vec![p, n, method.into(), reps, cell(one.value(&format!("{method}.true"))), cell(ols), clipped]
            })
        });
        Table { columns: &["p", "n", "method", "reps", "error_true", "error_ols", "clipped"], rows: rows.collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let series = METHODS.map(|(method, label)| {
            let mark = |one: &Finished| Mark::with_error(one.at("p"), &Ratio::error(one, method));
            let label = match method {
                "ols" => format!("{label}, to the truth"),
                _ => format!("{label}, to least squares"),
            };
            Series::new(label, done.iter().map(mark).collect())
        });
        Figure::plot(
            format!(
                "{}; n = {}p, ρ = {}, γ = {}√p, {} steps of size {}; AdaSSP: zCDP form, replace-one, public bounds. \
                 Mean of {} and its 95 % interval.",
                self.design.words(),
                grouped(self.rows_per_feature as f64),
                self.rho,
                self.clip,
                self.steps,
                self.step_size,
                self.repetitions_in_words()
            ),
            Plot {
                x: Axis::log("number of features p"),
                y: Axis::log("error, Euclidean norm").from(0.05).to(2.0),
                series: series.into(),
                ..Plot::default()
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let (Some(first), Some(last)) = (done.first(), done.last()) else { return };
        let slope = |method| Ratio::line(done, method).slope;
        for (method, words) in [("dpgd", "the error of DP-GD is flat"), ("ols", "the error of least squares is flat")] {
            let found = slope(method);
            let claim = format!("at a fixed ratio p/n {words} in p");
            let holds = found.value.abs() <= 0.1;
            claims.add(claim, format!("slope of log error on log p {found}"), "within ±0.1", holds);
        }
        let ridges: Vec<_> = done.iter().map(|one| (one.at("p"), one.estimate("adassp.ridge"))).collect();
        let found = Line::log_log(&ridges).slope;
        claims.add(
            "AdaSSP needs more than p rows: its ridge over n, which is how much it shrinks, grows with p where p/n is fixed \
             (to a root of p, once the bound on a row's norm, √p + √(2 ln 20n), is mostly √p)",
            format!("slope of its log on log p {found}"),
            "between 0.1 and 0.6",
            found.value > 0.1 && found.value < 0.6,
        );
        let error = |one: &Finished| Ratio::error(one, "adassp");
        let least = done.iter().min_by(|a, b| error(a).value.total_cmp(&error(b).value)).unwrap_or(first);
        claims.add(
            "so the error of AdaSSP grows with p (the text: as √p; seen: it is close to the 1 of an estimate of zero from the start, \
             and can only creep up)",
            format!("from {} at p = {} to {} at p = {}", error(least), least.at("p"), error(last), last.at("p")),
            "larger at the largest p than at its least, surely; at least 0.8 there",
            error(last).minus(&error(least)).interval().0 > 0.0 && error(last).value >= 0.8,
        );
        let closest = done.iter().map(|one| Ratio::error(one, "adassp").ln().minus(&Ratio::error(one, "dpgd").ln()));
        let closest = closest.min_by(|a, b| a.interval().0.total_cmp(&b.interval().0)).expect("there is a point");
        claims.add(
            "DP-GD is more accurate than AdaSSP at every p",
            format!("error of AdaSSP at least {:.2} times that of DP-GD", closest.value.exp()),
            "more than once, surely, at every p",
            closest.interval().0 > 0.0,
        );
    }
}
