//! What a fit says at other levels, of several coefficients together and of other rows: post-processing, which costs nothing.

use rayon::prelude::*;
use serde::Serialize;

use crate::{
    Coefficient, Error, Fit,
    interval::{Contrast, Inference, IntervalError},
    lattice::Design,
    matrix::{dot, times},
    options::Purpose,
    table::{ReadOptions, Source},
};

/// Rows whose intervals are made together: what is known of the curvature is worked out once for all of them.
const TOGETHER: usize = 512;

/// The ends of an interval; none where nothing can be said.
pub type Ends = Option<(f64, f64)>;

/// What a fit says of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// The mean response of rows like this one; not a number where a cell is missing.
    pub estimate: f64,
    /// The interval for that mean; none where a cell is missing, or the budget cannot tell.
    pub interval: Ends,
}

/// The covariance of estimates, in the coefficients' own units.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Covariance {
    /// The coefficients that are identified, in formula order.
    pub names: Vec<String>,
    /// A row and a column for each of them.
    pub values: Vec<Vec<f64>>,
}

/// The coefficients that predictions are made with: the estimates, and where none is printed what the inference has; zero for what was left
/// out. Not numbers where neither has any.
pub(crate) fn predictor(coefficients: &[Coefficient], inference: Option<&Inference>, design: &Design) -> Vec<f64> {
    let Some(inference) = inference else {
        return coefficients.iter().map(|one| one.estimate.unwrap_or(f64::NAN)).collect();
    };
    let (parameters, contrasts) = (inference.parameters(), design.contrasts());
    let known = coefficients.iter().zip(&contrasts);
    known.map(|(one, contrast)| one.estimate.unwrap_or_else(|| contrast.of(&parameters))).collect()
}

impl Fit {
    /// The intervals of the coefficients at another level, in order; none for one that is not identified.
    ///
    /// # Guarantee
    /// Post-processing: no budget is spent. At the level of the fit these are the fit's own intervals, bit for bit.
    ///
    /// # Errors
    /// When the level is not a probability, or the fit was for prediction.
    pub fn intervals(&self, level: f64) -> Result<Vec<Ends>, Error> {
        if self.purpose == Purpose::Prediction {
            return Err(IntervalError::NotReleased.into());
        }
        let Some(inference) = &self.inference else { return Ok(vec![None; self.coefficients.len()]) };
        let found = inference.intervals(&self.design.contrasts(), level)?;
        let ends = found.iter().zip(&self.coefficients);
        Ok(ends.map(|(interval, one)| one.identified.then_some((interval.low, interval.high))).collect())
    }

    /// The covariance of the estimates of the coefficients that are identified, privacy noise included; none when nothing was released for
    /// it. Its diagonal holds the squared standard errors.
    pub fn covariance(&self) -> Option<Covariance> {
        let parameters = self.inference.as_ref()?.covariance();
        let identified = self.coefficients.iter().zip(self.design.contrasts()).filter(|(one, _)| one.identified);
        let (names, weights): (Vec<String>, Vec<Vec<f64>>) =
            identified.map(|(one, contrast)| (one.name.clone(), contrast.weights)).unzip();
        let moved: Vec<Vec<f64>> = weights.iter().map(|one| times(&parameters, one)).collect();
        // Symmetric to the last bit, whatever products round to.
        let entry = |j: usize, k: usize| dot(&weights[j.min(k)], &moved[j.max(k)]);
        let row = |j: usize| (0..names.len()).map(|k| entry(j, k)).collect();
        let values = (0..names.len()).map(row).collect();
        Some(Covariance { names, values })
    }

    /// The coefficients that predictions are made with: the estimates, and for what is not identified the best guess there is; zero for what
    /// was left out.
    pub fn predictor(&self) -> Vec<f64> {
        predictor(&self.coefficients, self.inference.as_ref(), &self.design)
    }

    /// The mean response for each row of a table that has the model's features; the response need not be there.
    ///
    /// Cells are treated as they were in the fit: clamped to their bounds, and missing where a value is not a level.
    ///
    /// # Errors
    /// When a column is missing or the table cannot be read.
    pub fn predict(&self, source: &Source, options: &ReadOptions<'_>) -> Result<Vec<f64>, Error> {
        let predictor = self.predictor();
        let mut found = Vec::new();
        self.for_each_row(source, options, &mut |row| {
            found.push(row.map_or(f64::NAN, |(values, offset)| offset + dot(values, &predictor)));
        })?;
        Ok(found)
    }

    /// As [`predict`](Self::predict), with an interval for each mean.
    ///
    /// The interval is for the mean response of all rows like this one, as the intervals of coefficients are for the target of the
    /// fit. Where a single new response would fall is another question: the spread of the errors is not released.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); when the level is not a probability, or the fit released nothing to make intervals from.
    pub fn predict_intervals(
        &self,
        source: &Source,
        options: &ReadOptions<'_>,
        level: f64,
    ) -> Result<Vec<Prediction>, Error> {
        let inference = self.inference.as_ref().ok_or(IntervalError::NotReleased)?;
        let estimates = self.predict(source, options)?;
        let parts = self.design.contrasts();
        let mut contrasts = Vec::new();
        self.for_each_row(source, options, &mut |row| {
            contrasts.extend(row.map(|(values, offset)| combined(&parts, values, offset)));
        })?;
        let found: Vec<Vec<Ends>> = contrasts
            .par_chunks(TOGETHER)
            .map(|chunk| {
                let found = inference.intervals(chunk, level)?;
                Ok(found.iter().map(|one| one.identified.then_some((one.low, one.high))).collect())
            })
            .collect::<Result<_, IntervalError>>()?;
        // Rows with a missing cell have no contrast, and no number as their estimate.
        let mut ends = found.into_iter().flatten();
        let with_ends = |estimate: f64| {
            let interval = if estimate.is_nan() { None } else { ends.next().flatten() };
            Prediction { estimate, interval }
        };
        Ok(estimates.into_iter().map(with_ends).collect())
    }

    /// Visits every row as the values that multiply the coefficients and its offset; none for a row with a missing cell.
    fn for_each_row(
        &self,
        source: &Source,
        options: &ReadOptions<'_>,
        each: &mut dyn FnMut(Option<(&[f64], f64)>),
    ) -> Result<(), Error> {
        source.for_each_block(&self.design.predictors(), options, &mut |block| {
            self.design.for_each_row(block, each);
            Ok(())
        })?;
        Ok(())
    }
}

/// The linear function of the standardised parameters that a row of values and its offset make of the coefficients.
fn combined(parts: &[Contrast], values: &[f64], offset: f64) -> Contrast {
    let mut whole = Contrast { weights: vec![0.0; parts.len()], offset };
    for (part, value) in parts.iter().zip(values) {
        whole.offset += value * part.offset;
        whole.weights.iter_mut().zip(&part.weights).for_each(|(sum, weight)| *sum += value * weight);
    }
    whole
}
