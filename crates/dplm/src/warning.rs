//! What a reader should know, from public or released numbers only.

use serde::{Deserialize, Serialize};

use crate::{
    number::{grouped, significant, two_digits_up},
    privacy::{Rho, Unit},
};

/// Something a reader of the fit should know. Made from public or released numbers only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// The noise can be taken off.
    FixedSeed,
    /// Less than half of the units contribute anything.
    FewRowsUsed {
        /// How many do, as that was released, and at most.
        used: u64,
        /// The upper end of its interval.
        most: u64,
        /// How many there are.
        of: u64,
        /// What they are.
        unit: Unit,
        /// Whether persons' own means were taken out.
        #[serde(default)]
        within: bool,
    },
    /// Columns whose scale was taken on trust.
    AssumedStandard {
        /// Their names.
        columns: Vec<String>,
    },
    /// Intervals rest on the paper's condition, which nothing released shows.
    AssumedUncorrelated,
    /// Steps overshoot along the columns that are correlated most, so that no interval is made.
    Overshoots {
        /// The step size that would do, as far as released numbers show.
        step_size: f64,
    },
    /// Coefficients that are in the model and that the budget cannot pin down.
    NotIdentified {
        /// Their names.
        names: Vec<String>,
    },
    /// Columns that may not be of the kind the formula says, since nothing could be told of them.
    OtherKind {
        /// Those that the formula says are numbers.
        numbers: Vec<String>,
        /// Those that the formula says are categories.
        categories: Vec<String>,
    },
    /// The noise is as large as the coefficients can be expected to be.
    BudgetTooSmall {
        /// The expected standard error from noise alone, in standardised units.
        noise: f64,
        /// What would bring it to a tenth of a unit.
        enough: Enough,
    },
    /// The number of coefficients needs more rows, or more budget, for intervals.
    BudgetForColumns {
        /// How many coefficients there are.
        features: usize,
        /// What would do.
        enough: Enough,
    },
    /// The controls are in the model as indices only.
    GivenIndices {
        /// How many controls there are.
        controls: usize,
    },
    /// The model was fitted without some columns.
    LeftOut {
        /// Which, and why.
        columns: Vec<LeftOut>,
    },
    /// The periods of an event study have no effects of their own.
    EventWithoutPeriods {
        /// The category that is passed through.
        period: String,
    },
    /// A fit whose guarantee is that of a study.
    PartOfStudy {
        /// What the specification is called.
        name: String,
        /// How many there are.
        of: usize,
    },
    /// Intervals rest on moments that were given, which nothing released contradicts.
    TrustsMoments,
    /// Moments that were given are not those of these rows, so that nothing can be said at this
    /// budget.
    MomentsContradicted,
    /// Clipping could bias the fit, and a released test saw no sign of it.
    Clipped {
        /// The share of rows that is clipped.
        share: f64,
    },
    /// A released test shows that clipping moves the fit away from least squares.
    Bent {
        /// The coefficients that move.
        names: Vec<String>,
    },
    /// Rows do not count alike, and clipping bounds how much one may count.
    Weighted {
        /// The column of weights.
        column: String,
    },
    /// The weights are much smaller than their bound.
    WeightBound {
        /// The column of weights.
        column: String,
        /// Their mean, as far as it was released.
        mean: f64,
    },
    /// Rows are clipped in a model without what was left out, which errors then hold.
    ClippedWithout {
        /// The share of rows that is clipped.
        share: f64,
    },
    /// Rows are clipped, and the test of whether that biases the fit would have too little power.
    ClippedUnseen {
        /// The share of rows that is clipped.
        share: f64,
    },
    /// Slopes that may predict no better than none would, as far as released numbers show.
    SlopesWithinNoise,
    /// Outcomes never contradict a logit in these coefficients.
    Separated {
        /// Their names.
        names: Vec<String>,
    },
    /// Too little is known of the probabilities of unusual rows for a logit to be told.
    Vague,
    /// Outcomes vary more than a logit says.
    Misfit {
        /// The coefficients along which they do.
        names: Vec<String>,
        /// How many times as much, at most.
        times: f64,
    },
    /// A level was found at an end of the ladder it was looked for on.
    LevelAtEdge,
    /// The test before a release failed, so that nothing but that was released.
    TestFailed,
    /// Clipping makes the fit robust, which is not least squares when errors are skewed.
    Robust {
        /// The clip, in standardised units.
        clip: f64,
    },
    /// The run is too short for the paper's intervals to cover.
    ShortRun {
        /// Steps between estimates.
        steps: u32,
        /// Steps the coverage theorem asks for.
        needed: u32,
    },
    /// The stated delta is not small against the number of rows.
    LargeDelta {
        /// The delta.
        delta: f64,
        /// The rows.
        rows: u64,
    },
    /// The ledger knows this name for a table of another shape.
    OtherTable {
        /// The data set.
        dataset: String,
    },
    /// The budget is beyond what is usually called private.
    LargeBudget {
        /// The budget.
        #[serde(with = "crate::privacy::decimal")]
        rho: Rho,
    },
}

