//! What a fit says at other levels and of other rows: post-processing, which costs nothing.

use rayon::prelude::*;

use crate::{
    Error, Fit,
    formula::{Column, Kind},
    interval::{Contrast, IntervalError},
    lattice::Slot,
    options::Purpose,
    table::{Block, Cells, MISSING, ReadOptions, Source},
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

    /// The mean response for each row of a table that has the model's features; the response need not be there.
    ///
    /// Cells are treated as they were in the fit: clamped to their bounds, unknown levels taken for the reference.
    ///
    /// # Errors
    /// When a column is missing or the table cannot be read.
    pub fn predict(&self, source: &Source, options: &ReadOptions<'_>) -> Result<Vec<f64>, Error> {
        let estimates: Vec<f64> = self.coefficients.iter().map(|one| one.estimate).collect();
        let mut found = Vec::new();
        self.for_each_row(source, options, &mut |row| {
            found.push(row.map_or(f64::NAN, |values| values.iter().zip(&estimates).map(|(x, b)| x * b).sum()));
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
        self.for_each_row(source, options, &mut |row| contrasts.extend(row.map(|values| combined(&parts, values))))?;
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

    /// Visits every row as the values that multiply the coefficients; none for a row with a missing cell.
    fn for_each_row(
        &self,
        source: &Source,
        options: &ReadOptions<'_>,
        each: &mut dyn FnMut(Option<&[f64]>),
    ) -> Result<(), Error> {
        let columns = &self.design.columns()[1..];
        let mut values = vec![0.0; self.design.features()];
        source.for_each_block(columns, options, &mut |block| {
            for row in 0..block.rows {
                let complete = self.fill(&mut values, columns, &block, row);
                each(complete.then_some(&values[..]));
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Writes one row's values; says whether every cell was there.
    fn fill(&self, values: &mut [f64], columns: &[Column], block: &Block, row: usize) -> bool {
        for (value, slot) in values.iter_mut().zip(self.design.slots()) {
            *value = match slot {
                Slot::Intercept => 1.0,
                Slot::Number { feature, .. } => clamped(&columns[*feature].kind, number(&block.columns[*feature], row)),
                Slot::Level { feature, level } => f64::from(code(&block.columns[*feature], row) == *level),
            };
        }
        (0..columns.len()).all(|feature| is_there(&block.columns[feature], row))
    }
}

/// The linear function of the standardised parameters that a row of values makes of the coefficients.
fn combined(parts: &[Contrast], values: &[f64]) -> Contrast {
    let mut whole = Contrast { weights: vec![0.0; parts.len()], offset: 0.0 };
    for (part, value) in parts.iter().zip(values) {
        whole.offset += value * part.offset;
        whole.weights.iter_mut().zip(&part.weights).for_each(|(sum, weight)| *sum += value * weight);
    }
    whole
}

fn clamped(kind: &Kind, cell: f64) -> f64 {
    match *kind {
        Kind::Bounded { low, high } => cell.clamp(low, high),
        Kind::Standard | Kind::Levels(_) => cell,
    }
}

fn number(cells: &Cells, row: usize) -> f64 {
    match cells {
        Cells::Numbers(numbers) => numbers[row],
        Cells::Levels(_) => f64::NAN,
    }
}

fn code(cells: &Cells, row: usize) -> u32 {
    match cells {
        Cells::Levels(codes) => codes[row],
        Cells::Numbers(_) => MISSING,
    }
}

fn is_there(cells: &Cells, row: usize) -> bool {
    match cells {
        Cells::Numbers(numbers) => numbers[row].is_finite(),
        Cells::Levels(codes) => codes[row] != MISSING,
    }
}
