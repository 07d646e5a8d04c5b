//! Coverage of the true coefficients by the default interval, beyond the easy case; and of the
//! optimum, from the first steps on.

use dplm_simulate::{Design, Errors, Setting};

use super::{Experiment, Finished, Measures, Point, Table, all, cell, gamma, grouped, optimum::Optimum, put, put_mean};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Plot, Reference, Series},
    record::Values,
    stats::Estimate,
    trial::{Data, Descending, seed},
};

/// Coverage of population intervals over designs, error distributions, rows and clip thresholds.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Population {
    p: u32,
    rho: f64,
    steps: u32,
    step_size: f64,
    level: f64,
    n: Vec<u64>,
    /// gamma / sqrt(p)
    clip: Vec<f64>,
    repetitions: u32,
    optimum_n: u64,
    optimum_clip: f64,
    optimum_steps: Vec<u32>,
    optimum_repetitions: u32,
    batches: u32,
    burn_in: u32,
    seed: u64,
}

/// The cases: a design, an error distribution, and whether clipping leaves the truth unchanged.
const CASES: [(&str, Design, Errors); 4] = [
    ("isotropic, normal errors", Design::Isotropic, Errors::Gaussian),
    ("anisotropic, normal errors", Design::Anisotropic, Errors::Gaussian),
    ("anisotropic, Student errors", Design::Anisotropic, Errors::Student),
    ("anisotropic, skewed errors", Design::Anisotropic, Errors::Skewed),
];

impl Population {
    fn setting(&self, case: usize) -> Setting {
        let (_, design, errors) = CASES[case];
        Setting { design, errors, ..Setting::new(self.p as usize) }
    }

    fn optimum(&self) -> Optimum {
        Optimum {
            p: self.p,
            n: self.optimum_n,
            rho: self.rho,
            clip: self.optimum_clip,
            step_size: self.step_size,
            level: self.level,
            steps: self.optimum_steps.clone(),
            batches: self.batches,
            burn_in: self.burn_in,
            repetitions: self.optimum_repetitions,
            seed: self.seed,
        }
    }

    fn of_case(done: &[Finished], case: usize) -> impl Iterator<Item = &Finished> {
        done.iter().filter(move |one| !Optimum::is_mine(&one.point) && one.at("case") as usize == case)
    }

    /// Points of one case and one number of rows, along the clip threshold.
    fn series(&self, done: &[Finished], case: usize, rows: u64) -> Series {
        let along = Population::of_case(done, case).filter(|one| one.at("n") as u64 == rows);
        let mark = |one: &Finished| {
            let (low, high) = one.estimate("coverage").interval();
            Mark::between(one.at("clip"), 100.0 * one.value("coverage"), 100.0 * low, 100.0 * high.min(1.0))
        };
        Series::new(CASES[case].0, along.map(mark).collect())
    }
}

