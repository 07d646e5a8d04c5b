//! Several fits of one model, pooled by precision.
//!
//! Each fit states `B_i' (H_i (t_i - B_i beta) - g_i) = noise_i` for the same `beta` (see
//! [`Newton`]). With weights `w_i` that sum to 1 the sum of these equations is that of one run in
//! the joint coordinates: `B` stacks the `sqrt(w_i) B_i`, and the curvature is block diagonal. The
//! pooled fit is therefore a [`Newton`] itself: its intervals come from the same inversion, and it
//! can be pooled again.
//!
//! Privacy noise is independent between runs. The sampling error is not, since the rows are the
//! same: it enters every run as the same sum of gradients, so its blocks are those of one
//! covariance.

use faer::Mat;

use super::{IntervalError, Newton, check_features};
use crate::matrix::{Eigen, dot, inverse, times};

impl Newton {
    /// Pools this fit and another of the same model on the same rows.
    ///
    /// # Errors
    /// When the other fit has another model.
    pub(crate) fn pooled(&self, other: &Newton) -> Result<Newton, IntervalError> {
        check_features("the parameters", self.parameters, other.parameters)?;
        check_features("the kept parameters", self.kept.len(), other.kept.len())?;
        let parts = [self.in_independent_entries(), other.in_independent_entries()];
        let precisions = [&parts[0], &parts[1]].map(|part| part.privacy_variance().recip());
        let weights = precisions.map(|precision| precision / (precisions[0] + precisions[1]));
        let estimate = pooled_estimate(&parts, weights);
        let sampling = pooled_sampling(&parts, weights);
        let [first, second] = &parts;
        Ok(Newton {
            parameters: self.parameters,
            kept: self.kept.clone(),
            displacement: stacked_displacement(&parts, weights, &estimate),
            estimate,
            basis: on_top(first, second, weights, |part| part.basis.clone()),
            noise: with_privacy(lifted(&sampling, &parts, weights), &parts, weights),
            noise_uncertainty: lifted(&pooled_uncertainty(&parts, weights), &parts, weights),
            privacy: parts.iter().zip(weights).flat_map(|(part, w)| part.privacy.iter().map(move |v| w * v)).collect(),
            curvature: blocks(&first.curvature, &second.curvature),
            entry_sd: blocks(&first.entry_sd, &second.entry_sd),
            scale_sd: 0.0,
            withheld: self.withheld.iter().chain(&other.withheld).copied().collect(),
        })
    }

    /// The same fit with the common factor's uncertainty moved into the entries: the square of a
    /// sum of `k` perfectly correlated terms is at most `k` times the sum of their squares.
    fn in_independent_entries(&self) -> Newton {
        let p = self.displacement.len();
        let factor_var = p as f64 * self.scale_sd.powi(2);
        let entry =
            |j: usize, k: usize| (self.entry_sd[(j, k)].powi(2) + factor_var * self.curvature[(j, k)].powi(2)).sqrt();
        Newton { entry_sd: Mat::from_fn(p, p, entry), scale_sd: 0.0, ..self.clone() }
    }

    /// The variance that privacy adds to a coordinate of the gradient, averaged over those of the
    /// kept parameters.
    fn privacy_variance(&self) -> f64 {
        let column = |k: usize| self.basis.col_as_slice(k);
        let weighed = |k: usize| column(k).iter().zip(&self.privacy).map(|(b, v)| b * b * v).sum::<f64>();
        let (all, noise) = (0..self.kept.len())
            .fold((0.0, 0.0), |(all, noise), k| (all + dot(column(k), column(k)), noise + weighed(k)));
        noise / all
    }

    /// `V`: the covariance that sampling adds to the gradient of the kept parameters.
    fn sampling(&self) -> Mat<f64> {
        let p = self.displacement.len();
        let sampling = Mat::from_fn(p, p, |j, k| self.noise[(j, k)] - if j == k { self.privacy[j] } else { 0.0 });
        self.basis.transpose() * sampling * &self.basis
    }

    /// `A = B' M B`.
    fn curvature_of_kept(&self) -> Mat<f64> {
        self.basis.transpose() * &self.curvature * &self.basis
    }
}

/// `(sum w A)^-1 sum w A b`.
fn pooled_estimate(parts: &[Newton; 2], weights: [f64; 2]) -> Vec<f64> {
    let [first, second] = parts.each_ref().map(Newton::curvature_of_kept);
    let sum =
        Mat::from_fn(first.nrows(), first.ncols(), |j, k| weights[0] * first[(j, k)] + weights[1] * second[(j, k)]);
    let moved = times(&first, &parts[0].estimate).into_iter().zip(times(&second, &parts[1].estimate));
    let moved: Vec<f64> = moved.map(|(one, two)| weights[0] * one + weights[1] * two).collect();
    times(&inverse(&sum), &moved)
}

