//! The automatic method: for tables whose columns are neither centred nor uncorrelated, with errors
//! of unknown scale.
//!
//! The paper's algorithm needs features that are about white and a clip near the size of a
//! gradient. Neither is known for a real table, and both can be found privately:
//!
//! 1. *Whitening.* Second moments are released in up to five rounds, each in the coordinates that
//!    the previous round made, as long as a column is not resolved and a round is cheap. Columns
//!    that the budget does not resolve by then are left out of the model, in formula order.
//! 2. *Start.* A clip threshold by noisy counts, and ten steps of descent towards the answer;
//!    repeated if the noise of the first start is as large as the residuals.
//! 3. *Clip.* A threshold for gradients at the start: about the share of rows is clipped that pays
//!    for itself at this budget and target. For predictions it is widened to where squared errors
//!    are smallest (`prediction.rs`).
//! 4. *Descent.* The paper's Algorithm 1 in the new coordinates, on the rest of the budget.
//! 5. *Curvature, covariance of gradients, and a test of whether clipping biases the fit*, for
//!    intervals; skipped for predictions.
//!
//! The releases that decide which columns are in the model are not used for intervals, so that a
//! column's passing says nothing about the error of its coefficient.
//!
//! From the second round on, for robust coefficients, whitened rows longer than a public length are
//! shortened to it, together with their responses. With the target `auto` that happens if the
//! second round finds rows longer than Gaussian ones: no clip makes such a fit least squares. The
//! length grows with the budget if released shares of rows promise shorter intervals (`length.rs`).
//!
//! Every step is an integer query with Gaussian noise, so the exact (epsilon, delta) conversion
//! holds for the whole fit. A row becomes a re-encoded row by a rule about that row and released
//! numbers only. A row with a missing cell is a row of zeros throughout.
//!
//! `sequence.rs` has these stages in order, each decision and everything that is spent. Their
//! questions (`ask.rs`) are answered from rows (`on_rows.rs`) or, for a forecast, from assumptions
//! about rows (`on_assumptions.rs`).
//!
//! Columns without bounds are assumed to have unit scale, and to lie within six units when the
//! length of rows is looked for; longer rows are shortened, not lost.

mod ask;
mod sequence;
mod whiten;
mod known;
mod again;
mod learn;
mod left_out;
mod length;
mod start;
mod prediction;
mod threshold;
mod clip;
mod infer;
mod quality;
mod focus;
mod on_rows;
mod instrument;
mod instruments;
mod likelihood;
mod bell;
mod effects;
mod deviance;
mod on_assumptions;
mod outcome;
#[cfg(test)]
mod agree;

use std::sync::Arc;

use super::{
    ConfigError, Enough, Entry, Family, IntervalMethod, Method, Outcome, Purpose, Request, Target, budget_warnings,
    is_of_term,
};
use crate::{
    Error, Progress,
    descend::Descent,
    lattice::{Design, Lattice, Link},
    method,
    plan::{Assumed, Choices, Planned, division::Rules, strength},
    privacy::{
        Budget,
        convert::Conversion,
        noise::{NoiseRng, RandomWords},
    },
    rows::Rows,
    warning::Warning,
};
pub(crate) use again::Earlier;
pub(crate) use focus::places_of;
pub(crate) use learn::{LEARNING, Learned};
pub(crate) use quality::Quality;

use focus::Wanted;
use known::Known;
use on_assumptions::OnAssumptions;
use on_rows::OnRows;
use sequence::{Response, Sequence};

/// The request to the method, which has nothing to tune.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The part of the request that all methods have.
    pub request: Request,
    /// How the budget is divided; set only to study the method.
    pub choices: Choices,
    /// An earlier fit of the same model, to be pooled with this one.
    earlier: Option<Arc<Earlier>>,
    /// Whether second moments are released elsewhere, for this model and others; and those, once
    /// they are.
    shares_moments: bool,
    learned: Option<Arc<Learned>>,
    /// Whether controls may become indices; set only to study the method.
    pub indices: IndexRule,
}

