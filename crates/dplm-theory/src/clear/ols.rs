//! Ordinary least squares, for comparison. It looks at the rows and adds no noise, so nothing here
//! is private.

use std::fmt;

use faer::Mat;

use dplm::{
    Error, ErrorKind, OtherError,
    theory::student::{t_quantile, t_two_sided_p},
};

/// A column closer than this (as the sine of the angle) to the span of the columns before it counts
/// as lying in it.
///
/// Rounding leaves a dependent column near 1e-15; the hardest independent one known here, a tenth
/// power in NIST's Filip set, is at 5e-8.
const RANK_TOLERANCE: f64 = 1e-12;

/// Why least squares has no solution. No message holds a cell's value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OlsError {
    /// The rows do not fit the number of columns or of responses.
    #[error("{responses} responses need {expected} numbers in their rows, but {found} were given")]
    Shape {
        /// Responses given.
        responses: usize,
        /// Numbers their rows need.
        expected: usize,
        /// Numbers given.
        found: usize,
    },
    /// A cell is infinite or not a number.
    #[error("column {column} (counting from 0) has a value that is not finite; remove or repair such rows")]
    NotFinite {
        /// The column; the number of columns stands for the response.
        column: usize,
    },
    /// No degree of freedom is left for the error.
    #[error("{columns} columns need more rows than that, but there are {rows}; give more rows or fewer columns")]
    TooFewRows {
        /// Rows given.
        rows: usize,
        /// Columns of the model.
        columns: usize,
    },
    /// A column is a linear combination of the columns before it.
    #[error("column {column} (counting from 0) is a linear combination of the columns before it; leave it out")]
    RankDeficient {
        /// The first such column.
        column: usize,
    },
}

impl From<OlsError> for Error {
    fn from(error: OlsError) -> Error {
        OtherError::new(ErrorKind::Fit, error).into()
    }
}

/// Least squares over rows that arrive in blocks.
///
/// Keeps the triangular factor R of `[X y]` and one block of rows. Each full block is stacked under
/// R and factored again by Householder reflections (a sequential TSQR), so the result has the
/// accuracy of QR on the whole data set, not that of the normal equations, in memory of p^2 plus
/// one block. Columns are scaled by powers of two, which is exact.
///
/// # Examples
/// ```
/// use dplm_theory::clear::Ols;
/// let mut ols = Ols::new(2).constant_column(0);
/// ols.push(&[1.0, 0.0, 1.0, 1.0], &[1.0, 3.0])?;
/// ols.push(&[1.0, 2.0, 1.0, 3.0], &[5.0, 7.5])?;
/// let fit = ols.finish()?;
/// assert!((fit.coefficients[1] - 2.15).abs() < 1e-14);
/// assert_eq!(fit.degrees_of_freedom, 2);
/// # Ok::<(), dplm_theory::clear::OlsError>(())
/// ```
#[derive(Clone)]
pub struct Ols {
    columns: usize,
    constant: Option<usize>,
    block_rows: usize,
    /// A power of two for each column and the response, chosen at the first full block.
    scales: Vec<f64>,
    /// R of `[X y]` so far; (p+1) x (p+1), upper triangular.
    triangle: Mat<f64>,
    /// Rows `[x y]` waiting to be factored, row-major.
    waiting: Vec<f64>,
    rows: usize,
    response_mean: f64,
    /// Sum of squares of the responses about their mean.
    response_spread: f64,
}

impl Ols {
    /// Least squares on `columns` columns, in their order. See
    /// [`constant_column`](Self::constant_column).
    pub fn new(columns: usize) -> Self {
        let width = columns + 1;
        Self {
            columns,
            constant: None,
            block_rows: (4 * width).max(1024),
            scales: Vec::new(),
            triangle: Mat::zeros(width, width),
            waiting: Vec::new(),
            rows: 0,
            response_mean: 0.0,
            response_spread: 0.0,
        }
    }

    /// Declares this column the constant, so that R squared is computed about the mean.
    pub fn constant_column(mut self, column: usize) -> Self {
        self.constant = Some(column);
        self
    }

    /// Rows factored at a time (at least 1); the default is four times the columns, or 1024 if that
    /// is more.
    pub fn block_rows(mut self, rows: usize) -> Self {
        self.block_rows = rows.max(1);
        self
    }

