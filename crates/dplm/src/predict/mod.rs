//! Results of a fit at other levels, for several coefficients together and for other rows:
//! post-processing, which costs nothing.

mod effects;
mod simultaneous;
mod over;

pub use effects::Effect;
pub use over::{Coverage, Over, OverPoint, OverValue};
pub(crate) use simultaneous::level_of_each;

use rayon::prelude::*;
use serde::Serialize;

use crate::{
    Bounded, Coefficient, Error, Fit, OddsRatio,
    interval::{Contrast, Inference, Interval, IntervalError},
    lattice::{Design, Slot},
    matrix::{dot, times},
    options::{Family, Purpose},
    table::{Block, ReadOptions, Source},
    theory::student,
    warning::listed,
};

/// Rows whose intervals are made together: the curvature's uncertainty is computed once for all of
/// them.
const TOGETHER: usize = 512;

/// The ends of an interval; `None` if it is not identified.
pub type Ends = Option<(f64, f64)>;

/// The prediction for one row.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// The mean response of rows like this one; NaN if a cell is missing.
    pub estimate: f64,
    /// The standard error of that mean; `None` if a cell is missing, or the budget cannot identify
    /// the mean.
    pub std_error: Option<f64>,
    /// The interval for that mean; `None` in the same cases.
    pub interval: Ends,
    /// The prediction interval for the response of a single person like this one; `None` in the
    /// same cases, and if the spread of the errors was not released.
    pub person: Ends,
}

impl Prediction {
    /// For a row with a missing cell.
    pub(crate) const NONE: Prediction =
        Prediction { estimate: f64::NAN, std_error: None, interval: None, person: None };
}

/// Why a prediction is refused. A model is public, so its columns and levels may be named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PredictionError {
    /// The spread of the errors is not known.
    #[error("this fit released no residual standard deviation, so it cannot predict a single person: ask for the mean")]
    NoResidualSd,
    /// The constants of persons are not released.
    #[error(
        "each '{column}' has a constant of their own, which no budget releases, so that this fit cannot predict a response: its \
         coefficients say by how much one changes within a person"
    )]
    OfPersons {
        /// The column of persons.
        column: String,
    },
    /// Only some coefficients were estimated.
    #[error(
        "this fit is for {} and estimates no other coefficient, so it cannot predict: fit all \
         coefficients, without a focus",
        listed(names)
    )]
    OfInterest {
        /// The coefficients of interest.
        names: Vec<String>,
    },
    /// Only one coefficient is known.
    #[error(
        "only the coefficient of '{regressor}', which is instrumented, was released, so that this fit cannot predict a response"
    )]
    OfInstrument {
        /// What is instrumented.
        regressor: String,
    },
    /// A column that the model does not use.
    #[error("the model has no predictor '{column}': its predictors are {}", listed(columns))]
    NoSuchColumn {
        /// The name.
        column: String,
        /// The predictors.
        columns: Vec<String>,
    },
    /// A value that is not a level.
    #[error("'{value}' is not a level of '{column}': its levels are {}", listed(levels))]
    NoSuchLevel {
        /// The column.
        column: String,
        /// The value.
        value: String,
        /// Its levels.
        levels: Vec<String>,
    },
    /// A value that is not a number.
    #[error("'{column}' holds numbers, but '{value}' is not one: give a number")]
    NotANumber {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// A value that is not a date.
    #[error("'{column}' holds dates, but '{value}' is not one: write it as 2020-12-31")]
    NotADate {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// A column that is both held and varied, or held twice.
    #[error("'{column}' cannot be held at a value and vary: name it once")]
    NamedTwice {
        /// The column.
        column: String,
    },
    /// The levels of other columns have too many combinations to average over.
    #[error("the other categories have more than {most} combinations of levels: hold some of them at a level")]
    TooManyCombinations {
        /// The most that are averaged over.
        most: usize,
    },
}

/// The covariance of estimates, in the coefficients' own units.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Covariance {
    /// The identified coefficients, in formula order.
    pub names: Vec<String>,
    /// A row and a column for each of them.
    pub values: Vec<Vec<f64>>,
}

