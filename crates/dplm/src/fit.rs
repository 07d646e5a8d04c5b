//! The result of a fit. It holds no data: every number in it is public or released.

use faer::Mat;
use serde::{Deserialize, Serialize};

use crate::{
    FitRequest, Statement,
    descend::Trajectory,
    formula::{By, Weights},
    interval::{Evidence, Inference, Interval, normal_quantile},
    lattice::Design,
    matrix::by_row,
    number::significant,
    options::{Family, IntervalMethod, Purpose, Target},
    privacy::{Guarantee, Person},
    table::Dialect,
    theory::student,
    warning::{LeftOut, Warning, listed},
};

/// A private fit.
///
/// It is data: [`Fit::save`] writes it to a file, and what [`Fit::load`] reads is equal to it, to
/// the last bit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Fit {
    /// The day it was made, in UTC, as `2026-11-16`.
    pub date: String,
    /// The model, as a formula.
    pub formula: String,
    /// How many privacy units were fitted, rows or persons; public.
    pub rows: u64,
    /// How many of them contribute anything, as released; `None` if it was not. The others have a
    /// missing cell, or a weight of 0.
    #[serde(default)]
    pub rows_used: Option<Bounded>,
    /// Who is protected, where it is not each row.
    #[serde(default)]
    pub person: Option<Person>,
    /// What rows were weighted by, where they do not count alike.
    #[serde(default)]
    pub weights: Option<Weights>,
    /// Which of several groups that were fitted together it is of.
    #[serde(default)]
    pub group: Option<Group>,
    /// What is promised about each of them.
    pub guarantee: Guarantee,
    /// What the fit was for.
    pub purpose: Purpose,
    /// What intervals were asked for.
    pub asked: Target,
    /// What the intervals are for: what was asked for, or the robust coefficients where a released
    /// test shows that clipping biases the fit.
    pub target: Target,
    /// How the intervals were made.
    pub interval: IntervalMethod,
    /// The coverage asked for.
    pub level: f64,
    /// Everything that was asked, every option written out.
    pub request: FitRequest,
    /// The budgets that it was refined with later, and the request's was the first.
    #[serde(default)]
    pub refined: Vec<f64>,
    /// How the text of the table was written, as far as that was said.
    pub csv: Dialect,
    /// Whether it is one of the specifications of a study.
    pub part_of_study: bool,
    /// The estimates, in the columns' own units and formula order.
    pub coefficients: Vec<Coefficient>,
    /// Coefficients that the budget could not resolve: the model was fitted without them.
    pub left_out: Vec<LeftOut>,
    /// Which coefficients are of interest, where only some are; the others are controls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<Focus>,
    /// The standard deviation of the errors, if it was released.
    #[serde(default)]
    pub residual_sd: Option<Bounded>,
    /// The share of the response's variance that the model explains, if it was released.
    #[serde(default)]
    pub r_squared: Option<Bounded>,
    /// Average marginal effects, of a binary response: how much its probability changes with each
    /// column, on average over rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marginal_effects: Vec<MarginalEffect>,
    /// The method and its public parameters.
    pub method: MethodSummary,
    /// What a reader should know.
    pub warnings: Vec<Warning>,
    /// The released iterates, in standardised units: one run, or several for independent runs.
    pub trajectories: Vec<Trajectory>,
    /// How columns make coefficients; public.
    pub design: Design,
    /// How intervals are made from what was released; none when nothing was released for them.
    pub inference: Option<Inference>,
    /// What that was computed from, where the steps were in coordinates of the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// How the instruments move the regressor; `None` if there is no instrument.
    #[serde(default)]
    pub first_stage: Option<FirstStage>,
    /// The budget of the data set, where a ledger keeps it.
    pub statement: Option<Statement>,
}

/// What a fit with coefficients of interest says of the others, which are controls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Focus {
    /// The coefficients of interest, by name.
    pub coefficients: Vec<String>,
    /// The controls that are not in the model: the budget could not tell them from others.
    pub not_controlled_for: Vec<String>,
    /// Where the controls are in the model as a few released indices only, these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indices: Vec<Index>,
    /// What partialling out left of rows; `None` if all coefficients were fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<Left>,
}

/// A linear function of the controls of a row that a fit released, for the response or for a column
/// of interest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Index {
    /// What it is for, in words.
    pub name: String,
    /// The weights of the standardised columns for the first half of the units, and what is added
    /// to them for the second.
    pub weights: Vec<f64>,
}

