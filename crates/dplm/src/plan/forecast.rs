//! What accuracy to expect of a fit, and at other budgets. No data are read.

use faer::Mat;
use serde::Serialize;

use super::{
    assume::Assumed,
    planned::{Foretold, Planned, PlannedRelease, Way},
};
use crate::{
    Error,
    contrast::Contrast,
    interval::normal_quantile,
    lattice::Design,
    matrix::{inverse, quadratic},
    number::two_digits_up,
    options::{Family, Target},
    privacy::{Epsilon, PrivacyError, Rho, guess},
    theory::student::normal_cdf,
    warning::LeftOut,
};

/// The standard error of nine fits in ten is at most this many times what is foreseen of it: fits
/// find their clip and curvature by noisy releases (docs/plan.md has what was measured).
const MARGIN: f64 = 1.15;
/// Budgets beside the asked one, as powers of two of it.
const TABLE: std::ops::RangeInclusive<i32> = -4..=4;

/// Half octaves of the picture, either side of the budget asked for.
const PICTURE: std::ops::RangeInclusive<i32> = -14..=14;

/// Budgets that are looked at when one is looked for, as powers of two, and how often the step to
/// the first that does is halved.
const BUDGETS: std::ops::RangeInclusive<i32> = -26..=16;
const HALVINGS: u32 = 12;

/// What is asked of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// How many rows the data will have.
    pub rows: u64,
    /// The whole budget.
    pub rho: Rho,
    /// The delta at which epsilon is stated.
    pub delta: f64,
    /// The coverage of the intervals.
    pub level: f64,
    /// The share of the sampling error that privacy may add, for which a budget is looked for.
    pub share: f64,
    /// Standard errors for which a budget is looked for.
    pub wants: Vec<Stated>,
    /// Coefficients of a stated size, whose sign and significance are in question.
    pub effects: Vec<Stated>,
    /// Whether a curve over budgets is wanted, for a picture.
    pub curve: bool,
}

impl Question {
    /// The usual question: the budget at which privacy adds half the sampling error, and no more.
    pub fn new(rows: u64, rho: Rho, delta: f64, level: f64) -> Question {
        Question { rows, rho, delta, level, share: 0.5, wants: Vec::new(), effects: Vec::new(), curve: false }
    }
}

/// A number stated for a coefficient: `educ 0.01`.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    /// The coefficient.
    pub name: String,
    /// The number, in its own units.
    pub value: f64,
}

impl std::str::FromStr for Stated {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Stated, Self::Err> {
        let parts = text.trim().rsplit_once(char::is_whitespace);
        let (name, value) = parts.ok_or("give a coefficient and a number, such as 'educ 0.01'")?;
        let value = value.parse::<f64>().ok().filter(|value| value.is_finite());
        Ok(Stated {
            name: name.trim().trim_matches('`').to_owned(),
            value: value.ok_or("give a coefficient and a number, such as 'educ 0.01'")?,
        })
    }
}

/// Why a question makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ForecastError {
    /// No such coefficient.
    #[error("the model has no coefficient '{name}': it has {known}")]
    NoCoefficient {
        /// What was typed.
        name: String,
        /// Those there are.
        known: String,
    },
    /// A coefficient that is a control.
    #[error("'{name}' is a control, and would not be estimated: ask about coefficients of interest")]
    Control {
        /// What was typed.
        name: String,
    },
    /// A standard error must be one.
    #[error("a standard error to aim at must be above 0")]
    Want,
    /// Sampling alone makes more.
    #[error(
        "at no budget has '{name}' a standard error of at most {std_error}: sampling alone makes about as much, so ask for more"
    )]
    Unreachable {
        /// The coefficient.
        name: String,
        /// The standard error aimed at.
        std_error: f64,
    },
    /// A share must be one.
    #[error("the share of the sampling error must be above 0: give something like 0.5")]
    Share,
}

