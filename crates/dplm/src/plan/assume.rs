//! What is assumed of columns before they are read: how far they spread within their public bounds.
//!
//! A budget buys precision in standard deviations of a column. What that is in the column's
//! own units cannot be known without looking, so it is assumed, and stated: a number fills its
//! bounds as a bell does, three standard deviations to either side of the middle; levels are
//! equally common; columns are not correlated; the errors have the spread of the response. Each can
//! be replaced by what a code book or an earlier study says.

use faer::Mat;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::weighing::Weighing;
use crate::{
    formula::{Column, Kind},
    lattice::Design,
    options::Family,
    table::{Block, Cells},
    theory::student::normal_quantile,
};

/// Standard deviations from the middle of a column's bounds to either end.
const SPREADS_TO_BOUND: f64 = 3.0;
/// Rows drawn to find the second moments: enough for them to be right to about one in a hundred.
const DRAWS: usize = 20_000;
/// Second moments this near to those of white rows are theirs: a few standard deviations of what
/// the draws leave open.
const NEARLY: f64 = 0.1;
/// The same draws in every plan.
const SEED: u64 = 1;

/// One assumption, as a person writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Assumption {
    /// `educ sd 3` or `educ mean 12 sd 3`.
    Spread {
        /// The column.
        column: String,
        /// Its mean; none for the middle of its bounds.
        mean: Option<f64>,
        /// Its standard deviation.
        sd: f64,
    },
    /// `region shares 0.5 0.3 0.2`, in the order of its levels; of two levels also
    /// `union share 0.2`, of the second.
    Shares {
        /// The column.
        column: String,
        /// One share for each level.
        shares: Vec<f64>,
    },
    /// `correlation 0.3` between any two numbers.
    Correlation(f64),
    /// `R2 0.4`: the share of the response's variance that the model explains.
    Explained(f64),
    /// `errors sd 0.5`, in the response's own units.
    Errors(f64),
}

/// Why an assumption is not understood.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AssumeError {
    /// The text is something else.
    #[error(
        "the assumption '{text}' is not understood: write 'NAME sd S', 'NAME mean M sd S', 'NAME shares A B ...', 'NAME share B', 'correlation R', \
         'R2 R' or 'errors sd S'"
    )]
    Unreadable {
        /// What was typed.
        text: String,
    },
    /// No such column, or not of that kind.
    #[error("the formula has no {what} '{column}' to assume something of: check its name")]
    NoColumn {
        /// What it should be.
        what: &'static str,
        /// What was typed.
        column: String,
    },
    /// A number that means nothing.
    #[error("{what} must be {rule}")]
    Range {
        /// Which number.
        what: String,
        /// What it must be.
        rule: &'static str,
    },
}

impl std::str::FromStr for Assumption {
    type Err = AssumeError;

    fn from_str(text: &str) -> Result<Assumption, AssumeError> {
        let unreadable = || AssumeError::Unreadable { text: text.to_owned() };
        let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(unreadable);
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(match *words.as_slice() {
            ["correlation", r] => Assumption::Correlation(number(r)?),
            ["R2" | "r2", r] => Assumption::Explained(number(r)?),
            ["errors", "sd", sd] => Assumption::Errors(number(sd)?),
            [column, "sd", sd] => Assumption::Spread { column: bare(column), mean: None, sd: number(sd)? },
            [column, "mean", mean, "sd", sd] => {
                Assumption::Spread { column: bare(column), mean: Some(number(mean)?), sd: number(sd)? }
            }
            [column, "share", share] => {
                let share = number(share)?;
                Assumption::Shares { column: bare(column), shares: vec![1.0 - share, share] }
            }
            [column, "shares", ref shares @ ..] if !shares.is_empty() => {
                let shares = shares.iter().map(|share| number(share)).collect::<Result<_, _>>()?;
                Assumption::Shares { column: bare(column), shares }
            }
            _ => return Err(unreadable()),
        })
    }
}

/// A name without the backquotes that a formula may need.
fn bare(name: &str) -> String {
    name.trim_matches('`').to_owned()
}