impl Experiment for Population {
    fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for case in 0..CASES.len() {
            for &n in &self.n {
                for &clip in &self.clip {
                    let parameters = [
                        ("case", case as f64),
                        ("p", f64::from(self.p)),
                        ("n", n as f64),
                        ("rho", self.rho),
                        ("steps", f64::from(self.steps)),
                        ("step_size", self.step_size),
                        ("level", self.level),
                        ("clip", clip),
                    ];
                    points.push(Point::new("population", &parameters, self.repetitions, self.seed));
                }
            }
        }
        points.extend(self.optimum().points());
        points
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        if Optimum::is_mine(point) {
            return self.optimum().repeat(point, repetition);
        }
        let (case, n) = (point.whole("case"), point.whole("n"));
        let words = [case, n, repetition];
        let mut data = Data::simulate(&self.setting(case as usize), n, seed(self.seed, "data", &words))?;
        let gamma = gamma(point.get("clip"), f64::from(self.p));
        let asked = Descending { rho: self.rho, gamma, steps: self.steps, step_size: self.step_size };
        let found = data.population(&asked, self.level, seed(self.seed, "newton", &words))?;
        let classical = Estimate::mean(&data.least_squares()?.lengths(self.level)).value;
        let held = found
            .iter()
            .zip(data.theta())
            .filter_map(|(ends, truth)| ends.map(|(low, high)| f64::from(u8::from(low <= *truth && *truth <= high))));
        let held: Vec<f64> = held.collect();
        let lengths: Vec<f64> = found.iter().flatten().map(|(low, high)| (high - low) / classical).collect();
        let identified = held.len() as f64 / found.len() as f64;
        Ok(Measures::from([
            ("held".to_owned(), if held.is_empty() { vec![] } else { vec![Estimate::mean(&held).value] }),
            ("length".to_owned(), lengths),
            ("identified".to_owned(), vec![identified]),
        ]))
    }

    fn summarise(&self, point: &Point, repetitions: &[Measures]) -> Values {
        if Optimum::is_mine(point) {
            return self.optimum().summarise(repetitions);
        }
        let mut values = Values::new();
        // Coordinates of one data set share their curvature, so the standard error is over data
        // sets.
        put(&mut values, "coverage", Estimate::mean(&all(repetitions, "held")));
        put_mean(&mut values, repetitions, "length");
        put_mean(&mut values, repetitions, "identified");
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let row = |one: &Finished| {
            let (low, high) = one.estimate("coverage").interval();
            let numbers = [one.value("coverage"), low, high, one.value("length"), one.value("identified")];
            let place = [one.at("n"), one.at("clip"), one.at("steps"), f64::from(one.point.repetitions)];
            let words = std::iter::once(format!("truth; {}", CASES[one.at("case") as usize].0.replace(',', ";")));
            words.chain(place.into_iter().chain(numbers).map(cell)).collect()
        };
        let optimum = self.optimum();
        let rows_of = |one: &Finished| if Optimum::is_mine(&one.point) { optimum.rows(one) } else { vec![row(one)] };
        let columns = &[
            "case",
            "n",
            "gamma_over_sqrtp",
            "total_steps",
            "reps",
            "coverage",
            "coverage_lo",
            "coverage_hi",
            "length_ratio",
            "identified",
        ];
        Table { columns, rows: done.iter().flat_map(rows_of).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let rows = self.n.last().copied().unwrap_or(0);
        Figure::plot(
            format!(
                "Default interval for the true coefficients: p = {}, n = {}, ρ = {}, {} steps of size {}, {} data sets a point; bars: 95 % \
                 intervals over data sets. Other n are in the table.",
                self.p,
                grouped(rows as f64),
                self.rho,
                self.steps,
                self.step_size,
                self.repetitions
            ),
            Plot {
                x: Axis::log("clipping threshold γ / √p"),
                y: Axis::linear("coverage of the truth, %"),
                series: (0..CASES.len()).map(|case| self.series(done, case, rows)).collect(),
                references: vec![Reference::new(format!("nominal {:.0} %", 100.0 * self.level), 100.0 * self.level)],
                dodge: true,
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        self.optimum().claims(done, claims);
        for (case, (name, _, errors)) in CASES.iter().enumerate() {
            let coverages: Vec<f64> = Population::of_case(done, case).map(|one| one.value("coverage")).collect();
            let noises: Vec<f64> = Population::of_case(done, case).map(|one| one.estimate("coverage").error).collect();
            let error = noises.iter().copied().fold(0.0, f64::max);
            let mean_error = noises.iter().map(|error| error * error).sum::<f64>().sqrt() / noises.len() as f64;
            let lowest = coverages.iter().copied().fold(f64::INFINITY, f64::min);
            let highest = coverages.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mean = Estimate::mean(&coverages).value;
            let symmetric = if *errors == Errors::Skewed { " (slopes; an intercept would move)" } else { "" };
            claims.add(
                format!("95 % intervals cover the true coefficients: {name}{symmetric}"),
                format!("mean {mean:.3}, from {lowest:.3} to {highest:.3} over {} points", coverages.len()),
                "0.93 to 0.98: neither the mean nor any point surely outside",
                may_be_within(mean, mean_error) && may_be_within(lowest, error) && may_be_within(highest, error),
            );
        }
    }
}

/// Whether a coverage measured with this standard error may be one from 0.93 to 0.98, within four
/// standard errors.
fn may_be_within(coverage: f64, error: f64) -> bool {
    coverage + 4.0 * error >= 0.93 && coverage - 4.0 * error <= 0.98
}