    /// Adds rows: `x` row-major, `columns` numbers for each response in `y`.
    ///
    /// # Errors
    /// When the lengths disagree or a number is not finite; the rows are then not added.
    pub fn push(&mut self, x: &[f64], y: &[f64]) -> Result<(), OlsError> {
        let expected = y.len() * self.columns;
        if x.len() != expected {
            return Err(OlsError::Shape { responses: y.len(), expected, found: x.len() });
        }
        if let Some(k) = x.iter().position(|v| !v.is_finite()) {
            return Err(OlsError::NotFinite { column: k % self.columns });
        }
        if y.iter().any(|v| !v.is_finite()) {
            return Err(OlsError::NotFinite { column: self.columns });
        }
        for (i, &response) in y.iter().enumerate() {
            self.waiting.extend_from_slice(&x[i * self.columns..(i + 1) * self.columns]);
            self.waiting.push(response);
            self.count(response);
            if self.waiting.len() == self.block_rows * (self.columns + 1) {
                self.factor();
            }
        }
        Ok(())
    }

    /// Solves for the rows pushed so far.
    ///
    /// # Errors
    /// When there are no more rows than columns, or a column is a linear combination of those
    /// before it.
    pub fn finish(mut self) -> Result<OlsFit, OlsError> {
        if self.rows <= self.columns {
            return Err(OlsError::TooFewRows { rows: self.rows, columns: self.columns });
        }
        self.factor();
        match (0..self.columns).find(|&j| self.is_dependent(j)) {
            Some(column) => Err(OlsError::RankDeficient { column }),
            None => Ok(self.solve()),
        }
    }

    /// Updates mean and spread of the responses (Welford).
    fn count(&mut self, response: f64) {
        self.rows += 1;
        let before = response - self.response_mean;
        self.response_mean += before / self.rows as f64;
        self.response_spread += before * (response - self.response_mean);
    }

    /// Factors the waiting rows into the triangle.
    fn factor(&mut self) {
        let width = self.columns + 1;
        if self.waiting.is_empty() {
            return;
        }
        if self.scales.is_empty() {
            self.scales = (0..width).map(|j| power_of_two_near(self.waiting[j..].iter().step_by(width))).collect();
        }
        let rows = self.waiting.len() / width;
        let stacked = Mat::from_fn(width + rows, width, |i, j| {
            if i < width { self.triangle[(i, j)] } else { self.waiting[(i - width) * width + j] / self.scales[j] }
        });
        let factored = stacked.qr();
        let upper = factored.thin_R();
        self.triangle = Mat::from_fn(width, width, |i, j| if i <= j { upper[(i, j)] } else { 0.0 });
        self.waiting.clear();
    }

    fn is_dependent(&self, column: usize) -> bool {
        let r = &self.triangle;
        let length = (0..=column).map(|i| r[(i, column)].powi(2)).sum::<f64>().sqrt();
        r[(column, column)].abs() <= RANK_TOLERANCE * length
    }

    fn solve(&self) -> OlsFit {
        let p = self.columns;
        let r = &self.triangle;
        let response_scale = self.scales[p];
        let inverse = invert_upper(r, p);
        let degrees_of_freedom = self.rows - p;
        let residual_ss = (r[(p, p)] * response_scale).powi(2);
        let residual_sd = (residual_ss / degrees_of_freedom as f64).sqrt();
        let total_ss = match self.constant {
            Some(_) => self.response_spread,
            None => (0..=p).map(|i| (r[(i, p)] * response_scale).powi(2)).sum(),
        };
        let coefficients =
            back_substitute(r, p).iter().zip(&self.scales).map(|(b, s)| b * response_scale / s).collect();
        // The lengths of the inverse's rows: squaring them through the covariance could overflow or
        // underflow.
        let row_length = |j: usize| (j..p).map(|l| inverse[(j, l)].powi(2)).sum::<f64>().sqrt();
        let std_errors = (0..p).map(|j| residual_sd * row_length(j) / self.scales[j]).collect();
        let unscaled_covariance: Vec<f64> = (0..p * p)
            .map(|k| {
                let (i, j) = (k / p, k % p);
                (i.max(j)..p).map(|l| inverse[(i, l)] * inverse[(j, l)]).sum::<f64>()
                    / (self.scales[i] * self.scales[j])
            })
            .collect();
        OlsFit {
            coefficients,
            std_errors,
            residual_sd,
            r_squared: 1.0 - residual_ss / total_ss,
            rows: self.rows,
            degrees_of_freedom,
            unscaled_covariance,
        }
    }
}

/// A least squares fit. Not private: every number is computed from the rows without noise.
///
/// It cannot be serialised, and its `Debug` prints nothing of the content.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct OlsFit {
    /// The coefficients, in column order.
    pub coefficients: Vec<f64>,
    /// Their classical standard errors, `s sqrt((X'X)^-1_jj)`; cluster-robust ones for persons with
    /// several rows.
    pub std_errors: Vec<f64>,
    /// Residual standard error `s`, with `n - p` in the denominator.
    pub residual_sd: f64,
    /// Share of the variation explained: about the mean when a constant column was named, about
    /// zero otherwise. NaN when the responses do not vary at all.
    pub r_squared: f64,
    /// Rows used.
    pub rows: usize,
    /// `n - p`; for persons with several rows, the number of persons minus one.
    pub degrees_of_freedom: usize,
    /// `(X'X)^-1`, p x p row-major; times `residual_sd^2` it is the covariance of the coefficients.
    pub unscaled_covariance: Vec<f64>,
}

