//! Hypotheses about coefficients, and their tests: post-processing, which costs nothing.

mod event;
mod parse;

pub use event::{EventEffects, PeriodEffect};

use crate::{
    Error, Fit, Precision,
    interval::{Contrast, Inference, IntervalError, Joint},
    options::Purpose,
    warning::listed,
};

/// A linear equation in coefficients: `weights . coefficients = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Equation {
    /// The text as written, or a name.
    pub text: String,
    /// One weight for each coefficient, in formula order and in the coefficients' own units.
    pub weights: Vec<f64>,
    /// The value of the weighted sum under the hypothesis.
    pub value: f64,
}

/// One equation or several at once; [`Fit::hypothesis`] reads one from text.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    equations: Vec<Equation>,
}

impl Hypothesis {
    /// From equations for the same coefficients.
    ///
    /// # Errors
    /// When there is no equation, or one has no coefficient or a number that is not finite.
    pub fn new(equations: Vec<Equation>) -> Result<Hypothesis, HypothesisError> {
        if equations.is_empty() {
            return Err(HypothesisError::Nothing);
        }
        for one in &equations {
            if one.weights.iter().all(|&weight| weight == 0.0) {
                return Err(HypothesisError::NoCoefficient { equation: one.text.clone() });
            }
            if !one.weights.iter().chain([&one.value]).all(|number| number.is_finite()) {
                return Err(HypothesisError::NotFinite { equation: one.text.clone() });
            }
        }
        Ok(Hypothesis { equations })
    }

    /// The equations, in the order in which they were given.
    pub fn equations(&self) -> &[Equation] {
        &self.equations
    }
}

impl std::fmt::Display for Hypothesis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts: Vec<&str> = self.equations.iter().map(|one| one.text.as_str()).collect();
        f.write_str(&texts.join(", "))
    }
}

/// Why a hypothesis cannot be tested. It is public, so its own text may be quoted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HypothesisError {
    /// There is no equation.
    #[error("there is no hypothesis: write one such as 'educ = 0'")]
    Nothing,
    /// A coefficient that is a control.
    #[error(
        "'{name}' is a control in this fit, and not estimated: test coefficients of interest, or name it among them"
    )]
    Control {
        /// The coefficient.
        name: String,
    },
    /// The text does not follow the grammar.
    #[error("hypothesis: expected {what} (at character {at})")]
    Expected {
        /// What the grammar allows here.
        what: &'static str,
        /// The position, counted in characters from 1.
        at: usize,
    },
    /// A product or a quotient of coefficients.
    #[error("hypothesis: only numbers may multiply or divide coefficients (at character {at})")]
    NotLinear {
        /// The position, counted in characters from 1.
        at: usize,
    },
    /// A name that no coefficient has.
    #[error("hypothesis: no coefficient is named '{name}': the names are {}", listed(names))]
    NoSuchName {
        /// The name.
        name: String,
        /// The names of the coefficients.
        names: Vec<String>,
    },
    /// An equation in which every coefficient cancels.
    #[error("hypothesis: '{equation}' has no coefficient: name at least one")]
    NoCoefficient {
        /// The equation.
        equation: String,
    },
    /// An equation with an infinite number or NaN.
    #[error("hypothesis: a number in '{equation}' is not finite: check it")]
    NotFinite {
        /// The equation.
        equation: String,
    },
    /// Weights for another number of coefficients.
    #[error("hypothesis: {found} weights were given for {expected} coefficients: give one for each")]
    Weights {
        /// Coefficients of the fit.
        expected: usize,
        /// Weights given.
        found: usize,
    },
}

/// The test of one equation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TTest {
    /// The equation.
    pub hypothesis: String,
    /// The value of the weighted sum under the hypothesis.
    pub null: f64,
    /// The estimated value; `None` if the budget cannot identify it, or a coefficient was left out.
    pub estimate: Option<f64>,
    /// The precision of the estimate, with the statistic and the p-value of the equation.
    pub precision: Option<Precision>,
}

/// The joint test of several equations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WaldTest {
    /// The equations.
    pub hypothesis: Vec<String>,
    /// The test; `None` if the budget cannot identify one of them, or a coefficient was left out.
    pub found: Option<Joint>,
}

