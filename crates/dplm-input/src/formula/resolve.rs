//! A formula against the columns of a table.

use std::collections::HashSet;

use super::{Column, Formula, FormulaError, Kind, Model, Variable, model::Facts, term::Term};
use crate::schema::{Schema, SchemaError, Type};

impl Formula {
    /// Checks the formula against a table's columns and expands `.`: every other numeric column, in
    /// file order, as [`Kind::Standard`].
    ///
    /// # Errors
    /// Refuses a column that the table does not have (suggesting the closest name), a number read
    /// from a column declared as text or dates, and a `.` in a table that does not declare types.
    ///
    /// # Examples
    /// ```
    /// use dplm::{formula::Formula, table::{Field, Schema, Type}};
    /// let schema = Schema::new(["y", "a", "b"].map(|name| Field::new(name, Type::Number)).into());
    /// let model = Formula::parse("y ~ . - a")?.resolve(&schema)?;
    /// assert_eq!(model.coefficient_names(), ["(Intercept)", "b"]);
    /// # Ok::<(), dplm::Error>(())
    /// ```
    pub fn resolve(&self, schema: &Schema) -> Result<Model, SchemaError> {
        let mut model = Model::clone(&self.model);
        schema.check_all(&model.columns())?;
        schema.check_present(&self.except)?;
        if let Some(place) = self.dot {
            let others = self.others(schema)?;
            let terms = others.iter().map(|column| Term(vec![Variable::column(&column.name)]));
            model.terms.splice(place..place, terms.collect::<Vec<_>>());
            model.columns = Facts::of(model.columns.iter().cloned().chain(others).collect());
            model.put_in_order();
        }
        Ok(model)
    }

    /// The model of a formula without `.`, for which no table is needed.
    ///
    /// # Errors
    /// When it holds `.`.
    pub fn into_model(self) -> Result<Model, FormulaError> {
        if self.uses_dot() { Err(FormulaError::OpenDot) } else { Ok(*self.model) }
    }

    /// What `.` stands for in this table.
    fn others(&self, schema: &Schema) -> Result<Vec<Column>, SchemaError> {
        let named: HashSet<&str> =
            self.model.columns.iter().map(|column| &column.name).chain(&self.except).map(String::as_str).collect();
        let mut columns = Vec::new();
        for field in schema.fields().iter().filter(|field| !named.contains(field.name.as_str())) {
            match field.kind {
                Type::Number | Type::Integer => columns.push(Column { name: field.name.clone(), kind: Kind::Standard }),
                Type::Undeclared => return Err(schema.undeclared(field)),
                Type::Boolean | Type::Text | Type::Date | Type::Unsupported => {}
            }
        }
        if columns.is_empty() { Err(SchemaError::NothingForDot) } else { Ok(columns) }
    }
}