/// What is assumed of the rows of a design.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumed {
    /// The second moments of the columns of the design matrix, in standardised units; `None` if
    /// they are those of white rows.
    pub(crate) moments: Option<Mat<f64>>,
    /// The root mean square of the response, which is what a residual is where all coefficients are
    /// zero, and the standard deviation of the errors, in standardised units.
    pub(crate) response_rms: f64,
    pub(crate) error_sd: f64,
    /// How unlike the weights of rows are. In those units errors are as large as makes rows that
    /// count alike as imprecise.
    pub(crate) weighing: Weighing,
    sentences: Vec<String>,
}

/// How the cells of a column are drawn.
#[derive(Clone, Debug)]
enum Law {
    Number {
        mean: f64,
        sd: f64,
        low: f64,
        high: f64,
    },
    /// Shares added up, one for each level.
    Levels(Vec<f64>),
}

impl Assumed {
    /// Columns of unit variance that are not correlated, and errors of this standard deviation.
    pub fn white(error_sd: f64) -> Assumed {
        Assumed {
            moments: None,
            response_rms: 1f64.hypot(error_sd),
            error_sd,
            weighing: Weighing::NONE,
            sentences: Vec::new(),
        }
    }

    /// The usual assumptions, and these in place of some.
    ///
    /// # Errors
    /// When one names a column that is not there, or a number that means nothing.
    pub fn of(design: &Design, assumptions: &[Assumption]) -> Result<Assumed, AssumeError> {
        let columns = design.columns();
        let mut laws: Vec<Law> = columns.iter().map(usual).collect();
        let (mut correlation, mut explained, mut errors) = (0.0, 0.0, None);
        let below_one = |what: &str, value: f64| match (0.0..1.0).contains(&value) {
            true => Ok(value),
            false => Err(AssumeError::Range { what: what.to_owned(), rule: "at least 0 and below 1" }),
        };
        for assumption in assumptions {
            match assumption {
                Assumption::Correlation(r) => correlation = below_one("a correlation", *r)?,
                Assumption::Explained(r) => explained = below_one("R2", *r)?,
                Assumption::Errors(sd) => errors = Some(positive("the standard deviation of the errors", *sd)?),
                Assumption::Spread { column, mean, sd } => {
                    let place = place(columns, column, "numeric column", |kind| !matches!(kind, Kind::Levels(_)))?;
                    laws[place] = spread(&columns[place], *mean, *sd)?;
                }
                Assumption::Shares { column, shares } => {
                    let place = place(columns, column, "categorical column", |kind| matches!(kind, Kind::Levels(_)))?;
                    laws[place] = levels(&columns[place], shares)?;
                }
            }
        }
        let drawn = Drawn::of(design, &laws, correlation);
        let usual_errors = match share_of_ones(design, &laws) {
            // What the error of a coefficient of a logit is, times sqrt n, where outcomes vary
            // alike in all rows.
            Some(share) => (share * (1.0 - share)).sqrt().recip(),
            None => drawn.response_sd * (1.0 - explained).sqrt(),
        };
        let unit = design.response().unit;
        let error_sd = errors.map_or(usual_errors, |sd| sd / unit);
        let is_binary = design.family() == Family::Binomial;
        let mut sentences = sentences(columns, &laws, correlation, (is_binary, error_sd * unit));
        if let Some(weights) = design.weights() {
            let name = weights.name();
            sentences.insert(columns.len(), format!("weights: '{name}' says nothing of the columns and of the errors"));
        }
        let Drawn { moments, response_rms, weighing: (weighing, larger), .. } = drawn;
        let (response_rms, error_sd) = (larger * response_rms, larger * error_sd);
        Ok(Assumed { moments: Some(moments), response_rms, error_sd, weighing, sentences })
    }

