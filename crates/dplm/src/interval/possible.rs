//! The curvatures and sampling levels that the releases allow, as equally likely draws.

use super::contrast::dot;
use super::curvature::{Belief, Spectrum};
use super::mixture::Draws;
use super::target::Sampling;
use faer::Mat;
use rayon::prelude::*;

/// A curvature and a sampling level that the releases allow.
pub(super) struct Possibility {
    curvature: Spectrum,
    floor: f64,
    /// The mean gradient in the eigenbasis of the curvature.
    gradient: Vec<f64>,
    /// Variance of a coordinate of a row's clipped gradient.
    pub level: f64,
}

impl Possibility {
    /// `H^-1 weights`, kept in the eigenbasis, where all that is asked of it is cheap.
    pub fn direction(&self, weights: &[f64]) -> Direction<'_> {
        let turned = self.curvature.turned(weights);
        let solved = turned.iter().zip(&self.curvature.values).map(|(w, e)| w / e.max(self.floor)).collect();
        Direction { of: self, turned, solved }
    }
}

/// `a = H^-1 weights` for one possible curvature, in its eigenbasis.
pub(super) struct Direction<'a> {
    of: &'a Possibility,
    turned: Vec<f64>,
    solved: Vec<f64>,
}

impl Direction<'_> {
    /// `|a|^2`.
    pub fn norm_sq(&self) -> f64 {
        dot(&self.solved, &self.solved)
    }

    /// `a . mean gradient`: the Newton step.
    pub fn step(&self) -> f64 {
        dot(&self.solved, &self.of.gradient)
    }

    /// `a' V a` for a `V` of level one and this shape, or that of the curvature.
    pub fn spread(&self, shape: Option<&Mat<f64>>) -> f64 {
        let Some(shape) = shape else { return dot(&self.solved, &self.turned) / self.of.curvature.level() };
        let a = self.of.curvature.turned_back(&self.solved);
        (0..a.len()).map(|k| a[k] * dot(shape.col_as_slice(k), &a)).sum()
    }
}

/// Equally likely curvatures and sampling levels; a single one where nothing is in doubt.
///
/// The noise of the curvature comes in pairs of opposite sign; scale and sampling level take evenly spread values of
/// their laws, in random order. Seeds are fixed, and eigendecompositions run side by side: the result is the same for
/// any number of threads.
pub(super) fn possibilities(belief: &Belief, sampling: Option<&Sampling>, gradient: &[f64]) -> Vec<Possibility> {
    let (level, level_sd) = sampling.map_or((0.0, 0.0), |s| (s.level, s.level_sd));
    let count = if belief.is_certain() && level_sd == 0.0 { 1 } else { draw_count(belief) };
    let mut draws = Draws::new();
    let levels = draws.spread_above(level, level_sd, 0.0, count);
    let scales = draws.spread_above(1.0, belief.scale_sd, 0.1, count);
    let noises: Vec<_> = (0..count.div_ceil(2)).map(|_| symmetric_noise(belief, &mut draws)).collect();
    let one = |i: usize| {
        let sign = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        let curvature = drawn(belief, noises[i / 2].as_ref(), sign, scales[i]);
        let gradient = curvature.turned(gradient);
        Possibility { curvature, floor: belief.floor(), gradient, level: levels[i] }
    };
    (0..count).into_par_iter().map(one).collect()
}

/// Fewer draws for many features: each costs an eigendecomposition.
fn draw_count(belief: &Belief) -> usize {
    let p = belief.centre.values.len() as f64;
    if belief.noise_sd.is_none() { 200 } else { (4e8 / p.powi(3)).clamp(24.0, 400.0) as usize }
}

/// The lower triangle of a symmetric matrix of independent normal entries, in the eigenbasis of the centre.
fn symmetric_noise(belief: &Belief, draws: &mut Draws) -> Option<Mat<f64>> {
    let sd = belief.noise_sd.as_ref()?;
    let entry = |j: usize, k: usize| if j >= k { sd[(j, k)] * draws.normal() } else { 0.0 };
    Some(Mat::from_fn(sd.nrows(), sd.nrows(), entry))
}

/// `scale * (centre + sign * noise)`.
fn drawn(belief: &Belief, noise: Option<&Mat<f64>>, sign: f64, scale: f64) -> Spectrum {
    let centre = &belief.centre;
    let mut spectrum = match noise {
        None => centre.clone(),
        Some(noise) => {
            let diagonal = |j: usize, k: usize| if j == k { centre.values[j] } else { 0.0 };
            let entry = |j: usize, k: usize| sign * noise[(j.max(k), j.min(k))] + diagonal(j, k);
            let inner = Spectrum::of(&Mat::from_fn(noise.nrows(), noise.nrows(), entry));
            centre.followed_by(inner.expect("finite eigenvalues plus finite noise"))
        }
    };
    spectrum.values.iter_mut().for_each(|e| *e *= scale);
    spectrum
}

#[cfg(test)]
mod tests {
    use super::super::Curvature;
    use super::*;

    /// Eigenvalues of the draws have the mean and the spread the curvature was given, scale and directions together.
    #[test]
    fn draws_have_the_spread_they_were_given() {
        let belief = Curvature::scalar(2.0, 0.2).with_spread(0.15).belief(8).unwrap();
        let drawn = possibilities(&belief, None, &[0.0; 8]);
        let values: Vec<f64> = drawn.iter().flat_map(|one| one.curvature.values.clone()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert!((mean - 2.0).abs() < 0.02, "mean {mean}");
        assert!((variance / (0.2f64.powi(2) + 0.3f64.powi(2)) - 1.0).abs() < 0.1, "variance {variance}");
    }

    #[test]
    fn levels_have_the_law_of_the_release_and_are_never_negative() {
        let sampling = Sampling { rows: 10.0, level: 0.1, level_sd: 0.2, shape: None };
        let belief = Curvature::scalar(1.0, 0.0).with_spread(0.0).belief(2).unwrap();
        let drawn = possibilities(&belief, Some(&sampling), &[0.0; 2]);
        assert!(drawn.len() > 100 && drawn.iter().all(|one| one.level >= 0.0));
        let mean = drawn.iter().map(|one| one.level).sum::<f64>() / drawn.len() as f64;
        // Mean of a normal law cut off half a standard deviation below its mean: 0.1 + 0.2 phi(0.5) / Phi(0.5).
        assert!((mean - 0.2018).abs() < 2e-3, "mean {mean}");
    }

    #[test]
    fn nothing_in_doubt_is_a_single_possibility() {
        let belief = Curvature::scalar(1.0, 0.0).with_spread(0.0).belief(2).unwrap();
        assert_eq!(possibilities(&belief, None, &[0.0; 2]).len(), 1);
    }
}