/// What partialling out leaves of rows, as released numbers: enough to ask for their mean score
/// once more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Left {
    /// The standardised parameters of interest, ascending.
    pub parameters: Vec<usize>,
    /// How the cells of a row make what is left of each of these columns.
    #[serde(with = "by_row")]
    pub matrix: Mat<f64>,
    /// How cells and response make what is left of the response, which is 1 for errors of the size
    /// `unit`.
    pub response: Vec<f64>,
    pub unit: f64,
    /// What the product of both errors adds to the variance of each mean score, and what the noise
    /// of each column's regression adds to the second moment of what it leaves.
    pub added: Vec<f64>,
    pub taken: Vec<f64>,
}

impl Left {
    /// Whether every part is for a model with this many standardised parameters.
    pub(crate) fn is_for(&self, parameters: usize, by_indices: bool) -> bool {
        let (k, all) = (self.parameters.len(), [&self.response, &self.added, &self.taken]);
        let ascend = self.parameters.windows(2).all(|pair| pair[0] < pair[1]);
        let in_range = self.parameters.last().is_some_and(|&last| last < parameters);
        // Where indices differ between halves of the units, a row stands beside a copy of it.
        let cells = if by_indices { 2 * parameters } else { parameters };
        let sizes = (self.matrix.nrows(), self.matrix.ncols(), self.response.len(), self.added.len(), self.taken.len());
        let finite = all.into_iter().flatten().all(|number| number.is_finite()) && self.matrix.is_all_finite();
        ascend && in_range && sizes == (cells, k, cells + 1, k, k) && finite && self.unit > 0.0
    }
}

impl Focus {
    pub(crate) fn new(coefficients: Vec<String>, not_controlled_for: Vec<String>) -> Focus {
        Focus { coefficients, not_controlled_for, indices: Vec::new(), left: None }
    }

    /// `all` where every control is in the model, `subspace` where some are not, and `indices`
    /// where only a few indices of them are.
    pub fn status(&self) -> &'static str {
        match (self.indices.is_empty(), self.not_controlled_for.is_empty()) {
            (false, _) => "indices",
            (true, true) => "all",
            (true, false) => "subspace",
        }
    }

    /// Whether indices are for a model with this many standardised parameters.
    pub(crate) fn is_for(&self, parameters: usize) -> bool {
        let of_index = |index: &Index| {
            index.weights.len() == 2 * parameters && index.weights.iter().all(|weight| weight.is_finite())
        };
        let left = self.left.as_ref().is_none_or(|left| left.is_for(parameters, !self.indices.is_empty()));
        left && self.indices.iter().all(of_index)
    }

    /// The same with the controls in the model as these indices only.
    pub(crate) fn given_indices(self, indices: Vec<Index>, left: Option<Left>) -> Focus {
        Focus { indices, left, ..self }
    }

    /// Whether a coefficient is of interest.
    pub fn has(&self, name: &str) -> bool {
        self.coefficients.iter().any(|one| one == name)
    }
}

/// How instruments move the regressor that they are for, and what they say of its coefficient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FirstStage {
    /// The regressor.
    pub regressor: String,
    /// The instruments.
    pub instruments: Vec<String>,
    /// The test that they do not move the regressor: chi-square.
    pub statistic: f64,
    /// Its degrees of freedom: columns of the instruments that the budget can tell from others.
    pub df: usize,
    /// The probability of a statistic at least this large if they do not.
    pub p_value: f64,
    /// The set at the level of the fit: the values of the coefficient that are not rejected, by
    /// Anderson and Rubin's test or, of several instruments, by a conditional likelihood ratio, in
    /// order. Empty where all are.
    pub set: Vec<Piece>,
    /// The test that the instruments agree about the coefficient; `None` if there is one.
    pub disagreement: Option<Disagreement>,
}

/// A piece of a set of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Piece {
    /// Where it starts; `None` if it has no lower end.
    pub low: Option<f64>,
    /// Where it ends; `None` if it has no upper end.
    pub high: Option<f64>,
}

impl Piece {
    pub(crate) fn of((low, high): (f64, f64)) -> Piece {
        let [low, high] = [low, high].map(|end| Some(end).filter(|end| end.is_finite()));
        Piece { low, high }
    }

    /// Whether it holds a number.
    pub fn holds(&self, value: f64) -> bool {
        self.low.is_none_or(|low| low <= value) && self.high.is_none_or(|high| value <= high)
    }
}

