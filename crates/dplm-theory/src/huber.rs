//! The optimum that clipped gradient descent is after: least squares with a Huber loss of its own
//! for each row.

use faer::{Col, MatRef, Side, linalg::solvers::Solve};

use super::{NotPrivate, TheoryError, check_rows, check_rule, dot, law::eigen, norm};

/// Newton steps before the solver gives up. Light clipping takes five to ten; clipping nearly all,
/// up to seventy.
const MAX_ITERATIONS: usize = 500;

/// The optimum of the clipped loss on a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct HuberFit {
    /// The optimum.
    pub theta: Vec<f64>,
    /// Newton steps taken.
    pub iterations: usize,
    /// Norm of the mean clipped gradient at `theta`: zero except for rounding.
    pub gradient_norm: f64,
    /// Share of rows whose gradient is clipped at `theta`.
    pub clipped_fraction: f64,
    /// Curvature of the loss at `theta`, `H = (1/n) sum x x'` over unclipped rows; p x p.
    pub curvature: Vec<f64>,
}

/// Solves `sum_i x_i clamp(y_i - x_i'theta, -B_i, B_i) = 0`, `B_i = gamma / ||x_i||`, to machine
/// precision.
///
/// Clipping a row's gradient `-x r` to norm gamma is clamping its residual r to `B_i`, so DP-GD
/// without its noise descends the convex loss `(1/n) sum_i l_{B_i}(y_i - x_i'theta)`, with l the
/// Huber loss, and this is its optimum: the *empirical* target of the intervals. With gamma
/// infinite it is ordinary least squares.
///
/// Newton's method with an exact line search: the loss is piecewise quadratic, so the last step is
/// exact.
///
/// # Paper
/// Section 2.5, "Characterizing the effect of clipping".
///
/// # Errors
/// When the shapes disagree, a number is not finite, gamma is not positive, there are fewer rows
/// than columns, or the optimum is not unique.
///
/// # Examples
/// ```
/// use dplm_theory::huber::huber_optimum;
/// // Without clipping the mean, 3; with it, each response adds at most one to the gradient.
/// let fit = huber_optimum(&[1.0, 1.0, 1.0], &[0.0, 1.0, 8.0], 1, 1.0)?.into_inner();
/// assert!((fit.theta[0] - 1.0).abs() < 1e-15);
/// # Ok::<(), dplm_theory::TheoryError>(())
/// ```
pub fn huber_optimum(x: &[f64], y: &[f64], p: usize, gamma: f64) -> Result<NotPrivate<HuberFit>, TheoryError> {
    check_rule(gamma > 0.0, "the clip threshold", "positive")?;
    check_rows(x, y, p)?;
    let problem = Problem { x, y, p, limits: x.chunks(p).map(|row| gamma / norm(row)).collect() };
    problem.solve().map(NotPrivate::new)
}

/// The rows and the bound `B_i` on each residual.
struct Problem<'a> {
    x: &'a [f64],
    y: &'a [f64],
    p: usize,
    limits: Vec<f64>,
}

/// The loss near one parameter.
struct Point {
    residuals: Vec<f64>,
    gradient: Vec<f64>,
    curvature: Vec<f64>,
    clipped: usize,
    /// Size of the terms that cancel in the gradient; its rounding error is a small multiple of
    /// this times 1e-16.
    scale: f64,
}

