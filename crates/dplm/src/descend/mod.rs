//! Plan (all public), then T times: sum, release, step.

/// The released iterates of one run, in standardised units. Made from released numbers only.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// The iterates `theta_0 .. theta_T`; `theta_0` is the start.
    pub theta: Vec<Vec<f64>>,
    /// The noisy mean gradients released at each step: `gradient[t]` was taken at `theta[t]`, so there are T of them.
    pub gradient: Vec<Vec<f64>>,
    /// The step size `eta`.
    pub step_size: f64,
    /// The standard deviation `lambda` of the noise in each coordinate of each gradient.
    pub noise_sd: f64,
}