impl OlsFit {
    /// `coefficient / std_error`, for each coefficient.
    pub fn t_values(&self) -> Vec<f64> {
        self.coefficients.iter().zip(&self.std_errors).map(|(b, s)| b / s).collect()
    }

    /// Two-sided p-values of the hypotheses that a coefficient is zero.
    pub fn p_values(&self) -> Vec<f64> {
        self.t_values().into_iter().map(|t| t_two_sided_p(t, self.degrees_of_freedom as f64)).collect()
    }

    /// Classical intervals (low, high) at a level between 0 and 1, such as 0.95; NaN at any other
    /// level.
    pub fn intervals(&self, level: f64) -> Vec<(f64, f64)> {
        let reach = t_quantile(0.5 + level / 2.0, self.degrees_of_freedom as f64);
        self.coefficients.iter().zip(&self.std_errors).map(|(b, s)| (b - reach * s, b + reach * s)).collect()
    }
}

impl fmt::Debug for OlsFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OlsFit(..)")
    }
}

/// The power of two just above the largest absolute value; 1 for a column of zeros.
fn power_of_two_near<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let largest = values.fold(0.0, |m: f64, v| m.max(v.abs()));
    if largest < f64::MIN_POSITIVE { 1.0 } else { largest.log2().ceil().clamp(-1000.0, 1000.0).exp2() }
}

/// Solves `R b = r` for the leading p x p triangle and the last column.
fn back_substitute(r: &Mat<f64>, p: usize) -> Vec<f64> {
    let mut solution = vec![0.0; p];
    for i in (0..p).rev() {
        let known: f64 = (i + 1..p).map(|j| r[(i, j)] * solution[j]).sum();
        solution[i] = (r[(i, p)] - known) / r[(i, i)];
    }
    solution
}

