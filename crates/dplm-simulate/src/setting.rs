//! What to draw.

/// A regression to simulate: `y = x'theta* + e` with independent rows and errors of mean zero.
///
/// # Paper
/// Definition "Generative Setting" and section "Experiments": by default `theta*` is uniform on the
/// unit sphere, x is standard Gaussian and the errors are Gaussian.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The number of features.
    pub features: usize,
    /// The joint distribution of the features.
    pub design: Design,
    /// The distribution of the errors.
    pub errors: Errors,
    /// The standard deviation of the errors, whatever their distribution.
    pub noise_sd: f64,
    /// The true coefficients; drawn if `None`.
    pub theta: Option<Vec<f64>>,
}

dplm::choice! {
    "design";
    /// The distribution of the features.
    #[derive(Default)]
    pub enum Design {
        /// `x ~ N(0, I)`.
        #[default]
        Isotropic = "isotropic",
        /// `x ~ N(0, U L U')`: U a random rotation, L diagonal with entries 2, 1, and the others
        /// uniform on `[1, 2]`.
        ///
        /// # Paper
        /// Appendix "Experiments with Anisotropic Data".
        Anisotropic = "anisotropic",
    }
}

impl Design {
    /// The most features that can be drawn in reasonable time and memory: a rotation has `p^2`
    /// entries and costs `p^3`.
    const fn most_features(self) -> usize {
        match self {
            Design::Isotropic => 100_000,
            Design::Anisotropic => 4_000,
        }
    }
}

dplm::choice! {
    "errors";
    /// The distribution of the errors; mean zero in each case.
    #[derive(Default)]
    pub enum Errors {
        /// Normal.
        #[default]
        Gaussian = "gaussian",
        /// Student's t with 4 degrees of freedom, scaled: heavy tails.
        Student = "student",
        /// An exponential variable minus its mean: skewed to the right.
        Skewed = "skewed",
    }
}

/// Why a setting cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// There are no features.
    #[error("the number of features must be at least 1")]
    NoFeatures,
    /// The unknowns would not fit in memory.
    #[error("at most {most} features can be simulated with this design; ask for fewer")]
    TooManyFeatures {
        /// The most there can be.
        most: usize,
    },
    /// The standard deviation of the errors is invalid.
    #[error("the standard deviation of the errors must be zero or more, for instance 1")]
    NoiseSd,
    /// The coefficients do not match the features.
    #[error("{features} features need {features} coefficients, but {found} were given")]
    ThetaLength {
        /// Features of a row.
        features: usize,
        /// Coefficients given.
        found: usize,
    },
    /// A coefficient is not a number.
    #[error("every coefficient must be a finite number")]
    ThetaNotFinite,
}

impl Setting {
    /// The paper's setting with this many features.
    pub fn new(features: usize) -> Setting {
        Setting { features, design: Design::default(), errors: Errors::default(), noise_sd: 1.0, theta: None }
    }

    pub(crate) fn check(&self) -> Result<(), SettingError> {
        if self.features == 0 {
            return Err(SettingError::NoFeatures);
        }
        let most = self.design.most_features();
        if self.features > most {
            return Err(SettingError::TooManyFeatures { most });
        }
        if !(self.noise_sd >= 0.0 && self.noise_sd.is_finite()) {
            return Err(SettingError::NoiseSd);
        }
        match &self.theta {
            Some(theta) if theta.len() != self.features => {
                Err(SettingError::ThetaLength { features: self.features, found: theta.len() })
            }
            Some(theta) if !theta.iter().all(|one| one.is_finite()) => Err(SettingError::ThetaNotFinite),
            _ => Ok(()),
        }
    }
}
