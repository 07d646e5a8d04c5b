//! Tables that are already in memory as Arrow record batches.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{FORMAT, schema_of};
use crate::table::{
    DataError,
    bytes::Bytes,
    format::{BlockSink, DataFile, Format, Pieces, share},
    projection::Projection,
};

/// Record batches of one schema; their buffers are shared with their producer, never copied.
struct Batches(Vec<RecordBatch>);

/// A table of batches that all have the columns of `schema`; messages call it `name`.
pub fn from_batches(schema: SchemaRef, batches: Vec<RecordBatch>, name: &str) -> Result<DataFile, DataError> {
    if !batches.iter().all(|batch| same_columns(&batch.schema(), &schema)) {
        return Err(DataError::Corrupt { file: name.to_owned(), format: FORMAT });
    }
    let batches = Batches(batches);
    DataFile::new(Bytes::in_memory(name, batches.rows()), schema_of(schema.fields()), batches)
}

impl Batches {
    fn rows(&self) -> u64 {
        self.0.iter().map(|batch| batch.num_rows() as u64).sum()
    }
}

impl Format for Batches {
    fn has_rows(&self, _: &Bytes) -> Result<bool, DataError> {
        Ok(self.rows() > 0)
    }

    fn for_each_block(
        &self,
        bytes: &Bytes,
        projection: &Projection<'_>,
        pieces: Pieces,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), DataError> {
        let (total, mut done) = (self.rows(), 0);
        for batch in &self.0 {
            let batch = batch.project(projection.indices()).expect("a position for each column of the schema");
            for start in (0..batch.num_rows()).step_by(pieces.rows) {
                let part = batch.slice(start, pieces.rows.min(batch.num_rows() - start));
                done += part.num_rows() as u64;
                sink(projection.batch(part)?, share(bytes.length, done, total))?;
            }
        }
        Ok(())
    }
}

/// Whether names and types agree; nullability may differ.
fn same_columns(one: &SchemaRef, other: &SchemaRef) -> bool {
    let facts = |schema: &SchemaRef| -> Vec<_> {
        schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    };
    facts(one) == facts(other)
}
