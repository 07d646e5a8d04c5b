//! Arrow files (also called Feather), Arrow streams, and tables in memory; also Arrow arrays as
//! cells, to which Parquet files are decoded as well.

mod cells;
mod messages;
mod file;
mod memory;
mod sound;
mod stream;

use arrow_schema::{DataType, Fields};

pub use self::stream::read_stream;
pub(super) use self::{
    file::{is_arrow, open},
    memory::from_batches,
};
use super::{Field, Schema, Type};

/// What messages call it.
const FORMAT: &str = "Arrow";

/// The columns that a file or a table in memory declares.
pub(super) fn schema_of(fields: &Fields) -> Schema {
    Schema::new(fields.iter().map(|field| Field::new(field.name(), type_of(field.data_type()))).collect())
}

fn type_of(data_type: &DataType) -> Type {
    match data_type {
        // Null, or a type per row.
        DataType::Null | DataType::Union(..) => Type::Undeclared,
        DataType::Boolean => Type::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::Text,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Type::Date,
        DataType::Dictionary(_, values) => type_of(values),
        DataType::Decimal32(_, 0)
        | DataType::Decimal64(_, 0)
        | DataType::Decimal128(_, 0)
        | DataType::Decimal256(_, 0) => Type::Integer,
        integer if integer.is_integer() => Type::Integer,
        number if number.is_numeric() => Type::Number,
        _ => Type::Unsupported,
    }
}

#[cfg(all(test, feature = "csv", feature = "parquet"))]
mod tests;