/// Each part estimates the same covariance; privacy noise makes up the errors of these estimates.
fn pooled_sampling(parts: &[Newton; 2], weights: [f64; 2]) -> Mat<f64> {
    let [first, second] = parts.each_ref().map(Newton::sampling);
    Mat::from_fn(first.nrows(), first.ncols(), |j, k| weights[0] * first[(j, k)] + weights[1] * second[(j, k)])
}

/// `sqrt(w) (t - B beta)` of each part.
fn stacked_displacement(parts: &[Newton; 2], weights: [f64; 2], estimate: &[f64]) -> Vec<f64> {
    let of = |part: &Newton, weight: f64| {
        let apart: Vec<f64> = part.estimate.iter().zip(estimate).map(|(own, pooled)| own - pooled).collect();
        let moved = times(&part.basis, &apart);
        let of_coordinate = |(d, moved): (&f64, f64)| weight.sqrt() * (d + moved);
        part.displacement.iter().zip(moved).map(of_coordinate).collect::<Vec<f64>>()
    };
    parts.iter().zip(weights).flat_map(|(part, weight)| of(part, weight)).collect()
}

/// The uncertainty of the pooled sampling covariance. The errors are independent, so they add in
/// squares, as their traces do.
fn pooled_uncertainty(parts: &[Newton; 2], weights: [f64; 2]) -> Mat<f64> {
    let [first, second] = parts.each_ref().map(|part| part.basis.transpose() * &part.noise_uncertainty * &part.basis);
    let k = first.nrows();
    let trace = |uncertainty: &Mat<f64>| (0..k).map(|j| uncertainty[(j, j)]).sum::<f64>();
    let (one, two) = (weights[0] * trace(&first), weights[1] * trace(&second));
    let factor = one.hypot(two) / (one + two).max(f64::MIN_POSITIVE);
    Mat::from_fn(k, k, |j, k| factor * (weights[0] * first[(j, k)] + weights[1] * second[(j, k)]))
}

/// `C V C'` with `C` such that `B' C` is the identity: a contrast then has the variance given by
/// `V`.
fn lifted(matrix: &Mat<f64>, parts: &[Newton; 2], weights: [f64; 2]) -> Mat<f64> {
    let of_part = |part: &Newton| &part.basis * inverse(&(part.basis.transpose() * &part.basis));
    let lift = on_top(&parts[0], &parts[1], weights, of_part);
    &lift * matrix * lift.transpose()
}

fn with_privacy(mut noise: Mat<f64>, parts: &[Newton; 2], weights: [f64; 2]) -> Mat<f64> {
    let privacy = parts.iter().zip(weights).flat_map(|(part, w)| part.privacy.iter().map(move |v| w * v));
    privacy.enumerate().for_each(|(j, variance)| noise[(j, j)] += variance);
    noise
}

/// Stacks a matrix of each part, in the coordinates of both.
fn on_top(first: &Newton, second: &Newton, weights: [f64; 2], of: impl Fn(&Newton) -> Mat<f64>) -> Mat<f64> {
    let (one, two) = (of(first), of(second));
    let upper = one.nrows();
    Mat::from_fn(upper + two.nrows(), one.ncols(), |j, k| match j < upper {
        true => weights[0].sqrt() * one[(j, k)],
        false => weights[1].sqrt() * two[(j - upper, k)],
    })
}

/// Two blocks on the diagonal.
fn blocks(one: &Mat<f64>, two: &Mat<f64>) -> Mat<f64> {
    let upper = one.nrows();
    let size = upper + two.nrows();
    Mat::from_fn(size, size, |j, k| match (j < upper, k < upper) {
        (true, true) => one[(j, k)],
        (false, false) => two[(j - upper, k - upper)],
        _ => 0.0,
    })
}

impl Newton {
    /// `(B'B)^(-1/2)`: coordinates for the kept parameters in which rows are as long as they were
    /// in this fit.
    pub(crate) fn coordinates_of_kept(&self) -> Option<Mat<f64>> {
        let found = Eigen::of((self.basis.transpose() * &self.basis).as_ref())?;
        (found.values[0] > 0.0).then(|| found.map(|value| value.sqrt().recip()))
    }

