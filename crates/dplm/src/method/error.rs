//! Why options are refused.

use super::{Family, IntervalMethod, Purpose, Target, request::MOST_STEPS};
use crate::{
    lattice::MOST_ROWS,
    number::grouped,
    options::{Advice, Advised, Opt, UnknownWord},
    privacy::Unit,
    warning::{Enough, LeftOut},
};

/// Why options were refused, before a row was looked at.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The number of steps is 0 or too large.
    #[error("the number of steps must be between 1 and {most}", most = MOST_STEPS)]
    Steps,
    /// The step size is not positive, or too large for the descent to converge.
    #[error("the step size must be a positive number of at most 2, for instance 0.25")]
    StepSize,
    /// The level is not a probability.
    #[error("the level must lie between 0 and 1, for instance 0.95")]
    Level,
    /// Delta is not a probability.
    #[error("delta must lie between 0 and 1 and be small, for instance 1e-6")]
    Delta,
    /// Too few batches: a spread needs two estimates.
    #[error("an interval from the spread of estimates needs at least 2 batches; ask for 10")]
    Batches,
    /// The most rows of a person is 0, or more than sums are exact for.
    #[error("the rows of a person must be between 1 and {most}", most = MOST_ROWS)]
    RowsPerPerson,
    /// The column of groups is also in the model.
    #[error(
        "'{column}' is the same for all rows of a group, so that its coefficient cannot be told there: leave it out of the formula"
    )]
    ByInModel {
        /// The column.
        column: String,
    },
    /// The method does not fit responses of this family.
    #[error("the method {method} does not fit responses of the family {family}; the method auto does")]
    OtherFamily {
        /// The method asked for.
        method: &'static str,
        /// The family.
        family: Family,
    },
    /// What was asked for exists for Gaussian responses only.
    #[error("{what} cannot be had of the family binomial")]
    NotOfBinomial {
        /// What was asked for.
        what: &'static str,
    },
    /// The target is persons, and no column identifies them.
    #[error("the target person needs a column that identifies persons")]
    TargetNeedsPerson,
    /// The rows of a person are limited, and no column identifies persons.
    #[error("the rows of a person can be limited only where a column identifies persons")]
    NoPerson,
    /// One fit was asked for where there are several groups.
    #[error("a fit in each of several groups is more than one fit")]
    SeveralFits,
    /// Groups were asked for without a column that divides the rows.
    #[error("groups need a column that divides the rows, with its levels, as in region{{north,south}}")]
    NoGroups,
    /// The burn-in is as long as the run.
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
    /// The paper's intervals do not cover the population.
    #[error("the {interval} interval covers the optimum on this data set only")]
    PopulationNeedsNewton {
        /// What was asked.
        interval: IntervalMethod,
    },
    /// The paper's intervals need nearly uncorrelated columns, which nothing shows.
    #[error(
        "the {interval} interval covers where columns are of about unit variance and hardly correlated, which nothing it releases shows"
    )]
    AssumesUncorrelated {
        /// What was asked.
        interval: IntervalMethod,
    },
    /// The method gives estimates only.
    #[error("the method {method} makes no intervals")]
    MakesNoIntervals {
        /// The method asked for.
        method: &'static str,
    },
    /// The method makes intervals in other ways.
    #[error("the method {method} makes {offered} intervals only, and not {interval} ones")]
    OtherIntervals {
        /// The method asked for.
        method: &'static str,
        /// The interval method it has.
        offered: IntervalMethod,
        /// The one asked for.
        interval: IntervalMethod,
    },
    /// The method estimates other coefficients.
    #[error("the method {method} gives no intervals for the target {target}")]
    OtherTarget {
        /// The method asked for.
        method: &'static str,
        /// The target asked for.
        target: Target,
        /// One that it has.
        offered: Target,
    },
    /// The method cannot protect persons.
    #[error("the method {method} protects rows only")]
    RowsOnly {
        /// The method asked for.
        method: &'static str,
    },
    /// The method fits a line, and the model has more features.
    #[error("the method {method} is for one feature, with an intercept or without, as in `y ~ x`")]
    OneFeature {
        /// The method asked for.
        method: &'static str,
    },
    /// The method's kind of noise does not let groups share a budget.
    #[error("the method {method} cannot fit groups under one budget")]
    NotByGroups {
        /// The method asked for.
        method: &'static str,
    },
    /// Clip and steps were given to a method that finds them.
    #[error("the method {method} finds the clip, the steps and their size itself")]
    FindsItself {
        /// The method asked for.
        method: &'static str,
    },
    /// A coefficient of interest that the model does not have.
    #[error("name {place} of the focus is not a term or a coefficient of the model: its coefficients are {known}")]
    NoSuchFocus {
        /// Its place among what was typed, which may be cells of a table by mistake.
        place: usize,
        /// Those there are.
        known: String,
    },
    /// The constant is a coefficient of interest, although it depends on all columns.
    #[error("the constant cannot be a coefficient of interest, since it depends on every other: name columns")]
    FocusOnConstant,
    /// All coefficients are of interest, which leaves no controls.
    #[error("all coefficients are of interest, so that there are no controls")]
    FocusOnAll,
    /// The method gives all coefficients or none.
    #[error("the method {method} cannot focus on some coefficients")]
    NoFocus {
        /// The method asked for.
        method: &'static str,
    },
    /// The budget cannot tell the controls apart, or the rows are too few for the coefficients of
    /// interest.
    #[error(
        "the budget is too small to tell {controls} controls apart on {rows} {units}, and so for any coefficient of interest: {enough} would do, or fewer controls",
        rows = grouped(*rows),
        units = enough.unit.plural()
    )]
    FocusTooWeak {
        /// Controls.
        controls: usize,
        /// Rows there are.
        rows: u64,
        /// What would do.
        enough: Enough,
    },
    /// The fit keeps nothing that could be pooled with another fit.
    #[error(
        "this fit cannot be refined: only one by the method auto, with intervals, made by this version of dplm can"
    )]
    NotRefinable,
    /// A fit of a study, whose budget is shared, was to be refined.
    #[error("this fit is one of a study, whose budget is that of all its fits: refine a fit that was made by itself")]
    RefinesPartOfStudy,
    /// A fit of simulated rows was to be refined.
    #[error("this fit was made of simulated rows, and cannot be pooled with a fit of data: fit the data first")]
    RefinesSimulated,
    /// A fit with a seed was to be refined without one.
    #[error(
        "the noise of this fit came from a fixed seed, so that pooled with more it is not private: fit again without a seed"
    )]
    RefinesSeeded,
    /// A private fit was to be refined with a seed.
    #[error(
        "this fit is private, and pooled with one whose noise has a fixed seed it would not be: leave the seed out"
    )]
    RefinesBySeed,
    /// Another model or another table.
    #[error("the data are not those of the fit: the columns of its model and its number of rows must be the same")]
    OtherFit,
    /// Rows that were given up for an earlier fit.
    #[error("the rows were given up for an earlier fit: read them again")]
    GivenUp,
    /// The formula has a constant for each person, and persons are not protected.
    #[error("the formula has a constant for each '{column}', so each must be a person who is protected")]
    WithinNoPerson {
        /// The column after `|`.
        column: String,
    },
    /// The persons who are protected are also a term.
    #[error(
        "'{column}' identifies the persons who are protected, so that it cannot be a term: leave it out, or write \
         `| {column}` after the terms for a constant of each person"
    )]
    PersonAsTerm {
        /// The column.
        column: String,
    },
    /// The formula has constants for other persons than those who are protected.
    #[error(
        "only the persons who are protected, by '{person}', have constants that no cell of another is needed for: those of '{column}' would \
         have to be released one by one; write `| {person}`, or list the levels of '{column}' as in {column}{{a,b}} if they are few and public"
    )]
    WithinOthers {
        /// The column after `|`.
        column: String,
        /// The column of persons.
        person: String,
    },
    /// One row of a person counts, which the person's own constant would fit exactly.
    #[error("a person's own constant leaves nothing of a single row: let at least two rows of a person count")]
    WithinOneRow,
    /// Public moments in a model with a constant for each person.
    #[error(
        "public moments are those of rows as they are, and not of what is left of them without persons' own means: leave them out"
    )]
    MomentsWithin,
    /// A fit with an instrument does not offer this.
    #[error(
        "a fit with an instrument has no {what}: fit without the instrument, or ask for intervals of this model alone"
    )]
    WithInstrument {
        /// What was asked for.
        what: &'static str,
    },
    /// How strongly instruments move the regressor is not public.
    #[error("{}", without_strength(*longer))]
    NoForecastOfInstruments {
        /// By how many percent their set is longer than in the clear, if they are strong and that
        /// can be said.
        longer: Option<u32>,
    },
    /// The method does not fit instruments.
    #[error("the method {method} does not fit models with an instrument")]
    NoInstruments {
        /// The method asked for.
        method: &'static str,
    },
    /// Public moments and weights were both given.
    #[error("public moments are those of rows that count alike: leave out the moments, or the weights")]
    MomentsOfWeighted,
    /// Moments were given to a method that does not whiten.
    #[error("the method {method} whitens nothing, so moments are of no use to it")]
    NoUseForMoments {
        /// The method asked for.
        method: &'static str,
    },
    /// Terms are to be kept by a method that leaves none out.
    #[error("the method {method} leaves no term out, so there is nothing to keep terms from")]
    LeavesNothingOut {
        /// The method asked for.
        method: &'static str,
    },
    /// A term that the model does not have.
    #[error("term {place} that is to be kept is not in the model: it has {}", shown(terms))]
    NothingToKeep {
        /// Its place among what was typed, which may be cells of a table by mistake.
        place: usize,
        /// The terms there are.
        terms: Vec<String>,
    },
    /// There is no forecast for the method on such columns.
    #[error("there is no forecast for this method on such columns")]
    NoForecast,
    /// The formula of a plan has a `.`, which only a table could resolve.
    #[error("a plan reads no data, so '.' stands for nothing: write the columns out")]
    DotInPlan,
    /// A bound on rows or responses is too small or too large.
    #[error("bounds on rows and responses must be between 0.001 and 100000, in standardised units")]
    Bounds,
    /// The noise would be larger than the response.
    #[error(
        "the budget is too small for {features} coefficients on {rows} {units}: the noise would be larger than the response itself; {enough} would do, or fewer columns",
        rows = grouped(*rows),
        units = enough.unit.plural()
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
        "the budget is too small for {features} coefficients on {rows} {units}, so that no coefficient would be identified",
        rows = grouped(*rows),
        units = enough.unit.plural()
    )]
    NoIntervals {
        /// Coefficients.
        features: usize,
        /// Rows there are.
        rows: u64,
        /// What would do.
        enough: Enough,
        /// Whether that takes the automatic method.
        with_auto: bool,
    },
    /// Columns without bounds or levels.
    #[error("the formula gives no bounds for {}", shown(columns))]
    NoBounds {
        /// The columns as a formula writes them; `.` for those it stands for.
        columns: Vec<String>,
    },
    /// A word that is not among those of an option.
    #[error(transparent)]
    Word(#[from] UnknownWord),
    /// No budget was given.
    #[error(
        "give the privacy budget as rho, for instance 0.015, or as epsilon, for instance 1 (with delta, or at delta = 1e-6)"
    )]
    NoBudget,
    /// Two budgets were given.
    #[error("give the privacy budget once: as rho, or as epsilon")]
    TwoBudgets,
    /// There are fewer rows than coefficients.
    #[error(
        "the model has {features} coefficients and the data {rows} {units}; a fit needs more {units} than coefficients",
        units = unit.plural()
    )]
    TooFewRows {
        /// Coefficients.
        features: usize,
        /// Rows.
        rows: u64,
        /// What they are.
        unit: Unit,
    },
}

