//! The tables of the arena: several kinds of simulated ones, and real ones, whose rows are
//! resampled.

use dplm::{
    Design,
    formula::{Column, Formula, Kind, Model},
    method::{Outcome, Target},
    rows::{Encoded, MemoryBuilder},
    table::{Block, Cells},
};
use dplm_simulate::Setting;
use rand_chacha::{ChaCha8Rng, ChaCha20Rng};
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::super::{Measures, measure};
use crate::{
    LabError,
    peers::{self, Answer, Promise, Task},
    real::bench::Bench,
    trial::least_squares_of,
};

/// A kind of simulated table: the joint distribution of its columns, and what is publicly known of
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kinds {
    /// The condition number of the second moments; none for the design of the paper's appendix.
    pub condition: Option<f64>,
    /// Whether it is known that columns are centred and of unit variance.
    pub standard: bool,
}

impl Kinds {
    pub(super) fn named(name: &str) -> Option<Kinds> {
        let condition = name.strip_prefix("condition-").and_then(|number| number.parse().ok());
        match (name, condition) {
            ("standard", _) => Some(Kinds { condition: Some(1.0), standard: true }),
            ("bounded", _) => Some(Kinds { condition: Some(1.0), standard: false }),
            ("anisotropic", _) => Some(Kinds { condition: None, standard: true }),
            (_, Some(condition)) if condition >= 1.0 => Some(Kinds { condition: Some(condition), standard: true }),
            _ => None,
        }
    }

    /// The correlation of every pair of columns: with `p` of them, eigenvalues are `1 + (p-1) r`
    /// once and `1 - r` for the others.
    pub(super) fn correlation(condition: f64, p: usize) -> f64 {
        (condition - 1.0) / (condition + p as f64 - 1.0)
    }

    /// Rows of this kind, row by row with responses, their coefficients, and the second moments of
    /// their distribution.
    fn draw(self, n: usize, p: usize, seed: u64) -> Result<Drawn, LabError> {
        let Some(condition) = self.condition else {
            let setting = Setting { design: dplm_simulate::Design::Anisotropic, ..Setting::new(p) };
            let population = setting.draw(seed)?;
            let sample = population.sample(n as u64);
            let (theta, moments) = (population.theta().to_vec(), population.covariance());
            return Ok(Drawn { x: sample.x, y: sample.y, theta, moments });
        };
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let direction: Vec<f64> = (0..p).map(|_| normal()).collect();
        let length = direction.iter().map(|one| one * one).sum::<f64>().sqrt();
        let theta: Vec<f64> = direction.iter().map(|one| one / length).collect();
        let r = Kinds::correlation(condition, p);
        let (mut x, mut y) = (Vec::with_capacity(n * p), Vec::with_capacity(n));
        for _ in 0..n {
            let common = r.sqrt() * normal();
            let first = x.len();
            x.extend((0..p).map(|_| common + (1.0 - r).sqrt() * normal()));
            y.push(x[first..].iter().zip(&theta).map(|(x, theta)| x * theta).sum::<f64>() + normal());
        }
        let moments = (0..p * p).map(|at| if at / p == at % p { 1.0 } else { r }).collect();
        Ok(Drawn { x, y, theta, moments })
    }
}

struct Drawn {
    x: Vec<f64>,
    y: Vec<f64>,
    theta: Vec<f64>,
    moments: Vec<f64>,
}

/// The coefficients to find.
enum Truth<'a> {
    Simulated {
        theta: Vec<f64>,
        moments: Vec<f64>,
    },
    /// Least squares of the table that rows are drawn from.
    Real(&'a Bench),
}

/// The rows that every contender gets, and the truth behind them.
pub(super) struct Trial<'a> {
    pub rows: Encoded,
    pub design: Design,
    pub formula: Formula,
    blocks: Vec<Block>,
    standard: bool,
    truth: Truth<'a>,
}