/// Whether controls that cannot be told apart may be replaced by indices of them.
///
/// No interface offers it: intervals given indices have not been shown to cover in every cell of a
/// grid. `dplm lab run focus` studies them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexRule {
    /// The fit is refused.
    Never,
    /// They may, if public numbers promise that they are precise enough.
    WhereNeeded,
    /// They are, however few they are.
    Always,
}

/// A checked plan: every number in it is public.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    request: Request,
    choices: Choices,
    family: Family,
    rows: u64,
    features: usize,
    known: Option<Known>,
    earlier: Option<Arc<Earlier>>,
    shares_moments: bool,
    learned: Option<Arc<Learned>>,
    /// The coefficients of interest, where only some are, and what their intervals are for if the
    /// others are partialled out.
    wanted: Option<Wanted>,
    partials_out: Option<Target>,
    /// Whether these are in the model as a few indices only, since they cannot be told apart.
    by_indices: bool,
    /// How many columns were regressed by halves of the units for the columns of this fit.
    crossed: usize,
    /// When long rows are shortened once they are white.
    shortens: Shortens,
}

/// When rows are shortened once they are white.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shortens {
    Never,
    /// If rows are found to be longer than Gaussian ones: then no clip makes the fit least squares.
    WhereLong,
    Always,
}

/// The method's name on the command line and in reports.
pub(crate) const NAME: &str = ENTRY.name;

/// Steps of the start, and the size of all steps.
const START_STEPS: u32 = 10;
const STEP_SIZE: f64 = 0.5;

/// A column without bounds is taken to lie within this many units.
const STANDARD_RANGE: f64 = 6.0;
impl Config {
    /// The automatic method.
    pub fn new(request: Request) -> Config {
        Config {
            request,
            choices: Choices::DEFAULT,
            earlier: None,
            shares_moments: false,
            learned: None,
            indices: IndexRule::Never,
        }
    }

    /// The same after a fit of the same model on the same rows, to be pooled with it.
    pub(crate) fn after(self, earlier: Earlier) -> Config {
        Config { earlier: Some(Arc::new(earlier)), ..self }
    }

    /// The same with second moments that were released before.
    pub(crate) fn knowing(self, learned: Arc<Learned>) -> Config {
        Config { learned: Some(learned), shares_moments: true, ..self }
    }

    /// The same for a plan that will have such moments.
    pub(crate) fn sharing_moments(self) -> Config {
        Config { shares_moments: true, ..self }
    }

    /// The same with controls as indices, however few they are.
    #[cfg(test)]
    pub(crate) fn by_indices(self) -> Config {
        Config { indices: IndexRule::Always, ..self }
    }

    /// Checks what was asked, from public numbers only.
    ///
    /// # Errors
    /// When options make no sense together, or the arithmetic cannot be made exact.
    pub fn plan(self, rows: u64, design: &Design) -> Result<Plan, Error> {
        let Config { request, choices, earlier, shares_moments, learned, indices } = self;
        request.check()?;
        if request.purpose == Purpose::Inference && request.interval != IntervalMethod::Newton {
            return Err(ConfigError::OtherIntervals {
                method: "auto",
                offered: IntervalMethod::Newton,
                interval: request.interval,
            }
            .into());
        }
        let lacks = |term: &String| !design.names().iter().any(|name| is_of_term(name, term));
        if let Some(place) = request.keep.iter().position(lacks) {
            return Err(ConfigError::NothingToKeep { place: place + 1, terms: design.names().to_vec() }.into());
        }
        check_family(design, &request)?;
        let features = design.kept_features();
        if rows <= features as u64 {
            return Err(ConfigError::TooFewRows { features, rows, unit: request.unit() }.into());
        }
        if request.moments.is_some() && design.weights().is_some() {
            return Err(ConfigError::MomentsOfWeighted.into());
        }
        if request.moments.is_some() && design.is_within() {
            return Err(ConfigError::MomentsWithin.into());
        }
        if design.model().endogenous().is_some() {
            let is_shared = earlier.is_some() || shares_moments || request.one_of_groups;
            check_instrument(&request, is_shared)?;
        }
        let moments = request.moments.as_ref().map(|moments| moments.of(design)).transpose()?;
        earlier.as_ref().map_or(Ok(()), |earlier| earlier.check(rows, design))?;
        let family = design.family();
        let wanted = Wanted::of_request(&request, design)?;
        let mut plan = Plan {
            request,
            choices,
            family,
            rows,
            features,
            known: None,
            earlier,
            shares_moments,
            learned,
            wanted,
            partials_out: None,
            by_indices: false,
            crossed: 0,
            shortens: Shortens::Never,
        };
        plan.known = moments.map(|moments| Known::new(moments, &plan.floor_of_known(design), design));
        plan.shortens = plan.shortens_rows(design);
        (plan.partials_out, plan.by_indices) = plan.prefers_partialling(indices, design)?;
        if plan.partials_out.is_some() {
            // What is left of a column after controls is clipped by itself.
            plan.shortens = Shortens::Never;
        }
        plan.more_than_noise()?;
        // Any clip will do to learn whether the arithmetic can be made exact.
        plan.descent(features, 1.0, plan.rules().most_steps(), plan.request.rho.to_f64())?;
        Ok(plan)
    }
}

