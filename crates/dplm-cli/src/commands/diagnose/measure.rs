//! The numbers of a diagnosis. None of them is private.

use dplm::{
    Contrast, Dataset, Fit, NoiseSource, Person, Progress,
    diagnose::StandardisedRows,
    method::dpgd,
    privacy::Unit,
    report::facts_json,
    table::{ReadOptions, Source},
};
use dplm_theory::{
    clear::{Ols, OlsError, OlsFit, least_squares, least_squares_of_persons},
    law::IterateLaw,
    no_clipping::{Item, NoClippingCondition, check_condition, no_clipping_bound, paper_c0},
};
use serde::Serialize;

use crate::{exit::Failure, printer::Printer, progress::Bar};

/// The chance at which the paper's multiplier c0 is taken.
const BETA: f64 = 0.05;

/// Everything a diagnosis found.
#[derive(Serialize)]
pub struct Diagnosis {
    pub dplm: &'static str,
    /// Always false.
    pub private: bool,
    pub formula: String,
    /// Whose data a fit protects, and how many of them there are.
    pub units: Units,
    pub least_squares: Found<LeastSquares>,
    /// The fit as `dplm fit --json` gives it, but marked not private, as it stands beside what is
    /// not.
    pub fit: serde_json::Value,
    /// The same fit, for the text.
    #[serde(skip)]
    pub fitted: Fit,
    pub clipped: Vec<ClippedAt>,
    pub no_clipping: Found<NoClipping>,
    pub iterates: Found<Iterates>,
}

/// Rows, or persons with several of them.
#[derive(Serialize)]
pub struct Units {
    pub unit: Unit,
    pub count: u64,
}

/// Something found, or why there is nothing.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Found<T> {
    Some(T),
    Nothing { reason: String },
}

/// Least squares on the cells as written.
#[derive(Serialize)]
pub struct LeastSquares {
    pub rows: usize,
    /// Of which persons, where standard errors allow for persons with several rows.
    pub persons: Option<usize>,
    pub degrees_of_freedom: usize,
    pub residual_sd: f64,
    pub r_squared: f64,
    pub level: f64,
    pub coefficients: Vec<OlsCoefficient>,
}

/// One line of its table.
#[derive(Serialize)]
pub struct OlsCoefficient {
    pub name: String,
    pub estimate: f64,
    pub std_error: f64,
    pub t_value: f64,
    pub p_value: f64,
    pub low: f64,
    pub high: f64,
}

/// The share of rows, or of persons, clipped at a step.
#[derive(Serialize)]
pub struct ClippedAt {
    pub step: usize,
    pub fraction: f64,
}

/// The No-Clipping Condition and its lemma.
#[derive(Serialize)]
pub struct NoClipping {
    /// The errors' standard deviation, from least squares on the encoded rows.
    pub sigma: f64,
    pub steps: usize,
    pub smallest_eigenvalue: f64,
    pub largest_eigenvalue: f64,
    pub contraction: f64,
    pub spectrum_holds: bool,
    pub items: Vec<ConditionItem>,
    /// The paper's multiplier, and the chance it is taken at.
    pub paper_c0: f64,
    pub paper_beta: f64,
    /// The smallest multiplier at which items (ii) to (v) hold on these rows.
    pub smallest_c0: f64,
    pub holds_at_paper_c0: bool,
    pub lemma: Vec<Lemma>,
}

/// One of items (ii) to (v).
#[derive(Serialize)]
pub struct ConditionItem {
    pub item: &'static str,
    pub says: &'static str,
    pub value: f64,
    pub unit: f64,
    pub smallest_c0: f64,
    pub holds_at_paper_c0: bool,
}

/// Lemma "no clipping occurs" at one c0.
#[derive(Serialize)]
pub struct Lemma {
    pub c0: f64,
    /// Whether the data satisfy the condition at this c0.
    pub condition_holds: bool,
    pub clip: f64,
    /// The clip its proof needs.
    pub clip_needed: f64,
    /// The bound on the chance that anything is clipped; 1 when it says nothing.
    pub beta: f64,
}

