//! Least squares for persons with several rows.

use dplm::{
    Design, Error, Person,
    formula::Model,
    privacy::NotPrivate,
    table::{Block, Cells, MISSING, ReadOptions, Source},
};

use super::{Ols, OlsFit, check_instrument};
use crate::dot;

/// Rows without a missing cell, and their persons.
#[derive(Default)]
struct PersonRows {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    persons: Vec<usize>,
    /// The number of rows of each person, complete or not.
    seen: Vec<u32>,
}

/// As [`least_squares`](super::least_squares), on the rows that a fit of persons uses: the first
/// rows of each person, up to the limit; if each person counts once, their complete rows share the
/// weight. Where persons have constants of their own, their means are taken out first. Standard
/// errors allow for correlated errors within persons (Liang and Zeger 1986), with the usual factor
/// `G / (G - 1) (n - 1) / (n - p)` for n rows of G persons, and `G - 1` degrees of freedom.
///
/// # Errors
/// When the table cannot be read, or the columns do not determine the coefficients.
pub fn least_squares_of_persons(
    source: &Source,
    model: &Model,
    person: &Person,
    options: &ReadOptions<'_>,
) -> Result<NotPrivate<OlsFit>, Error> {
    check_instrument(model)?;
    let design = Design::new(model);
    let options = ReadOptions { person: Some(&person.column), ..*options };
    let mut rows = PersonRows::default();
    source.for_each_block(design.columns(), &options, &mut |block| {
        rows.push(&block, &design, person.most_rows());
        Ok(())
    })?;
    if design.is_within() {
        rows.take_out_means();
    }
    let weights = if person.counts_once { rows.shared_weights() } else { vec![1.0; rows.y.len()] };
    let fit = rows.fit(&weights, model.intercept())?;
    Ok(NotPrivate::new(rows.clustered(fit, &weights)))
}

impl PersonRows {
    fn push(&mut self, block: &Block, design: &Design, most: u32) {
        let Some(Cells::Levels(of_rows)) = block.columns.last() else {
            unreachable!("the last column identifies persons")
        };
        for (row, &person) in of_rows.iter().enumerate().filter(|(_, person)| **person != MISSING) {
            let person = person as usize;
            self.seen.resize(self.seen.len().max(person + 1), 0);
            self.seen[person] += 1;
            if let Some((x, y)) = design.row_as_written(block, row).filter(|_| self.seen[person] <= most) {
                self.x.push(x);
                self.y.push(y);
                self.persons.push(person);
            }
        }
    }

    /// Takes each person's own means out of their complete rows.
    fn take_out_means(&mut self) {
        let mut of_persons = vec![Vec::new(); self.seen.len()];
        self.persons.iter().zip(0..).for_each(|(&person, row)| of_persons[person].push(row));
        for rows in of_persons.iter().filter(|rows| !rows.is_empty()) {
            let mean = |cell: &dyn Fn(usize) -> f64| rows.iter().map(|&row| cell(row)).sum::<f64>() / rows.len() as f64;
            let of_y = mean(&|row| self.y[row]);
            let of_x: Vec<f64> = (0..self.x[rows[0]].len()).map(|j| mean(&|row| self.x[row][j])).collect();
            for &row in rows {
                self.y[row] -= of_y;
                self.x[row].iter_mut().zip(&of_x).for_each(|(cell, mean)| *cell -= mean);
            }
        }
    }

    /// One over the number of a person's complete rows.
    fn shared_weights(&self) -> Vec<f64> {
        let mut rows = vec![0.0; self.seen.len()];
        self.persons.iter().for_each(|&person| rows[person] += 1.0);
        self.persons.iter().map(|&person| 1.0 / rows[person]).collect()
    }

    fn fit(&self, weights: &[f64], intercept: bool) -> Result<OlsFit, Error> {
        let mut ols = Ols::new(self.x.first().map_or(0, Vec::len));
        for ((x, y), weight) in self.x.iter().zip(&self.y).zip(weights) {
            let root = weight.sqrt();
            ols.push(&x.iter().map(|value| root * value).collect::<Vec<_>>(), &[root * y])?;
        }
        let fit = ols.finish()?;
        let residual_ss = fit.residual_sd.powi(2) * fit.degrees_of_freedom as f64;
        Ok(OlsFit { r_squared: 1.0 - residual_ss / self.total_ss(weights, intercept), ..fit })
    }