/// The test that several instruments agree (Sargan 1958, Hansen 1982): the least statistic that any
/// value of the coefficient has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Disagreement {
    /// The statistic: chi-square, if the instruments move the regressor.
    pub statistic: f64,
    /// Its degrees of freedom.
    pub df: usize,
    /// The probability of a statistic at least this large if all are instruments.
    pub p_value: f64,
}

/// One of several groups that were fitted together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Group {
    /// What the groups are by.
    pub by: By,
    /// The level of this one.
    pub level: String,
    /// The standard deviation of the noise in its number of units; `None` if that is publicly
    /// known.
    pub size_sd: Option<f64>,
    /// How many units there are in all, in a group or in none; public. Not in files of older
    /// versions.
    #[serde(default)]
    pub units: Option<u64>,
}

/// One coefficient in its own units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Coefficient {
    /// `(Intercept)`, `column` or `column[level]`.
    pub name: String,
    /// The estimate; `None` if the coefficient was left out or is not identified, unless the fit is
    /// for prediction.
    pub estimate: Option<f64>,
    /// How sure it is; `None` when only a prediction was asked for, or nothing can be said at this
    /// budget.
    pub precision: Option<Precision>,
    /// False when the budget cannot tell this coefficient from anything.
    pub identified: bool,
}

/// How sure an estimate is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Precision {
    /// The standard error, privacy noise included.
    pub std_error: f64,
    /// The lower end of the interval; minus infinity where the budget cannot bound it at this
    /// level.
    #[serde(with = "crate::number::or_infinite")]
    pub low: f64,
    /// The upper end of the interval; infinity where the budget cannot bound it at this level.
    #[serde(with = "crate::number::or_infinite")]
    pub high: f64,
    /// The degrees of freedom with which the standard error is known; `None` if it is known so well
    /// that Student's distribution is Gaussian.
    pub df: Option<f64>,
    /// The estimate less the value that is tested, over the standard error: a z value, or a t value
    /// where `df` is given.
    pub statistic: f64,
    /// The two-sided p-value of that value, below `1 - level` exactly where the interval does not
    /// hold it.
    pub p_value: f64,
}

impl Precision {
    /// What an interval says, and its test of a value.
    pub(crate) fn of(interval: &Interval, null: f64) -> Precision {
        let &Interval { std_error, low, high, .. } = interval;
        let (statistic, p_value) = (interval.statistic(null), interval.p_value(null));
        let df = interval.degrees_of_freedom();
        Precision { std_error, low, high, df, statistic, p_value }
    }

    /// The same of a number that is larger by `distance`.
    pub(crate) fn moved(self, distance: f64) -> Precision {
        Precision { low: self.low + distance, high: self.high + distance, ..self }
    }

    /// Whether a reader who knows the estimate, the standard error and the degrees of freedom can
    /// compute the interval and the p-value from them: to a twentieth of the interval's half, and a
    /// fifth of the p-value, if that is large enough to be printed.
    ///
    /// Both come from a test whose standard error depends on the value that is tested, because
    /// noise in the curvature counts for more the further that value is from the estimate. Where
    /// the curvature is well known, the difference is smaller than that.
    pub fn is_symmetric(&self, estimate: f64, level: f64) -> bool {
        let df = self.df.unwrap_or(f64::INFINITY);
        let half = student::t_quantile(0.5 + level / 2.0, df) * self.std_error;
        let is_half = |distance: f64| (distance / half - 1.0).abs() < NEARLY_HALF;
        let p_value = student::t_two_sided_p(self.statistic, df);
        let is_p = (self.p_value.ln() - p_value.ln()).abs() < NEARLY_P.ln();
        let is_tiny = self.p_value.max(p_value) < PRINTED_P;
        is_half(estimate - self.low) && is_half(self.high - estimate) && (is_p || is_tiny)
    }
}

/// How far the half of an interval may be from quantile times standard error.
const NEARLY_HALF: f64 = 0.05;
/// By what factor a p-value may be off, and below which size it is printed as a bound only.
const NEARLY_P: f64 = 1.2;
const PRINTED_P: f64 = 0.001;

/// How much a mean changes with a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MarginalEffect {
    /// The coefficient that it is of.
    pub name: String,
    /// The estimate.
    pub estimate: f64,
    /// The standard error, privacy noise included.
    pub std_error: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl MarginalEffect {
    /// An estimate whose error is normal.
    pub(crate) fn of(name: String, estimate: f64, std_error: f64, level: f64) -> MarginalEffect {
        let half = normal_quantile(level) * std_error;
        MarginalEffect { name, estimate, std_error, low: estimate - half, high: estimate + half }
    }

    /// The same with an interval at another level.
    pub fn at(&self, level: f64) -> MarginalEffect {
        MarginalEffect::of(self.name.clone(), self.estimate, self.std_error, level)
    }
}

