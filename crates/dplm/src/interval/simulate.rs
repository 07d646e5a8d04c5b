//! Plain f64 clipped DP-GD on synthetic rows, for testing intervals. Not private, tests only.

use crate::descend::Trajectory;
use faer::Mat;
use faer::linalg::solvers::Solve;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, StandardNormal, StudentT, Uniform};

/// The distribution of the features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Design {
    /// Independent, unit variance.
    Isotropic,
    /// The paper's appendix: eigenvalues 2, 1 and uniform between, randomly rotated.
    Anisotropic,
    /// Unit variance, every pair with this correlation.
    Correlated(f64),
    /// Independent, unit variance, the first column constant.
    Intercept,
}

/// The distribution of the errors, with mean zero and variance one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Errors {
    Gaussian,
    Student4,
    Exponential,
}

/// Rows and their true coefficients.
pub struct Data {
    pub p: usize,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub truth: Vec<f64>,
}

pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Noise of a released matrix: sd `sd` on the diagonal, smaller by a factor `sqrt 2` off it.
pub fn symmetric_noise(p: usize, sd: f64, rng: &mut ChaCha8Rng) -> Mat<f64> {
    let raw = Mat::from_fn(p, p, |_, _| normal(rng));
    Mat::from_fn(p, p, |j, k| if j == k { sd * raw[(j, j)] } else { sd / 2f64.sqrt() * raw[(j.max(k), j.min(k))] })
}

impl Data {
    pub fn draw(n: usize, p: usize, design: Design, errors: Errors, sigma: f64, rng: &mut ChaCha8Rng) -> Self {
        let truth = unit_vector(p, rng);
        let root = root_of_covariance(p, design, rng);
        let (mut x, mut y) = (Vec::with_capacity(n * p), Vec::with_capacity(n));
        for _ in 0..n {
            let start = x.len();
            push_row(&mut x, p, design, &root, rng);
            let signal: f64 = x[start..].iter().zip(&truth).map(|(a, b)| a * b).sum();
            y.push(signal + sigma * error(errors, rng));
        }
        Data { p, x, y, truth }
    }

    pub fn rows(&self) -> usize {
        self.y.len()
    }

    /// Mean clipped gradient at `theta`.
    pub fn gradient(&self, theta: &[f64], gamma: f64) -> Vec<f64> {
        let mut sum = vec![0.0; self.p];
        for (x, y) in self.x.chunks_exact(self.p).zip(&self.y) {
            let w = clipped_residual(x, *y, theta, gamma).0;
            sum.iter_mut().zip(x).for_each(|(s, x)| *s -= w * x);
        }
        sum.iter_mut().for_each(|s| *s /= self.rows() as f64);
        sum
    }

    /// Curvature at `theta`: mean of `x x'` over unclipped rows, each shrunk to
    /// `||x||^2 <= bound_sq`.
    pub fn curvature(&self, theta: &[f64], gamma: f64, bound_sq: f64) -> Mat<f64> {
        let mut sum = Mat::<f64>::zeros(self.p, self.p);
        for (x, y) in self.x.chunks_exact(self.p).zip(&self.y) {
            if clipped_residual(x, *y, theta, gamma).1 {
                continue;
            }
            let shrink = (bound_sq / norm_sq(x)).min(1.0) / self.rows() as f64;
            for k in 0..self.p {
                sum.col_as_slice_mut(k).iter_mut().zip(x).for_each(|(s, xj)| *s += shrink * x[k] * xj);
            }
        }
        sum
    }

    /// Mean of `||clip(g_i)||^2`.
    pub fn gradient_norm_sq(&self, theta: &[f64], gamma: f64) -> f64 {
        let rows = self.x.chunks_exact(self.p).zip(&self.y);
        let sum: f64 = rows.map(|(x, y)| norm_sq(x) * clipped_residual(x, *y, theta, gamma).0.powi(2)).sum();
        sum / self.rows() as f64
    }

    /// Share of rows clipped at `theta`.
    pub fn clipped(&self, theta: &[f64], gamma: f64) -> f64 {
        let rows = self.x.chunks_exact(self.p).zip(&self.y);
        rows.filter(|(x, y)| clipped_residual(x, **y, theta, gamma).1).count() as f64 / self.rows() as f64
    }