/// What to expect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Forecast {
    /// The version that made the forecast.
    pub dplm: &'static str,
    /// The method that will run.
    pub method: &'static str,
    /// What its intervals will be for.
    pub target: Target,
    /// What the response is.
    #[serde(skip_serializing_if = "is_number")]
    pub family: Family,
    /// Rows asked about.
    pub rows: u64,
    /// Coefficients asked about.
    pub features: usize,
    /// The budget.
    pub rho: f64,
    /// What it is at `delta`.
    pub epsilon: Epsilon,
    /// Where epsilon is stated.
    pub delta: f64,
    /// The largest probability with which an attacker who knows all other rows guesses right: see
    /// [`guess`].
    pub guess: f64,
    /// The coverage of the intervals.
    pub level: f64,
    /// What is assumed of the columns, a line for each; empty for columns of unit variance.
    pub assumed: Vec<String>,
    /// A coefficient of a column of unit variance that is not correlated with others, the errors
    /// being as large as assumed.
    pub fit: Outlook,
    /// With the clip and the steps that promise the smallest error; the same as `fit` when that is
    /// already so.
    pub recommended: Outlook,
    /// Least squares without privacy, for the same column.
    pub classical: Classical,
    /// Each coefficient, in its own units; empty where all are alike, as columns of unit variance
    /// are.
    pub coefficients: Vec<ForeseenCoefficient>,
    /// Those that the budget cannot resolve, and why.
    pub left_out: Vec<LeftOut>,
    /// Where only some coefficients are of interest, the other way to have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_way: Option<OtherWay>,
    /// What the budget is spent on.
    pub releases: Vec<PlannedRelease>,
    /// The budget at which privacy adds the share asked for.
    pub share: Share,
    /// The budgets at which coefficients have the standard errors asked for.
    pub wants: Vec<Want>,
    /// What stated effects would look like.
    pub effects: Vec<StatedEffect>,
    /// The first outlook at other budgets.
    pub budgets: Vec<AtBudget>,
    /// The same over a wider range, for the picture; empty when there is none.
    #[serde(skip)]
    pub curve: Vec<AtBudget>,
}

/// Whether nothing need be said of a response.
fn is_number(family: &Family) -> bool {
    *family == Family::Gaussian
}

/// What a descent should come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outlook {
    /// The clip `gamma`.
    pub clip: f64,
    /// Steps.
    pub steps: u32,
    /// Their size.
    pub step_size: f64,
    /// The share of rows clipped at the optimum.
    pub clipped: f64,
    /// The part of the standard error that privacy makes.
    pub privacy_error: f64,
    /// The part that sampling makes.
    pub sampling_error: f64,
    /// Both together.
    pub std_error: f64,
    /// The length of an interval.
    pub length: f64,
    /// Against the classical length.
    pub times_classical: f64,
}

/// A way to have coefficients of interest that was not chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OtherWay {
    /// Which it is.
    pub way: Way,
    /// What it would come to.
    pub outlook: Outlook,
}

/// Least squares without privacy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Classical {
    /// Its standard error.
    pub std_error: f64,
    /// The length of its interval.
    pub length: f64,
}

/// What to expect of one coefficient, in its own units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForeseenCoefficient {
    /// Its name.
    pub name: String,
    /// Whether the budget can identify it.
    pub identified: bool,
    /// Its standard error; `None` if it is not identified.
    pub std_error: Option<f64>,
    /// The length of its interval.
    pub length: Option<f64>,
    /// The standard error of least squares without privacy.
    pub classical_error: f64,
}

/// The budget at which privacy adds a given share of the sampling error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share.
    pub share: f64,
    /// The budget; none when no budget does.
    pub rho: Option<f64>,
}

/// The budget at which a coefficient has a given standard error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Want {
    /// The coefficient.
    pub name: String,
    /// The standard error aimed at.
    pub std_error: f64,
    /// The budget; none when no budget does.
    pub rho: Option<f64>,
}

