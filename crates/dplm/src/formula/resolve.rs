//! A formula against the columns of a table.

use super::{Column, Formula, Kind, Model, Term};
use crate::schema::{Field, Schema, SchemaError, Type};

impl Formula {
    /// Checks the formula against a table's columns and writes `.` out: every other numeric column, in file order,
    /// as [`Kind::Standard`].
    ///
    /// # Errors
    /// Refuses a column that the table does not have (suggesting the closest name), a number asked of a column
    /// declared as text, dates, and a `.` in a table that does not declare types.
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
        let written: Vec<Column> = std::iter::once(&self.response).chain(self.named_columns()).cloned().collect();
        schema.check_all(&written)?;
        schema.check_present(&self.except)?;
        let mut features = Vec::new();
        for term in &self.terms {
            match term {
                Term::Column(column) => features.push(column.clone()),
                Term::Others => features.extend(self.others(schema)?),
            }
        }
        Ok(Model { response: self.response.clone(), features, intercept: self.intercept })
    }

    /// What `.` stands for in this table.
    fn others(&self, schema: &Schema) -> Result<Vec<Column>, SchemaError> {
        let mut columns = Vec::new();
        for field in schema.fields().iter().filter(|field| !self.mentions(field)) {
            match field.kind {
                Type::Number => columns.push(Column { name: field.name.clone(), kind: Kind::Standard }),
                Type::Undeclared => return Err(schema.undeclared(field)),
                Type::Boolean | Type::Text | Type::Date | Type::Unsupported => {}
            }
        }
        if columns.is_empty() { Err(SchemaError::NothingForDot) } else { Ok(columns) }
    }

    fn mentions(&self, field: &Field) -> bool {
        field.name == self.response.name
            || self.except.contains(&field.name)
            || self.named_columns().any(|column| column.name == field.name)
    }
}