/// The exact law of the last iterate, and where it fell.
#[derive(Serialize)]
pub struct Iterates {
    pub step: usize,
    pub coefficients: Vec<IterateCoefficient>,
    /// Squared distance of the last iterate from its mean in the units of its law: chi-square, one
    /// degree for each coefficient.
    pub chi_square: Option<f64>,
    pub degrees_of_freedom: usize,
    pub p_value: Option<f64>,
    /// The law's covariance in standardised units, row by row.
    pub covariance: Vec<f64>,
}

/// One coefficient of the last iterate, in its own units.
#[derive(Serialize)]
pub struct IterateCoefficient {
    pub name: String,
    /// Least squares on the encoded rows: where the iterates are heading without noise.
    pub limit: f64,
    pub mean: f64,
    pub sd: f64,
    pub happened: f64,
    pub z: f64,
}

/// Measures everything.
pub fn diagnose(
    source: &Source,
    dataset: &mut Dataset,
    config: dpgd::Config,
    noise: NoiseSource,
    printer: &Printer,
) -> Result<Diagnosis, Failure> {
    let bar = Bar::new(printer, "diagnosing");
    let (level, person) = (config.request.level, config.request.person.clone());
    // What the plan refuses is refused before anything is computed.
    let plan = config.clone().plan(dataset.rows(), dataset.design())?;
    let fit = dataset.fit(&config, noise, Progress::new(&|done, total| bar.update(done, total)))?;
    let clipped = clipped_shares(dataset, &plan, &fit)?;
    let encoded = Encoded::new(dataset, &fit);
    Ok(Diagnosis {
        dplm: env!("CARGO_PKG_VERSION"),
        private: false,
        formula: fit.formula.clone(),
        units: Units { unit: dataset.unit(), count: fit.rows },
        least_squares: on_raw_cells(source, dataset, level, person.as_ref()).into(),
        fit: marked_not_private(&fit),
        clipped,
        no_clipping: match person {
            Some(_) => Err(NOT_OF_PERSONS.to_owned()),
            None => encoded.as_ref().map_err(Clone::clone).and_then(|encoded| encoded.no_clipping(&fit)),
        }
        .into(),
        iterates: encoded.and_then(|encoded| encoded.iterates(&fit, &dataset.design().contrasts())).into(),
        fitted: fit,
    })
}

impl<T> From<Result<T, String>> for Found<T> {
    fn from(result: Result<T, String>) -> Found<T> {
        match result {
            Ok(found) => Found::Some(found),
            Err(reason) => Found::Nothing { reason },
        }
    }
}

fn marked_not_private(fit: &Fit) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_str(&facts_json(fit)).expect("a fit's own JSON is JSON");
    value["private"] = false.into();
    value
}

/// The paper's condition bounds the gradient of each row.
const NOT_OF_PERSONS: &str =
    "the paper's condition is about rows that each stand for themselves, and not about persons";

fn on_raw_cells(
    source: &Source,
    dataset: &Dataset,
    level: f64,
    person: Option<&Person>,
) -> Result<LeastSquares, String> {
    let (model, options) = (dataset.model(), ReadOptions::default());
    let names = model.coefficient_names();
    let ols = match person {
        Some(person) => least_squares_of_persons(source, model, person, &options),
        None => least_squares(source, model, &options),
    };
    let ols = ols.map_err(|error| match error {
        dplm::Error::Other(error) => error.why().map_or_else(|| error.to_string(), |error| named(error, &names)),
        other => other.to_string(),
    })?;
    let found = LeastSquares::new(ols.into_inner(), names, level);
    Ok(LeastSquares { persons: person.map(|_| found.degrees_of_freedom + 1), ..found })
}

/// The library counts columns; a person knows them by name.
fn named(error: &OlsError, names: &[String]) -> String {
    match error {
        OlsError::RankDeficient { column } => {
            format!("'{}' is determined by the coefficients before it, or never varies: leave it out", names[*column])
        }
        other => other.to_string(),
    }
}

