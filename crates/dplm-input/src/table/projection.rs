//! Which columns of a file are decoded, and how each becomes cells.

use super::{DataError, Schema, SchemaError, cells::Extractor};
use crate::schema::Column;

/// The columns of a file to decode, with the extractor of each.
pub(super) struct Projection<'a> {
    /// Positions in the file, in increasing order.
    indices: Vec<usize>,
    /// For each wanted column, its position among `indices`.
    slots: Vec<usize>,
    extractors: &'a [Extractor],
}

impl<'a> Projection<'a> {
    /// For these columns of a file, each read by its extractor.
    pub fn new(schema: &Schema, columns: &[Column], extractors: &'a [Extractor]) -> Result<Self, DataError> {
        let known = schema.positions();
        let position = |column: &Column| {
            let missing =
                || DataError::from(SchemaError::UnknownColumn { column: column.name.clone(), suggestion: None });
            known.get(column.name.as_str()).copied().ok_or_else(missing)
        };
        let positions = columns.iter().map(position).collect::<Result<Vec<usize>, _>>()?;
        let mut indices = positions.clone();
        indices.sort_unstable();
        indices.dedup();
        let slot = |wanted: &usize| indices.partition_point(|index| index < wanted);
        let slots = positions.iter().map(slot).collect();
        Ok(Self { indices, slots, extractors })
    }

    /// Positions in the file of the columns to decode, in increasing order.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// The wanted columns: the position of each among the decoded columns, and its extractor.
    pub fn wanted(&self) -> impl Iterator<Item = (usize, &'a Extractor)> {
        self.slots.iter().copied().zip(self.extractors)
    }
}
