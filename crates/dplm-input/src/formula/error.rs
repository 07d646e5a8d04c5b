//! Why a formula is refused.

/// Why a formula was refused. A formula is public, so its own text may be quoted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaError {
    /// The text does not follow the grammar.
    #[error("formula: expected {what} (at character {at})")]
    Expected {
        /// What the grammar allows here.
        what: String,
        /// The position, counted in characters from 1.
        at: usize,
    },
    /// The weights have no bounds, or bounds that do not start at 0.
    #[error("weights are numbers from 0 to a public bound: write them as {column}[0..50]")]
    WeightBounds {
        /// The column.
        column: String,
    },
    /// Groups were not given as the levels of a column.
    #[error("groups are the levels of a column: write them as {column}{{north,south}}")]
    GroupLevels {
        /// The column.
        column: String,
    },
    /// The sizes are not one for each group.
    #[error("the public sizes of groups are one whole number for each: write them as {example}")]
    GroupSizes {
        /// An example in the right form.
        example: String,
    },
    /// An operator that has no meaning where it stands.
    #[error(
        "formula: '{symbol}' has no meaning here: arithmetic is + - * / ^ inside I(...), and an odd name stands in backquotes \
         (at character {at})"
    )]
    UnsupportedOperator {
        /// The operator.
        symbol: char,
        /// The position, counted in characters from 1.
        at: usize,
    },
    /// A name before a parenthesis that is not a function.
    #[error(
        "formula: there is no function '{name}': use I, log, log2, log10, log1p, exp, sqrt, abs, poly, bs, ns, i or offset, \
         or compute the column in the data first (at character {at})"
    )]
    UnknownFunction {
        /// The name.
        name: String,
        /// The position, counted in characters from 1.
        at: usize,
    },
    /// A term as another program writes it.
    #[error("formula: '{typed}' is written otherwise here: {instead} (at character {at})")]
    Foreign {
        /// What was typed.
        typed: String,
        /// What to type.
        instead: String,
        /// The position, counted in characters from 1.
        at: usize,
    },
    /// A function is not defined everywhere within the bounds.
    #[error("formula: '{expression}' needs '{argument}' to be {needs}, but the bounds allow {low} to {high}: {change}")]
    Undefined {
        /// The function with its argument.
        expression: String,
        /// The argument.
        argument: String,
        /// What it must be.
        needs: String,
        /// The least it may be.
        low: f64,
        /// The most it may be.
        high: f64,
        /// What to do.
        change: String,
    },
    /// A function of a column without bounds.
    #[error("formula: '{expression}' needs the bounds of '{column}': write them once, as in {column}[0..100]")]
    BoundsNeeded {
        /// The column.
        column: String,
        /// The expression that uses it.
        expression: String,
    },
    /// A category in arithmetic.
    #[error(
        "formula: '{column}' has levels, so '{expression}' cannot be computed: give it bounds instead, or use it by itself"
    )]
    CategoryInArithmetic {
        /// The column.
        column: String,
        /// The expression that uses it.
        expression: String,
    },
    /// Two different bounds or levels for one column.
    #[error("formula: two different bounds or levels are written for '{column}': write them once")]
    TwoFacts {
        /// The column.
        column: String,
    },
    /// A response that is the same for every row.
    #[error("formula: the response is a constant: name a column on the left of '~'")]
    ConstantResponse,
    /// A polynomial or spline with too few or too many functions.
    #[error("formula: the number in {curve}(...) must be between {least} and {most}")]
    CurveSize {
        /// Its name.
        curve: &'static str,
        /// The fewest.
        least: u32,
        /// The most.
        most: u32,
    },
    /// Products that expand to too many terms.
    #[error("formula: its products have too many terms: name the products that are wanted, or fewer levels")]
    TooManyTerms,
    /// The lower bound is above the upper one.
    #[error("formula: the bounds of '{column}' are reversed ({low} is above {high}): write the smaller one first")]
    ReversedBounds {
        /// The column.
        column: String,
        /// The bound written first.
        low: f64,
        /// The bound written second.
        high: f64,
    },
    /// A column with a single possible value explains nothing.
    #[error("formula: both bounds of '{column}' are {bound}: give two different bounds, or leave the column out")]
    EqualBounds {
        /// The column.
        column: String,
        /// The bound.
        bound: f64,
    },
    /// The first day is not before the last.
    #[error("formula: the dates of '{column}' are reversed or the same: write the earlier one first")]
    ReversedDates {
        /// The column.
        column: String,
    },
    /// A bound is not a finite number.
    #[error("formula: the bounds of '{column}' must be finite numbers")]
    NonFiniteBounds {
        /// The column.
        column: String,
    },
    /// Bounds too large to scale by.
    #[error("formula: the bounds of '{column}' are beyond 1e150: store the column in larger units")]
    LargeBounds {
        /// The column.
        column: String,
    },
    /// Bounds too close to distinguish numbers between them.
    #[error(
        "formula: the bounds of '{column}' are too close to tell numbers between them apart: widen them, or subtract a constant from the column, or store it in smaller units"
    )]
    CloseBounds {
        /// The column.
        column: String,
    },
    /// `.` is written twice.
    #[error("formula: '.' appears twice: write it once, it already stands for every other numeric column")]
    DuplicateDot,
    /// `.` without a table that gives it a meaning.
    #[error("formula: '.' stands for columns of a table, but no table was given: name the columns")]
    OpenDot,
    /// The response is also a predictor.
    #[error("formula: '{column}' is the response, so it cannot also stand on the right of '~'")]
    ResponseOnRight {
        /// The column.
        column: String,
    },
    /// The response has levels.
    #[error(
        "formula: the response '{column}' must be a number, not a category, or one of two levels with family binomial: store 1 for one level \
         and 0 for every other, then write {column}[0..1], for a logit with family binomial and a linear probability model without"
    )]
    CategoricalResponse {
        /// The column.
        column: String,
    },
    /// The response of a logit is not one of two outcomes.
    #[error(
        "formula: family binomial fits the probability of one of two outcomes, and '{response}' is not written as one: write y[0..1] for a number \
         that is 0 or 1, or y{{no,yes}} with the two levels, the one whose probability is fitted last"
    )]
    NotBinary {
        /// The left side.
        response: String,
    },
    /// An offset in a logit: it is subtracted from the response, and a level is not a number.
    #[error(
        "formula: offset() is not available for family binomial: put the column into the model as a term, and see whether its interval has 1"
    )]
    OffsetOfBinary,
    /// Means of persons are subtracted from a response, which a level is not.
    #[error(
        "formula: a constant for each person is not available for family binomial, as no subtraction of means takes it out of a logit: leave out what \
         stands after |"
    )]
    WithinOfBinary,
    /// A category needs a reference and one other level.
    #[error("formula: '{column}' needs at least two levels, as in {column}{{a,b}}")]
    TooFewLevels {
        /// The column.
        column: String,
    },
    /// A level is listed twice.
    #[error("formula: level '{level}' of '{column}' is listed twice: list it once")]
    DuplicateLevel {
        /// The column.
        column: String,
        /// The level.
        level: String,
    },
    /// A level without text cannot be distinguished from a missing cell.
    #[error("formula: a level of '{column}' is empty, but an empty cell means a missing value: remove the empty level")]
    EmptyLevel {
        /// The column.
        column: String,
    },
    /// Neither a column nor an intercept.
    #[error("formula: nothing is left on the right of '~': name a column, or keep the intercept with '~ 1'")]
    NoTerms,
    /// A term is removed that is not in the formula.
    #[error("formula: '- {term}' removes a term that is not there: leave it out")]
    NothingToRemove {
        /// The term.
        term: String,
    },
    /// A column called `.`.
    #[error("formula: '.' cannot be a column's name, it stands for every other numeric column: rename the column")]
    ReservedName,
    /// Two columns after '|' that are not categories.
    #[error(
        "formula: only persons have constants of their own, and not both '{}' and '{}': leave one out, or list its levels \
         if they are few and public, as in {}{{a,b}}", columns[0], columns[1], columns[1]
    )]
    TwoFixedEffects {
        /// The columns.
        columns: [String; 2],
    },
    /// An instrument in a study, whose fits share their second moments.
    #[error("formula: a study has no instruments: fit a model with one by itself")]
    InstrumentInStudy,
    /// More instruments than their moments can be known for.
    #[error(
        "formula: the instruments have {columns} columns, and each makes the interval of the regressor longer: name {most} at most, the strongest"
    )]
    TooManyInstruments {
        /// Columns of the instruments.
        columns: usize,
        /// The most there may be.
        most: usize,
    },
    /// The instrumented term is not a single number.
    #[error(
        "formula: what is instrumented must be one number, and '{term}' is not: store it as a number, as in x[0..1]"
    )]
    Endogenous {
        /// What was written.
        term: String,
    },
    /// The instrument is neither a number nor a category beside a constant.
    #[error(
        "formula: an instrument is a number, or a category where the model has a constant, and '{term}' is neither: store it as a number"
    )]
    InstrumentOfNothing {
        /// What was written.
        term: String,
    },
    /// The instrument is in the model.
    #[error(
        "formula: the instrument '{term}' also stands before '|', is what it instruments, or stands there twice: an instrument stands there alone"
    )]
    InstrumentInModel {
        /// What was written.
        term: String,
    },
    /// The instrumented term is also a control.
    #[error("formula: '{term}' is instrumented, so that it stands after '|' only: leave it out before")]
    EndogenousTwice {
        /// What was written.
        term: String,
    },
    /// A number after `|`.
    #[error("formula: '{column}' is a number, so it stands before '|', which persons or a category follow")]
    FixedEffectOfNumber {
        /// The column.
        column: String,
    },
    /// The person is also a predictor or the response.
    #[error("formula: '{column}' stands after '|', where it identifies persons: leave it out before '|'")]
    PersonInModel {
        /// The column.
        column: String,
    },
    /// The specifications of a study have different fixed effects, although they are whitened
    /// together.
    #[error("formula: all specifications of a study have the same fixed effects: fit those with others by themselves")]
    FixedEffectsDiffer,
    /// An event without levels.
    #[error("formula: i(...) is of categories: list the levels of '{column}', as in {column}{{0,1}}")]
    EventOfNumber {
        /// The column.
        column: String,
    },
    /// A reference that is not a level.
    #[error("formula: the reference '{level}' of i(...) is not a level of '{column}': name one that is listed")]
    NoSuchReference {
        /// The column.
        column: String,
        /// What was written.
        level: String,
    },
    /// Shares that are not those of the cohorts.
    #[error(
        "formula: 'shares' in i(...) has a positive number for each level of the treated except the first, in their order: there are {cohorts}"
    )]
    SharesOfCohorts {
        /// How many cohorts there are.
        cohorts: usize,
    },
    /// Several regressors with instruments.
    #[error(
        "formula: '{}' stand before '~', and one regressor has instruments: instrument one at a time, with the others out of the model or \
         among the controls",
        .columns.join("' and '")
    )]
    SeveralEndogenous {
        /// The columns.
        columns: Vec<String>,
    },
    /// The model file is not TOML.
    #[error("model file: not valid TOML at line {line}: {problem}")]
    NotToml {
        /// The line, counted from 1.
        line: usize,
        /// What the TOML reader says.
        problem: String,
    },
    /// A key of the model file is unknown.
    #[error("model file: '{key}' is not known here (line {line}): use {allowed}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that are known.
        allowed: &'static str,
        /// The line, counted from 1.
        line: usize,
    },
    /// A value of the model file has the wrong type.
    #[error("model file: '{key}' must be {wanted} (line {line})")]
    WrongType {
        /// The key.
        key: String,
        /// What it should be.
        wanted: &'static str,
        /// The line, counted from 1.
        line: usize,
    },
    /// The model file does not name the response.
    #[error("model file: fill in the response, as in response = \"earnings\"")]
    NoResponse,
    /// The response has no table of its own.
    #[error("model file: the response '{column}' has no [columns] table: add one with its bounds")]
    ResponseNotDescribed {
        /// The column.
        column: String,
    },
    /// The file has both a formula and a response.
    #[error("model file: write either formula, or response and intercept (line {line})")]
    TwoModels {
        /// The line, counted from 1.
        line: usize,
    },
    /// A bound of the template was left blank.
    #[error(
        "model file: fill in both bounds of '{column}' from public knowledge, or delete its table to leave the column out"
    )]
    UnfilledBounds {
        /// The column.
        column: String,
    },
    /// The levels of the template were left blank.
    #[error(
        "model file: fill in the levels of '{column}' from public knowledge, or delete its table to leave the column out"
    )]
    UnfilledLevels {
        /// The column.
        column: String,
    },
    /// A column of the model file has no public facts, or two kinds.
    #[error("model file: '{column}' needs exactly one of: low and high; levels; standard = true")]
    UnclearFacts {
        /// The column.
        column: String,
    },
}

impl FormulaError {
    /// The position of the fault in the formula's text, counted in characters from 1, if it has a
    /// single position.
    pub fn at(&self) -> Option<usize> {
        match self {
            FormulaError::Expected { at, .. }
            | FormulaError::UnsupportedOperator { at, .. }
            | FormulaError::Foreign { at, .. }
            | FormulaError::UnknownFunction { at, .. } => Some(*at),
            _ => None,
        }
    }
}