impl Problem<'_> {
    fn solve(&self) -> Result<HuberFit, TheoryError> {
        let mut theta = vec![0.0; self.p];
        let mut point = self.look(&theta);
        let mut best = norm(&point.gradient);
        // Rounding decides the last figures; stop when a few steps in a row no longer help.
        let mut idle = 0;
        let mut iterations = 0;
        let mut best_theta = theta.clone();
        while iterations < MAX_ITERATIONS && idle < 3 && best > 0.0 {
            let Some(direction) = self.newton_direction(&point) else { break };
            let length = self.line_search(&point.residuals, &direction);
            theta.iter_mut().zip(&direction).for_each(|(a, d)| *a += length * d);
            point = self.look(&theta);
            iterations += 1;
            let size = norm(&point.gradient);
            idle = if size < best { 0 } else { idle + usize::from(best < 1e-12 * point.scale) };
            if size < best {
                best = size;
                best_theta.clone_from(&theta);
            }
        }
        self.conclude(best_theta, iterations)
    }

    /// Judges the best parameter found.
    fn conclude(&self, theta: Vec<f64>, iterations: usize) -> Result<HuberFit, TheoryError> {
        let point = self.look(&theta);
        let gradient_norm = norm(&point.gradient);
        if condition_is_hopeless(&point.curvature, self.p)? {
            return Err(TheoryError::NotUnique);
        }
        if gradient_norm > 1e-10 * point.scale {
            return Err(TheoryError::NoConvergence);
        }
        let clipped_fraction = point.clipped as f64 / self.y.len() as f64;
        Ok(HuberFit { theta, iterations, gradient_norm, clipped_fraction, curvature: point.curvature })
    }

    fn look(&self, theta: &[f64]) -> Point {
        let (p, n) = (self.p, self.y.len() as f64);
        let mut point = Point {
            residuals: Vec::with_capacity(self.y.len()),
            gradient: vec![0.0; p],
            curvature: vec![0.0; p * p],
            clipped: 0,
            scale: 0.0,
        };
        for ((row, response), &limit) in self.x.chunks(p).zip(self.y).zip(&self.limits) {
            let residual = response - dot(row, theta);
            let clamped = residual.clamp(-limit, limit) / n;
            point.gradient.iter_mut().zip(row).for_each(|(g, v)| *g -= clamped * v);
            point.scale += norm(row) * clamped.abs();
            point.residuals.push(residual);
            if residual.abs() > limit {
                point.clipped += 1;
            } else {
                // An unclipped residual is rounded as its response is; a clipped one is its limit,
                // exactly.
                point.scale += norm(row) * response.abs() / n;
                add_outer(&mut point.curvature, row, 1.0 / n);
            }
        }
        point
    }

    /// `-(H + ridge)^-1 g`. The ridge is there only when H is singular; the line search makes up
    /// for it.
    fn newton_direction(&self, point: &Point) -> Option<Vec<f64>> {
        let p = self.p;
        let size = self.x.iter().map(|v| v * v).sum::<f64>() / self.y.len() as f64;
        let rhs = Col::from_fn(p, |j| -point.gradient[j]);
        for ridge in [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0] {
            let mut matrix = point.curvature.clone();
            (0..p).for_each(|j| matrix[j * p + j] += ridge * size);
            let Ok(factor) = MatRef::from_row_major_slice(&matrix, p, p).llt(Side::Lower) else { continue };
            let direction: Vec<f64> = factor.solve(&rhs).iter().copied().collect();
            // A direction that does not descend is rounding, not a direction.
            if direction.iter().all(|d| d.is_finite()) && dot(&direction, &point.gradient) < 0.0 {
                return Some(direction);
            }
        }
        None
    }

    /// The length s at which the loss along `direction` is smallest.
    ///
    /// Its slope, `-(1/n) sum q_i clamp(r_i - s q_i, +-B_i)` with `q_i = x_i'd`, is non-decreasing
    /// and piecewise linear: bracket the sign change, then take secant steps, falling back to
    /// halving when they stall.
    fn line_search(&self, residuals: &[f64], direction: &[f64]) -> f64 {
        let reach: Vec<f64> = self.x.chunks(self.p).map(|row| dot(row, direction)).collect();
        let slope = |s: f64| -> f64 {
            let terms = residuals.iter().zip(&reach).zip(&self.limits);
            -terms.map(|((r, q), limit)| q * (r - s * q).clamp(-limit, *limit)).sum::<f64>()
        };
        let start = slope(0.0);
        let enough = 1e-13 * start.abs();
        let (mut low, mut high) = ((0.0, start), (1.0, slope(1.0)));
        while high.1 < -enough && high.0 < 1e18 {
            low = high;
            high = (2.0 * high.0, slope(2.0 * high.0));
        }
        for round in 0..200 {
            if high.1.abs() <= enough || high.0 - low.0 <= 1e-16 * high.0 {
                break;
            }
            let secant = low.0 - low.1 * (high.0 - low.0) / (high.1 - low.1);
            let middle = if round % 3 == 2 { (low.0 + high.0) / 2.0 } else { secant };
            let at = slope(middle);
            if at.abs() <= enough {
                return middle;
            }
            if at < 0.0 { low = (middle, at) } else { high = (middle, at) }
        }
        high.0
    }
}