    /// The root of the mean clipped gradient, by Newton steps.
    pub fn optimum(&self, gamma: f64) -> Vec<f64> {
        let mut theta = vec![0.0; self.p];
        for _ in 0..100 {
            let gradient = self.gradient(&theta, gamma);
            if norm_sq(&gradient).sqrt() < 1e-12 {
                break;
            }
            let step = self.curvature(&theta, gamma, f64::INFINITY).partial_piv_lu().solve(column(&gradient));
            theta.iter_mut().enumerate().for_each(|(j, t)| *t -= step[(j, 0)]);
        }
        theta
    }

    /// DP-GD from zero.
    pub fn descend(&self, gamma: f64, eta: f64, lambda: f64, steps: usize, rng: &mut ChaCha8Rng) -> Trajectory {
        let mut theta = vec![vec![0.0; self.p]];
        let mut gradient = Vec::new();
        for t in 0..steps {
            let mut g = self.gradient(&theta[t], gamma);
            g.iter_mut().for_each(|g| *g += lambda * normal(rng));
            theta.push(theta[t].iter().zip(&g).map(|(a, b)| a - eta * b).collect());
            gradient.push(g);
        }
        Trajectory { theta, gradient, step_size: eta, noise_sd: lambda }
    }
}

/// The clamped residual and whether the clamp acted.
fn clipped_residual(x: &[f64], y: f64, theta: &[f64], gamma: f64) -> (f64, bool) {
    let r = y - x.iter().zip(theta).map(|(a, b)| a * b).sum::<f64>();
    let bound = gamma / norm_sq(x).sqrt();
    (r.clamp(-bound, bound), r.abs() > bound)
}

pub fn norm_sq(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

fn column(v: &[f64]) -> Mat<f64> {
    Mat::from_fn(v.len(), 1, |j, _| v[j])
}

fn unit_vector(p: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let v: Vec<f64> = (0..p).map(|_| normal(rng)).collect();
    let norm = norm_sq(&v).sqrt();
    v.iter().map(|x| x / norm).collect()
}

fn error(errors: Errors, rng: &mut ChaCha8Rng) -> f64 {
    match errors {
        Errors::Gaussian => normal(rng),
        Errors::Student4 => StudentT::new(4.0).expect("4 > 0").sample(rng) / 2f64.sqrt(),
        Errors::Exponential => {
            let e: f64 = Exp1.sample(rng);
            e - 1.0
        }
    }
}

/// A matrix `A` with `A A'` the covariance; `None` for the identity.
fn root_of_covariance(p: usize, design: Design, rng: &mut ChaCha8Rng) -> Option<Mat<f64>> {
    match design {
        Design::Isotropic | Design::Intercept => None,
        Design::Anisotropic => {
            let uniform = Uniform::new(1.0, 2.0).expect("1 < 2");
            let root: Vec<f64> = (0..p)
                .map(|j| match j {
                    0 => 2f64.sqrt(),
                    1 => 1.0,
                    _ => f64::sqrt(uniform.sample(rng)),
                })
                .collect();
            let turn = Mat::from_fn(p, p, |_, _| normal(rng)).qr().compute_thin_Q();
            Some(Mat::from_fn(p, p, |j, k| turn[(j, k)] * root[k]))
        }
        Design::Correlated(r) => {
            let covariance = Mat::from_fn(p, p, |j, k| if j == k { 1.0 } else { r });
            Some(covariance.llt(faer::Side::Lower).expect("a correlation below one").L().to_owned())
        }
    }
}

fn push_row(x: &mut Vec<f64>, p: usize, design: Design, root: &Option<Mat<f64>>, rng: &mut ChaCha8Rng) {
    let start = x.len();
    x.extend((0..p).map(|_| normal(rng)));
    if design == Design::Intercept {
        x[start] = 1.0;
    }
    if let Some(root) = root {
        let z = x[start..].to_vec();
        x[start..].fill(0.0);
        for (k, z) in z.iter().enumerate() {
            x[start..].iter_mut().zip(root.col_as_slice(k)).for_each(|(x, r)| *x += r * z);
        }
    }
}
