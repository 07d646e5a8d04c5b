//! Ways to fit. Each is `Config` (asked) -> `Plan` (checked, public, printable) -> [`Fit`](crate::Fit).

pub mod dpgd;
pub mod auto;
pub mod ols;
pub mod adassp;
mod request;

pub use crate::options::{IntervalMethod, Purpose, Target};
pub use request::{DELTA, Request, budget};

use crate::{
    Coefficient, MethodSummary, Precision,
    descend::Trajectory,
    formula::Formula,
    interval::{Inference, Interval},
    lattice::Whitening,
    number::grouped,
    options::UnknownWord,
    privacy::Release,
    warning::{Enough, Warning},
};

/// What is asked, by method.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// The paper's method, on columns that are already well scaled.
    Dpgd(dpgd::Config),
    /// Whatever the data need, found privately.
    Auto(auto::Config),
    /// Sufficient statistics, for comparison; makes no intervals.
    Adassp(adassp::Config),
}

crate::choice! {
    "method";
    /// The methods by name.
    pub enum Method {
        /// The paper's descent, on columns that are well scaled.
        Dpgd = "dpgd",
        /// Scales and clips found privately, for columns with bounds.
        Auto = "auto",
        /// Sufficient statistics.
        Adassp = "adassp",
    }
}

impl Config {
    /// The method asked for; when none is, auto where the formula has bounds and nothing was asked that only the paper's method has.
    ///
    /// A column with neither bounds nor levels is only fitted where the user said that it is centred and of about unit variance: by
    /// `standardised`, or by asking for the paper's method, which is for such columns. (A model file says it itself, by
    /// `standard = true`.) On any other column the budget would be spent on nonsense.
    ///
    /// # Errors
    /// When a column has no bounds, or the method asked for cannot do what `asked` says.
    pub fn choose(
        method: Option<Method>,
        asked: dpgd::Config,
        formula: &Formula,
        standardised: bool,
    ) -> Result<Config, ConfigError> {
        let columns = formula.without_bounds();
        if !columns.is_empty() && !standardised && method != Some(Method::Dpgd) {
            return Err(ConfigError::NoBounds { columns });
        }
        let by_hand = asked.clip.is_some() || asked.steps.is_some() || asked.step_size.is_some();
        let newton = asked.request.interval == IntervalMethod::Newton;
        match method {
            None if formula.has_bounds() && newton && !by_hand => Ok(auto::Config::new(asked.request).into()),
            None | Some(Method::Dpgd) => Ok(asked.into()),
            Some(method) if by_hand => Err(ConfigError::FindsItself { method: method.name() }),
            Some(Method::Auto) => Ok(auto::Config::new(asked.request).into()),
            Some(Method::Adassp) if asked.request.purpose == Purpose::Inference => {
                Err(ConfigError::AdasspMakesNoIntervals)
            }
            Some(Method::Adassp) => Ok(adassp::Config::new(asked.request).into()),
        }
    }

    /// What is asked of any method.
    pub fn request(&self) -> &Request {
        match self {
            Config::Dpgd(config) => &config.request,
            Config::Auto(config) => &config.request,
            Config::Adassp(config) => &config.request,
        }
    }
}

impl From<dpgd::Config> for Config {
    fn from(config: dpgd::Config) -> Config {
        Config::Dpgd(config)
    }
}

impl From<auto::Config> for Config {
    fn from(config: auto::Config) -> Config {
        Config::Auto(config)
    }
}

impl From<adassp::Config> for Config {
    fn from(config: adassp::Config) -> Config {
        Config::Adassp(config)
    }
}

/// What a run of the plan gave: released numbers only.
pub struct Outcome {
    /// The estimates in their own units.
    pub coefficients: Vec<Coefficient>,
    /// The released iterates.
    pub trajectories: Vec<Trajectory>,
    /// The method and its parameters.
    pub summary: MethodSummary,
    /// What the budget was spent on.
    pub releases: Vec<Release>,
    /// What released numbers tell a reader.
    pub warnings: Vec<Warning>,
    /// The released coordinates the descent ran in, where it whitened: `theta = P theta_white`.
    pub whitening: Option<Whitening>,
    /// How intervals are made from what was released, if anything was released for them.
    pub inference: Option<Inference>,
}

fn bare(name: String, estimate: f64) -> Coefficient {
    Coefficient { name, estimate, precision: None, identified: true }
}

fn with_precision(name: String, interval: &Interval) -> Coefficient {
    let &Interval { estimate, std_error, low, high, df, identified } = interval;
    let precision = Precision { std_error, low, high, df, p_value: interval.p_value(0.0) };
    Coefficient { name, estimate, precision: identified.then_some(precision), identified }
}