impl LeastSquares {
    fn new(ols: OlsFit, names: Vec<String>, level: f64) -> LeastSquares {
        let (t, p, intervals) = (ols.t_values(), ols.p_values(), ols.intervals(level));
        let coefficient = |(j, name): (usize, String)| OlsCoefficient {
            name,
            estimate: ols.coefficients[j],
            std_error: ols.std_errors[j],
            t_value: t[j],
            p_value: p[j],
            low: intervals[j].0,
            high: intervals[j].1,
        };
        LeastSquares {
            coefficients: names.into_iter().enumerate().map(coefficient).collect(),
            rows: ols.rows,
            persons: None,
            degrees_of_freedom: ols.degrees_of_freedom,
            residual_sd: ols.residual_sd,
            r_squared: ols.r_squared,
            level,
        }
    }
}

/// The share of rows, or of persons, clipped at some of the steps of the first run.
fn clipped_shares(dataset: &mut Dataset, plan: &dpgd::Plan, fit: &Fit) -> Result<Vec<ClippedAt>, Failure> {
    let run = &fit.trajectories[0];
    let mut view = dataset.not_private();
    let mut shares = Vec::new();
    for step in some_steps(run.steps()) {
        // The gradient of a step is taken where the step before it ended.
        let fraction = view.clipped_fraction(&run.theta[step - 1], plan.descent())?.into_inner();
        shares.push(ClippedAt { step, fraction });
    }
    Ok(shares)
}

/// 1, 2, 3, 5, 10, 20, 50, 100, ... and the last.
fn some_steps(last: usize) -> Vec<usize> {
    let decades = (1..).map(|k| 10usize.pow(k)).flat_map(|ten| [ten, 2 * ten, 5 * ten]);
    [1, 2, 3, 5].into_iter().chain(decades).take_while(|&step| step < last).chain([last]).collect()
}

/// The encoded rows in the clear, and least squares on them.
struct Encoded {
    rows: StandardisedRows,
    /// How many rows there are, or persons.
    units: u64,
    theta: Vec<f64>,
    sigma: f64,
}

impl Encoded {
    fn new(dataset: &mut Dataset, fit: &Fit) -> Result<Encoded, String> {
        let rows = dataset.not_private().standardised_rows().map_err(|error| error.to_string())?.into_inner();
        let names: Vec<String> = fit.coefficients.iter().map(|one| one.name.clone()).collect();
        let mut ols = Ols::new(names.len());
        let solved = ols.push(&rows.x, &rows.y).and_then(|()| ols.finish()).map_err(|error| named(&error, &names))?;
        Ok(Encoded { rows, units: fit.rows, theta: solved.coefficients, sigma: solved.residual_sd })
    }

    fn no_clipping(&self, fit: &Fit) -> Result<NoClipping, String> {
        let run = &fit.trajectories[0];
        let (rows, steps) = (self.rows.y.len(), run.steps());
        let StandardisedRows { x, y } = &self.rows;
        let condition =
            check_condition(x, y, &self.theta, self.sigma, run.step_size, steps).map_err(text)?.into_inner();
        let paper_c0 = paper_c0(rows, steps, BETA).map_err(text)?;
        let smallest_c0 = condition.smallest_c0();
        let lemma = [smallest_c0, paper_c0].map(|c0| self.lemma(fit, &condition, c0));
        let spectrum = condition.spectrum;
        Ok(NoClipping {
            sigma: self.sigma,
            steps,
            smallest_eigenvalue: spectrum.smallest,
            largest_eigenvalue: spectrum.largest,
            contraction: spectrum.contraction,
            spectrum_holds: spectrum.holds,
            items: items(&condition, paper_c0),
            paper_c0,
            paper_beta: BETA,
            smallest_c0,
            holds_at_paper_c0: condition.holds_at(paper_c0),
            lemma: lemma.into_iter().collect::<Result<_, _>>()?,
        })
    }

