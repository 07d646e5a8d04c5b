//! One table of one cell: a fit, compared with its target.

use dplm::{
    Dataset, Error, Fit, Index, NoiseSource, Precision, Progress, Reading, Warning,
    formula::Formula,
    lattice::Design,
    method::{
        self, Outcome, Purpose, Request,
        auto::{self, IndexRule},
    },
    plan::Choices,
    privacy::{Rho, noise::FixedSeed},
    report::facts_json,
    rows::MemoryBuilder,
    table::{ReadOptions, Source},
};
use dplm_theory::huber::huber_optimum;

use super::grid::Cell;
use crate::{
    LabError,
    counted::Counted,
    experiment::{Measures, measure},
    world::{Coefficients, Population, Sample, World},
};

/// The level of the intervals, and another at which the same coefficients must be identified.
const LEVEL: f64 = 0.95;
const OTHER_LEVEL: f64 = 0.5;

/// Errors are not symmetric where more than this share of responses lies beyond the bounds.
const MOST_CUT: f64 = 1e-4;

/// This many repetitions are also fitted at the other level and written as JSON.
const LOOKED_INTO: u64 = 20;

/// A population, its true coefficients, and the request for a table drawn from it.
pub(in crate::experiment) struct Trial<'a> {
    pub world: &'a World,
    pub population: &'a Population,
    pub cell: &'a Cell,
    /// The choices in the method's division of its budget.
    pub choices: Choices,
}

/// The names that a fit left out of the model.
fn left_out(fit: &Fit) -> Vec<String> {
    fit.left_out.iter().map(|one| one.name.clone()).collect()
}

/// Whether the fit states robust coefficients although it was asked for others.
fn became_robust(fit: &Fit) -> bool {
    fit.target == method::Target::Robust && fit.asked != method::Target::Robust
}

