//! Least squares on each of many batches of rows.

use std::ops::Range;

use super::{
    Engine, MemoryRows,
    store::{CHUNK_BLOCKS, Chunk, Chunks},
};
use crate::{
    lattice::{BLOCK_ROWS, Moments, RowBlock},
    privacy::{Depths, IntegerBox, Nested, Sensitivity},
};

/// How rows are divided into batches, and what is read off the fit of each; public.
#[derive(Clone, Debug, PartialEq)]
pub struct Batching {
    /// How many batches there are. Row `i` of the table is in batch `i mod batches`, whatever it holds.
    pub batches: usize,
    /// What is read off a fit: the product of its coefficients with each of these vectors.
    pub readings: Vec<Vec<f64>>,
    /// Readings are rounded to whole numbers of this many to one standardised unit.
    pub unit: f64,
    /// Readings saturate at so many of those numbers from zero.
    pub limit: i64,
}

impl Batching {
    /// Reads off the coefficients themselves.
    pub fn of_coefficients(batches: usize, features: usize, unit: f64, limit: i64) -> Batching {
        let coordinate = |j: usize| (0..features).map(|k| f64::from(u8::from(j == k))).collect();
        Batching { batches, readings: (0..features).map(coordinate).collect(), unit, limit }
    }
}

/// What was read off the least-squares fit of each batch, for which nothing has been paid.
///
/// A fit is a function of the rows of its batch and of nothing else, and which batch a row is in is public: whatever a row holds, it changes the
/// readings of one batch.
pub struct BatchFits {
    /// For each reading, those of all batches, ascending.
    sorted: Vec<Vec<i64>>,
    limit: i64,
    sensitivity: Sensitivity,
}

impl BatchFits {
    pub(super) fn new(sums: &[Moments], batching: &Batching, sensitivity: Sensitivity) -> BatchFits {
        let fits: Vec<Vec<i64>> = sums.iter().map(|sum| batching.read(&least_squares(sum))).collect();
        let ascending = |reading: usize| {
            let mut values: Vec<i64> = fits.iter().map(|fit| fit[reading]).collect();
            values.sort_unstable();
            values
        };
        let sorted = (0..batching.readings.len()).map(ascending).collect();
        BatchFits { sorted, limit: batching.limit, sensitivity }
    }

    /// Points by how deep they lie among the batches, in some of the readings together: the least, over these readings and both directions, of how many
    /// batches lie at least as far out as the point. Only the `most` deepest layers are told apart.
    pub fn depths(&self, readings: Range<usize>, most: usize) -> Nested {
        let everywhere: IntegerBox = readings.clone().map(|_| (-self.limit, self.limit)).collect();
        let batches = self.sorted[readings.start].len();
        let deepest = batches.div_ceil(2);
        let layers = deepest.saturating_sub(most) + 1..=deepest;
        let boxes = layers.map(|depth| self.at_least(depth, readings.clone()));
        let boxes = std::iter::once(everywhere).chain(boxes).collect();
        // One batch changes its readings, for both relations: that moves each number of batches at least as far out as a point by at most 1, and so
        // their least. Layers that are not told apart cut the depth off below, which moves no further.
        Nested::claim(boxes, self.sensitivity.of_scores())
    }

    /// The same without a box that holds all points, for a draw after a test.
    ///
    /// # Panics
    /// When the rows are those of one of several groups, which a test is not for.
    pub fn tested_depths(&self, readings: Range<usize>) -> Depths {
        assert_eq!(self.sensitivity.of_scores(), 1, "methods that are not Gaussian are refused for groups");
        let deepest = self.sorted[readings.start].len().div_ceil(2);
        // As for `depths`: one batch moves the depth of every point by at most 1, for both relations.
        Depths::claim((1..=deepest).map(|depth| self.at_least(depth, readings.clone())).collect())
    }

    /// The box of points that are at least so deep.
    fn at_least(&self, depth: usize, readings: Range<usize>) -> IntegerBox {
        self.sorted[readings].iter().map(|of| (of[depth - 1], of[of.len() - depth])).collect()
    }
}