    /// Whether columns have about unit variance and are hardly correlated.
    pub(crate) fn is_white(&self) -> bool {
        let off = |j: usize, k: usize, value: f64| (value - f64::from(u8::from(j == k))).abs();
        let Some(moments) = &self.moments else { return true };
        let p = moments.nrows();
        (0..p).flat_map(|j| (0..p).map(move |k| (j, k))).all(|(j, k)| off(j, k, moments[(j, k)]) < NEARLY)
    }

    /// The second moments of `features` parameters.
    pub(crate) fn moments(&self, features: usize) -> Mat<f64> {
        self.moments.clone().unwrap_or_else(|| Mat::identity(features, features))
    }

    /// The same where the second moments of the columns of the design matrix are known.
    pub(crate) fn with_moments(self, moments: Mat<f64>) -> Assumed {
        let errors = self.sentences.last().cloned();
        let known = "columns: means, spreads and correlations as the moments given say".to_owned();
        Assumed { moments: Some(moments), sentences: std::iter::once(known).chain(errors).collect(), ..self }
    }

    /// What is assumed, a line for each column.
    pub fn sentences(&self) -> &[String] {
        &self.sentences
    }
}

/// The share of the outcome whose probability is fitted, where the response is one of two.
fn share_of_ones(design: &Design, laws: &[Law]) -> Option<f64> {
    match (design.family(), &laws[0]) {
        (Family::Binomial, Law::Levels(sums)) => Some((1.0 - sums[0]).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE)),
        _ => None,
    }
}

/// A share that is assumed to be 0 or 1 leaves nothing to fit.
const LEAST_SHARE: f64 = 1e-6;

fn positive(what: &str, value: f64) -> Result<f64, AssumeError> {
    if value > 0.0 { Ok(value) } else { Err(AssumeError::Range { what: what.to_owned(), rule: "above 0" }) }
}

fn place(
    features: &[Column],
    column: &str,
    what: &'static str,
    is: impl Fn(&Kind) -> bool,
) -> Result<usize, AssumeError> {
    let found = features.iter().position(|feature| feature.name == column && is(&feature.kind));
    found.ok_or_else(|| AssumeError::NoColumn { what, column: column.to_owned() })
}

fn usual(column: &Column) -> Law {
    if let Kind::Levels(levels) = &column.kind {
        return Law::Levels(added_up(&vec![1.0 / levels.len() as f64; levels.len()]));
    }
    match column.kind.bounds() {
        None => Law::Number { mean: 0.0, sd: 1.0, low: f64::NEG_INFINITY, high: f64::INFINITY },
        Some((low, high)) => {
            let (mean, sd) = (low / 2.0 + high / 2.0, (high / 2.0 - low / 2.0) / SPREADS_TO_BOUND);
            Law::Number { mean, sd, low, high }
        }
    }
}

fn spread(column: &Column, mean: Option<f64>, sd: f64) -> Result<Law, AssumeError> {
    let sd = positive(&format!("the standard deviation of {}", column.name), sd)?;
    let Law::Number { mean: middle, low, high, .. } = usual(column) else { unreachable!("asked of numbers only") };
    let mean = mean.unwrap_or(middle);
    match (low..=high).contains(&mean) {
        true => Ok(Law::Number { mean, sd, low, high }),
        false => Err(AssumeError::Range { what: format!("the mean of {}", column.name), rule: "within its bounds" }),
    }
}

fn levels(column: &Column, shares: &[f64]) -> Result<Law, AssumeError> {
    let Kind::Levels(levels) = &column.kind else { unreachable!("asked of categories only") };
    let total: f64 = shares.iter().sum();
    let sound = shares.len() == levels.len() && shares.iter().all(|&share| share >= 0.0) && (total - 1.0).abs() < 0.01;
    match sound {
        true => Ok(Law::Levels(added_up(shares))),
        false => Err(AssumeError::Range {
            what: format!("the shares of {}", column.name),
            rule: "one number for each level, which add up to 1",
        }),
    }
}

fn added_up(shares: &[f64]) -> Vec<f64> {
    shares
        .iter()
        .scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        })
        .collect()
}