impl Advised for ConfigError {
    fn advice(&self) -> Option<Advice> {
        let or_auto = |first: Advice| first.text(", or ask for ").setting(Opt::Method, "auto");
        Some(match self {
            ConfigError::TargetNeedsPerson | ConfigError::NoPerson => Advice::new("name it with ").option(Opt::Person),
            ConfigError::WithinNoPerson { column } => {
                Advice::new("ask for ").setting(Opt::Person, column).text(format!(
                    " if it identifies persons, or write its public levels among the terms, as + {column}{{a,b,c}}"
                ))
            }
            ConfigError::NoGroups => Advice::new("name it with ").option(Opt::By),
            ConfigError::SeveralFits => Advice::new("fit the groups, or leave ").option(Opt::By).text(" out"),
            ConfigError::PopulationNeedsNewton { .. } => Advice::new("ask for ")
                .setting(Opt::Target, Target::Sample)
                .text(", or for ")
                .setting(Opt::Interval, IntervalMethod::Newton),
            ConfigError::AssumesUncorrelated { .. } => Advice::new("add ")
                .switch(Opt::Standardised)
                .text(" if that is publicly known, or ask for ")
                .setting(Opt::Interval, IntervalMethod::Newton),
            ConfigError::MakesNoIntervals { .. } => Advice::new("ask for estimates with ")
                .setting(Opt::Purpose, Purpose::Prediction)
                .text(", or for another method"),
            ConfigError::OtherIntervals { interval, .. } => Advice::new("ask for those, or for ")
                .setting(Opt::Method, "dpgd")
                .text(format!(" with {interval} ones")),
            ConfigError::OtherTarget { offered, .. } => or_auto(Advice::new("ask for ").setting(Opt::Target, offered)),
            ConfigError::RowsOnly { .. } => or_auto(Advice::new("leave ").option(Opt::Person).text(" out")),
            ConfigError::OneFeature { .. } => or_auto(Advice::new("leave the others out")),
            ConfigError::NotByGroups { .. } => or_auto(Advice::new("leave ").option(Opt::By).text(" out")),
            ConfigError::NoInstruments { .. } => Advice::new("ask for ").setting(Opt::Method, "auto"),
            ConfigError::FindsItself { .. } => Advice::new("leave them out, or ask for ").setting(Opt::Method, "dpgd"),
            ConfigError::FocusOnAll => Advice::new("leave ").option(Opt::Focus).text(" out"),
            ConfigError::NoFocus { .. } => or_auto(Advice::new("leave ").option(Opt::Focus).text(" out")),
            ConfigError::NoUseForMoments { .. } | ConfigError::LeavesNothingOut { .. } => {
                or_auto(Advice::new("leave them out"))
            }
            ConfigError::NoForecast => Advice::new("plan for ")
                .setting(Opt::Method, "auto")
                .text(", or for ")
                .setting(Opt::Method, "dpgd")
                .text(" with standardised columns"),
            ConfigError::NoIntervals { enough, with_auto, .. } => {
                let would_do = Advice::new(format!("{enough} would do for most intervals"));
                let would_do = if *with_auto { would_do.text(" with ").setting(Opt::Method, "auto") } else { would_do };
                would_do
                    .text(", and estimates without intervals, whose signs may be wrong, can be had with ")
                    .setting(Opt::Purpose, Purpose::Prediction)
            }
            ConfigError::NoBounds { columns } => Advice::new(bounds_to_write(columns))
                .text("; only if these columns are already centred and of about unit variance, add ")
                .switch(Opt::Standardised),
            _ => return None,
        })
    }
}