impl Warning {
    /// Whether it is of ordinary fits: a note below the table, and nothing to be alarmed about.
    pub fn is_note(&self) -> bool {
        matches!(
            self,
            Warning::Clipped { .. }
                | Warning::ClippedUnseen { .. }
                | Warning::Robust { .. }
                | Warning::Weighted { .. }
                | Warning::PartOfStudy { .. }
        )
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::FixedSeed => f.write_str(
                "the noise came from a fixed seed, so anyone who knows the seed can remove it: this output is not private and must not be published",
            ),
            Warning::FewRowsUsed { used, most, of, unit, within } => write!(
                f,
                "only about {} of {} {} are used, and at most about {}: all others have {}a missing cell in a column of the model, where text \
                 that is not a number and a level that is not listed count as missing, or a weight of 0",
                grouped(*used),
                grouped(*of),
                unit.plural(),
                grouped(*most),
                if *within { "one row, or rows that are alike, beside those with " } else { "" },
            ),
            Warning::AssumedStandard { columns } => write!(
                f,
                "{} taken as centred and of about unit variance, as the formula gives no bounds; this was not checked",
                listed(columns)
            ),
            Warning::AssumedUncorrelated => f.write_str(
                "the intervals assume that columns are of about unit variance and hardly correlated, as the paper does; this was not checked, and where columns are correlated they may be far too short",
            ),
            Warning::Overshoots { step_size } => write!(
                f,
                "columns are so correlated that steps overshoot, so no interval is printed: ask for a step size of {} or less, or for the method auto",
                significant(*step_size)
            ),
            Warning::NotIdentified { names } => write!(
                f,
                "{} cannot be estimated at this budget: merge rare levels, tighten bounds, drop columns or spend more",
                listed(names)
            ),
            Warning::OtherKind { numbers, categories } => f.write_str(&kinds_to_check(numbers, categories)),
            Warning::BudgetTooSmall { noise, enough } => write!(
                f,
                "the noise alone has a standard error of about {noise:.2} standardised units; {enough} would bring it to 0.1"
            ),
            Warning::BudgetForColumns { features, enough } => write!(
                f,
                "the budget is small for {features} coefficients on this number of rows; about {enough} would do for most intervals"
            ),
            Warning::GivenIndices { controls } => write!(
                f,
                "the budget cannot tell {controls} controls apart: intervals are for coefficients given a few released indices of them, \
                 not for those given every control"
            ),
            Warning::LeftOut { columns } => {
                let (coefficients, them) =
                    if columns.len() == 1 { ("1 coefficient", "it") } else { ("some coefficients", "them") };
                let each: Vec<String> = columns.iter().map(|one| format!("{}: {}", one.name, one.cause)).collect();
                write!(
                    f,
                    "{coefficients} not defined at this budget, so the model was fitted without {them} ({})",
                    each.join("; ")
                )
            }
            Warning::Clipped { share } => write!(
                f,
                "about {:.1} % of the gradients are clipped, so the intervals are for the robust (clipped) coefficients; a released test saw no sign of skewed errors, which would set these apart from the least-squares ones (target population clips less, with longer intervals)",
                100.0 * share
            ),
            Warning::PartOfStudy { name, of } => write!(
                f,
                "this is the specification '{name}' of a study of {of}: the guarantee is that of the whole study, which was charged once"
            ),
            Warning::EventWithoutPeriods { period } => write!(
                f,
                "the coefficients of i({period}, ...) hold what each period did to everybody too: add {period} to the formula, and they are \
                 differences between the treated and the others"
            ),
            Warning::TrustsMoments => f.write_str(
                "the intervals trust the moments that were given: nothing released contradicts them, but this budget sees large errors only",
            ),
            Warning::MomentsContradicted => f.write_str(
                "released numbers show that the moments given are not those of these rows, so no interval is printed: correct them, or fit \
                 without them at a larger budget",
            ),
            Warning::Bent { names } => write!(
                f,
                "clipping moves this fit away from least squares, as errors that are skewed or a mean that is not linear make it do: the intervals are for the robust (clipped) coefficients; {} {} most (target population clips less, with longer intervals)",
                listed(names),
                if names.len() == 1 { "moves" } else { "move" }
            ),
            Warning::Weighted { column } => write!(
                f,
                "rows are weighted by '{column}': where a gradient is clipped, a large weight counts for less than it says; neither the spread of the errors nor R^2 is released for weighted rows"
            ),
            Warning::WeightBound { column, mean } => write!(
                f,
                "the weights in '{column}' are about {} on average, far below their bound, which costs precision: give a bound near the largest weight there may be",
                significant(*mean)
            ),
            Warning::ClippedWithout { share } => write!(
                f,
                "about {:.1} % of the gradients are clipped in a model without what was left out, so the intervals are for the robust (clipped) coefficients of that model: a larger rho, or a formula without those columns, would clip less",
                100.0 * share
            ),
            Warning::ClippedUnseen { share } => write!(
                f,
                "about {:.1} % of the gradients are clipped, and this budget is too small to tell whether errors are skewed, so the intervals are for the robust (clipped) coefficients: a larger rho would clip less and tell (target population clips less, with longer intervals)",
                100.0 * share
            ),
            Warning::SlopesWithinNoise => f.write_str(
                "released numbers do not show that the slopes are larger than their noise: the mean of the response, or zero without an intercept, may predict as well, and neither the size nor the sign of a coefficient says anything (a larger rho, or fewer columns, would help)",
            ),
            Warning::Separated { names } => write!(
                f,
                "{} cannot be told: released numbers do not show that outcomes ever contradict the fit there; they would not where a level, or a \
                 combination of columns, has one outcome only, so that no number is large enough: merge the level with another, leave the column \
                 out, or spend more",
                listed(names)
            ),
            Warning::Vague => f.write_str(
                "no coefficient can be told: at this budget the linear function of an unusual row is not known to within 2, so that its probability \
                 could be nearly anything; fewer columns, more rows or a larger rho would do, and rarer outcomes need more of each",
            ),
            Warning::Misfit { names, times } => write!(
                f,
                "released numbers show that outcomes vary up to {} times as much as a logit says along {}, which is not the whole truth then: the \
                 intervals allow for that and are for the logit nearest to the truth (a square, an interaction or a missing column may say more)",
                significant(*times),
                listed(names)
            ),
            Warning::LevelAtEdge => f.write_str(
                "the size of rows or of errors is at the end of the range that the bounds suggest: check the bounds of the response and of the columns",
            ),
            Warning::TestFailed => f.write_str(
                "the test of whether an estimate is safe to release failed, so the budget was spent and there is none: more rows, a larger rho, or a method without a test, such as auto",
            ),
            Warning::Robust { clip } => write!(
                f,
                "gradients are clipped at {clip:.3}, which makes the fit robust: where errors are skewed the intercept, and with it predictions, may differ from least squares"
            ),
            Warning::ShortRun { steps, needed } => write!(
                f,
                "{steps} steps between estimates are few: the coverage theorem asks for about {needed}, so intervals may be too short"
            ),
            Warning::LargeDelta { delta, rows } => {
                write!(f, "delta = {delta:e} is not small against 1/{rows}: state epsilon at a smaller delta")
            }
            Warning::OtherTable { dataset } => write!(
                f,
                "earlier fits of '{dataset}' were on a table with other columns or another number of rows: if these are other people, keep another data set for them"
            ),
            Warning::LargeBudget { rho } => {
                write!(f, "rho = {rho} is a weak guarantee; budgets above 1 are seldom called private")
            }
        }
    }
}

