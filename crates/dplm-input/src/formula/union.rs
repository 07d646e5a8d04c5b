//! One model with the terms of several.

use super::{Formula, FormulaError, Model, model::Facts};
use crate::schema::Column;

impl Model {
    /// The response of the first model on the terms of all, each once, without offsets.
    ///
    /// # Errors
    /// When two models state different facts about one column, one model's response is another's
    /// predictor, or not all have the same fixed effects.
    pub fn union(models: &[&Model]) -> Result<Model, FormulaError> {
        let mut union = models[0].clone();
        union.offsets = Vec::new();
        let mut columns: Vec<Column> = union.columns();
        for model in &models[1..] {
            for column in model.columns.iter() {
                match columns.iter().find(|one| one.name == column.name) {
                    Some(known) if known.kind != column.kind => {
                        return Err(FormulaError::TwoFacts { column: column.name.clone() });
                    }
                    Some(_) => {}
                    None => columns.push(column.clone()),
                }
            }
            for term in &model.terms {
                if !union.terms.iter().any(|one| one.key() == term.key()) {
                    union.terms.push(term.clone());
                }
            }
            union.intercept |= model.intercept;
            if union.instrument.is_some() || model.instrument.is_some() {
                return Err(FormulaError::InstrumentInStudy);
            }
            if union.within != model.within {
                return Err(FormulaError::FixedEffectsDiffer);
            }
        }
        union.columns = Facts::of(columns);
        union.put_in_order();
        union.check()?;
        Ok(union)
    }
}

impl Formula {
    /// As [`Model::union`], for formulas whose columns are all named.
    ///
    /// # Errors
    /// As [`Model::union`].
    pub fn union(formulas: &[&Formula]) -> Result<Formula, FormulaError> {
        let models: Vec<&Model> = formulas.iter().map(|formula| formula.model.as_ref()).collect();
        Ok(Formula { model: Box::new(Model::union(&models)?), dot: None, except: Vec::new() })
    }
}
