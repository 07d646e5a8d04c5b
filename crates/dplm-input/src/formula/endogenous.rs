//! A model with instruments: its rules, and the columns whose second moments are needed.

use std::collections::HashSet;

use super::{FormulaError, Instrument, Model, Variable, instrument::name, term::Term};

/// What columns are called in [`with_moments`](Model::with_moments).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MomentNames {
    /// The instruments.
    pub instruments: Vec<String>,
    /// The regressor that they are for.
    pub regressor: String,
    /// The response.
    pub response: String,
}

/// The most columns of instruments.
const MOST_INSTRUMENTS: usize = 10;

impl Model {
    /// The regressor that instruments are for, as R prints it.
    pub fn endogenous(&self) -> Option<String> {
        self.instrument.as_ref().map(|one| name(&one.of))
    }

    /// The instruments, as R prints them.
    pub fn instruments(&self) -> Vec<String> {
        self.instrument.iter().flat_map(|one| one.by.iter().map(name)).collect()
    }

    /// What the instruments, the regressor and the response are called where all are terms.
    pub fn moment_names(&self) -> Option<MomentNames> {
        let Instrument { of, by } = self.instrument.as_ref()?;
        Some(MomentNames {
            instruments: by.iter().flat_map(|one| self.columns_of(one)).collect(),
            regressor: name(of),
            response: name(&Variable::Value(self.fitted())),
        })
    }

    /// The columns of an instrument: one for each level of a category but the first.
    fn columns_of(&self, by: &Variable) -> Vec<String> {
        match self.levels(by) {
            Some(levels) => levels[1..].iter().map(|level| format!("{}[{level}]", name(by))).collect(),
            None => vec![name(by)],
        }
    }

    /// Whether a column is read for the instruments.
    pub fn is_instrument(&self, column: &str) -> bool {
        self.instrument.iter().flat_map(|one| &one.by).any(|by| by.columns().contains(&column))
    }

    /// The terms that are not after a `|`.
    pub(super) fn controls(&self) -> &[Term] {
        &self.terms[..self.terms.len() - usize::from(self.instrument.is_some())]
    }

    /// The model in which the instruments and the response are terms too, for their second moments
    /// with all others; `None` if there is no instrument.
    pub fn with_moments(&self) -> Option<Model> {
        let Instrument { of, by } = self.instrument.as_ref()?;
        let new = by.iter().cloned().chain([of.clone(), Variable::Value(self.fitted())]);
        let terms = self.controls().iter().cloned().chain(new.map(|one| Term(vec![one]))).collect();
        Some(Model { terms, offsets: Vec::new(), instrument: None, ..self.clone() })
    }

    pub(super) fn check_instrument(&self) -> Result<(), FormulaError> {
        let Some(Instrument { of, by }) = &self.instrument else { return Ok(()) };
        for one in std::iter::once(of).chain(by) {
            self.check_variable(one)?;
        }
        if !is_value(of) || self.levels(of).is_some() {
            return Err(FormulaError::Endogenous { term: of.to_string() });
        }
        if self.controls().iter().any(|term| term.0 == [of.clone()]) {
            return Err(FormulaError::EndogenousTwice { term: of.to_string() });
        }
        let others = self.controls().iter().flat_map(|term| &term.0).chain([of]).flat_map(Variable::columns);
        let others: HashSet<&str> = others.chain(self.response.columns()).collect();
        for (place, one) in by.iter().enumerate() {
            // Without a constant the levels of a category are not those but one.
            if !is_value(one) || !self.spans_constant() && self.levels(one).is_some() {
                return Err(FormulaError::InstrumentOfNothing { term: one.to_string() });
            }
            if by[..place].contains(one) || one.columns().iter().any(|column| others.contains(column)) {
                return Err(FormulaError::InstrumentInModel { term: one.to_string() });
            }
        }
        let columns = by.iter().map(|one| self.columns_of(one).len()).sum();
        if columns > MOST_INSTRUMENTS {
            return Err(FormulaError::TooManyInstruments { columns, most: MOST_INSTRUMENTS });
        }
        Ok(())
    }
}

fn is_value(variable: &Variable) -> bool {
    matches!(variable, Variable::Value(_))
}
