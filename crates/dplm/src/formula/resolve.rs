//! A formula against the columns of a table.

use super::{Column, Formula, Kind, Model, Term};
use crate::table::{DataError, Field, Schema, Type};

impl Formula {
    /// Checks the formula against a table's columns and writes `.` out: every other numeric column, in file order,
    /// as [`Kind::Standard`].
    ///
    /// # Errors
    /// Refuses a column that the table does not have (suggesting the closest name), a number asked of a column
    /// declared as text, levels asked of a column of fractional numbers, dates, and a `.` that cannot be told.
    ///
    /// # Examples
    /// ```
    /// use dplm::{formula::Formula, table::{Field, Schema, Type}};
    /// let schema = Schema::new(["y", "a", "b"].map(|name| Field::declared(name, Type::Number)).into());
    /// let model = Formula::parse("y ~ . - a")?.resolve(&schema)?;
    /// assert_eq!(model.coefficient_names(), ["(Intercept)", "b"]);
    /// # Ok::<(), dplm::Error>(())
    /// ```
    pub fn resolve(&self, schema: &Schema) -> Result<Model, DataError> {
        let written = std::iter::once(&self.response).chain(self.named_columns());
        for column in written {
            schema.check(column)?;
        }
        for name in &self.except {
            schema.find(name)?;
        }
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
    fn others(&self, schema: &Schema) -> Result<Vec<Column>, DataError> {
        let mut columns = Vec::new();
        for field in schema.fields().iter().filter(|field| !self.mentions(field)) {
            match field.kind {
                Type::Number => columns.push(Column { name: field.name.clone(), kind: Kind::Standard }),
                Type::Unknown => return Err(DataError::UnclearType { column: field.name.clone() }),
                Type::Boolean | Type::Text | Type::Date | Type::Unsupported => {}
            }
        }
        if columns.is_empty() { Err(DataError::NothingForDot) } else { Ok(columns) }
    }

    fn mentions(&self, field: &Field) -> bool {
        field.name == self.response.name
            || self.except.contains(&field.name)
            || self.named_columns().any(|column| column.name == field.name)
    }
}
