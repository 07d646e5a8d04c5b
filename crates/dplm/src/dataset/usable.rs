//! How many rows a fit can use: its first release. Where they are hardly any the fit stops, and
//! says which column it is.

use super::{Charge, Receipt};
use crate::{
    Bounded, Error, Statement, Warning,
    formula::{Column, Kind},
    interval::normal_quantile,
    lattice::Design,
    number::grouped,
    plan::{
        USABLE,
        usable::{Usable, price},
    },
    privacy::{Budget, Neighbours, Release, Rho, Spend, Unit, noise::NoiseRng, release},
    rows::{self, CellCounts, Encoded},
};

/// The rows of a table, or of all groups, and what is publicly known of them.
pub(crate) struct Counted<'a> {
    /// All rows, in one part or by group.
    pub rows: Vec<&'a Encoded>,
    /// How many units there are.
    pub units: u64,
    /// What they are.
    pub unit: Unit,
    /// What their columns hold.
    pub design: &'a Design,
    /// What groups are by.
    pub by: Option<Column>,
    /// The cells of each column that can be used; `None` if they were read on other machines.
    pub cells: Option<&'a CellCounts>,
    /// The relation that is promised.
    pub neighbours: Neighbours,
}

/// What a fit pays for as it goes: the whole, and the count that is made first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stages {
    /// The budget of the fit.
    pub whole: Rho,
    /// What the count of usable rows is made with, if it is made.
    pub count: Option<Rho>,
}

/// What was paid for before a fit, and found.
pub(crate) struct Paid {
    /// The number of units that can be used.
    pub used: Option<Usable>,
    /// The release of that number.
    pub count: Option<Release>,
    /// The account with the last charge in it.
    pub statement: Option<Statement>,
}

impl Stages {
    /// What is left for everything after the count.
    pub fn rest(self) -> Rho {
        self.count.map_or(self.whole, |count| self.whole.checked_sub(count).expect("a part is less"))
    }
}

/// Asks for the payment of what is drawn next.
pub(crate) type Pay<'a, E> = dyn FnMut(Charge) -> Result<Receipt, E> + 'a;

impl Counted<'_> {
    /// Counts the rows that can be used, each release paid for before it is drawn, and goes on to
    /// the charge of the rest unless there are hardly any.
    ///
    /// # Errors
    /// What `pay` refuses, and what the rows are found to lack: then only the count and the
    /// question why are paid for.
    pub fn pay_in_stages<E: From<Error>>(
        &self,
        stages: Stages,
        whole: &Charge,
        rng: &mut NoiseRng,
        pay: &mut Pay<'_, E>,
    ) -> Result<Paid, E> {
        let mut counted = None;
        if let Some(rho) = stages.count {
            paid(whole.part("usable rows of", rho), pay)?;
            let (used, release) = self.count(rho, rng)?;
            if self.stops(used) {
                return Err(Error::from(self.why(used, stages, whole, rng, pay)?).into());
            }
            counted = Some((used, release));
        }
        let rest = Charge { rho: stages.rest(), ..whole.clone() };
        let (used, count) = counted.unzip();
        Ok(Paid { used, count, statement: paid(rest, pay)? })
    }

    fn count(&self, rho: Rho, rng: &mut NoiseRng) -> Result<(Usable, Release), Error> {
        let query = rows::usable_units(self.rows.iter().copied(), self.neighbours)?;
        let mut budget = Budget::new(rho);
        let noisy = release(query, budget.spend_rest(USABLE)?, rng)?;
        let used = Usable { count: noisy.values[0] as f64, sd: noisy.sigma[0] as f64, of: self.units };
        Ok((used, budget.releases().remove(0)))
    }

    /// Whether so few rows can be used that what was asked must be wrong. Without a constant, or
    /// with weights, rows without a missing cell may be zeros too: then it takes a count that
    /// cannot be told from none.
    fn stops(&self, count: Usable) -> bool {
        count.is_few() && (self.shows_every_row() || count.is_nothing())
    }

    fn shows_every_row(&self) -> bool {
        self.design.has_intercept() && self.design.weights().is_none()
    }

    /// Asks how many cells of each column can be used. Only now that the fit stops: a count for
    /// every column costs several times what one of rows does, and an ordinary fit has no use for
    /// it.
    fn why<E: From<Error>>(
        &self,
        count: Usable,
        stages: Stages,
        whole: &Charge,
        rng: &mut NoiseRng,
        pay: &mut Pay<'_, E>,
    ) -> Result<UnusableError, E> {
        let spent = stages.count.map_or(0, Rho::units);
        let asked = self.cells.and_then(|cells| {
            let rho = price(self.units, cells.moved_sq(self.neighbours), stages.whole)?;
            Some((cells, rho))
        });
        let (found, more) = match asked {
            None => (None, 0),
            Some((cells, rho)) => {
                paid(whole.part("usable cells of the columns of", rho), pay)?;
                (Some(self.found(cells, rho, rng)?), rho.units())
            }
        };
        let spent = Rho::from_units(spent + more).expect("parts of the budget");
        let (used, units, unit) = (count.at(0.95).estimate, self.units, self.unit);
        Ok(UnusableError { used: used as u64, units, unit, why: self.in_words(found), spent })
    }

    /// What is wrong with each column, for those of which hardly any cell can be used.
    fn found(&self, cells: &CellCounts, rho: Rho, rng: &mut NoiseRng) -> Result<Vec<String>, Error> {
        let noisy = release(cells.claimed(self.neighbours), whole_of(rho)?, rng)?;
        let counts = noisy.values.iter().zip(&noisy.sigma);
        let mut counts = counts.map(|(&count, &sd)| Usable { count: count as f64, sd: sd as f64, of: self.units });
        let mut found = Vec::new();
        for column in self.columns() {
            let levels = levels_counted(column, self.unit);
            let own: Vec<Usable> = counts.by_ref().take(levels.map_or(1, <[String]>::len)).collect();
            found.extend(lacking(column, &own));
        }
        Ok(found)
    }

    fn columns(&self) -> impl Iterator<Item = &Column> {
        self.design.columns().iter().chain(&self.by)
    }

    fn in_words(&self, found: Option<Vec<String>>) -> String {
        let zeros = match () {
            () if self.shows_every_row() => "",
            () if self.design.is_within() => ", or most persons have one row, or nothing that varies over their rows",
            () => ", or weights or all terms are 0 in most rows",
        };
        match found {
            None => format!(
                "check that columns of numbers hold plain numbers and that levels are spelt as in the data{zeros}"
            ),
            Some(columns) if columns.is_empty() => format!(
                "missing cells are spread over the columns{zeros}, so that leaving out those with the most of them helps"
            ),
            Some(columns) => format!("{}; correct the formula or the table", columns.join(", and ")),
        }
    }
}