/// What an effect of a stated size would look like at the budget asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatedEffect {
    /// The coefficient.
    pub name: String,
    /// Its stated size.
    pub size: f64,
    /// The probability that the estimate has the right sign; `None` if there is no estimate.
    pub right_sign: Option<f64>,
    /// The probability that the interval leaves zero out.
    pub significant: Option<f64>,
    /// The same without privacy.
    pub significant_classical: f64,
}

/// What to expect at another budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtBudget {
    /// The budget.
    pub rho: f64,
    /// What it is at the delta asked about.
    pub epsilon: Epsilon,
    /// The guess there, as [`Forecast::guess`].
    pub guess: f64,
    /// The standard error there.
    pub std_error: f64,
    /// The length of an interval there.
    pub length: f64,
    /// Against the classical length.
    pub times_classical: f64,
    /// How many coefficients the budget cannot resolve.
    pub left_out: usize,
    /// The standard error of each coefficient there, in its own units; `None` if it is not
    /// identified.
    pub std_errors: Vec<Option<f64>>,
}

/// A way to plan: what the method that would run says of itself at a budget.
pub type Plans<'a> = dyn Fn(Rho) -> Result<Planned, Error> + Sync + 'a;

impl Forecast {
    /// The smallest budget at which each coefficient has the standard error that is wanted of it,
    /// rounded up.
    ///
    /// # Errors
    /// When there is none for one of them.
    pub fn budget_of_wants(&self) -> Result<f64, ForecastError> {
        let budget = |want: &Want| {
            let unreachable = || ForecastError::Unreachable { name: want.name.clone(), std_error: want.std_error };
            let rho = want.rho.ok_or_else(unreachable)?;
            Ok(two_digits_up(rho).parse::<f64>().expect("a number"))
        };
        self.wants.iter().map(budget).try_fold(0.0, |most, rho| Ok(f64::max(most, rho?)))
    }

    /// What intervals will be for, in words.
    pub fn target_text(&self) -> &'static str {
        match (self.family, self.target) {
            (Family::Binomial, Target::Sample) => "the maximum-likelihood logit coefficients of this data set",
            (Family::Binomial, _) => "the maximum-likelihood logit coefficients of the population",
            (Family::Gaussian, Target::Population) => "the least-squares coefficients of the population",
            (_, Target::Person) => "the least-squares coefficients of the population in which each person counts once",
            (_, Target::Sample) => "the least-squares coefficients of this data set",
            (_, Target::Robust) => "the robust (Huber) coefficients of the population",
        }
    }

    /// Computes everything, asking the method at several budgets.
    ///
    /// # Errors
    /// When the question makes no sense, or the method refuses the budget asked about.
    pub fn new(asked: &Question, design: &Design, assumed: &Assumed, plans: &Plans<'_>) -> Result<Forecast, Error> {
        let view = View { asked, design, assumed, plans };
        view.check()?;
        let planned = plans(asked.rho)?;
        view.check_of_interest(&planned)?;
        let fit = view.outlook(&planned.descent);
        let recommended = planned.recommended.as_ref().map_or(fit, |other| view.outlook(other));
        let octaves = TABLE.map(|power| 2f64.powi(power)).collect();
        let half_octaves = PICTURE.filter(|_| asked.curve).map(|half| 2f64.powf(f64::from(half) / 2.0)).collect();
        let coefficients = view.coefficients(&planned);
        Ok(Forecast {
            dplm: env!("CARGO_PKG_VERSION"),
            method: planned.method,
            target: planned.target,
            family: design.family(),
            rows: asked.rows,
            features: design.features(),
            rho: asked.rho.to_f64(),
            epsilon: Epsilon::exact(asked.rho.to_f64(), asked.delta).map_err(PrivacyError::from)?,
            delta: asked.delta,
            guess: guess(asked.rho.to_f64()).map_err(PrivacyError::from)?,
            level: asked.level,
            assumed: assumed.sentences().to_vec(),
            recommended: if recommended.std_error < fit.std_error { recommended } else { fit },
            fit,
            classical: view.classical(),
            effects: asked.effects.iter().map(|effect| view.effect(effect, &coefficients)).collect(),
            coefficients,
            share: Share { share: asked.share, rho: view.budget_where(|planned| view.adds_at_most(planned)) },
            wants: asked.wants.iter().map(|want| view.want(want)).collect(),
            left_out: planned.left_out,
            other_way: planned.other_way.map(|(way, other)| OtherWay { way, outlook: view.outlook(&other) }),
            releases: planned.releases.iter().map(|one| PlannedRelease::of(one, asked.rho)).collect(),
            budgets: view.at_budgets(octaves)?,
            curve: view.at_budgets(half_octaves)?,
        })
    }
}

