//! Several instruments of one regressor.
//!
//! The products of the instruments with `y - b0 x` are within their errors of zero for the true
//! coefficient, all at once, however weak the instruments are. Their covariance, and that with the
//! products with `x`, depend on `b0`, quadratically, so that they are known everywhere once they
//! are known in three directions of the plane of `y` and `x`. One is what two-stage least squares
//! leaves, which decides how long the set is where instruments are strong; the others are what is
//! left of `x` beside it, and the sum of both. Each is the covariance of clipped gradients of rows
//! `a`, the instruments, with that residual.

use faer::Mat;

use super::{
    Plan,
    instrument::{New, Rights, SMALL, length},
    on_rows::OnRows,
    sequence::Sequence,
};
use crate::{
    Error,
    interval::{Overidentified, Variance},
    lattice::Whitening,
    matrix::{dot, times, transposed_times},
    method::noisy::NoisyMatrix,
    privacy::noise::RandomWords,
};

/// What is spent on the covariance in each direction, and on the length it is clipped at. The
/// covariance has more entries than that of one instrument and enters by its inverse.
const SHARES: [(&str, f64, f64); 3] =
    [("at the estimate", 0.01, 0.12), ("with the regressor", 0.005, 0.04), ("with both", 0.005, 0.04)];

/// What is left of the response at the estimate, and of the regressor beside that: directions of
/// root mean square 1 without a common moment.
struct Axes {
    estimate: f64,
    directions: [Vec<f64>; 2],
    /// The response less the estimate times the regressor along them, and what one unit of the
    /// coefficient more adds.
    line: [[f64; 2]; 2],
}

impl Axes {
    /// `None` if noise has left nothing of one of them.
    fn of(new: &New, moments: &Mat<f64>) -> Option<Axes> {
        let [with_response, with_regressor] = &new.moments;
        let estimate = dot(with_regressor, with_response) / dot(with_regressor, with_regressor);
        let [response, regressor] = &new.of;
        let residual = less(response, estimate, regressor);
        let residual_size = length(moments, &residual)?;
        let first: Vec<f64> = residual.iter().map(|one| one / residual_size).collect();
        let shared = dot(&times(moments, regressor), &first);
        let rest = less(regressor, shared, &first);
        let rest_size = length(moments, &rest)?;
        let second = rest.iter().map(|one| one / rest_size).collect();
        let line = [[residual_size, 0.0], [-shared, -rest_size]];
        estimate.is_finite().then_some(Axes { estimate, directions: [first, second], line })
    }

    /// The parts of the directions along the axes in which the covariance is released.
    fn released() -> [[f64; 2]; 3] {
        let half = 0.5f64.sqrt();
        [[1.0, 0.0], [0.0, 1.0], [half, half]]
    }

    fn direction(&self, [c, s]: [f64; 2]) -> Vec<f64> {
        self.directions[0].iter().zip(&self.directions[1]).map(|(u, v)| c * u + s * v).collect()
    }

    /// Rows to the instruments, and to the two axes made small.
    fn whitening(&self, instruments: &Mat<f64>) -> Whitening {
        let q = instruments.ncols();
        let column = |row: usize, k: usize| match k.checked_sub(q) {
            None => instruments[(row, k)],
            Some(axis) => SMALL * self.directions[axis][row],
        };
        Whitening::new(Mat::from_fn(instruments.nrows(), q + 2, column).as_ref())
    }
}

/// `a - share b`.
fn less(a: &[f64], share: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - share * b).collect()
}

impl<R: RandomWords> Sequence<'_, OnRows<'_, R>> {
    /// Sets aside what the set of several instruments needs.
    pub(super) fn rights_of_several(&mut self) -> Result<Rights, Error> {
        let mut of_each = Vec::new();
        for (which, of_length, of_spread) in SHARES {
            let length = self.spend(format!("length of the instruments' moments {which}"), of_length)?;
            let spread = self.spend(format!("covariance of the instruments' moments {which}"), of_spread)?;
            of_each.push((length, spread));
        }
        Ok(Rights { of_each })
    }

    /// The products of several instruments and how sure they are; `None` if noise has left nothing
    /// of the residuals.
    pub(super) fn by_several(
        &mut self,
        new: &New,
        moments: &NoisyMatrix,
        rights: Rights,
        (place, parameters): (usize, usize),
    ) -> Result<Option<Overidentified>, Error> {
        let Some(axes) = Axes::of(new, &moments.mean) else { return Ok(None) };
        let q = new.instruments.ncols();
        self.ask.turn(&axes.whitening(&new.instruments))?;
        let mut variances = Vec::new();
        for (parts, right) in Axes::released().into_iter().zip(rights.of_each) {
            // The residual is what the point takes away from a response of 0.
            let at: Vec<f64> = std::iter::repeat_n(0.0, q).chain(parts.map(|part| part / SMALL)).collect();
            let spread = self.covariance_at(&at, right)?;
            variances.push(self.plan.variance(new, &axes.direction(parts), (moments, &spread)));
        }
        let with = &moments.mean * &new.instruments;
        Ok(Some(Overidentified {
            place,
            parameters,
            estimate: axes.estimate,
            line: axes.line,
            moments: axes.directions.each_ref().map(|axis| transposed_times(&with, axis)),
            variances: variances.try_into().expect("three directions"),
        }))
    }
}

impl Plan {
    /// The variance of the products with one direction: of the draw of the rows, and of the noise
    /// in the moments, which is smaller by `sqrt 2` off the diagonal.
    fn variance(&self, new: &New, direction: &[f64], (moments, spread): (&NoisyMatrix, &NoisyMatrix)) -> Variance {
        let (q, per_row) = (new.instruments.ncols(), self.per_row());
        let among = new.instruments.transpose() * &new.instruments;
        let (with, square) = (transposed_times(&new.instruments, direction), dot(direction, direction));
        let half = 0.5 * moments.noise_sd * moments.noise_sd;
        Variance {
            sampling: Mat::from_fn(q, q, |j, k| per_row * spread.mean[(j, k)]),
            sampling_sd: per_row * spread.noise_sd,
            noise: Mat::from_fn(q, q, |j, k| half * (square * among[(j, k)] + with[j] * with[k])),
        }
    }
}