impl Trial<'_> {
    /// Draws a table, fits it and compares; numbers are in formula order, one for each coefficient.
    pub(super) fn run(&self, data_seed: u64, noise_seed: u64, repetition: u64) -> Result<Measures, LabError> {
        let sample = self.world.sample(self.cell.n, data_seed);
        let source = self.source(&sample)?;
        let formula = Formula::parse_for(&self.world.formula(), self.world.family()).map_err(Error::from)?;
        let reading = Reading { person: self.world.person(), ..Reading::default() };
        let mut dataset = Dataset::read(&source, &formula, &reading)?;
        let Some(fit) = self.fit(&mut dataset, LEVEL, noise_seed)? else {
            return Ok(refused(self.world.coefficients().len()));
        };
        let robust_of_table = match (fit.target, fit.asked) {
            (method::Target::Robust, method::Target::Sample) => {
                self.clipped_optimum(&sample, &source, &formula, noise_seed)?
            }
            _ => None,
        };
        let mut measures = self.compare(&sample, &fit, robust_of_table);
        if self.cell.predicts {
            measures.extend(self.excesses(&mut dataset, &fit, noise_seed)?);
        }
        // Passes are counted where each row stands for itself.
        if repetition == 0 && self.world.person().is_none() {
            measures.extend([measure("passes", f64::from(self.passes(&source, &formula, noise_seed)?))]);
        }
        if repetition < LOOKED_INTO {
            let other = self.fit(&mut dataset, OTHER_LEVEL, noise_seed)?;
            let changed = other.is_none_or(|other| identified(&other) != identified(&fit));
            measures.extend([measure("level_changes", share(changed)), measure("bare_numbers", bare_numbers(&fit))]);
        }
        Ok(measures)
    }

    /// The same without the detailed check.
    pub(in crate::experiment) fn fit_once(&self, data_seed: u64, noise_seed: u64) -> Result<Measures, LabError> {
        self.run(data_seed, noise_seed, LOOKED_INTO)
    }

    fn source(&self, sample: &Sample) -> Result<Source, LabError> {
        let table = self.world.table(sample);
        Ok(Source::from_batches(table.schema(), vec![table], "a simulated table").map_err(Error::from)?)
    }

    fn request(&self, level: f64) -> Result<Request, LabError> {
        let rho = Rho::checked_from_f64(self.cell.rho).map_err(Error::from)?;
        let focus = self.cell.focus.iter().cloned().collect();
        let (target, person) = (self.cell.target.asked(), self.world.person());
        Ok(Request { target, focus, level, person, ..Request::new(rho) })
    }

    /// What predictions err beyond least squares in the population, by the coefficients of a fit
    /// and by those of one for predictions; empty if the former lacks one.
    fn excesses(&self, dataset: &mut Dataset, fit: &Fit, seed: u64) -> Result<Measures, LabError> {
        let all = |fit: &Fit| -> Option<Vec<f64>> { fit.coefficients.iter().map(|one| one.estimate).collect() };
        let Some(own) = all(fit) else { return Ok(Measures::new()) };
        let request = Request { purpose: Purpose::Prediction, ..self.request(LEVEL)? };
        let mut config = auto::Config::new(Request { target: None, ..request });
        config.choices = self.choices;
        let others = all(&dataset.fit(&config, NoiseSource::Seed(seed), Progress::NONE)?);
        let others = others.expect("predictions have all coefficients");
        let excess = |coefficients: &[f64]| self.population.excess(coefficients);
        Ok(Measures::from([measure("excess", excess(&own)), measure("predicted", excess(&others))]))
    }

    /// `None` if the plan is refused: nothing is printed then, and nothing is spent.
    fn fit(&self, dataset: &mut Dataset, level: f64, seed: u64) -> Result<Option<Fit>, LabError> {
        let mut config = auto::Config::new(self.request(level)?);
        (config.choices, config.indices) = (self.choices, IndexRule::WhereNeeded);
        match dataset.fit(&config, NoiseSource::Seed(seed), Progress::NONE) {
            Ok(fit) => Ok(Some(fit)),
            Err(Error::Config(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The number of passes of a fit through the rows.
    fn passes(&self, source: &Source, formula: &Formula, seed: u64) -> Result<u32, LabError> {
        let (_, _, passes) = self.run_counted(source, formula, seed)?;
        Ok(passes)
    }

    /// Repeats the fit for what it does not report: its coordinates, and the number of passes
    /// through the rows.
    fn run_counted(&self, source: &Source, formula: &Formula, seed: u64) -> Result<(Design, Outcome, u32), LabError> {
        let design = Design::new(&formula.resolve(source.schema()).map_err(Error::from)?);
        let mut builder = MemoryBuilder::new(&design);
        let read = source.for_each_block(design.columns(), &ReadOptions::default(), &mut |block| {
            builder.push(&block);
            Ok(())
        });
        read.map_err(Error::from)?;
        let mut rows = Counted::new(builder.finish());
        let mut config = auto::Config::new(self.request(LEVEL)?);
        config.choices = self.choices;
        let outcome =
            config.plan(self.cell.n, &design)?.run(&mut rows, &design, &mut FixedSeed::new(seed), Progress::NONE)?;
        Ok((design, outcome, rows.passes()))
    }

    /// The coefficients that minimise the fit's clipped loss on the table itself.
    ///
    /// With the contrasts `c` of standardised parameters and `theta = P theta_white`, a row `x` in
    /// its own units has the fitted value `x'(c' P theta_white + o)`. Its gradient is clipped at
    /// `u^2` times the clip threshold in the units of the response, where `u` is the value that is
    /// 1 when standardised.
    fn clipped_optimum(
        &self,
        sample: &Sample,
        source: &Source,
        formula: &Formula,
        seed: u64,
    ) -> Result<Option<Vec<Option<f64>>>, LabError> {
        let (design, outcome, _) = self.run_counted(source, formula, seed)?;
        let matrix = outcome.whitening.as_ref().expect("the automatic method whitens").matrix();
        let (contrasts, kept) = (design.contrasts(), matrix.ncols());
        let weight =
            |weights: &[f64], k: usize| -> f64 { (0..weights.len()).map(|j| weights[j] * matrix[(j, k)]).sum() };
        let turned: Vec<Vec<f64>> =
            contrasts.iter().map(|one| (0..kept).map(|k| weight(&one.weights, k)).collect()).collect();
        let (mut rows, mut responses) = (Vec::new(), Vec::new());
        self.world.for_each_row(sample, |row, response| {
            rows.extend((0..kept).map(|k| row.iter().zip(&turned).map(|(cell, one)| cell * one[k]).sum::<f64>()));
            let offset: f64 = row.iter().zip(&contrasts).map(|(cell, one)| cell * one.offset).sum();
            responses.push(response - offset);
        });
        let clip = outcome.summary.clip * design.response().unit.powi(2);
        let Ok(found) = huber_optimum(&rows, &responses, kept, clip) else { return Ok(None) };
        let found = found.into_inner().theta;
        let coefficient = |one: &Vec<f64>| one.iter().zip(&found).map(|(weight, theta)| weight * theta).sum::<f64>();
        Ok(Some(
            turned.iter().zip(&contrasts).map(|(one, contrast)| Some(coefficient(one) + contrast.offset)).collect(),
        ))
    }

    fn compare(&self, sample: &Sample, fit: &Fit, robust_of_table: Option<Vec<Option<f64>>>) -> Measures {
        let left_out = left_out(fit);
        let own = self.world.coefficients_of(sample, &left_out);
        let indices = fit.focus.iter().flat_map(|focus| &focus.indices).collect::<Vec<&Index>>();
        let population = match indices.is_empty() {
            true => self.population.coefficients(&left_out),
            // An index leaves parts of columns out.
            false => self.population.given(&self.of_interest(fit), &indices),
        };
        let parts_left_out = left_out.len() + indices.len();
        let truth = robust_of_table.or_else(|| self.truth(fit, &population, &own, parts_left_out));
        let found: Vec<Option<(f64, Precision)>> =
            self.world.coefficients().iter().map(|name| printed(fit, &left_out, name)).collect();
        let of = |name: &str, number: &dyn Fn(usize, (f64, Precision)) -> Option<f64>| {
            let all = found.iter().enumerate();
            let number = |(j, one): (usize, &Option<_>)| one.and_then(|one| number(j, one)).unwrap_or(f64::NAN);
            (name.to_owned(), all.map(number).collect::<Vec<f64>>())
        };
        let truth_of = |j: usize| population.values[j];
        let holds = |ends: &Precision, value: f64| (ends.low..=ends.high).contains(&value);
        Measures::from([
            ("printed".to_owned(), found.iter().map(|one| share(one.is_some())).collect()),
            // A number for a coefficient that does not exist covers nothing.
            of("covered", &|j, (_, ends)| {
                truth.as_ref().map(|truth| share(truth[j].is_some_and(|value| holds(&ends, value))))
            }),
            of("length", &|j, (_, ends)| own.std_errors[j].map(|error| (ends.high - ends.low) / (2.0 * 1.96 * error))),
            of("error_sq", &|j, (estimate, _)| truth_of(j).map(|value| (estimate - value).powi(2))),
            of("ols_sq", &|j, _| own.values[j].zip(truth_of(j)).map(|(own, value)| (own - value).powi(2))),
            of("contradictions", &|_, (_, ends)| Some(share((ends.p_value < 1.0 - LEVEL) == holds(&ends, 0.0)))),
            measure("robust", share(became_robust(fit))),
            measure("misfit", share(fit.warnings.iter().any(|one| matches!(one, Warning::Misfit { .. })))),
            measure("refused", 0.0),
        ])
    }

    /// The places of the coefficients of interest.
    fn of_interest(&self, fit: &Fit) -> Vec<usize> {
        let names = self.world.coefficients();
        fit.reported().filter_map(|one| names.iter().position(|name| *name == one.name)).collect()
    }

    /// The target that the fit states, which need not be the requested one; `None` if it is
    /// unknown.
    fn truth(
        &self,
        fit: &Fit,
        population: &Coefficients,
        own: &Coefficients,
        left_out: usize,
    ) -> Option<Vec<Option<f64>>> {
        let is_known = || self.population.share_cut() < MOST_CUT && self.world.robust_is_least_squares(left_out);
        match (fit.target, fit.asked) {
            (method::Target::Population, _) => Some(population.values.clone()),
            (method::Target::Sample, _) => Some(own.values.clone()),
            (_, method::Target::Sample) => None,
            _ => is_known().then(|| population.values.clone()),
        }
    }
}

/// The estimate of this name and its precision, if readers see them.
fn printed(fit: &Fit, left_out: &[String], name: &String) -> Option<(f64, Precision)> {
    let one = fit.coefficients.iter().find(|one| one.name == *name)?;
    let shown = one.identified && !left_out.contains(name);
    one.estimate.zip(one.precision.filter(|_| shown))
}

fn refused(coefficients: usize) -> Measures {
    Measures::from([("printed".to_owned(), vec![0.0; coefficients]), measure("refused", 1.0)])
}

fn share(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn identified(fit: &Fit) -> Vec<bool> {
    fit.coefficients.iter().map(|one| one.identified).collect()
}

/// The number of coefficients that are not identified but have a number in the JSON.
fn bare_numbers(fit: &Fit) -> f64 {
    let json: serde_json::Value = serde_json::from_str(&facts_json(fit)).expect("a fit is written as JSON");
    let shown = json["coefficients"].as_array().expect("a fit has coefficients");
    let bare = shown.iter().filter(|one| one["identified"] == false && one["estimate"].is_number());
    bare.count() as f64
}
