//! What weights do to a descent: rows of unlike weights are clipped unlike.
//!
//! Whitened rows of weight `w` are `sqrt(w / E w)` times white ones, and with errors that do not
//! depend on weights least squares is as precise as with errors of variance
//! `sigma^2 E w^2 / E w`. In units of those a gradient is `v = w / sqrt(E w^2)` times that of a row
//! that is not weighted, and its curvature `w / E w` times.

/// The number of parts of equal size into which rows are sorted by their weights.
const PARTS: usize = 8;

/// How unlike weights are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weighing {
    /// `v` and `w / E w`, of equally many rows each.
    parts: Vec<(f64, f64)>,
    /// `E w^2 / (E w)^2`.
    pub unlike: f64,
}

impl Weighing {
    /// Rows that count alike.
    pub const NONE: Weighing = Weighing { parts: Vec::new(), unlike: 1.0 };

    /// The distribution of these weights, not all of them zero, and the factor by which it makes
    /// errors larger.
    pub fn of(mut weights: Vec<f64>) -> (Weighing, f64) {
        weights.sort_by(f64::total_cmp);
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let mean_sq = |of: &[f64]| of.iter().map(|weight| weight * weight).sum::<f64>() / of.len() as f64;
        let (all, all_sq) = (mean(&weights), mean_sq(&weights));
        let size = weights.len().div_ceil(PARTS);
        let parts = weights.chunks(size).map(|part| ((mean_sq(part) / all_sq).sqrt(), mean(part) / all)).collect();
        (Weighing { parts, unlike: all_sq / (all * all) }, (all_sq / all).sqrt())
    }

    /// `v`, `w / E w` and the share of rows of each part.
    pub fn parts(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let none = self.parts.is_empty().then_some((1.0, 1.0));
        let share = 1.0 / self.parts.len().max(1) as f64;
        none.into_iter().chain(self.parts.iter().copied()).map(move |(reach, curve)| (reach, curve, share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_moments_of_all() {
        let weights: Vec<f64> = (0..8000).map(|i| f64::from(i % 100) / 10.0).collect();
        let (weighing, larger) = Weighing::of(weights.clone());
        let mean = |f: &dyn Fn(f64, f64) -> f64| weighing.parts().map(|(v, w, share)| share * f(v, w)).sum::<f64>();
        assert!((mean(&|v, _| v * v) - 1.0).abs() < 1e-12 && (mean(&|_, w| w) - 1.0).abs() < 1e-12);
        // Uniform on 0 to 9.9: E w^2 is 32.835 and E w 4.95.
        assert!((weighing.unlike - 32.835 / 4.95f64.powi(2)).abs() < 1e-9);
        assert!((larger.powi(2) - 32.835 / 4.95).abs() < 1e-9);
        assert_eq!(Weighing::NONE.parts().collect::<Vec<_>>(), [(1.0, 1.0, 1.0)]);
    }
}
