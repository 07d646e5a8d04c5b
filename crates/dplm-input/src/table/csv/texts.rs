//! Cells of text, by position.

use std::borrow::Cow;

use super::Layout;
use crate::table::{Block, DataError, projection::Projection};

/// Cells of text: for each wanted column, the positions of its cells.
pub(super) struct Texts<'a> {
    text: Cow<'a, str>,
    rows: usize,
    columns: Vec<Vec<(u32, u32)>>,
}

impl<'a> Texts<'a> {
    /// A cell is `text[start..end]`.
    pub fn new(text: impl Into<Cow<'a, str>>, rows: usize, columns: Vec<Vec<(u32, u32)>>) -> Self {
        Self { text: text.into(), rows, columns }
    }

    /// The cells of a wanted column; `None` for an empty cell.
    pub fn column(&self, index: usize) -> impl Iterator<Item = Option<&str>> {
        let cell = |&(start, end): &(u32, u32)| (start < end).then(|| &self.text[start as usize..end as usize]);
        self.columns[index].iter().map(cell)
    }
}

impl Projection<'_> {
    /// The cells of the columns that were split off.
    pub(super) fn texts(&self, texts: &Texts<'_>, layout: Layout) -> Result<Block, DataError> {
        let cells = self.wanted().map(|(slot, extractor)| extractor.texts(texts.column(slot), layout.decimal_comma));
        Ok(Block { rows: texts.rows, columns: cells.collect::<Result<_, _>>()? })
    }
}