/// The coefficients used for predictions: the estimates, and for a coefficient that is not
/// identified the inference's value; zero for one that was left out. NaN if neither exists.
pub(crate) fn predictor(coefficients: &[Coefficient], inference: Option<&Inference>, design: &Design) -> Vec<f64> {
    let Some(inference) = inference else {
        return coefficients.iter().map(|one| one.estimate.unwrap_or(f64::NAN)).collect();
    };
    let (parameters, contrasts) = (inference.parameters(), design.contrasts());
    let known = coefficients.iter().zip(&contrasts);
    known.map(|(one, contrast)| one.estimate.unwrap_or_else(|| contrast.of(&parameters))).collect()
}

/// What multiplies the coefficients in a row of a table, and what is added to their sum.
pub type DesignRow = (Vec<f64>, f64);

impl Fit {
    /// The intervals of the reported coefficients at another level, in order; `None` for one that
    /// is not identified.
    ///
    /// # Guarantee
    /// Post-processing: no budget is spent. At the level of the fit these are the fit's own
    /// intervals, bit for bit.
    ///
    /// # Errors
    /// When the level is not a probability, or the fit was for prediction.
    pub fn intervals(&self, level: f64) -> Result<Vec<Ends>, Error> {
        if self.purpose == Purpose::Prediction {
            return Err(IntervalError::NotReleased.into());
        }
        let Some(inference) = &self.inference else { return Ok(vec![None; self.reported().count()]) };
        let is_reported = |one: &Coefficient| self.focus.as_ref().is_none_or(|focus| focus.has(&one.name));
        let all = self.coefficients.iter().zip(self.design.contrasts());
        let contrasts: Vec<Contrast> = all.filter(|(one, _)| is_reported(one)).map(|(_, contrast)| contrast).collect();
        let found = inference.intervals(&contrasts, level)?;
        let ends = found.iter().zip(self.reported());
        Ok(ends.map(|(interval, one)| one.identified.then_some((interval.low, interval.high))).collect())
    }

    /// The covariance of the estimates of the identified coefficients, privacy noise included;
    /// `None` when nothing was released for it. Its diagonal holds the squared standard errors.
    pub fn covariance(&self) -> Option<Covariance> {
        let parameters = self.inference.as_ref()?.covariance();
        let identified = self.coefficients.iter().zip(self.design.contrasts()).filter(|(one, _)| one.identified);
        let (names, weights): (Vec<String>, Vec<Vec<f64>>) =
            identified.map(|(one, contrast)| (one.name.clone(), contrast.weights)).unzip();
        let moved: Vec<Vec<f64>> = weights.iter().map(|one| times(&parameters, one)).collect();
        // Symmetric to the last bit, whatever the rounding of products.
        let entry = |j: usize, k: usize| dot(&weights[j.min(k)], &moved[j.max(k)]);
        let row = |j: usize| (0..names.len()).map(|k| entry(j, k)).collect();
        let values = (0..names.len()).map(row).collect();
        Some(Covariance { names, values })
    }

    /// The odds ratios of a logit, for each identified coefficient except the constant; empty for
    /// another fit.
    ///
    /// # Errors
    /// As [`intervals`](Self::intervals).
    pub fn odds_ratios(&self, level: f64) -> Result<Vec<OddsRatio>, Error> {
        if self.family() != Family::Binomial {
            return Ok(Vec::new());
        }
        let ends = self.intervals(level)?;
        let ratio = |(one, (slot, ends)): (&Coefficient, (&Slot, Ends))| {
            let ((low, high), estimate) = (ends?, one.estimate?);
            (*slot != Slot::Intercept).then(|| OddsRatio {
                name: one.name.clone(),
                estimate: estimate.exp(),
                low: low.exp(),
                high: high.exp(),
            })
        };
        Ok(self.coefficients.iter().zip(self.design.slots().iter().zip(ends)).filter_map(ratio).collect())
    }

    /// The coefficients used for predictions: the estimates, the best available value for a
    /// coefficient that is not identified, and zero for one that was left out.
    pub fn predictor(&self) -> Vec<f64> {
        predictor(&self.coefficients, self.inference.as_ref(), &self.design)
    }