impl<'a> Trial<'a> {
    pub(super) fn simulated(kinds: Kinds, n: usize, p: usize, bound: f64, seed: u64) -> Result<Trial<'a>, LabError> {
        let Drawn { x, y, theta, moments } = kinds.draw(n, p, seed)?;
        let (design, formula) = described(kinds, p, bound);
        let column = |j: usize| Cells::Numbers(x.iter().skip(j).step_by(p).copied().collect());
        let columns = (0..p).map(column).collect::<Vec<_>>();
        let block = Block { rows: n, columns: std::iter::once(Cells::Numbers(y)).chain(columns).collect() };
        let truth = Truth::Simulated { theta, moments };
        Ok(Trial::of(design, formula, vec![block], kinds.standard, truth))
    }

    /// As many rows as a real table has, drawn from it.
    pub(super) fn real(bench: &'a Bench, formula: &str, seed: u64) -> Result<Trial<'a>, LabError> {
        let formula = Formula::parse(formula).map_err(dplm::Error::from)?;
        let blocks = bench.resampled_blocks(&mut ChaCha8Rng::seed_from_u64(seed));
        Ok(Trial::of(bench.design.clone(), formula, blocks, false, Truth::Real(bench)))
    }

    fn of(design: Design, formula: Formula, blocks: Vec<Block>, standard: bool, truth: Truth<'a>) -> Trial<'a> {
        let mut builder = MemoryBuilder::new(&design);
        blocks.iter().for_each(|block| builder.push(block));
        Trial { rows: builder.finish(), design, formula, blocks, standard, truth }
    }

    pub(super) fn of_outcome(&self, outcome: &Outcome, robust: bool) -> Answer {
        // A coefficient that was left out predicts nothing.
        let theta = outcome.predictor(&self.design).into_iter().map(|one| if one.is_nan() { 0.0 } else { one });
        Answer { theta: theta.collect(), ends: self.ends_of(outcome, robust) }
    }

    /// The intervals that are judged.
    fn ends_of(&self, outcome: &Outcome, robust: bool) -> Vec<Option<(f64, f64)>> {
        // An estimate for another model, without a column, is not judged by this one's
        // coefficients; a robust one only if errors are symmetric.
        let symmetric = matches!(self.truth, Truth::Simulated { .. });
        let judged = outcome.left_out.is_empty() && (symmetric || !(robust || outcome.target == Target::Robust));
        let ends = |one: &dplm::Coefficient| one.precision.filter(|_| judged).map(|found| (found.low, found.high));
        outcome.coefficients.iter().map(ends).collect()
    }

    pub(super) fn least_squares(&self, level: f64) -> Result<Answer, LabError> {
        let found = least_squares_of(&self.rows)?;
        let halves = found.lengths(level).into_iter().map(|length| length / 2.0);
        let ends = found.theta.iter().zip(halves).map(|(theta, half)| Some((theta - half, theta + half)));
        let ends = ends.collect();
        Ok(Answer { theta: found.theta, ends }.in_own_units(&self.design))
    }

    /// The answer of a peer.
    pub(super) fn ask(&self, peer: &peers::Peer, rho: f64, delta: f64, seed: u64) -> Result<Option<Answer>, LabError> {
        let promise = Promise::of(rho, delta).map_err(dplm::privacy::PrivacyError::from).map_err(dplm::Error::from)?;
        let task = Task::of_table(&self.design, &self.blocks, self.standard, promise)?;
        let found = (peer.fit)(&task, &mut ChaCha20Rng::seed_from_u64(seed));
        Ok(found.map(|found| found.in_own_units(&self.design)))
    }

    /// The measures of an answer. Excess is the mean squared error of predictions beyond that of
    /// the truth, in units of the variance of the errors.
    pub(super) fn score(&self, answer: &Answer) -> Measures {
        let (excess, error, truth) = match &self.truth {
            Truth::Simulated { theta, moments } => {
                let off: Vec<f64> = answer.theta.iter().zip(theta).map(|(found, truth)| found - truth).collect();
                let p = off.len();
                let row = |i: usize| (0..p).map(|j| moments[i * p + j] * off[j]).sum::<f64>();
                let excess = (0..p).map(|i| off[i] * row(i)).sum::<f64>();
                (excess, off.iter().map(|d| d * d).sum::<f64>().sqrt(), theta.clone())
            }
            Truth::Real(bench) => {
                let found = bench.to_standard(&answer.theta);
                let error = found.iter().zip(&bench.ols).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                let truth = self.design.contrasts().iter().map(|contrast| contrast.of(&bench.ols)).collect();
                (bench.excess(&found), error, truth)
            }
        };
        let mut measures = of_ends(&answer.ends, &truth);
        measures.extend([measure("excess", excess), measure("error", error)]);
        measures
    }

    /// The measures of one interval, where that is all that was asked for.
    pub(super) fn score_of(&self, outcome: &Outcome, robust: bool, place: usize) -> Measures {
        let truth = match &self.truth {
            Truth::Simulated { theta, .. } => theta[place],
            Truth::Real(bench) => self.design.contrasts()[place].of(&bench.ols),
        };
        of_ends(&self.ends_of(outcome, robust)[place..=place], &[truth])
    }
}

/// How many intervals hold the truth, and how wide they are.
fn of_ends(ends: &[Option<(f64, f64)>], truth: &[f64]) -> Measures {
    let held = ends
        .iter()
        .zip(truth)
        .filter_map(|(ends, truth)| ends.map(|(low, high)| f64::from(u8::from(low <= *truth && *truth <= high))));
    let widths = ends.iter().flatten().map(|(low, high)| high - low).filter(|width| width.is_finite());
    Measures::from([("covered".to_owned(), held.collect()), ("width".to_owned(), widths.collect())])
}

/// The public knowledge of a simulated table.
fn described(kinds: Kinds, p: usize, bound: f64) -> (Design, Formula) {
    let kind = match kinds.standard {
        true => Kind::Standard,
        false => Kind::Bounded { low: -bound, high: bound },
    };
    let known = if kinds.standard { String::new() } else { format!("[-{bound}..{bound}]") };
    let names: Vec<String> = (1..=p).map(|j| format!("x{j}{known}")).collect();
    let formula = Formula::parse(&format!("y{known} ~ {} + 0", names.join(" + "))).expect("a formula");
    let column = |name: String| Column { name, kind: kind.clone() };
    let features = (1..=p).map(|j| column(format!("x{j}"))).collect();
    (Design::new(&Model::of_columns(column("y".to_owned()), features, false)), formula)
}