    /// The parameters in the model.
    pub(crate) fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// The estimates of the kept parameters.
    pub(crate) fn estimates(&self) -> &[f64] {
        &self.estimate
    }

    /// Whether the privacy noise is known, so that the fit can be pooled.
    pub(crate) fn can_be_pooled(&self) -> bool {
        !self.privacy.is_empty() && self.privacy_variance() > 0.0 && self.curvature_of_kept().is_all_finite()
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::super::simulate::normal;
    use super::*;
    use crate::{
        descend::Trajectory,
        interval::{Contrast, Coordinates, Curvature, Sampling},
    };

    /// A run on a quadratic of curvature 1 with its optimum at `opt`.
    fn run(opt: &[f64], noise_sd: f64, rng: &mut ChaCha8Rng) -> Trajectory {
        let (mut theta, mut gradient) = (vec![vec![0.0; opt.len()]], Vec::new());
        for t in 0..40 {
            let g: Vec<f64> = theta[t].iter().zip(opt).map(|(x, opt)| x - opt + noise_sd * normal(rng)).collect();
            theta.push(theta[t].iter().zip(&g).map(|(x, g)| x - 0.5 * g).collect());
            gradient.push(g);
        }
        Trajectory { theta, gradient, step_size: 0.5, noise_sd }
    }

    fn newton(opt: &[f64], noise_sd: f64, rows: Option<u64>, rng: &mut ChaCha8Rng) -> Newton {
        let p = opt.len();
        let noise = Mat::from_fn(p, p, |_, _| normal(rng));
        let sd = 0.05;
        let seen = Mat::from_fn(p, p, |j, k| match j == k {
            true => 1.0 + sd * noise[(j, j)],
            false => sd / 2f64.sqrt() * noise[(j.max(k), j.min(k))],
        });
        let curvature = Curvature::released(seen, sd).expect("a curvature");
        let sampling = rows.map(|rows| Sampling::from_matrix(rows, Mat::identity(p, p), 0.01).expect("a covariance"));
        Newton::new(&run(opt, noise_sd, rng), &Coordinates::identity(p), &curvature, sampling.as_ref()).expect("a run")
    }

    /// Two runs with the same noise have half the variance, one with a tenth of the noise decides
    /// alone, and the sampling variance stays.
    #[test]
    fn precision_adds_up_and_sampling_does_not() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (opt, contrast) = ([0.5, -1.0, 0.25], [Contrast::coordinate(1, 3)]);
        let se = |newton: &Newton| newton.intervals(&contrast, 0.95).expect("intervals")[0].std_error;
        let mut one = |noise, rows| newton(&opt, noise, rows, &mut rng);
        let (a, b, sharp) = (one(0.1, None), one(0.1, None), one(0.01, None));
        let both = a.pooled(&b).expect("the same model");
        assert!((se(&both) / se(&a) * 2f64.sqrt() - 1.0).abs() < 0.1, "{} {}", se(&both), se(&a));
        assert!((se(&a.pooled(&sharp).expect("the same model")) / se(&sharp) - 1.0).abs() < 0.1);
        let (c, d) = (one(1e-4, Some(10_000)), one(1e-4, Some(10_000)));
        let both = c.pooled(&d).expect("the same model");
        assert!((se(&both) / 0.01 - 1.0).abs() < 0.1, "{}", se(&both));
        // Pooled fits can be pooled again: the variance of three is a third.
        let three = a.pooled(&b).and_then(|two| two.pooled(&one(0.1, None))).expect("the same model");
        assert!((se(&three) / se(&a) * 3f64.sqrt() - 1.0).abs() < 0.1, "{}", se(&three));
        assert!(three.is_for(3) && three.can_be_pooled());
    }

    /// 400 pooled intervals at 95 %: coverage has a standard error of .011, and less than .89 has a
    /// probability below 1e-6.
    #[test]
    fn pooled_intervals_cover() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let covers = (0..400).filter(|_| {
            // The sampling error is the same in both.
            let opt: Vec<f64> = (0..3).map(|_| 0.5 + 0.01 * normal(&mut rng)).collect();
            let first = newton(&opt, 0.1, Some(10_000), &mut rng);
            let second = newton(&opt, 0.2, Some(10_000), &mut rng);
            let pooled = first.pooled(&second).expect("the same model");
            pooled.intervals(&[Contrast::coordinate(0, 3)], 0.95).expect("intervals")[0].covers(0.5)
        });
        let covers = covers.count();
        assert!((356..=396).contains(&covers), "{covers} of 400");
    }
}
