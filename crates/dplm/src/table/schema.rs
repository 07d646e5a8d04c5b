//! The columns that Arrow and Parquet files declare.

use arrow_schema::{DataType, Fields};

use crate::schema::{Field, Schema, Type};

/// The names and types of Arrow fields.
pub(super) fn schema_of(fields: &Fields) -> Schema {
    Schema::new(fields.iter().map(|field| Field::new(field.name(), type_of(field.data_type()))).collect())
}

fn type_of(data_type: &DataType) -> Type {
    match data_type {
        // Nothing, or a cell of any type in each row.
        DataType::Null | DataType::Union(..) => Type::Undeclared,
        DataType::Boolean => Type::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::Text,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Type::Date,
        DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_) | DataType::Interval(_) => Type::Date,
        DataType::Dictionary(_, values) => type_of(values),
        number if number.is_numeric() => Type::Number,
        _ => Type::Unsupported,
    }
}