impl Plan {
    /// Refuses a fit that could only be noise: a mean gradient at zero, clipped at the size of the
    /// responses, has noise `2 p / (n sqrt(rho))` times that size, over all coordinates. If that is
    /// 1 or more, an estimate of zero is better than any that the budget can buy.
    fn more_than_noise(&self) -> Result<(), ConfigError> {
        let needed = 2.0 * self.features as f64;
        if self.partials_out.is_some() || self.precision() >= needed {
            return Ok(());
        }
        // Intervals need more than a signal above the noise.
        let enough = match self.request.purpose {
            Purpose::Inference => self.enough_for_intervals(),
            Purpose::Prediction => {
                Enough::times(needed / self.precision(), self.rows, self.request.rho).of(self.request.unit())
            }
        };
        Err(ConfigError::NothingButNoise { features: self.features, rows: self.rows, enough })
    }

    /// What the rules that divide the budget depend on; public.
    fn rules(&self) -> Rules {
        let Request { rho, neighbours, .. } = self.request;
        let target = self.gives_intervals().then(|| self.request.target());
        let asked = self.request.target.filter(|_| self.earlier.is_none());
        let at_any_price = matches!(asked, Some(Target::Population | Target::Sample));
        let (rows, features, choices) = (self.rows, self.features, self.choices);
        let shortens = self.shortens == Shortens::Always;
        Rules { rows, features, rho, neighbours, target, at_any_price, shortens, choices }
    }

    /// Long rows are shortened for robust coefficients, asked for or not, where moments are this
    /// fit's own and each row stands for itself.
    fn shortens_rows(&self, design: &Design) -> Shortens {
        let own = self.known.is_none() && self.earlier.is_none() && !self.shares_moments;
        let alone = !self.request.has_several_rows() && design.weights().is_none();
        let plain = self.family == Family::Gaussian && design.model().endogenous().is_none();
        match self.request.target {
            _ if !(own && alone && plain && self.gives_intervals()) || self.rules().has_one_round() => Shortens::Never,
            Some(Target::Robust) => Shortens::Always,
            None => Shortens::WhereLong,
            Some(_) => Shortens::Never,
        }
    }

    /// Known moments, if the budget is too small for a fit that does not trust them.
    fn trusted(&self) -> Option<&Known> {
        self.known.as_ref().filter(|_| self.rules().is_weak())
    }

    /// `n sqrt(rho)`.
    fn precision(&self) -> f64 {
        strength::precision(self.rows, self.request.rho.to_f64())
    }

    /// The `n sqrt(rho)` below which there would be no intervals, and that below which only some
    /// coefficients would have one.
    fn needed(&self) -> (f64, f64) {
        strength::needed(self.features, self.known.is_some() || self.shares_moments)
    }

    fn enough_for_intervals(&self) -> Enough {
        let times = self.needed().1 / self.precision();
        Enough::times(times, self.rows, self.request.rho).of(self.request.unit())
    }

    /// Whether intervals are wanted and there is a chance of any.
    fn gives_intervals(&self) -> bool {
        let has_enough = self.earlier.is_some() || self.partials_out.is_some() || self.precision() >= self.needed().0;
        self.request.purpose == Purpose::Inference && has_enough
    }

