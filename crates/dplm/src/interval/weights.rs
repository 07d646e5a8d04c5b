//! The weight of each step in the mean iterate and the mean gradient.

use crate::matrix::dot;

/// The effect of the start on the iterates, and the noise in each step.
pub(crate) struct Transient {
    /// The noise `lambda` of a coordinate of a gradient.
    pub noise_sd: f64,
    /// Step size `eta`.
    pub step_size: f64,
    /// Mean curvature `h`.
    pub curvature: f64,
    /// The relative error of the curvature with which the effect of the start is removed.
    pub misfit: f64,
    /// The squared distance, per coordinate, from the start to the optimum.
    pub distance_sq: f64,
}

/// Curvatures, relative to the mean one, at which the effect of the start may decay: directions,
/// and stretches of the way, differ.
///
/// One rate alone under-covers if rows are clipped on the way (0.83 for 0.95 at n = 10^5, gamma =
/// sqrt p); three cost about 2 % in length.
const PACES: [f64; 3] = [0.5, 1.0, 1.5];

impl Transient {
    /// Weights of the steps; they sum to one.
    ///
    /// They minimise `(lambda/h)^2 |w|^2 + misfit^2 d^2 sum_k (sum_t w_t q_k^t)^2`: the noise, plus
    /// the effect of a start at distance `d` per coordinate that decays as `q_k^t`,
    /// `q_k = 1 - eta h pace_k`. Without misfit they are equal.
    pub fn weights(&self, steps: usize) -> Vec<f64> {
        let noise = (self.noise_sd / self.curvature).powi(2);
        let penalty = self.misfit.powi(2) * self.distance_sq;
        let fading = PACES.map(|pace| decay(1.0 - self.step_size * self.curvature * pace, steps));
        let weights = solve_by_rank_ones(noise, penalty, &fading, steps);
        let total: f64 = weights.iter().sum();
        // A few steps without noise contain only the effect of the start, and no weights remove it.
        if total <= 1e-9 * steps as f64 {
            return vec![1.0 / steps as f64; steps];
        }
        weights.iter().map(|w| w / total).collect()
    }

    /// `1 / sum w_t^2`: the number of equally weighted steps with as much noise.
    pub fn effective_steps(&self, steps: usize) -> f64 {
        let weights = self.weights(steps);
        1.0 / dot(&weights, &weights)
    }
}

fn decay(q: f64, steps: usize) -> Vec<f64> {
    (0..steps).map(|t| q.clamp(0.0, 1.0).powi(t as i32)).collect()
}

/// Solves `(noise I + penalty sum_k d_k d_k') w = noise 1` one rank at a time (Sherman-Morrison).
fn solve_by_rank_ones(noise: f64, penalty: f64, fading: &[Vec<f64>], steps: usize) -> Vec<f64> {
    let mut solved = vec![1.0; steps];
    let mut inverse_of = fading.to_vec();
    for (k, decay) in fading.iter().enumerate() {
        let (done, rest) = inverse_of.split_at_mut(k + 1);
        let direction = &done[k];
        let scale = penalty / (noise + penalty * dot(decay, direction)).max(f64::MIN_POSITIVE);
        for vector in rest.iter_mut().chain(std::iter::once(&mut solved)) {
            let share = scale * dot(decay, vector);
            vector.iter_mut().zip(direction).for_each(|(v, d)| *v -= share * d);
        }
    }
    solved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transient(misfit: f64, noise_sd: f64) -> Transient {
        Transient { noise_sd, step_size: 0.25, curvature: 1.0, misfit, distance_sq: 0.1 }
    }

    #[test]
    fn equal_where_the_curvature_is_sure() {
        assert!(transient(0.0, 0.1).weights(8).iter().all(|w| (w - 0.125).abs() < 1e-15));
        assert!((transient(0.0, 0.1).effective_steps(8) - 8.0).abs() < 1e-12);
    }

    #[test]
    fn equal_for_a_single_step_and_without_noise() {
        assert_eq!(transient(0.2, 0.1).weights(1), vec![1.0]);
        assert!(transient(0.2, 0.0).weights(2).iter().all(|w| w.is_finite()));
    }

    /// Each coordinate of the gradient of the objective, minus its mean, vanishes at the minimum.
    #[test]
    fn they_minimise_noise_plus_start() {
        let (steps, t) = (30, transient(0.2, 0.05));
        let weights = t.weights(steps);
        let objective = |w: &[f64]| {
            let start: f64 = PACES.iter().map(|pace| dot(w, &decay(1.0 - 0.25 * pace, steps)).powi(2)).sum();
            0.05f64.powi(2) * dot(w, w) + 0.04 * 0.1 * start
        };
        let at = objective(&weights);
        for s in 1..steps {
            for step in [1e-3, -1e-3] {
                let mut moved = weights.clone();
                moved[s] += step;
                moved[0] -= step;
                assert!(objective(&moved) > at, "moving weight to step {s} by {step} is better");
            }
        }
    }

    #[test]
    fn little_noise_takes_the_start_out_altogether() {
        let weights = transient(0.2, 1e-9).weights(40);
        for pace in PACES {
            assert!(dot(&weights, &decay(1.0 - 0.25 * pace, 40)).abs() < 1e-6);
        }
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    /// The effect is small between the rates too: less than half a per cent of the start is left.
    #[test]
    fn paces_in_between_are_forgotten_too() {
        let weights = transient(0.2, 1e-3).weights(60);
        for pace in [0.6, 0.8, 1.2, 1.4] {
            let left = dot(&weights, &decay(1.0 - 0.25 * pace, 60));
            assert!(left.abs() < 5e-3, "{left} at {pace}");
        }
    }
}