impl Batching {
    fn read(&self, theta: &[f64]) -> Vec<i64> {
        let reading = |with: &Vec<f64>| with.iter().zip(theta).map(|(weight, theta)| weight * theta).sum::<f64>();
        let whole = |value: f64| ((value * self.unit).round() as i64).clamp(-self.limit, self.limit);
        self.readings.iter().map(|with| whole(reading(with))).collect()
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

    /// Adds the first so many rows of a block, which follow those before.
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

    pub(super) fn finish(self, features: usize) -> Vec<Moments> {
        self.sums.into_iter().map(|upper| Moments::from_upper(features + 1, upper)).collect()
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

    /// Adds the first so many rows of a block, which follow those before.
    pub(super) fn add(&mut self, block: RowBlock<'_>, rows: usize) {
        let length = RowBlock::len_for(self.features);
        for lane in 0..rows {
            let (cells, count) = (&mut self.cells[self.next], &mut self.counts[self.next]);
            let to = *count % BLOCK_ROWS;
            if to == 0 {
                cells.resize(cells.len() + length, 0.0);
            }
            let last = cells.len() - length;
            let row = block.cells().iter().skip(lane).step_by(BLOCK_ROWS);
            cells[last + to..].iter_mut().step_by(BLOCK_ROWS).zip(row).for_each(|(to, cell)| *to = *cell);
            *count += 1;
            self.next = (self.next + 1) % self.cells.len();
        }
    }

    /// The batches, ready for questions.
    pub(super) fn finish(self) -> Vec<MemoryRows> {
        let (features, length) = (self.features, CHUNK_BLOCKS * RowBlock::len_for(self.features));
        let rows = |(cells, count): (Vec<f32>, usize)| {
            let chunk = |cells: &[f32]| Chunk { cells: cells.to_vec(), ..Chunk::default() };
            Engine::new(Chunks { features, chunks: cells.chunks(length).map(chunk).collect() }, features, count as u64)
        };
        self.cells.into_iter().zip(self.counts).map(rows).collect()
    }
}

/// A pivot this small a part of its column's square says that the column is a combination of others.
const DEPENDENT: f64 = 1e-9;

/// The coefficients of least squares from the moments of `[X y]`, by Cholesky's factors; zeros where columns depend on each other.
fn least_squares(moments: &Moments) -> Vec<f64> {
    let features = moments.size() - 1;
    let entry = |i: usize, j: usize| moments.entry(i, j) as f64;
    let mut factor = vec![vec![0.0; features]; features + 1];
    for i in 0..=features {
        for j in 0..features.min(i + 1) {
            let rest = entry(i, j) - (0..j).map(|k| factor[i][k] * factor[j][k]).sum::<f64>();
            if i == j && rest <= DEPENDENT * entry(j, j) {
                return vec![0.0; features];
            }
            factor[i][j] = if i == j { rest.sqrt() } else { rest / factor[j][j] };
        }
    }
    // The last row is `L^-1 X'y`, where the response is one more column.
    let mut theta = factor[features].clone();
    for j in (0..features).rev() {
        let known: f64 = (j + 1..features).map(|i| factor[i][j] * theta[i]).sum();
        theta[j] = (theta[j] - known) / factor[j][j];
    }
    theta
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        formula::{Column, Kind, Model},
        lattice::Design,
        rows::{MemoryBuilder, Rows},
        table::{Block, Cells},
    };

    /// Every row is in one batch, by its place, with its cells: the moments of a batch are those of its rows, and there are no others.
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

    /// Three points on the line `y = 2 - x`, and a column that is twice another.
    #[test]
    fn least_squares_by_hand() {
        let of = |rows: &[[i128; 3]]| {
            let entry = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<i128>();
            Moments::from_upper(
                3,
                (0..3).flat_map(|j| (0..=j).map(move |i| (i, j))).map(|(i, j)| entry(i, j)).collect(),
            )
        };
        let found = least_squares(&of(&[[1, 0, 2], [1, 1, 1], [1, 2, 0]]));
        assert!((found[0] - 2.0).abs() < 1e-12 && (found[1] + 1.0).abs() < 1e-12, "{found:?}");
        assert_eq!(least_squares(&of(&[[1, 2, 5], [2, 4, 1]])), [0.0, 0.0]);
        assert_eq!(least_squares(&of(&[])), [0.0, 0.0]);
    }

    #[test]
    fn readings_saturate_and_are_no_number_of_nothing() {
        let batching = Batching { batches: 1, readings: vec![vec![1.0], vec![-2.0]], unit: 4.0, limit: 10 };
        assert_eq!(batching.read(&[1.3]), [5, -10]);
        assert_eq!(batching.read(&[f64::NAN]), [0, 0]);
    }
}