    /// Runs the plan.
    ///
    /// # Guarantee
    /// Spends exactly the budget of the request. Rows are read only through releases.
    ///
    /// # Errors
    /// When rows cannot be read, the noise does not fit, or the run is interrupted.
    pub fn run<R: RandomWords>(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut R,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        if let Some(all) = design.with_moments() {
            return self.run_instrumented(rows, (design, &all), rng, progress);
        }
        if let Some(wanted) = self.wanted_by_indices() {
            return self.run_by_indices(rows, (design, wanted), rng, progress);
        }
        let mut budget = Budget::new(self.request.rho);
        let ask = &mut OnRows::new(self, design, rows, rng);
        let sequence = self.sequence(design, &mut budget, ask, progress);
        match (self.family, self.partialled_for()) {
            (Family::Binomial, _) => sequence.likelihood()?.outcome(ask, budget.releases()),
            (_, Some(wanted)) => {
                let focused = sequence.partialled_out(wanted)?;
                focused.outcome(ask, wanted, budget.releases())
            }
            (_, None) => {
                let ended = sequence.least_squares()?;
                Ok(self.of_interest(ended.outcome(ask, budget.releases())?, design))
            }
        }
    }

    /// The coefficients of interest, where the others are partialled out.
    fn partialled_for(&self) -> Option<&Wanted> {
        self.wanted.as_ref().filter(|_| self.partials_out.is_some())
    }

    /// The same where these are in the model as indices that are to be found.
    fn wanted_by_indices(&self) -> Option<&Wanted> {
        self.partialled_for().filter(|_| self.by_indices && self.earlier.is_none())
    }

    /// The stages of a fit, at their beginning.
    fn sequence<'a, A>(
        &'a self,
        design: &'a Design,
        budget: &'a mut Budget,
        ask: &'a mut A,
        progress: Progress<'a>,
    ) -> Sequence<'a, A> {
        Sequence { plan: self, design, budget, ask, response: Response::of_model(design), progress }
    }

    /// The results of the stages if columns are as assumed.
    fn foreseen(&self, design: &Design, assumed: &Assumed) -> Result<Planned, Error> {
        if let Some(wanted) = self.wanted_by_indices() {
            return self.foreseen_by_indices((design, wanted), assumed);
        }
        let mut budget = Budget::new(self.request.rho);
        let ask = &mut OnAssumptions::new(self, assumed);
        let sequence = self.sequence(design, &mut budget, ask, Progress::NONE);
        match (self.family, self.partialled_for()) {
            (Family::Binomial, _) => sequence.likelihood_planned(),
            (_, Some(wanted)) => {
                let focused = sequence.partialled_out(wanted)?;
                focused.planned(ask, wanted, budget.releases())
            }
            (_, None) => {
                let ended = sequence.least_squares()?;
                ended.planned(ask, budget.releases())
            }
        }
    }

    fn descent(&self, features: usize, gamma: f64, steps: u32, rho: f64) -> Result<Descent, Error> {
        let (least, most) = Lattice::CLIP_RANGE.into_inner();
        let gamma = gamma.clamp(least, most);
        let descent = Descent::plan(self.rows, features, gamma, steps, STEP_SIZE, self.request.neighbours, rho)?;
        Ok(match self.family {
            Family::Binomial => descent.of_link(Link::Logistic),
            _ => descent,
        })
    }
}

/// The method as the registry lists it.
pub(super) const ENTRY: Entry = Entry {
    name: "auto",
    about: "scales and clips found privately, for columns with bounds",
    intervals: &[IntervalMethod::Newton],
    tunable: false,
    assumes_standard: false,
    conversion: Conversion::Exact,
    whitens: true,
    suits: |formula| formula.has_bounds() || formula.is_binary(),
    configure: |request, _| Box::new(Config::new(request)),
};

impl Method for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn request(&self) -> &Request {
        &self.request
    }

    fn fits(&self, family: Family) -> bool {
        matches!(family, Family::Gaussian | Family::Binomial)
    }

    fn with_request(&self, request: Request) -> Box<dyn Method> {
        Box::new(Config { request, ..self.clone() })
    }

    fn plan(&self, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
        Ok(Box::new(self.clone().plan(rows, design)?))
    }
}