/// `matrix += weight * row row'`.
fn add_outer(matrix: &mut [f64], row: &[f64], weight: f64) {
    for (cells, left) in matrix.chunks_mut(row.len()).zip(row) {
        cells.iter_mut().zip(row).for_each(|(cell, right)| *cell += weight * left * right);
    }
}

/// Whether the smallest eigenvalue is zero up to rounding.
fn condition_is_hopeless(curvature: &[f64], p: usize) -> Result<bool, TheoryError> {
    let (values, _) = eigen(curvature, p)?;
    let largest = values.iter().copied().fold(0.0, f64::max);
    Ok(values.iter().any(|&v| v <= 1e-14 * p as f64 * largest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated;

    const THETA: [f64; 4] = [0.5, -0.3, 0.8, 0.1];

    fn solve(x: &[f64], y: &[f64], p: usize, gamma: f64) -> HuberFit {
        huber_optimum(x, y, p, gamma).expect("solvable").into_inner()
    }

    #[test]
    fn gradient_vanishes_from_no_clipping_to_nearly_all() {
        let (x, y) = simulated::regression(1, 2000, &THETA, 1.0);
        let mut previous = 0.0;
        for gamma in [f64::INFINITY, 20.0, 3.0, 1.0, 0.1, 1e-3] {
            let fit = solve(&x, &y, 4, gamma);
            assert!(fit.gradient_norm < 1e-13 * gamma.min(10.0), "gamma {gamma}: {}", fit.gradient_norm);
            assert!(fit.clipped_fraction >= previous);
            previous = fit.clipped_fraction;
        }
        assert!(previous > 0.99);
    }

    #[test]
    fn is_least_squares_when_nothing_is_clipped() {
        let (x, y) = simulated::regression(2, 300, &THETA, 2.0);
        let fit = solve(&x, &y, 4, 1e6);
        let mut ols = crate::clear::Ols::new(4);
        ols.push(&x, &y).expect("rows of four");
        let expected = ols.finish().expect("full rank").coefficients;
        assert!(fit.theta.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-13));
        assert_eq!(fit.clipped_fraction, 0.0);
    }

    #[test]
    fn agrees_with_long_clipped_gradient_descent() {
        let (x, y) = simulated::regression(3, 400, &THETA, 1.0);
        let gamma = 1.2;
        let fit = solve(&x, &y, 4, gamma);
        assert!(fit.clipped_fraction > 0.3);
        let mut theta = vec![0.0; 4];
        for _ in 0..2000 {
            let mut step = vec![0.0; 4];
            for (row, response) in x.chunks(4).zip(&y) {
                // Clipped as a vector, the way the algorithm is written.
                let gradient: Vec<f64> = row.iter().map(|v| v * (response - dot(row, &theta))).collect();
                let shrink = (gamma / norm(&gradient)).min(1.0);
                step.iter_mut().zip(gradient).for_each(|(s, g)| *s += shrink * g / 400.0);
            }
            theta.iter_mut().zip(step).for_each(|(a, s)| *a += 0.5 * s);
        }
        assert!(theta.iter().zip(&fit.theta).all(|(a, b)| (a - b).abs() < 1e-12), "{theta:?} {:?}", fit.theta);
    }

    #[test]
    fn outliers_and_empty_rows_do_not_upset_it() {
        let (mut x, mut y) = simulated::regression(4, 500, &THETA, 0.1);
        y[..20].iter_mut().for_each(|v| *v = 1e9);
        x[400..404].fill(0.0);
        let fit = solve(&x, &y, 4, 1.0);
        assert!(fit.gradient_norm < 1e-13);
        assert!(fit.theta.iter().zip(THETA).all(|(a, b)| (a - b).abs() < 0.1), "{:?}", fit.theta);
    }

    #[test]
    fn refuses_too_few_rows_and_repeated_columns() {
        let wide = huber_optimum(&[1.0; 6], &[1.0, 2.0], 3, 1.0).expect_err("two rows, three columns");
        assert_eq!(wide, TheoryError::TooFewRows { rows: 2, columns: 3 });
        let (x, y) = simulated::regression(5, 50, &[1.0], 1.0);
        let doubled: Vec<f64> = x.iter().flat_map(|v| [*v, *v]).collect();
        assert_eq!(huber_optimum(&doubled, &y, 2, 1.0).expect_err("same column twice"), TheoryError::NotUnique);
        assert!(huber_optimum(&x, &y, 1, 0.0).is_err());
    }
}