/// A coefficient that is not in the model that was fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// What released numbers show of why.
    pub cause: Cause,
}

/// Why a column is not resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The column varies too little within its bounds.
    LittleSpread,
    /// Too few rows have the level.
    RareLevel,
    /// The share of rows that have the level, as it was released, cannot be told from 0.
    UnseenLevel,
    /// The column varies too little within persons, whose own means are taken out.
    Within,
    /// Its curvature is lost in the noise, though its second moments were not.
    Weak,
    /// A term of lower order that belongs to it was left out.
    Margin {
        /// Those terms.
        of: Vec<String>,
    },
    /// The column is nearly a combination of others.
    Combination {
        /// The columns that make most of it.
        of: Vec<String>,
    },
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::LittleSpread => {
                f.write_str("it varies too little within its bounds; give tighter bounds, or a larger budget")
            }
            Cause::RareLevel => {
                f.write_str("too few rows have this level; merge it with another, or give a larger budget")
            }
            Cause::UnseenLevel => f.write_str(
                "no rows of this level can be told from noise; check that it is spelt as in the data, or merge it with another",
            ),
            Cause::Within => f.write_str(
                "it does not vary within persons, or too little for this budget, so that it cannot be told from their own constants; leave it \
                 out, or leave out what follows `|`",
            ),
            Cause::Weak => {
                f.write_str("what is new in it is lost in the noise; drop columns like it, or give a larger budget")
            }
            Cause::Margin { of } => {
                write!(f, "it belongs to {}, without which it is not fitted; see there", listed(of))
            }
            Cause::Combination { of } => {
                let one = if of.len() == 1 { "one of the two" } else { "one of them" };
                write!(f, "it is nearly a combination of {}; drop {one}, or give a larger budget", listed(of))
            }
        }
    }
}