impl Fit {
    /// Reads a hypothesis about the coefficients of this fit, such as
    /// `educ = 0, exper - 2*age = 0.1`.
    ///
    /// # Errors
    /// When it is not a list of linear equations in the coefficients' names.
    pub fn hypothesis(&self, text: &str) -> Result<Hypothesis, Error> {
        Ok(Hypothesis::parse(text, self.design.names())?)
    }

    /// Tests each equation alone, with an interval for its left side.
    ///
    /// The interval contains `null` exactly if the p-value is at least `1 - level`.
    ///
    /// # Errors
    /// When the level is not a probability, the weights are not those of this fit, or the fit was
    /// for prediction.
    pub fn t_test(&self, hypothesis: &Hypothesis, level: f64) -> Result<Vec<TTest>, Error> {
        let (inference, contrasts) = (self.inference_for_tests()?, self.contrasts_of(hypothesis)?);
        let intervals = inference.intervals(&contrasts, level)?;
        let tested = hypothesis.equations.iter().zip(&intervals).map(|(equation, interval)| {
            let identified = interval.identified && !self.uses_left_out(equation);
            TTest {
                hypothesis: equation.text.clone(),
                null: equation.value,
                estimate: identified.then_some(interval.estimate + equation.value),
                precision: identified.then(|| Precision::of(interval, 0.0).moved(equation.value)),
            }
        });
        Ok(tested.collect())
    }

    /// Tests all equations at once.
    ///
    /// With Newton intervals it is a chi-square test with as many degrees of freedom as equations,
    /// based on the released gradients under the hypothesis (Anderson and Rubin 1949): it keeps its
    /// level however weak the curvature is, unlike a ratio of an estimate to its covariance. With
    /// the paper's intervals it is Hotelling's.
    ///
    /// # Errors
    /// When equations follow from each other, the weights are not those of this fit, or the fit was
    /// for prediction.
    pub fn wald_test(&self, hypothesis: &Hypothesis) -> Result<WaldTest, Error> {
        let (inference, contrasts) = (self.inference_for_tests()?, self.contrasts_of(hypothesis)?);
        let intervals = inference.intervals(&contrasts, self.level)?;
        let identified = intervals.iter().all(|one| one.identified)
            && !hypothesis.equations.iter().any(|equation| self.uses_left_out(equation));
        let found = if identified { Some(inference.joint(&contrasts)?) } else { None };
        Ok(WaldTest { hypothesis: hypothesis.equations.iter().map(|one| one.text.clone()).collect(), found })
    }

    fn inference_for_tests(&self) -> Result<&Inference, IntervalError> {
        self.inference.as_ref().filter(|_| self.purpose == Purpose::Inference).ok_or(IntervalError::NotReleased)
    }

    /// The left side minus the right side of each equation, as a function of the standardised
    /// parameters.
    fn contrasts_of(&self, hypothesis: &Hypothesis) -> Result<Vec<Contrast>, HypothesisError> {
        let parts = self.design.contrasts();
        let contrast = |equation: &Equation| {
            let (expected, found) = (parts.len(), equation.weights.len());
            if expected != found {
                return Err(HypothesisError::Weights { expected, found });
            }
            if let Some(name) = self.control_in(equation) {
                return Err(HypothesisError::Control { name });
            }
            let mut whole = Contrast::combined(&parts, &equation.weights);
            whole.offset -= equation.value;
            Ok(whole)
        };
        hypothesis.equations.iter().map(contrast).collect()
    }

    /// A coefficient in an equation that is a control, where only some are of interest.
    fn control_in(&self, equation: &Equation) -> Option<String> {
        let focus = self.focus.as_ref()?;
        let mut weighed = self.coefficients.iter().zip(&equation.weights).filter(|(_, weight)| **weight != 0.0);
        weighed.find(|(one, _)| !focus.has(&one.name)).map(|(one, _)| one.name.clone())
    }

    /// Whether an equation involves a coefficient that was left out of the fitted model.
    fn uses_left_out(&self, equation: &Equation) -> bool {
        let weighed = self.coefficients.iter().zip(&equation.weights).filter(|(_, weight)| **weight != 0.0);
        weighed.map(|(one, _)| one).any(|one| self.is_left_out(&one.name))
    }
}
