//! Tables that are already in memory as Arrow record batches.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{
    DataError, Schema,
    parquet::share,
    schema::schema_of,
    source::{BlockSink, Convert, Decoded},
};

/// Record batches of one schema; their buffers are shared with whoever made them, never copied.
pub(super) struct Batches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Batches {
    /// Batches that all have the columns of `schema`; `None` where one has others.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Option<Self> {
        let alike = |batch: &RecordBatch| same_columns(&batch.schema(), &schema);
        batches.iter().all(alike).then_some(Self { schema, batches })
    }

    pub fn schema(&self) -> Schema {
        schema_of(self.schema.fields())
    }

    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// The columns `indices`, at most `rows` rows at a time; what is done is counted in parts of `length`.
    pub fn for_each_block(
        &self,
        length: u64,
        indices: &[usize],
        rows: usize,
        convert: &Convert<'_>,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), DataError> {
        let (total, mut done) = (self.rows(), 0);
        for batch in &self.batches {
            let batch = batch.project(indices).expect("a position for each column of the schema");
            for start in (0..batch.num_rows()).step_by(rows) {
                let part = batch.slice(start, rows.min(batch.num_rows() - start));
                done += part.num_rows() as u64;
                sink(convert(Decoded::from(part))?, share(length, done, total))?;
            }
        }
        Ok(())
    }
}

/// Whether names and types agree; whether a column may hold nulls is no difference.
fn same_columns(one: &SchemaRef, other: &SchemaRef) -> bool {
    let facts = |schema: &SchemaRef| -> Vec<_> {
        schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    };
    facts(one) == facts(other)
}