/// What odds are multiplied by where a column is larger by 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OddsRatio {
    /// The coefficient that it is of.
    pub name: String,
    /// The exponential of the coefficient.
    pub estimate: f64,
    /// The lower end of its interval: the exponential of the coefficient's, which covers as often.
    #[serde(with = "crate::number::or_infinite")]
    pub low: f64,
    /// The upper end.
    #[serde(with = "crate::number::or_infinite")]
    pub high: f64,
}

/// A released number with the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// The estimate.
    pub estimate: f64,
    /// The lower end, at the level of the fit.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The method and its public parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MethodSummary {
    /// Its name on the command line.
    pub name: String,
    /// The clip `gamma`, in standardised units.
    pub clip: f64,
    /// Steps of each run.
    pub steps: u32,
    /// The step size `eta`.
    pub step_size: f64,
    /// The paper's `lambda`: the standard deviation of the noise in a coordinate of the mean
    /// gradient.
    pub noise_sd: f64,
    /// How many runs.
    pub runs: u32,
    /// How long a row may be in the coordinates of the descent, where longer ones are shortened
    /// with their responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_length: Option<f64>,
}

impl MethodSummary {
    /// The parameters of one run of a method.
    pub fn new(name: &str, clip: f64, steps: u32, step_size: f64, noise_sd: f64) -> MethodSummary {
        MethodSummary { name: name.to_owned(), clip, steps, step_size, noise_sd, runs: 1, row_length: None }
    }
}

impl Fit {
    /// Whether anything is promised: false where the noise came from a fixed seed or the rows were
    /// simulated.
    pub fn is_private(&self) -> bool {
        self.guarantee.promise.is_private()
    }

    /// What the response is.
    pub fn family(&self) -> Family {
        self.design.family()
    }

    /// What the intervals are for, in words: of which coefficients, of whom, in which model.
    pub fn target_text(&self) -> String {
        let coefficients = match (self.target, &self.weights) {
            _ if self.first_stage.is_some() => "instrumental-variables",
            (_, None) if self.family() == Family::Binomial => "maximum-likelihood logit",
            (_, Some(_)) if self.family() == Family::Binomial => "weighted maximum-likelihood logit",
            (Target::Population | Target::Sample | Target::Person, None) => "least-squares",
            (Target::Population | Target::Sample | Target::Person, Some(_)) => "weighted least-squares",
            (Target::Robust, None) if self.method.row_length.is_some() => "robust (Huber, bounded-influence)",
            (Target::Robust, None) => "robust (Huber)",
            (Target::Robust, Some(_)) => "weighted robust (Huber)",
        };
        // Where clipping biases a fit to this data set, the robust coefficients are of this data
        // set too.
        let of = match self.asked {
            Target::Sample => "this data set",
            Target::Population | Target::Robust => "the population",
            Target::Person => "the population in which each person counts once",
        };
        let within = self.design.model().within();
        let constants = within.map_or(String::new(), |person| format!(", with a constant for each '{person}'"));
        let (model, assumed) = (self.model_text(), self.assumed_of_clipped());
        format!("the {coefficients} coefficients of {of}{constants}{model}{assumed}")
    }

    /// What the coefficients are given, in words: which others are in the model, where that is not
    /// all of them.
    fn model_text(&self) -> String {
        let not_controlled_for = self.focus.iter().flat_map(|focus| &focus.not_controlled_for);
        let without: Vec<String> = not_controlled_for.cloned().collect();
        let is_missing = |name: &String| !without.contains(name);
        let names: Vec<String> = self.left_out.iter().map(|one| one.name.clone()).filter(is_missing).collect();
        let model = if names.is_empty() { String::new() } else { format!(", in the model without {}", listed(&names)) };
        match (&self.focus, without.is_empty()) {
            (None, _) => model,
            (Some(focus), _) if !focus.indices.is_empty() => {
                format!("{model}, given {} released indices of the controls", focus.indices.len())
            }
            (Some(_), true) => format!("{model}, given all controls"),
            (Some(_), false) => format!("{model}, given all controls but {}", listed(&without)),
        }
    }

