//! Tables that other libraries export through Arrow's C stream interface.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::{
    Array, ArrayReader, ArrayRef, RecordBatch, RecordBatchOptions,
    cast::AsArray,
    ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream},
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::sound::sound;

/// The table of a stream, its buffers shared; `None` if it cannot be read. Any column may have
/// missing cells, whatever the exporter declares.
///
/// # Guarantee
/// Every cell of the result can be read, whatever the exporter hands over. The exporter's messages
/// are not passed on, since they may hold cells.
pub fn read_stream(stream: FFI_ArrowArrayStream) -> Option<(SchemaRef, Vec<RecordBatch>)> {
    // The import panics on some invalid streams.
    catch_unwind(AssertUnwindSafe(|| table(stream))).ok().flatten()
}

fn table(stream: FFI_ArrowArrayStream) -> Option<(SchemaRef, Vec<RecordBatch>)> {
    let reader = ArrayStreamReader::try_new(stream).ok()?;
    let DataType::Struct(fields) = reader.field().data_type() else { return None };
    let nullable = |field: &Field| field.clone().with_nullable(true);
    let schema = SchemaRef::new(Schema::new(fields.iter().map(|field| nullable(field)).collect::<Vec<_>>()));
    let batches = reader.map(|rows| batch(&schema, &rows.ok()?)).collect::<Option<_>>()?;
    Some((schema, batches))
}

fn batch(schema: &SchemaRef, rows: &ArrayRef) -> Option<RecordBatch> {
    let columns = rows.as_struct_opt()?.columns().iter().map(sound).collect::<Option<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).ok()
}