/// Terms that were to be kept cannot be told from noise. Releases found that, and their budget is
/// spent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{} cannot stay in the model at this budget: {}; what showed it is spent", listed(.columns), causes(.columns))]
pub struct NotKeptError {
    /// Which, and why.
    pub columns: Vec<LeftOut>,
}

impl NotKeptError {
    /// Refuses if any of the columns that were left out was to be kept.
    pub(super) fn check(left_out: &[LeftOut], keep: &[String]) -> Result<(), NotKeptError> {
        let is_kept = |one: &&LeftOut| keep.iter().any(|term| is_of_term(&one.name, term));
        let columns: Vec<LeftOut> = left_out.iter().filter(is_kept).cloned().collect();
        if columns.is_empty() { Ok(()) } else { Err(NotKeptError { columns }) }
    }
}

/// Whether a coefficient belongs to a term: as its own, or as that of one of its levels.
pub(super) fn is_of_term(coefficient: &str, term: &str) -> bool {
    coefficient.strip_prefix(term).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

fn listed(columns: &[LeftOut]) -> String {
    shown(&columns.iter().map(|one| one.name.clone()).collect::<Vec<_>>())
}

/// What can be said beforehand of the set of instruments, which may be longer by a percentage.
pub(crate) fn without_strength(longer: Option<u32>) -> String {
    let longer = longer.map_or(String::new(), |percent| {
        format!(
            "; if they move it strongly, expect a set about {percent} % longer than the interval of two-stage least squares in the clear"
        )
    });
    format!("there is no forecast for instruments, since how much they move the regressor is not public{longer}")
}

fn causes(columns: &[LeftOut]) -> String {
    columns.iter().map(|one| one.cause.to_string()).collect::<Vec<_>>().join("; ")
}

/// How many columns a sentence names.
const SHOWN: usize = 5;

/// The first of the columns, quoted.
fn shown(columns: &[String]) -> String {
    let quoted: Vec<String> = columns.iter().take(SHOWN).map(|name| format!("'{name}'")).collect();
    quoted.join(", ") + &more(columns.len())
}

fn more(count: usize) -> String {
    if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() }
}

/// What to type for columns without bounds.
fn bounds_to_write(columns: &[String]) -> String {
    let named: Vec<&String> = columns.iter().filter(|name| *name != ".").collect();
    if named.is_empty() {
        return "name the columns it stands for with what is publicly known of each, as in age[18..90]".to_owned();
    }
    let typed: Vec<String> = named.iter().take(SHOWN).map(|name| format!("{name}[LOW..HIGH]")).collect();
    format!(
        "write {}{} with publicly known numbers in place of LOW and HIGH, or name{{a,b}} for a category",
        typed.join(", "),
        more(named.len()),
    )
}