/// Why options were refused, before a row was looked at.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Nothing would be iterated.
    #[error("the number of steps must be between 1 and {most}", most = dpgd::MOST_STEPS)]
    Steps,
    /// The descent would not move, or run away.
    #[error("the step size must be a positive number of at most 2, for instance 0.25")]
    StepSize,
    /// The level is not a probability.
    #[error("the level must lie between 0 and 1, for instance 0.95")]
    Level,
    /// Delta is not a probability.
    #[error("delta must lie between 0 and 1 and be small, for instance 1e-6")]
    Delta,
    /// A spread needs two estimates.
    #[error("an interval from the spread of estimates needs at least 2 batches; ask for 10")]
    Batches,
    /// The burn-in eats the run.
    #[error("the burn-in of {burn_in} leaves nothing of a run of {steps} steps; shorten it or take more steps")]
    BurnIn {
        /// The burn-in asked for.
        burn_in: u32,
        /// The steps planned.
        steps: u32,
    },
    /// Batches would be empty.
    #[error("{kept} steps after the burn-in cannot fill {batches} batches; take more steps or fewer batches")]
    TooFewSteps {
        /// Steps left after the burn-in.
        kept: u32,
        /// Batches asked for.
        batches: u32,
    },
    /// The paper's intervals know nothing of the population.
    #[error(
        "the {interval} interval covers the optimum on this data set only; ask for --target sample, or for --interval newton"
    )]
    PopulationNeedsNewton {
        /// What was asked.
        interval: IntervalMethod,
    },
    /// The method gives estimates only.
    #[error("the method adassp makes no intervals; ask for estimates with --purpose prediction, or for another method")]
    AdasspMakesNoIntervals,
    /// Clip and steps were given to a method that finds them.
    #[error(
        "the method {method} finds the clip, the steps and their size itself: leave them out, or ask for --method dpgd"
    )]
    FindsItself {
        /// The method asked for.
        method: &'static str,
    },
    /// A share of nothing.
    #[error("the share must be a positive number, for instance 0.5")]
    Share,
    /// A bound that bounds nothing, or everything.
    #[error("bounds on rows and responses must be between 0.001 and 100000, in standardised units")]
    Bounds,
    /// The automatic method makes one kind of interval.
    #[error("--method auto makes newton intervals only; ask for those, or for --method dpgd with {interval} ones")]
    AutoNeedsNewton {
        /// What was asked.
        interval: IntervalMethod,
    },
    /// The noise would be as large as what is looked for.
    #[error(
        "the budget is too small for {features} coefficients on {rows} rows: the noise would be larger than the response itself; {enough} would do, or fewer columns",
        rows = grouped(*rows)
    )]
    NothingButNoise {
        /// Coefficients.
        features: usize,
        /// Rows there are.
        rows: u64,
        /// What would do.
        enough: Enough,
    },
    /// No coefficient could get an interval.
    #[error(
        "the budget is too small for {features} coefficients on {rows} rows: no coefficient would be identified, so nothing was spent; {enough} would do for most intervals{with}, and estimates without intervals can be had with --purpose prediction (in Python, purpose=\"prediction\")",
        rows = grouped(*rows)
    )]
    NoIntervals {
        /// Coefficients.
        features: usize,
        /// Rows there are.
        rows: u64,
        /// What would do.
        enough: Enough,
        /// What else it takes.
        with: &'static str,
    },
    /// Columns whose scale nobody stated.
    #[error("{}", no_bounds(columns))]
    NoBounds {
        /// The columns as a formula writes them; `.` for those it stands for.
        columns: Vec<String>,
    },
    /// A word that an option does not know.
    #[error(transparent)]
    Word(#[from] UnknownWord),
    /// There is no budget.
    #[error(
        "give the privacy budget as rho, for instance 0.015, or as epsilon, for instance 1 (with delta, or at delta = 1e-6)"
    )]
    NoBudget,
    /// There are two budgets.
    #[error("give the privacy budget once: as rho, or as epsilon")]
    TwoBudgets,
    /// Fewer rows than unknowns.
    #[error("the model has {features} coefficients and the data {rows} rows; a fit needs more rows than coefficients")]
    TooFewRows {
        /// Coefficients.
        features: usize,
        /// Rows.
        rows: u64,
    },
}

/// Which columns have no bounds, and what to type.
fn no_bounds(columns: &[String]) -> String {
    const SHOWN: usize = 5;
    let quoted: Vec<String> = columns.iter().map(|name| format!("'{name}'")).collect();
    let named: Vec<&String> = columns.iter().filter(|name| *name != ".").collect();
    let typed: Vec<String> = named.iter().take(SHOWN).map(|name| format!("{name}[LOW..HIGH]")).collect();
    let more = |count: usize| if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    let ask = match named.is_empty() {
        true => "name the columns it stands for with what is publicly known of each, as in age[18..90]".to_owned(),
        false => format!(
            "write {}{} with publicly known numbers in place of LOW and HIGH, or name{{a,b}} for a category",
            typed.join(", "),
            more(named.len()),
        ),
    };
    format!(
        "the formula gives no bounds for {}{}: {ask}; only if these columns are already centred and of about unit variance, add \
         --standardised (in Python, standardised=True)",
        quoted[..quoted.len().min(SHOWN)].join(", "),
        more(quoted.len()),
    )
}

/// The mean of the last three quarters of the iterates: an early stop where the descent is slow.
fn mean_of_late(trajectory: &Trajectory) -> Vec<f64> {
    let late = &trajectory.theta[trajectory.theta.len() / 4..];
    let mean = |j: usize| late.iter().map(|theta| theta[j]).sum::<f64>() / late.len() as f64;
    (0..late[0].len()).map(mean).collect()
}

/// What a reader should know of the promise itself.
fn budget_warnings(request: &Request, rows: u64) -> Vec<Warning> {
    let &Request { delta, rho, .. } = request;
    let mut warnings = Vec::new();
    if delta * rows as f64 > 0.1 {
        warnings.push(Warning::LargeDelta { delta, rows });
    }
    if rho.to_f64() > 1.0 {
        warnings.push(Warning::LargeBudget { rho });
    }
    warnings
}
