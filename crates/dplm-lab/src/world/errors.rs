//! The distribution of the errors.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, StudentT};

use super::{normal, outcomes::Outcomes, uniform};

/// Errors by name. Their mean is zero and, unless the name says otherwise, their variance is that
/// of the design.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Errors {
    /// `normal`.
    Normal,
    /// `heteroskedastic`: Gaussian, of variance `(1 + 2 s^2) / 3` where the first column is `s`
    /// standard deviations from its mean.
    Heteroskedastic,
    /// `exponential`: minus its mean.
    Exponential,
    /// `lognormal`: minus its mean; skewness 6.
    Lognormal,
    /// `skew by x`: exponential to the right where the first column is above its mean, to the left
    /// elsewhere.
    SkewByX,
    /// `curved`: Gaussian, and the mean of the response has a term `(s^2 - 1) / 2` that the model
    /// lacks.
    Curved,
    /// `outliers`: one in a hundred has ten times the spread.
    Outliers,
    /// `t3`: Student's t with 3 degrees of freedom.
    T3,
    /// `r2 R`: Gaussian, of the spread at which the features explain a share R of the variance.
    R2(f64),
    /// `missing S`: Gaussian, and a share S of the rows has a missing cell.
    Missing(f64),
    /// `its own`: a real table brings its responses with it.
    Own,
    /// No errors: outcomes of which there are two, such as `logit 0.5`.
    Two(Outcomes),
}

impl Errors {
    /// The errors of this name.
    pub fn named(text: &str) -> Option<Errors> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let share = |word: &str| word.parse().ok().filter(|share| (0.0..1.0).contains(share));
        match words[..] {
            ["normal"] => Some(Errors::Normal),
            ["heteroskedastic"] => Some(Errors::Heteroskedastic),
            ["exponential"] => Some(Errors::Exponential),
            ["lognormal"] => Some(Errors::Lognormal),
            ["skew", "by", "x"] => Some(Errors::SkewByX),
            ["curved"] => Some(Errors::Curved),
            ["outliers"] => Some(Errors::Outliers),
            ["t3"] => Some(Errors::T3),
            ["r2", r2] => share(r2).filter(|&r2| r2 > 0.0).map(Errors::R2),
            ["missing", missing] => share(missing).map(Errors::Missing),
            ["its", "own"] => Some(Errors::Own),
            _ => Outcomes::named(&words).map(Errors::Two),
        }
    }

    /// Their standard deviation, if the features explain a part of standard deviation `signal_sd`
    /// and errors usually have `usual`.
    pub(super) fn sd(self, signal_sd: f64, usual: f64) -> f64 {
        match self {
            Errors::R2(r2) => signal_sd * ((1.0 - r2) / r2).sqrt(),
            _ => usual,
        }
    }

    /// The law of outcomes, where there are two.
    pub(super) fn outcomes(self) -> Option<Outcomes> {
        match self {
            Errors::Two(law) => Some(law),
            _ => None,
        }
    }

    /// The share of rows with a missing cell.
    pub(super) fn missing(self) -> f64 {
        match self {
            Errors::Missing(share) => share,
            _ => 0.0,
        }
    }

    /// Whether the distribution is symmetric for all values of the features.
    pub(super) fn are_symmetric(self) -> bool {
        !matches!(
            self,
            Errors::Exponential | Errors::Lognormal | Errors::SkewByX | Errors::Curved | Errors::Own | Errors::Two(_)
        )
    }

    /// One error where the first column is `s` standard deviations from its mean, for a standard
    /// deviation of 1.
    pub(super) fn draw(self, s: f64, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Errors::Normal | Errors::R2(_) | Errors::Missing(_) => normal(rng),
            Errors::Heteroskedastic => normal(rng) * ((1.0 + 2.0 * s * s) / 3.0).sqrt(),
            Errors::Exponential => waiting(rng),
            Errors::Lognormal => {
                let e = std::f64::consts::E;
                (normal(rng).exp() - e.sqrt()) / ((e - 1.0) * e).sqrt()
            }
            Errors::SkewByX => waiting(rng) * if s > 0.0 { 1.0 } else { -1.0 },
            Errors::Curved => normal(rng) + (s * s - 1.0) / 2.0,
            Errors::Outliers => normal(rng) * if uniform(rng) < 0.01 { 10.0 } else { 1.0 },
            Errors::T3 => {
                let student = StudentT::new(3.0).expect("3 degrees of freedom are positive");
                student.sample(rng) / 3f64.sqrt()
            }
            Errors::Own | Errors::Two(_) => 0.0,
        }
    }
}

/// Exponential, minus its mean.
fn waiting(rng: &mut ChaCha8Rng) -> f64 {
    let waiting: f64 = Exp1.sample(rng);
    waiting - 1.0
}