    /// What is said of the coefficients that are not of interest, if only some are.
    pub fn controls_text(&self) -> Option<String> {
        let focus = self.focus.as_ref()?;
        let count = self.controls();
        if !focus.indices.is_empty() {
            return Some(self.indices_text(count, focus.indices.len()));
        }
        let without = match &focus.not_controlled_for[..] {
            [] => String::new(),
            names => format!(
                " Not controlled for, as this budget cannot tell them from others: {}.{}",
                listed(names),
                self.sensitivity_text("that").unwrap_or_default()
            ),
        };
        let (are, they) =
            if count == 1 { ("coefficient is a control", "it is") } else { ("coefficients are controls", "they are") };
        Some(format!("The other {count} {are}: {they} in the model and not reported.{without}"))
    }

    /// What is said of controls that are in the model as a few released indices.
    fn indices_text(&self, count: usize, indices: usize) -> String {
        format!(
            "The other {count} coefficients are controls, too many for this budget to tell apart: in the model are {indices} released \
             indices of them, each row's found on the other half of the {}, so that coefficients of interest are not those given \
             every control.{}",
            self.guarantee.promise.unit.plural(),
            self.sensitivity_text("what the indices miss").unwrap_or_default()
        )
    }

    /// How far what is not controlled for may move a coefficient of interest, where each row stands
    /// for itself.
    ///
    /// With a share `r` of what is left both of the response and of the column explained by it, the
    /// omitted-variable bias is `sqrt(n) r / sqrt(1 - r)` standard errors of least squares (Cinelli
    /// and Hazlett 2020), and a private fit has no smaller ones.
    fn sensitivity_text(&self, what: &str) -> Option<String> {
        let moved = |share: f64| significant((self.rows as f64).sqrt() * share / (1.0 - share).sqrt());
        let is_alone = self.person.is_none() && self.weights.is_none();
        is_alone.then(|| {
            format!(
                " If {what} explains 1 % of what is left both of the response and of a column of interest, it moves the coefficient by \
                 at most {} of its standard errors, and by {} if 10 %.",
                moved(0.01),
                moved(0.1)
            )
        })
    }

    /// How many coefficients are controls.
    pub fn controls(&self) -> usize {
        self.coefficients.len() - self.reported().count()
    }

    /// The coefficient of this name, which must be one of the model.
    #[doc(hidden)]
    pub fn coefficient(&self, name: &str) -> &Coefficient {
        self.coefficients.iter().find(|one| one.name == name).expect("a name of the model")
    }

    /// The coefficients that are reported: those of interest, where only some are.
    pub fn reported(&self) -> impl Iterator<Item = &Coefficient> {
        self.coefficients.iter().filter(|one| self.focus.as_ref().is_none_or(|focus| focus.has(&one.name)))
    }

    /// What is taken for granted of rows that are clipped in a fit that says its intervals are for
    /// least squares.
    fn assumed_of_clipped(&self) -> &'static str {
        match (self.target, self.trajectories.is_empty()) {
            _ if self.family() == Family::Binomial => {
                "; few rows are weighted, by what does not depend on their outcome"
            }
            (_, true) | (Target::Robust, _) => "",
            (Target::Sample, _) => "; rows that are clipped count up to the clip",
            (Target::Population | Target::Person, _) => {
                "; clipping is taken to leave the mean of the errors where it is"
            }
        }
    }

    /// Whether a coefficient is not in the model that was fitted.
    pub fn is_left_out(&self, name: &str) -> bool {
        self.left_out.iter().any(|one| one.name == name)
    }

    /// The released iterates as CSV: `step,name1,...`, step 0 the start; a `run` column first when
    /// there are several runs.
    pub fn trajectory_csv(&self) -> String {
        let many = self.trajectories.len() > 1;
        let names = self.coefficients.iter().map(|coefficient| csv_field(&coefficient.name));
        let mut lines = vec![header(many).chain(names).collect::<Vec<_>>().join(",")];
        for (run, trajectory) in (1..).zip(&self.trajectories) {
            for (step, theta) in trajectory.theta.iter().enumerate() {
                let place = many.then_some(run).into_iter().chain([step]).map(|number| number.to_string());
                lines.push(place.chain(theta.iter().map(f64::to_string)).collect::<Vec<_>>().join(","));
            }
        }
        lines.join("\n") + "\n"
    }
}

fn header(many: bool) -> impl Iterator<Item = String> {
    many.then_some("run").into_iter().chain(["step"]).map(str::to_owned)
}

/// Quotes a name that holds a comma, a quote or a line break.
pub fn csv_field(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}