/// A question and what it is about.
struct View<'a> {
    asked: &'a Question,
    design: &'a Design,
    assumed: &'a Assumed,
    plans: &'a Plans<'a>,
}

impl View<'_> {
    fn check(&self) -> Result<(), ForecastError> {
        for stated in self.asked.wants.iter().chain(&self.asked.effects) {
            if !self.design.names().contains(&stated.name) {
                let (name, known) = (stated.name.clone(), self.design.names().join(", "));
                return Err(ForecastError::NoCoefficient { name, known });
            }
        }
        if self.asked.wants.iter().any(|want| want.value <= 0.0) {
            return Err(ForecastError::Want);
        }
        if self.asked.share > 0.0 { Ok(()) } else { Err(ForecastError::Share) }
    }

    /// Only coefficients of interest have a standard error to ask about.
    fn check_of_interest(&self, planned: &Planned) -> Result<(), ForecastError> {
        let Some(some) = &planned.of_interest else { return Ok(()) };
        let is_told = |name: &String| some.iter().any(|&place| self.design.names()[place] == *name);
        match self.asked.wants.iter().chain(&self.asked.effects).find(|stated| !is_told(&stated.name)) {
            None => Ok(()),
            Some(stated) => Err(ForecastError::Control { name: stated.name.clone() }),
        }
    }

    fn outlook(&self, descent: &Foretold) -> Outlook {
        let Foretold { clip, steps, step_size, errors } = *descent;
        Outlook {
            clip,
            steps,
            step_size,
            clipped: errors.clipped,
            privacy_error: errors.privacy_error,
            sampling_error: errors.sampling_error,
            std_error: errors.std_error(),
            length: 2.0 * errors.half_length(self.asked.level),
            times_classical: errors.half_length(self.asked.level) / errors.classical_half_length(self.asked.level),
        }
    }

    fn classical(&self) -> Classical {
        let std_error = self.assumed.error_sd / (self.asked.rows as f64).sqrt();
        Classical { std_error, length: 2.0 * normal_quantile(self.asked.level) * std_error }
    }

    /// Least squares has `sigma^2 / n c' M^-1 c` for a contrast `c`, `M` the second moments of what
    /// is in the model; the private fit as many times that as on white rows, which is what
    /// whitening makes of any.
    fn coefficients(&self, planned: &Planned) -> Vec<ForeseenCoefficient> {
        let Some(moments) = &self.assumed.moments else { return Vec::new() };
        let errors = &planned.descent.errors;
        let times = errors.std_error() / errors.classical_error;
        let every: Vec<usize> = (0..self.design.features()).collect();
        let everything = inverse(moments);
        let kept = if planned.kept.len() == every.len() { everything.clone() } else { part(moments, &planned.kept) };
        let foreseen = |(index, (name, contrast)): (usize, (&String, Contrast))| {
            let identified = planned.kept.contains(&index);
            let (inverse, places) = if identified { (&kept, &planned.kept) } else { (&everything, &every) };
            let classical_error = self.classical_error(&contrast, inverse, places);
            let std_error = identified.then_some(times * classical_error);
            let length = std_error.map(|error| 2.0 * normal_quantile(self.asked.level) * error * errors.widening);
            ForeseenCoefficient { name: name.clone(), identified, std_error, length, classical_error }
        };
        let of_interest = |index: &usize| planned.of_interest.as_ref().is_none_or(|some| some.contains(index));
        let all = self.design.names().iter().zip(self.design.contrasts()).enumerate();
        all.filter(|(index, _)| of_interest(index)).map(foreseen).collect()
    }

    fn classical_error(&self, contrast: &Contrast, inverse: &Mat<f64>, places: &[usize]) -> f64 {
        let weights: Vec<f64> = places.iter().map(|&place| contrast.weights[place]).collect();
        self.assumed.error_sd * (quadratic(inverse, &weights) / self.asked.rows as f64).sqrt()
    }

    fn effect(&self, stated: &Stated, coefficients: &[ForeseenCoefficient]) -> StatedEffect {
        let found = coefficients.iter().find(|one| one.name == stated.name).expect("checked");
        let z = normal_quantile(self.asked.level);
        let significant = |error: f64| {
            let ratio = stated.value.abs() / error;
            normal_cdf(ratio - z) + normal_cdf(-ratio - z)
        };
        StatedEffect {
            name: stated.name.clone(),
            size: stated.value,
            right_sign: found.std_error.map(|error| normal_cdf(stated.value.abs() / error)),
            significant: found.std_error.map(significant),
            significant_classical: significant(found.classical_error),
        }
    }

    fn want(&self, stated: &Stated) -> Want {
        let precise = |planned: &Planned| {
            let found = self.coefficients(planned).into_iter().find(|one| one.name == stated.name);
            found.and_then(|one| one.std_error).is_some_and(|error| MARGIN * error <= stated.value)
        };
        Want { name: stated.name.clone(), std_error: stated.value, rho: self.budget_where(precise) }
    }

    fn adds_at_most(&self, planned: &Planned) -> bool {
        let errors = &planned.descent.errors;
        errors.privacy_error <= self.asked.share * errors.sampling_error
    }

    /// The smallest budget, to a hundredth of a per cent, at which a plan is as it should be. One
    /// that is refused is too small, or so large that its noise is below the lattice.
    fn budget_where(&self, good: impl Fn(&Planned) -> bool) -> Option<f64> {
        let at = |rho: f64| {
            let planned = Rho::checked_from_f64(rho).ok().and_then(|rho| (self.plans)(rho).ok());
            planned.is_some_and(|planned| good(&planned))
        };
        let mut high = BUDGETS.map(|power| 2f64.powi(power)).find(|&rho| at(rho))?;
        let mut low = high / 2.0;
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            if at(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// The plan at other budgets, those left out that no fit can have.
    fn at_budgets(&self, factors: Vec<f64>) -> Result<Vec<AtBudget>, Error> {
        let rhos = factors.iter().filter_map(|factor| Rho::checked_from_f64(factor * self.asked.rho.to_f64()).ok());
        let planned = rhos.filter_map(|rho| Some((rho, (self.plans)(rho).ok()?)));
        planned.map(|(rho, planned)| self.at_budget(rho.to_f64(), &planned)).collect()
    }

    fn at_budget(&self, rho: f64, planned: &Planned) -> Result<AtBudget, Error> {
        let outlook = self.outlook(&planned.descent);
        Ok(AtBudget {
            rho,
            epsilon: Epsilon::exact(rho, self.asked.delta).map_err(PrivacyError::from)?,
            guess: guess(rho).map_err(PrivacyError::from)?,
            std_error: outlook.std_error,
            length: outlook.length,
            times_classical: outlook.times_classical,
            left_out: planned.left_out.len(),
            std_errors: self.coefficients(planned).iter().map(|one| one.std_error).collect(),
        })
    }
}

/// The inverse of the second moments of some parameters.
fn part(moments: &Mat<f64>, places: &[usize]) -> Mat<f64> {
    inverse(&Mat::from_fn(places.len(), places.len(), |j, k| moments[(places[j], places[k])]))
}
