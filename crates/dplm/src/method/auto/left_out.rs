//! Columns that the budget cannot resolve, and what released numbers show of why.

use faer::Mat;

use super::whiten::RESOLVED;
use crate::{
    interval::{Curvature, Floor, Pivot, Resolved, resolve},
    lattice::{Design, Slot},
    matrix::columns,
    warning::{Cause, LeftOut},
};

/// At most this many columns are named as making up another.
const NAMED: usize = 3;
/// A column is named when leaving it out would leave at least this share of the variance that the
/// others explain unexplained.
const NOTABLE: f64 = 0.05;

/// The columns that are not kept, in formula order.
pub(super) fn left_out(
    resolved: &Resolved,
    law: &Curvature,
    basis: &Mat<f64>,
    floor: &Floor,
    design: &Design,
) -> Vec<LeftOut> {
    let names = design.names();
    let missing = (0..resolved.pivots.len()).filter(|j| !resolved.kept.contains(j));
    let why = |j: usize| {
        let needs = floor.needs[j].iter().filter(|k| !resolved.kept.contains(k));
        let of: Vec<String> = needs.map(|&k| names[k].clone()).collect();
        match of.is_empty() {
            true => cause(j, &resolved.kept, law, basis, floor.least[j], design),
            false => Cause::Margin { of },
        }
    };
    missing.map(|j| LeftOut { name: names[j].clone(), cause: why(j) }).collect()
}

fn cause(j: usize, kept: &[usize], law: &Curvature, basis: &Mat<f64>, least: f64, design: &Design) -> Cause {
    let intercept = matches!(design.slots().first(), Some(Slot::Intercept));
    let alone: Vec<usize> = intercept.then_some(0).into_iter().chain([j]).collect();
    let found = resolve(law, &columns(basis, &alone), &Floor::none(alone.len()), f64::NEG_INFINITY);
    let own = found.pivots.last().expect("a column has a pivot");
    if own.strength < RESOLVED || law.quadratic(basis.col_as_slice(j)) <= least {
        return match design.slots()[j].is_level() {
            _ if design.is_within() => Cause::Within,
            true if is_nothing(law, basis.col_as_slice(j)) => Cause::UnseenLevel,
            true => Cause::RareLevel,
            false => Cause::LittleSpread,
        };
    }
    let alike = most_alike(j, kept, law, basis, intercept);
    match alike.is_empty() {
        true => Cause::Weak,
        false => Cause::Combination { of: alike.iter().map(|&k| design.names()[k].clone()).collect() },
    }
}

/// Whether the second moment of a column cannot be told from 0: for a level that is the share of
/// rows that have it.
fn is_nothing(law: &Curvature, column: &[f64]) -> bool {
    law.quadratic(column) <= RESOLVED * law.covariance_form(column, column, column).sqrt()
}

/// The kept columns without which the most would be new in column `j`, as far as that is clear of
/// noise.
fn most_alike(j: usize, kept: &[usize], law: &Curvature, basis: &Mat<f64>, intercept: bool) -> Vec<usize> {
    let new_without = |left: Option<usize>| {
        let others: Vec<usize> = kept.iter().copied().filter(|&k| k < j && Some(k) != left).chain([j]).collect();
        let none = Floor::none(others.len());
        let found = resolve(law, &columns(basis, &others), &none, f64::NEG_INFINITY);
        *found.pivots.last().expect("a column has a pivot")
    };
    let (all, own) = (new_without(None).value, law.quadratic(basis.col_as_slice(j)));
    let candidates = kept.iter().copied().filter(|&k| k < j && !(intercept && k == 0));
    let gain = |k: usize| (k, new_without(Some(k)));
    let mut gains: Vec<(usize, Pivot)> = candidates.map(gain).collect();
    gains.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    let is_clear = |new: &Pivot| new.value - all > (NOTABLE * own).max(RESOLVED * new.sd);
    gains.iter().take(NAMED).filter(|(_, new)| is_clear(new)).map(|(k, _)| *k).collect()
}