    /// The weighted sum of squares of the responses, about their mean if there is an intercept.
    fn total_ss(&self, weights: &[f64], intercept: bool) -> f64 {
        let mean = if intercept { dot(weights, &self.y) / weights.iter().sum::<f64>() } else { 0.0 };
        self.y.iter().zip(weights).map(|(y, weight)| weight * (y - mean).powi(2)).sum()
    }

    /// The same fit with cluster-robust standard errors: the variance of a coefficient is a sum
    /// over persons of the squared joint influence of their rows.
    fn clustered(&self, fit: OlsFit, weights: &[f64]) -> OlsFit {
        let features = fit.coefficients.len();
        let mut scores = vec![vec![0.0; features]; self.seen.len()];
        for (((x, y), &person), weight) in self.x.iter().zip(&self.y).zip(&self.persons).zip(weights) {
            let error = weight * (y - dot(x, &fit.coefficients));
            scores[person].iter_mut().zip(x).for_each(|(sum, value)| *sum += error * value);
        }
        let others = self.count().saturating_sub(1);
        let factor = (1.0 + 1.0 / others as f64) * (fit.rows - 1) as f64 / (fit.rows - features) as f64;
        let of_coefficient = |line: &[f64]| {
            let moved: f64 = scores.iter().map(|score| dot(line, score).powi(2)).sum();
            (factor * moved).sqrt()
        };
        let std_errors = fit.unscaled_covariance.chunks(features).map(of_coefficient).collect();
        OlsFit { std_errors, degrees_of_freedom: others, ..fit }
    }

    /// The number of persons with a complete row.
    fn count(&self) -> usize {
        let mut persons = self.persons.clone();
        persons.sort_unstable();
        persons.dedup();
        persons.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dplm::formula::Formula;

    fn fitted(rows: &[(f64, f64, u32)], counts_once: bool) -> OlsFit {
        let lines: String = rows.iter().map(|(y, x, id)| format!("{y},{x},{id}\n")).collect();
        let source = Source::from_csv_stream(&mut format!("y,x,id\n{lines}").as_bytes(), "rows").expect("a table");
        let model = Formula::parse("y[0..99] ~ x[0..9]").expect("a formula").resolve(source.schema()).expect("a model");
        let person = Person { counts_once, ..Person::new("id") };
        least_squares_of_persons(&source, &model, &person, &ReadOptions::default()).expect("determined").into_inner()
    }

    /// Against a table in which each person's rows are summed by hand.
    #[test]
    fn standard_errors_are_those_of_sums_over_persons() {
        let rows = [(1.0, 0.0, 1), (3.0, 1.0, 1), (2.0, 2.0, 2), (6.0, 3.0, 2), (9.0, 4.0, 3), (5.0, 5.0, 4)];
        let fit = fitted(&rows, false);
        let (a, b) = (fit.coefficients[0], fit.coefficients[1]);
        let mut sums = [[0.0; 2]; 4];
        for (y, x, id) in rows {
            let error = y - a - b * x;
            sums[id as usize - 1][0] += error;
            sums[id as usize - 1][1] += error * x;
        }
        // (X'X)^-1 of the rows 1, x with x = 0 to 5: n = 6, sum x = 15, sum x^2 = 55.
        let line = [-15.0 / 105.0, 6.0 / 105.0];
        let variance: f64 = sums.iter().map(|sum| (line[0] * sum[0] + line[1] * sum[1]).powi(2)).sum();
        let expected = (4.0 / 3.0 * 5.0 / 4.0 * variance).sqrt();
        assert!((fit.std_errors[1] - expected).abs() < 1e-12, "{} {expected}", fit.std_errors[1]);
        assert_eq!(fit.degrees_of_freedom, 3);
    }

    /// A person who appears twice changes nothing if each person counts once.
    #[test]
    fn a_person_counts_once() {
        let rows = [(1.0, 0.0, 1), (3.0, 1.0, 2), (2.0, 2.0, 3), (6.0, 3.0, 4), (9.0, 4.0, 5)];
        let twice = [&rows[..], &rows[4..]].concat();
        let (once, both) = (fitted(&rows, true), fitted(&twice, true));
        assert!(once.coefficients.iter().zip(&both.coefficients).all(|(one, other)| (one - other).abs() < 1e-12));
        assert!((once.r_squared - both.r_squared).abs() < 1e-12);
        assert!((fitted(&twice, false).coefficients[1] - once.coefficients[1]).abs() > 1e-3);
    }
}
