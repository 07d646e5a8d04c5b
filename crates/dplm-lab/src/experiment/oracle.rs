//! The automatic method against an oracle: the paper's algorithm at the best clip threshold of a
//! grid, on columns of known scale.
//!
//! There are two oracles. One chooses the clip threshold and leaves the rest to the program; the
//! other also gets steps and a step size that suit the data, and so knows more than the paper's
//! oracle would.

use dplm::method::Purpose;

use super::{DesignName, Experiment, Finished, Measures, Point, Repetitions, Table, all, cell, gamma, measure, put};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Plot, Series},
    record::Values,
    stats::Estimate,
    trial::{Data, Descending, distance, seed},
};

/// Distance to the true coefficients by method and number of rows.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oracle {
    design: DesignName,
    p: u32,
    n: Vec<u64>,
    rho: f64,
    /// Columns and response are only known to lie within this of zero.
    bound: f64,
    /// The steps that the second oracle gets.
    steps: u32,
    step_size: f64,
    /// The oracle chooses gamma / sqrt(p) from this many values between these, evenly spaced in
    /// logarithms; the definition's highest is the paper's.
    clip_low: f64,
    clip_high: f64,
    clips: u32,
    /// The allowed factor by which the automatic method may be worse, against each oracle.
    most: f64,
    most_with_steps: f64,
    repetitions: Repetitions,
    seed: u64,
}

/// The columns of the table and the series of the figure.
const METHODS: [(&str, &str); 6] = [
    ("inference", "automatic, with intervals"),
    ("prediction", "automatic, for prediction"),
    ("oracle", "best clip, chosen by an oracle"),
    ("steps", "best clip, and steps that suit"),
    ("default", "the widest clip"),
    ("sampling", "least squares, not private"),
];

/// The first iterates, one part in this many, have not converged yet and are left out of the mean.
const SKIPPED_PART: usize = 6;

/// The oracles, and the names under which their errors at each clip threshold are kept.
const ORACLES: [&str; 2] = ["oracle", "steps"];

impl Oracle {
    fn grid(&self) -> Vec<f64> {
        let share = |index: u32| f64::from(index) / f64::from(self.clips - 1).max(1.0);
        (0..self.clips)
            .map(|index| self.clip_high * (self.clip_low / self.clip_high).powf(1.0 - share(index)))
            .collect()
    }

    fn clipped_at(oracle: &str, index: usize) -> String {
        format!("{oracle}.clip{index}")
    }

    /// The mean of the late iterates of the whole budget at a clip threshold: steadier than the
    /// last one.
    fn descended(&self, data: &mut Data, gamma: f64, seed: u64) -> Result<Vec<f64>, LabError> {
        let asked = Descending { rho: self.rho, gamma, steps: self.steps, step_size: self.step_size };
        let run = data.descend(&asked, seed)?;
        let late = &run.theta[run.theta.len() / SKIPPED_PART..];
        let mean = |j: usize| late.iter().map(|theta| theta[j]).sum::<f64>() / late.len() as f64;
        Ok((0..self.p as usize).map(mean).collect())
    }

    /// The clip threshold with the least mean square error, and the squared errors there.
    fn best(&self, squares: impl Fn(usize) -> Vec<f64>) -> (f64, Vec<f64>) {
        let clips = self.grid().into_iter().enumerate().map(|(index, clip)| (clip, squares(index)));
        let mean = |sample: &[f64]| Estimate::mean(sample).value;
        clips.min_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b))).unwrap_or_default()
    }
}

impl Experiment for Oracle {
    fn points(&self) -> Vec<Point> {
        let point = |(index, &n): (usize, &u64)| {
            let parameters = [
                ("design", self.design.code() as f64),
                ("p", f64::from(self.p)),
                ("n", n as f64),
                ("rho", self.rho),
                ("bound", self.bound),
                ("steps", f64::from(self.steps)),
                ("step_size", self.step_size),
                ("clip_low", self.clip_low),
                ("clip_high", self.clip_high),
                ("clips", f64::from(self.clips)),
            ];
            Point::new("oracle", &parameters, self.repetitions.at(index), self.seed)
        };
        self.n.iter().enumerate().map(point).collect()
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let n = point.whole("n");
        let words = [self.design.code(), u64::from(self.p), n, repetition];
        let (setting, drawn) = (self.design.setting(self.p), seed(self.seed, "data", &words));
        let mut known = Data::simulate(&setting, n, drawn)?;
        let truth = known.theta().to_vec();
        let noise = seed(self.seed, "noise", &words);
        let mut measures = Measures::from([measure("sampling", distance(&known.least_squares()?.theta, &truth))]);
        for (index, clip) in self.grid().into_iter().enumerate() {
            let gamma = gamma(clip, f64::from(self.p));
            let found = [known.at_clip(self.rho, gamma, noise)?, self.descended(&mut known, gamma, noise)?];
            for (oracle, found) in ORACLES.iter().zip(found) {
                measures.extend([measure(&Oracle::clipped_at(oracle, index), distance(&found, &truth))]);
            }
        }
        let mut bounded = Data::simulate_within(&setting, n, drawn, self.bound)?;
        for (name, purpose) in [("inference", Purpose::Inference), ("prediction", Purpose::Prediction)] {
            let found = bounded.automatic(self.rho, purpose, noise)?;
            measures.extend([measure(name, distance(&found, &truth))]);
        }
        Ok(measures)
    }