    /// The mean response for each row of a table that has the model's features; the table need not
    /// have the response.
    ///
    /// Cells are treated as in the fit: clamped to their bounds, and missing where a value is not a
    /// level.
    ///
    /// # Errors
    /// When a column is missing, the table cannot be read, or persons have constants of their own.
    pub fn predict(&self, source: &Source, options: &ReadOptions<'_>) -> Result<Vec<f64>, Error> {
        self.check_predicts()?;
        let (predictor, family) = (self.predictor(), self.family());
        let mut found = Vec::new();
        self.for_each_block(source, options, &mut |rows| {
            let mean = |row: &RowValues| mean(family, row.at(&predictor));
            found.extend(rows.iter().map(|row| row.as_ref().map_or(f64::NAN, mean)));
        })?;
        Ok(found)
    }

    /// As [`predict`](Self::predict), with intervals.
    ///
    /// `interval` is for the mean response of all rows like this one, with the same target as the
    /// intervals of the coefficients. `person` predicts a single new response; it assumes Gaussian
    /// errors, and adds their released variance to that of the mean. The uncertainty of that
    /// variance enters through the degrees of freedom of Student's t (Satterthwaite 1946).
    ///
    /// # Errors
    /// As [`predict`](Self::predict); when the level is not a probability, or the fit released
    /// nothing to make intervals from.
    pub fn predict_intervals(
        &self,
        source: &Source,
        options: &ReadOptions<'_>,
        level: f64,
    ) -> Result<Vec<Prediction>, Error> {
        let predictor = Predictor::of_means(self, level)?;
        let mut found = Vec::new();
        self.for_each_block(source, options, &mut |rows| found.extend(predictor.of_rows(&rows)))?;
        Ok(found)
    }

    /// The design row of each row of a table; `None` for a row with a missing cell. Programs that
    /// compute effects ask for it: a mean at other coefficients follows from it.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn design_rows(&self, source: &Source, options: &ReadOptions<'_>) -> Result<Vec<Option<DesignRow>>, Error> {
        self.check_predicts()?;
        let mut found = Vec::new();
        self.for_each_block(source, options, &mut |rows| {
            found.extend(rows.into_iter().map(|row| row.map(|row| (row.values, row.offset))));
        })?;
        Ok(found)
    }

    /// Refuses predictions of what is not known.
    fn check_predicts(&self) -> Result<(), PredictionError> {
        if let Some(focus) = &self.focus {
            return Err(PredictionError::OfInterest { names: focus.coefficients.clone() });
        }
        let model = self.design.model();
        match (model.endogenous(), model.within()) {
            (Some(regressor), _) => Err(PredictionError::OfInstrument { regressor }),
            (None, Some(column)) => Err(PredictionError::OfPersons { column: column.to_owned() }),
            (None, None) => Ok(()),
        }
    }

    /// Visits every block of rows; `None` for a row with a missing cell.
    fn for_each_block(
        &self,
        source: &Source,
        options: &ReadOptions<'_>,
        each: &mut dyn FnMut(Vec<Option<RowValues>>),
    ) -> Result<(), Error> {
        source.for_each_block(&self.design.predictors(), options, &mut |block| {
            each(self.rows(block));
            Ok(())
        })?;
        Ok(())
    }

    /// The rows of a block of the columns that prediction needs.
    fn rows(&self, block: Block) -> Vec<Option<RowValues>> {
        let mut rows = Vec::with_capacity(block.rows);
        let mut keep = |row: Option<(&[f64], f64)>| {
            rows.push(row.map(|(values, offset)| RowValues { values: values.to_vec(), offset }));
        };
        self.design.for_each_row(block, &mut keep);
        rows
    }
}

/// The mean response at a linear function of a row.
fn mean(family: Family, linear: f64) -> f64 {
    match family {
        Family::Gaussian => linear,
        Family::Binomial => 1.0 / (1.0 + (-linear).exp()),
    }
}

/// The probability at a linear function. Its interval has the transformed ends of that of the
/// linear function: it is within 0 and 1 and covers as often. Its standard error is by the delta
/// method.
fn probability(linear: f64, interval: &Interval) -> Prediction {
    let &Interval { std_error, low, high, identified, .. } = interval;
    let at = |linear: f64| mean(Family::Binomial, linear);
    let estimate = at(linear);
    Prediction {
        estimate,
        std_error: identified.then_some(estimate * (1.0 - estimate) * std_error),
        interval: identified.then_some((at(low), at(high))),
        person: None,
    }
}

