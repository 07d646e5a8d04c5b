//! What follows `|`: whose own means are taken out of every column.

use super::{FormulaError, Kind, Model, Variable, term::Term};

impl Model {
    /// The column of the persons who each have a constant of their own, which is taken out;
    /// `None` if there is one constant for all, or there is no constant.
    pub fn within(&self) -> Option<&str> {
        self.within.first().map(String::as_str)
    }

    /// Whether adding a constant to a column changes nothing but a constant: that of all,
    /// or those of persons.
    pub fn spans_constant(&self) -> bool {
        self.intercept
    }

    /// Makes terms of the categories after `|`, whose levels are few and public, and leaves the
    /// column of persons.
    pub(super) fn settle_within(&mut self) -> Result<(), FormulaError> {
        for name in std::mem::take(&mut self.within) {
            match self.columns.kind(&name) {
                Kind::Levels(_) => {
                    let term = Term(vec![Variable::column(&name)]);
                    if self.terms.iter().all(|one| one.key() != term.key()) {
                        self.terms.insert(self.controls().len(), term);
                    }
                }
                Kind::Standard if self.within.is_empty() => self.within.push(name),
                Kind::Standard => return Err(FormulaError::TwoFixedEffects { columns: [self.within.remove(0), name] }),
                Kind::Bounded { .. } | Kind::Dates { .. } => {
                    return Err(FormulaError::FixedEffectOfNumber { column: name });
                }
            }
        }
        self.intercept |= !self.within.is_empty();
        match self.within().filter(|name| self.predictors().contains(name) || self.response.columns().contains(name)) {
            Some(name) => Err(FormulaError::PersonInModel { column: name.to_owned() }),
            None => Ok(()),
        }
    }
}