/// What would be enough where a budget is not: a number of rows, or persons, or a larger budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Enough {
    /// The rows, at the budget given.
    pub rows: u64,
    /// The budget, on the rows given.
    pub rho: f64,
    /// What is counted as rows.
    #[serde(default)]
    pub unit: Unit,
}

impl Enough {
    /// Where `n sqrt(rho)`, which is what precision grows with, must be `factor` times as large.
    pub fn times(factor: f64, rows: u64, rho: Rho) -> Enough {
        Enough { rows: (rows as f64 * factor).ceil() as u64, rho: rho.to_f64() * factor * factor, unit: Unit::Row }
    }

    /// The same number of these.
    #[must_use]
    pub fn of(self, unit: Unit) -> Enough {
        Enough { unit, ..self }
    }
}

impl std::fmt::Display for Enough {
    /// Rounded up, so that what is asked for is enough. A budget that no fit can have is not
    /// offered.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", grouped(self.rows), self.unit.plural())?;
        match self.rho < Rho::LARGEST.to_f64() {
            true => write!(f, ", or rho = {},", two_digits_up(self.rho)),
            false => Ok(()),
        }
    }
}

/// What else may be behind coefficients that cannot be estimated: columns that are not of the kind
/// the formula says.
fn kinds_to_check(numbers: &[String], categories: &[String]) -> String {
    let holds = |columns: &[String]| if columns.len() == 1 { "holds" } else { "hold" };
    let mut checks = Vec::new();
    if !numbers.is_empty() {
        let (columns, hold) = (listed(numbers), holds(numbers));
        checks.push(format!(
            "check that {columns} {hold} plain numbers, as text, yes/no and thousands separators count as missing"
        ));
    }
    if !categories.is_empty() {
        let (columns, hold) = (listed(categories), holds(categories));
        checks.push(format!("check that {columns} {hold} the levels exactly as the formula spells them"));
    }
    checks.join("; ")
}

/// Up to five names, and how many more.
pub(crate) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_column_is_a_suspect() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let warning = |numbers: &[&str], categories: &[&str]| {
            Warning::OtherKind { numbers: names(numbers), categories: names(categories) }.to_string()
        };
        let plain = "check that 'x' holds plain numbers, as text, yes/no and thousands separators count as missing";
        let spelt = "check that 'g', 'h' hold the levels exactly as the formula spells them";
        assert_eq!(warning(&["x"], &[]), plain);
        assert_eq!(warning(&[], &["g", "h"]), spelt);
        assert_eq!(warning(&["x"], &["g", "h"]), format!("{plain}; {spelt}"));
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (1..=7).map(|i| format!("x{i}")).collect();
        assert_eq!(listed(&names[..2]), "'x1', 'x2'");
        assert_eq!(listed(&names), "'x1', 'x2', 'x3', 'x4', 'x5' and 2 more");
    }
}