    fn summarise(&self, _: &Point, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        let squares = |name: &str| all(repetitions, name).iter().map(|error| error * error).collect::<Vec<f64>>();
        let own = ["inference", "prediction"].map(|name| (name, squares(name)));
        for oracle in ORACLES {
            let (best, sample) = self.best(|index| squares(&Oracle::clipped_at(oracle, index)));
            values.insert(format!("{oracle}.clip"), best);
            put(&mut values, oracle, root(&sample));
            for (name, errors) in &own {
                put(&mut values, &format!("{name}.{oracle}"), root_ratio(errors, &sample));
            }
        }
        for (name, errors) in &own {
            put(&mut values, name, root(errors));
        }
        put(&mut values, "sampling", root(&squares("sampling")));
        let default = squares(&Oracle::clipped_at("oracle", self.clips as usize - 1));
        put(&mut values, "default", root(&default));
        put(&mut values, "default.ratio", root_ratio(&default, &own[0].1));
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let row = |one: &Finished| {
            let methods = METHODS.map(|(name, _)| cell(one.value(name)));
            let ratios = ["inference.oracle", "prediction.oracle", "inference.steps"].map(|name| cell(one.value(name)));
            let start = [cell(one.at("n")), one.point.repetitions.to_string()];
            start.into_iter().chain(methods).chain(ratios).chain([cell(one.value("oracle.clip"))]).collect()
        };
        let columns = &[
            "n",
            "reps",
            "error_inference",
            "error_prediction",
            "error_oracle",
            "error_oracle_with_steps",
            "error_default_clip",
            "error_ols",
            "ratio_inference",
            "ratio_prediction",
            "ratio_with_steps",
            "oracle_gamma_over_sqrtp",
        ];
        Table { columns, rows: done.iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let series = METHODS.map(|(name, label)| {
            let mark = |one: &Finished| Mark::with_error(one.at("n"), &one.estimate(name));
            let label = if name == "default" { format!("{label}, {}√p", self.clip_high) } else { label.to_owned() };
            Series::new(label, done.iter().map(mark).collect())
        });
        let caption = format!(
            "p = {}, ρ = {}, {}, columns and response only known to lie within ±{}; the oracles know that they have unit scale, spend the \
             whole budget on the descent and take the best of {} clips; one of them is given {} steps of size {}. Root mean square distance to θ*, {}, 95 % intervals.",
            self.p,
            self.rho,
            self.design.words(),
            self.bound,
            self.clips,
            self.steps,
            self.step_size,
            self.repetitions_in_words()
        );
        let (x, y) = (Axis::log("number of rows n"), Axis::log("error, Euclidean norm"));
        Figure::plot(caption, Plot { x, y, series: series.into(), dodge: true, ..Plot::default() })
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let against = [
            ("inference.oracle", "with intervals, is near the best clip", self.most),
            ("prediction.oracle", "for prediction, is near the best clip", self.most),
            ("inference.steps", "with intervals, is near the best clip with steps that suit", self.most_with_steps),
        ];
        for one in done {
            for (name, words, most) in against {
                let ratio = one.estimate(name);
                claims.add(
                    format!("at n = {} the automatic method, {words}", super::grouped(one.at("n"))),
                    format!("{ratio} times its error"),
                    format!("at most {most}"),
                    ratio.value <= most,
                );
            }
        }
        let below = done.iter().map(|one| one.estimate("default.ratio"));
        claims.add(
            format!("a clip of {}√p is worse than the automatic method, which has to find its own", self.clip_high),
            below.clone().map(|ratio| ratio.to_string()).collect::<Vec<_>>().join(", ") + " times its error",
            "above 1 at every n",
            below.clone().all(|ratio| ratio.value > 1.0),
        );
    }
}

/// The root of the mean of squares, with its error to first order.
fn root(squares: &[f64]) -> Estimate {
    let mean = Estimate::mean(squares);
    let value = mean.value.sqrt();
    Estimate { value, error: mean.error / (2.0 * value) }
}

/// The ratio of two such roots on the same repetitions: common variation does not count as
/// uncertainty.
fn root_ratio(above: &[f64], below: &[f64]) -> Estimate {
    let (a, b) = (Estimate::mean(above).value, Estimate::mean(below).value);
    let ratio = (a / b).sqrt();
    let moves: Vec<f64> = above.iter().zip(below).map(|(x, y)| 0.5 * ratio * (x / a - y / b)).collect();
    Estimate { value: ratio, error: Estimate::mean(&moves).error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_of_proportional_samples_is_sure() {
        let below = [1.0, 4.0, 2.0];
        let above = below.map(|square| 9.0 * square);
        let ratio = root_ratio(&above, &below);
        assert!((ratio.value - 3.0).abs() < 1e-12 && ratio.error < 1e-12);
        assert!(root_ratio(&above, &[2.0, 1.0, 4.0]).error > 0.1);
    }

    #[test]
    fn a_root_has_the_error_of_its_square() {
        let root = root(&[1.0, 9.0, 4.0, 2.0]);
        assert!((root.value - 2.0).abs() < 1e-12);
        assert!((root.error - Estimate::mean(&[1.0, 9.0, 4.0, 2.0]).error / 4.0).abs() < 1e-12);
    }
}
