//! What queries of other crates are answered: sums of their terms, and rows in batches by their
//! place in the table.

use super::{
    Encoded, Rows,
    custom::{BatchMoments, CustomQuery, CustomRows},
    held::{CHUNK_BLOCKS, Chunk, Chunks, copy_row},
    query::Sum,
};
use crate::{
    Error,
    lattice::{BLOCK_ROWS, RowBlock, SecondMoments},
    privacy::{Neighbours, Sealed, Sensitive},
};

impl CustomRows for Encoded {
    fn sum(&self, query: &dyn CustomQuery, neighbours: Neighbours) -> Result<Sensitive, Error> {
        let shape = query.shape();
        shape.must_fit();
        let sum = self.sums(Sum::Custom(query))?;
        // Each row's term was held against its shape, and a person has at most `rows_in_unit` rows;
        // the terms of a unit that is zeroed out are zero.
        let claim = shape.claimed(self.rows_in_unit().unwrap_or(1), self.sensitivity(neighbours));
        Ok(Sensitive::claim(sum, claim))
    }

    fn batch_moments(&self, batches: usize) -> Result<Sealed<BatchMoments>, Error> {
        self.must_be_whole();
        let mut sums = BatchSums::new(batches, self.features());
        self.for_each_block(&mut |block, rows| sums.add(block, rows))?;
        // Whatever a row holds, it is in the batch of its place.
        Ok(Sealed::claim(sums.finish(self.features())))
    }

    fn batches(&self, batches: usize) -> Result<Vec<Box<dyn Rows>>, Error> {
        self.must_be_whole();
        let mut cells = BatchCells::new(batches, self.features());
        self.for_each_block(&mut |block, rows| cells.add(block, rows))?;
        Ok(cells.finish().into_iter().map(|rows| -> Box<dyn Rows> { Box::new(rows) }).collect())
    }
}

/// The second moments `[X y]' [X y]` of each batch.
pub(super) struct BatchSums {
    sums: Vec<Vec<i128>>,
    next: usize,
}

impl BatchSums {
    pub(super) fn new(batches: usize, features: usize) -> BatchSums {
        BatchSums { sums: vec![vec![0; (features + 1) * (features + 2) / 2]; batches], next: 0 }
    }

    /// Adds the first `rows` rows of a block, which follow those before.
    pub(super) fn add(&mut self, block: RowBlock<'_>, rows: usize) {
        let cells = block.cells();
        for lane in 0..rows {
            // Cells are whole numbers of at most 2^19.
            let row: Vec<i64> = cells.iter().skip(lane).step_by(BLOCK_ROWS).map(|&cell| cell as i64).collect();
            let sum = &mut self.sums[self.next];
            let products = (0..row.len()).flat_map(|j| row[..=j].iter().map(|i| i * row[j]).collect::<Vec<i64>>());
            sum.iter_mut().zip(products).for_each(|(sum, product)| *sum += i128::from(product));
            self.next = (self.next + 1) % self.sums.len();
        }
    }

    pub(super) fn finish(self, features: usize) -> BatchMoments {
        BatchMoments(self.sums.into_iter().map(|upper| SecondMoments::from_upper(features + 1, upper)).collect())
    }
}

/// The cells of the rows of each batch.
pub(super) struct BatchCells {
    features: usize,
    cells: Vec<Vec<f32>>,
    counts: Vec<usize>,
    next: usize,
}

impl BatchCells {
    pub(super) fn new(batches: usize, features: usize) -> BatchCells {
        BatchCells { features, cells: vec![Vec::new(); batches], counts: vec![0; batches], next: 0 }
    }

    /// Adds the first `rows` rows of a block, which follow those before.
    pub(super) fn add(&mut self, block: RowBlock<'_>, rows: usize) {
        let length = RowBlock::len_for(self.features);
        for lane in 0..rows {
            let (cells, count) = (&mut self.cells[self.next], &mut self.counts[self.next]);
            let to = *count % BLOCK_ROWS;
            if to == 0 {
                cells.resize(cells.len() + length, 0.0);
            }
            let last = cells.len() - length;
            copy_row((block.cells(), lane), (&mut cells[last..], to));
            *count += 1;
            self.next = (self.next + 1) % self.cells.len();
        }
    }

    /// The batches, ready for questions.
    pub(super) fn finish(self) -> Vec<Encoded> {
        let (features, length) = (self.features, CHUNK_BLOCKS * RowBlock::len_for(self.features));
        let rows = |(cells, count): (Vec<f32>, usize)| {
            let chunk = |cells: &[f32]| Chunk { cells: cells.to_vec(), ..Chunk::default() };
            let chunks = Chunks { features, chunks: cells.chunks(length).map(chunk).collect() };
            Encoded::new(Box::new(chunks), features, count as u64)
        };
        self.cells.into_iter().zip(self.counts).map(rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        formula::{Column, Kind, Model},
        lattice::Design,
        rows::{CustomRows, MemoryBuilder, Rows},
        table::{Block, Cells},
    };

    /// Every row is in one batch, by its place, with its cells: the moments of a batch are those of
    /// its rows, and there are no others.
    #[test]
    fn batches_are_the_rows_at_their_places() {
        let column = |name: &str| Column { name: name.into(), kind: Kind::Standard };
        let design = Design::new(&Model::of_columns(column("y"), vec![column("a"), column("b")], false));
        let value = |row: usize, column: usize| ((row * 7 + column * 3) % 11) as f64 - 5.0;
        let table = |rows: &[usize]| {
            let cells = |j: usize| Cells::Numbers(rows.iter().map(|&row| value(row, j)).collect());
            let mut builder = MemoryBuilder::new(&design);
            builder.push(&Block { rows: rows.len(), columns: (0..3).map(cells).collect() });
            builder.finish()
        };
        let upper = |rows: &dyn Rows| {
            let moments = rows.moments().unwrap().into_inner();
            (0..3).flat_map(|i| (0..=i).map(|j| moments.entry(j, i)).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        for (rows, batches) in [(101, 3), (5, 8)] {
            let found = table(&(0..rows).collect::<Vec<_>>()).batches(batches).unwrap();
            assert_eq!(found.len(), batches);
            for (batch, found) in found.iter().enumerate() {
                let own: Vec<usize> = (batch..rows).step_by(batches).collect();
                assert_eq!(found.count(), own.len() as u64);
                assert_eq!(upper(found.as_ref()), upper(&table(&own)), "batch {batch} of {batches}");
            }
        }
    }
}