    fn lemma(&self, fit: &Fit, condition: &NoClippingCondition, c0: f64) -> Result<Lemma, String> {
        let run = &fit.trajectories[0];
        let (rows, features) = (self.rows.y.len(), self.theta.len());
        let clip = fit.method.clip;
        let bound = no_clipping_bound(rows, features, clip, run.noise_sd, run.step_size, run.steps(), c0, self.sigma);
        let bound = bound.map_err(text)?;
        let condition_holds = condition.holds_at(c0);
        Ok(Lemma {
            c0,
            condition_holds,
            clip,
            clip_needed: bound.gamma_for_noise.max(bound.gamma_for_start).max(bound.gamma_for_signal),
            beta: if condition_holds { bound.beta } else { 1.0 },
        })
    }

    fn iterates(&self, fit: &Fit, contrasts: &[Contrast]) -> Result<Iterates, String> {
        let run = &fit.trajectories[0];
        let step = run.steps();
        let (start, happened) = (&run.theta[0], &run.theta[step]);
        let law =
            IterateLaw::new(&self.second_moments(), &self.theta, start, run.step_size, run.noise_sd).map_err(text)?;
        let (mean, covariance) = (law.mean(step), law.covariance(step));
        let distance = law.distance(step, happened);
        let coefficient = |(contrast, one): (&Contrast, &dplm::Coefficient)| {
            let (centre, sd) = (contrast.of(&mean), spread(contrast, &covariance));
            let found = contrast.of(happened);
            IterateCoefficient {
                name: one.name.clone(),
                limit: contrast.of(&self.theta),
                mean: centre,
                sd,
                happened: found,
                z: (found - centre) / sd,
            }
        };
        Ok(Iterates {
            step,
            coefficients: contrasts.iter().zip(&fit.coefficients).map(coefficient).collect(),
            chi_square: distance.map(|found| found.chi_square),
            degrees_of_freedom: happened.len(),
            p_value: distance.map(|found| found.p_value),
            covariance,
        })
    }

    /// `X'X / n` for n rows or persons, p x p.
    fn second_moments(&self) -> Vec<f64> {
        let p = self.theta.len();
        let mut sums = vec![0.0; p * p];
        for row in self.rows.x.chunks(p) {
            for (line, left) in sums.chunks_mut(p).zip(row) {
                line.iter_mut().zip(row).for_each(|(sum, right)| *sum += left * right);
            }
        }
        sums.iter().map(|sum| sum / self.units as f64).collect()
    }
}

/// `sqrt(w' C w)`.
fn spread(contrast: &Contrast, covariance: &[f64]) -> f64 {
    let weights = &contrast.weights;
    let lines = covariance.chunks(weights.len()).zip(weights);
    lines
        .map(|(line, weight)| weight * line.iter().zip(weights).map(|(cell, w)| cell * w).sum::<f64>())
        .sum::<f64>()
        .sqrt()
}

fn items(condition: &NoClippingCondition, paper_c0: f64) -> Vec<ConditionItem> {
    let item = |item, says, found: &Item| ConditionItem {
        item,
        says,
        value: found.value,
        unit: found.unit,
        smallest_c0: found.smallest_c0,
        holds_at_paper_c0: found.holds_at(paper_c0),
    };
    vec![
        item("(ii)", "||x_i|| <= c0 sqrt(p)", &condition.covariate_norm),
        item("(iii)", "|y_i - x_i'theta| <= c0 sigma", &condition.residual),
        item("(iv)", "|x_i'(I - eta Sigma)^t theta| <= c0", &condition.signal),
        item("(v)", "|sum_j r_j x_i'A_t x_j| <= c0 sigma sqrt(np)", &condition.independence),
    ]
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_shown() {
        assert_eq!(some_steps(1), [1]);
        assert_eq!(some_steps(4), [1, 2, 3, 4]);
        assert_eq!(some_steps(49), [1, 2, 3, 5, 10, 20, 49]);
        assert_eq!(some_steps(100), [1, 2, 3, 5, 10, 20, 50, 100]);
    }
}
