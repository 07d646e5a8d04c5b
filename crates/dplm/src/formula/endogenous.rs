//! A model with an instrument: its rules, and the columns whose second moments are needed.

use std::collections::HashSet;

use super::{FormulaError, Instrument, Model, Variable, instrument::name, term::Term};

impl Model {
    /// The regressor that an instrument is for, as R prints it.
    pub fn endogenous(&self) -> Option<String> {
        self.instrument.as_ref().map(|one| name(&one.of))
    }

    /// The instrument, as R prints it.
    pub fn instrument(&self) -> Option<String> {
        self.instrument.as_ref().map(|one| name(&one.by))
    }

    /// What the instrument, the regressor and the response are called in
    /// [`with_moments`](Self::with_moments).
    pub(crate) fn moment_names(&self) -> Option<[String; 3]> {
        let Instrument { of, by } = self.instrument.as_ref()?;
        let instrument = match self.levels(by) {
            Some(levels) => format!("{}[{}]", name(by), levels[1]),
            None => name(by),
        };
        Some([instrument, name(of), name(&Variable::Value(self.fitted()))])
    }

    /// Whether a column is read for the instrument.
    pub(crate) fn is_instrument(&self, column: &str) -> bool {
        self.instrument.as_ref().is_some_and(|one| one.by.columns().contains(&column))
    }

    /// The terms that are not after a `|`.
    pub(super) fn controls(&self) -> &[Term] {
        &self.terms[..self.terms.len() - usize::from(self.instrument.is_some())]
    }

    /// The model in which the instrument and the response are terms too, for their second moments
    /// with all others; `None` if there is no instrument.
    pub(crate) fn with_moments(&self) -> Option<Model> {
        let Instrument { of, by } = self.instrument.as_ref()?;
        let terms = [by.clone(), of.clone(), Variable::Value(self.fitted())];
        let terms = self.controls().iter().cloned().chain(terms.map(|one| Term(vec![one]))).collect();
        Some(Model { terms, offsets: Vec::new(), instrument: None, ..self.clone() })
    }

    pub(super) fn check_instrument(&self) -> Result<(), FormulaError> {
        let Some(Instrument { of, by }) = &self.instrument else { return Ok(()) };
        for one in [of, by] {
            self.check_variable(one)?;
        }
        let is_number = |one: &Variable| matches!(one, Variable::Value(_)) && self.levels(one).is_none();
        let is_binary = self.spans_constant() && self.levels(by).is_some_and(|levels| levels.len() == 2);
        if !is_number(of) {
            return Err(FormulaError::Endogenous { term: of.to_string() });
        }
        if !is_number(by) && !is_binary {
            return Err(FormulaError::InstrumentOfSeveral { term: by.to_string() });
        }
        let others = self.controls().iter().flat_map(|term| &term.0).chain([of]).flat_map(Variable::columns);
        let others: HashSet<&str> = others.chain(self.response.columns()).collect();
        if by.columns().iter().any(|column| others.contains(column)) {
            return Err(FormulaError::InstrumentInModel { term: by.to_string() });
        }
        match self.controls().iter().any(|term| term.0 == [of.clone()]) {
            true => Err(FormulaError::EndogenousTwice { term: of.to_string() }),
            false => Ok(()),
        }
    }
}