/// The levels of a column that are counted one by one: those of persons are not, who may have
/// several.
fn levels_counted(column: &Column, unit: Unit) -> Option<&[String]> {
    match (&column.kind, unit) {
        (Kind::Levels(levels), Unit::Row) => Some(levels),
        _ => None,
    }
}

/// What is wrong with a column, if hardly any of its cells can be used. Counts are of its levels,
/// or of all cells.
fn lacking(column: &Column, counts: &[Usable]) -> Option<String> {
    let all = Usable {
        count: counts.iter().map(|one| one.count).sum(),
        sd: counts.iter().map(|one| one.sd.powi(2)).sum::<f64>().sqrt(),
        of: counts[0].of,
    };
    if !all.is_few() {
        return None;
    }
    let name = &column.name;
    let amount = if all.is_nothing() { "no" } else { "hardly any" };
    Some(match &column.kind {
        Kind::Levels(levels) if all.is_nothing() => {
            format!("the column '{name}' holds none of its declared levels {}", levels.join(", "))
        }
        Kind::Levels(levels) => {
            let unseen = levels.iter().zip(counts).filter(|(_, count)| counts.len() > 1 && count.is_nothing());
            let unseen: Vec<String> = unseen.map(|(level, _)| format!("'{level}'")).collect();
            let hardly = format!("the column '{name}' holds hardly any of its declared levels {}", levels.join(", "));
            match unseen.is_empty() {
                true => hardly,
                false => {
                    format!("{hardly} (no row has the level {} that can be told from noise)", unseen.join(" or "))
                }
            }
        }
        Kind::Dates { .. } => format!("the column '{name}' holds {amount} dates such as 2020-12-31"),
        Kind::Standard | Kind::Bounded { .. } => format!(
            "the column '{name}' holds {amount} plain numbers, as text, yes/no and thousands separators count as missing"
        ),
    })
}

/// The whole of a part of the budget, for one release.
fn whole_of(rho: Rho) -> Result<Spend, Error> {
    Ok(Budget::new(rho).spend_rest("a first release")?)
}

/// Pays for a charge, and checks that it was this one.
fn paid<E: From<Error>>(charge: Charge, pay: &mut Pay<'_, E>) -> Result<Option<Statement>, E> {
    let receipt = pay(charge.clone())?;
    Ok(receipt.statement_of(&charge).map_err(Error::from)?)
}

impl Usable {
    /// The count and the ends of its interval, within what is possible.
    pub(crate) fn at(self, level: f64) -> Bounded {
        let half = normal_quantile(level) * self.sd;
        let clamped = |count: f64| count.clamp(0.0, self.of as f64);
        Bounded {
            estimate: clamped(self.count),
            low: clamped((self.count - half).floor()),
            high: clamped((self.count + half).ceil()),
        }
    }

    /// That less than half of the units are used, where that is sure at the level.
    pub(crate) fn warning(self, level: f64, unit: Unit, within: bool) -> Option<Warning> {
        let Bounded { estimate, high, .. } = self.at(level);
        let warning = Warning::FewRowsUsed { used: estimate as u64, most: high as u64, of: self.of, unit, within };
        (2.0 * high < self.of as f64).then_some(warning)
    }
}

/// Hardly any row can be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "about {} of {} {} can be used: {why}",
    grouped(*used), grouped(*units), unit.plural()
)]
#[non_exhaustive]
pub struct UnusableError {
    /// How many can be, as that was released.
    pub used: u64,
    /// How many there are.
    pub units: u64,
    /// What they are.
    pub unit: Unit,
    /// What is wrong, and what to do.
    pub why: String,
    /// What was charged to find that out; each interface says it in its own words.
    pub spent: Rho,
}