/// One row: the values that multiply the coefficients, and the term added to their sum.
#[derive(Clone, Debug, PartialEq)]
struct RowValues {
    values: Vec<f64>,
    offset: f64,
}

impl RowValues {
    /// The mean response.
    fn at(&self, coefficients: &[f64]) -> f64 {
        self.offset + dot(&self.values, coefficients)
    }

    /// The same as a function of the standardised parameters.
    fn contrast(&self, parts: &[Contrast]) -> Contrast {
        let mut whole = Contrast::combined(parts, &self.values);
        whole.offset += self.offset;
        whole
    }
}

/// Makes predictions with intervals.
pub(crate) struct Predictor<'a> {
    fit: &'a Fit,
    inference: &'a Inference,
    coefficients: Vec<f64>,
    parts: Vec<Contrast>,
    residual_sd: Option<(Bounded, f64)>,
    level: f64,
}

impl<'a> Predictor<'a> {
    /// Of the mean response, not of changes only.
    ///
    /// # Errors
    /// As [`new`](Self::new); and when persons have constants of their own.
    pub(crate) fn of_means(fit: &'a Fit, level: f64) -> Result<Predictor<'a>, Error> {
        fit.check_predicts()?;
        Ok(Predictor::new(fit, level)?)
    }

    /// # Errors
    /// When the level is not a probability, or the fit released nothing to make intervals from.
    fn new(fit: &'a Fit, level: f64) -> Result<Predictor<'a>, IntervalError> {
        let inference = fit.inference.as_ref().ok_or(IntervalError::NotReleased)?;
        // Refuses an invalid level before a row is read.
        inference.intervals(&[], level)?;
        let residual_sd = fit.residual_sd.map(|sd| (sd, fit.level));
        let (coefficients, parts) = (fit.predictor(), fit.design.contrasts());
        Ok(Predictor { fit, inference, coefficients, parts, residual_sd, level })
    }

    /// The predictions for the rows of a block of the columns that prediction needs.
    pub(crate) fn of_block(&self, block: Block) -> Vec<Prediction> {
        self.of_rows(&self.fit.rows(block))
    }

    fn of_rows(&self, rows: &[Option<RowValues>]) -> Vec<Prediction> {
        let of_chunk = |chunk: &[Option<RowValues>]| {
            let contrasts: Vec<Contrast> = chunk.iter().flatten().map(|row| row.contrast(&self.parts)).collect();
            let found = self.inference.intervals(&contrasts, self.level);
            let mut found = found.expect("the level is sound and the contrasts are the design's").into_iter();
            let next = |row: &Option<RowValues>| match row {
                Some(row) => self.of_row(row, &found.next().expect("one for each complete row")),
                None => Prediction::NONE,
            };
            chunk.iter().map(next).collect::<Vec<_>>()
        };
        rows.par_chunks(TOGETHER).flat_map(of_chunk).collect()
    }

    fn of_row(&self, row: &RowValues, interval: &Interval) -> Prediction {
        let &Interval { std_error, low, high, identified, .. } = interval;
        let linear = row.at(&self.coefficients);
        if self.fit.family() == Family::Binomial {
            return probability(linear, interval);
        }
        let estimate = linear;
        let person = self.residual_sd.map(|sd| self.of_person(estimate, std_error, sd));
        Prediction {
            estimate,
            std_error: identified.then_some(std_error),
            interval: identified.then_some((low, high)),
            person: person.filter(|_| identified),
        }
    }

    /// The prediction interval of a single response, given the standard deviation of the errors
    /// with its interval at a level.
    fn of_person(&self, mean: f64, std_error: f64, (sd, sd_level): (Bounded, f64)) -> (f64, f64) {
        let sd_error = (sd.high - sd.low) / (2.0 * student::normal_quantile(0.5 + sd_level / 2.0));
        let variance = std_error.powi(2) + sd.estimate.powi(2);
        // The degrees of freedom at which a chi-square variable has the variance's relative
        // variance.
        let df = variance.powi(2) / (2.0 * (sd.estimate * sd_error).powi(2));
        let df = if df.is_nan() { f64::INFINITY } else { df };
        let half = student::t_quantile(0.5 + self.level / 2.0, df) * variance.sqrt();
        (mean - half, mean + half)
    }
}