/// Inverse of the leading p x p triangle.
fn invert_upper(r: &Mat<f64>, p: usize) -> Mat<f64> {
    let mut inverse = Mat::<f64>::zeros(p, p);
    for j in 0..p {
        inverse[(j, j)] = 1.0 / r[(j, j)];
        for i in (0..j).rev() {
            let known: f64 = (i + 1..=j).map(|k| r[(i, k)] * inverse[(k, j)]).sum();
            inverse[(i, j)] = -known / r[(i, i)];
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows `1, x, x^2` and a response that is not a polynomial.
    fn sample(n: usize) -> (Vec<f64>, Vec<f64>) {
        let at = |i: usize| (i as f64 * 0.7).sin() * 3.0 + 5.0;
        let x = (0..n).flat_map(|i| [1.0, at(i), at(i).powi(2)]).collect();
        (x, (0..n).map(|i| at(i).ln() + (i as f64 * 1.3).cos()).collect())
    }

    fn fit(x: &[f64], y: &[f64], columns: usize) -> Result<OlsFit, OlsError> {
        let mut ols = Ols::new(columns);
        ols.push(x, y)?;
        ols.finish()
    }

    #[test]
    fn blocks_do_not_matter() {
        let (x, y) = sample(5000);
        let whole = fit(&x, &y, 3).expect("full rank");
        for block in [1, 7, 1000] {
            let mut ols = Ols::new(3).block_rows(block);
            x.chunks(3 * 613).zip(y.chunks(613)).for_each(|(x, y)| ols.push(x, y).expect("rows of three"));
            let pieces = ols.finish().expect("full rank");
            for (a, b) in pieces.coefficients.iter().zip(&whole.coefficients) {
                assert!((a / b - 1.0).abs() < 1e-11, "block {block}: {a} {b}");
            }
            assert!((pieces.residual_sd / whole.residual_sd - 1.0).abs() < 1e-13);
            assert!((pieces.std_errors[2] / whole.std_errors[2] - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn residuals_are_orthogonal_to_the_columns() {
        let (x, y) = sample(200);
        let fit = fit(&x, &y, 3).expect("full rank");
        for j in 0..3 {
            let inner: f64 = x
                .chunks(3)
                .zip(&y)
                .map(|(row, v)| row[j] * (v - row.iter().zip(&fit.coefficients).map(|(a, b)| a * b).sum::<f64>()))
                .sum();
            assert!(inner.abs() < 1e-9, "column {j}: {inner}");
        }
    }

    #[test]
    fn unscaled_covariance_inverts_the_gram_matrix() {
        let (x, y) = sample(200);
        let fit = fit(&x, &y, 3).expect("full rank");
        let gram = |i: usize, j: usize| x.chunks(3).map(|row| row[i] * row[j]).sum::<f64>();
        for k in 0..9 {
            let (i, j) = (k / 3, k % 3);
            let product: f64 = (0..3).map(|l| gram(i, l) * fit.unscaled_covariance[3 * l + j]).sum();
            assert!((product - f64::from(u8::from(i == j))).abs() < 1e-9, "{i}, {j}: {product}");
        }
        let from_covariance = fit.residual_sd * fit.unscaled_covariance[8].sqrt();
        assert!((fit.std_errors[2] / from_covariance - 1.0).abs() < 1e-14);
    }

    #[test]
    fn t_p_and_intervals_belong_together() {
        let (x, y) = sample(40);
        let fit = fit(&x, &y, 3).expect("full rank");
        for j in 0..3 {
            // An interval at level 1 - p just touches zero.
            let p = fit.p_values()[j];
            let (low, high) = fit.intervals(1.0 - p)[j];
            let touch = low.abs().min(high.abs());
            assert!(touch < 1e-9 * fit.coefficients[j].abs(), "{j}: {low} {high}");
        }
        assert!(fit.intervals(1.5)[0].0.is_nan());
    }

    #[test]
    fn r_squared_is_centred_only_with_a_constant() {
        let (x, mut y) = sample(60);
        y.iter_mut().for_each(|v| *v += 1e4);
        let plain = fit(&x, &y, 3).expect("full rank");
        let mut ols = Ols::new(3).constant_column(0);
        ols.push(&x, &y).expect("rows of three");
        let centred = ols.finish().expect("full rank");
        assert!(plain.r_squared > 1.0 - 1e-7);
        let mean = y.iter().sum::<f64>() / 60.0;
        let spread: f64 = y.iter().map(|v| (v - mean).powi(2)).sum();
        let expected = 1.0 - centred.residual_sd.powi(2) * 57.0 / spread;
        assert!((centred.r_squared - expected).abs() < 1e-9 && centred.r_squared < 0.9);
    }

    #[test]
    fn scale_of_a_column_changes_only_its_coefficient() {
        let (mut x, y) = sample(100);
        let plain = fit(&x, &y, 3).expect("full rank");
        x.iter_mut().skip(1).step_by(3).for_each(|v| *v *= 1e-200);
        let scaled = fit(&x, &y, 3).expect("full rank whatever the units");
        assert!((scaled.coefficients[1] / plain.coefficients[1] / 1e200 - 1.0).abs() < 1e-11);
        assert!((scaled.std_errors[2] / plain.std_errors[2] - 1.0).abs() < 1e-11);
        assert!((scaled.t_values()[1] / plain.t_values()[1] - 1.0).abs() < 1e-11);
    }

    #[test]
    fn names_the_column_that_repeats_others() {
        let (x, y) = sample(50);
        let wider: Vec<f64> = x.chunks(3).flat_map(|r| [r[0], r[1], 2.0 * r[0] - 0.3 * r[1], r[2]]).collect();
        assert_eq!(fit(&wider, &y, 4), Err(OlsError::RankDeficient { column: 2 }));
        let zero: Vec<f64> = x.chunks(3).flat_map(|r| [r[0], 0.0]).collect();
        assert_eq!(fit(&zero, &y, 2), Err(OlsError::RankDeficient { column: 1 }));
        let message = OlsError::RankDeficient { column: 2 }.to_string();
        assert_eq!(
            message,
            "column 2 (counting from 0) is a linear combination of the columns before it; leave it out"
        );
    }

    #[test]
    fn refuses_what_it_cannot_use() {
        assert_eq!(fit(&[1.0; 9], &[1.0; 3], 3), Err(OlsError::TooFewRows { rows: 3, columns: 3 }));
        assert_eq!(fit(&[1.0; 5], &[1.0; 2], 3), Err(OlsError::Shape { responses: 2, expected: 6, found: 5 }));
        assert_eq!(fit(&[1.0, f64::NAN], &[1.0], 2), Err(OlsError::NotFinite { column: 1 }));
        assert_eq!(fit(&[1.0, 2.0], &[f64::INFINITY], 2), Err(OlsError::NotFinite { column: 2 }));
    }

    #[test]
    fn says_nothing_of_the_rows() {
        let (x, y) = sample(10);
        assert_eq!(format!("{:?}", fit(&x, &y, 3).expect("full rank")), "OlsFit(..)");
    }
}