impl method::Plan for Plan {
    fn check(&self) -> Result<(), ConfigError> {
        if self.request.purpose == Purpose::Prediction || self.gives_intervals() {
            return Ok(());
        }
        let (features, rows) = (self.features, self.rows);
        Err(ConfigError::NoIntervals { features, rows, enough: self.enough_for_intervals(), with_auto: false })
    }

    fn warn(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let is_short = self.partials_out.is_none() && self.precision() < self.needed().1;
        if self.request.purpose == Purpose::Inference && is_short {
            let (features, enough) = (self.features, self.enough_for_intervals());
            warnings.push(Warning::BudgetForColumns { features, enough });
        }
        let controls = |wanted: &Wanted| self.features - wanted.parameters.len();
        let given = self.wanted_by_indices().map(|wanted| Warning::GivenIndices { controls: controls(wanted) });
        warnings.extend(given);
        warnings.extend(budget_warnings(&self.request, self.rows));
        warnings
    }

    /// The results of the same stages if columns are as assumed.
    fn foresee(&self, design: &Design, assumed: &Assumed) -> Result<Planned, Error> {
        // Assumptions do not say how precise an earlier fit was, nor how alike a person's rows are.
        if design.model().endogenous().is_some() {
            return Err(ConfigError::NoForecastOfInstruments { longer: self.longer_set(design) }.into());
        }
        if self.earlier.is_some() || self.request.has_several_rows() {
            return Err(ConfigError::NoForecast.into());
        }
        let planned = self.foreseen(design, assumed)?;
        Ok(Planned { other_way: self.other_way(design, assumed), ..planned })
    }

    fn run(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut NoiseRng,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        self.run(rows, design, rng, progress)
    }
}

/// Refuses what a fit with an instrument does not offer.
fn check_instrument(request: &Request, is_shared: bool) -> Result<(), ConfigError> {
    let what = match request.target {
        _ if is_shared => "groups, studies or refinements",
        _ if request.purpose == Purpose::Prediction => "predictions",
        _ if request.moments.is_some() => "public moments",
        Some(Target::Robust) => "robust coefficients",
        _ => return Ok(()),
    };
    Err(ConfigError::WithInstrument { what })
}

/// Refuses what a family is not offered with.
fn check_family(design: &Design, request: &Request) -> Result<(), ConfigError> {
    let unavailable = [
        (!request.focus.is_empty(), "coefficients of interest"),
        (design.model().endogenous().is_some(), "an instrument"),
        (request.target() == Target::Robust, "the target robust"),
        // The rows of a person vary less together than separate rows do, by an unknown amount.
        (request.target() == Target::Person, "the target person"),
        (request.moments.is_some(), "public moments"),
    ];
    match unavailable.into_iter().find(|(is_asked, _)| *is_asked && design.family() == Family::Binomial) {
        Some((_, what)) => Err(ConfigError::NotOfBinomial { what }),
        None => Ok(()),
    }
}

/// A public bound on the norm of a standardised, weighted row.
fn largest_norm(design: &Design) -> f64 {
    (design.largest_weight() * (1.0 + design.terms_norm_sq(STANDARD_RANGE))).sqrt()
}

/// A public bound on the absolute response, in standardised units and weighted.
fn largest_response(design: &Design) -> f64 {
    let largest = if design.response().range.0.is_finite() { design.largest_cell() } else { STANDARD_RANGE };
    largest * design.largest_weight().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_for_the_curvature_only_where_noise_demands_it() {
        let request = Request::new(crate::privacy::Rho::checked_from_f64(0.5).expect("a budget"));
        let plan = Plan {
            request,
            choices: Choices::DEFAULT,
            family: Family::Gaussian,
            rows: 10_000,
            features: 8,
            known: None,
            earlier: None,
            shares_moments: false,
            learned: None,
            wanted: None,
            partials_out: None,
            by_indices: false,
            crossed: 0,
            shortens: Shortens::Never,
        };
        assert_eq!(plan.curvature_radius(6.0, 8, 0.5), 6.0);
        assert!((plan.curvature_radius(6.0, 8, 1e-4) - 4.0).abs() < 1e-12);
        assert!((plan.curvature_radius(60.0, 8, 0.01) - 10.0).abs() < 1e-12);
    }
}