fn sentences(columns: &[Column], laws: &[Law], correlation: f64, (is_binary, error_sd): (bool, f64)) -> Vec<String> {
    let of_column = |(column, law): (&Column, &Law)| match law {
        Law::Number { mean, sd, .. } => {
            format!("{}: mean {}, standard deviation {}", column.name, shown(*mean), shown(*sd))
        }
        Law::Levels(sums) => {
            let before = std::iter::once(&0.0).chain(sums);
            let shares: Vec<String> = before.zip(sums).map(|(low, high)| shown(high - low)).collect();
            format!("{}: shares of the levels {}", column.name, shares.join(", "))
        }
    };
    let mut sentences: Vec<String> = columns.iter().zip(laws).map(of_column).collect();
    let correlated = if correlation == 0.0 { "not correlated".to_owned() } else { format!("correlated {correlation}") };
    sentences.push(format!("columns: {correlated}"));
    sentences.push(match is_binary {
        true => "outcomes: as uncertain in every row as over all of them".to_owned(),
        false => format!("errors: standard deviation {}, in units of what is explained", shown(error_sd)),
    });
    sentences
}

fn shown(number: f64) -> String {
    crate::number::short(number)
}

/// What rows as assumed come to, in standardised units.
struct Drawn {
    /// The mean of `z z'` over rows `z` of the design matrix.
    moments: Mat<f64>,
    response_sd: f64,
    response_rms: f64,
    /// How unlike weights are, and by what errors seem larger for it.
    weighing: (Weighing, f64),
}

impl Drawn {
    fn of(design: &Design, laws: &[Law], correlation: f64) -> Drawn {
        let p = design.features();
        let block = block(laws, correlation);
        let mut sum = Mat::<f64>::zeros(p, p);
        let (mut total, mut squares, mut weights) = (0.0, 0.0, Vec::new());
        let unweighted = design.unweighted();
        // The column of weights is the last.
        let weight_of = |row: usize| match (design.weights(), block.columns.last()) {
            (Some(_), Some(Cells::Numbers(weights))) => weights[row] / design.weight_unit(),
            _ => 1.0,
        };
        for row in 0..block.rows {
            let Some((cells, response)) = unweighted.standardised_row(&block, row) else { continue };
            let weight = weight_of(row);
            for j in 0..p {
                (0..=j).for_each(|k| sum[(j, k)] += weight * cells[j] * cells[k]);
            }
            total += response;
            squares += response * response;
            weights.push(weight);
        }
        let n = DRAWS as f64;
        let moments = Mat::from_fn(p, p, |j, k| sum[(j.max(k), j.min(k))] / n);
        let (mean, mean_sq) = (total / n, squares / n);
        let weighing = if design.weights().is_some() { Weighing::of(weights) } else { (Weighing::NONE, 1.0) };
        let response_sd = (mean_sq - mean.powi(2)).max(0.0).sqrt();
        Drawn { moments, response_sd, response_rms: mean_sq.sqrt(), weighing }
    }
}

/// Rows of cells.
fn block(laws: &[Law], correlation: f64) -> Block {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let common: Vec<f64> = (0..DRAWS).map(|_| normal(&mut rng)).collect();
    let columns = laws.iter().map(|law| law.draw(&common, correlation, &mut rng)).collect();
    Block { rows: DRAWS, columns }
}

impl Law {
    fn draw(&self, common: &[f64], correlation: f64, rng: &mut ChaCha8Rng) -> Cells {
        match self {
            Law::Number { mean, sd, low, high } => {
                let score = |common: &f64| correlation.sqrt() * common + (1.0 - correlation).sqrt() * normal(rng);
                Cells::Numbers(common.iter().map(score).map(|score| (mean + sd * score).clamp(*low, *high)).collect())
            }
            Law::Levels(sums) => {
                let level = |u: f64| sums.iter().position(|&sum| u < sum).unwrap_or(sums.len() - 1) as u32;
                Cells::Levels(common.iter().map(|_| level(uniform(rng))).collect())
            }
        }
    }
}

/// Above 0 and below 1.
fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    normal_quantile(uniform(rng))
}
