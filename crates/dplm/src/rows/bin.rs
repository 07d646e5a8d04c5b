//! How many rows are in each bin of a partition, and their sums.

use num_bigint::BigUint;

use crate::{
    lattice::{BLOCK_ROWS, RowBlock},
    privacy::{Sensitive, Sensitivity},
};

/// A partition of all rows into bins, by cuts of their cells: a binary tree; public.
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    nodes: Vec<Node>,
    bins: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// Rows whose cell is below the cut go to one node, all others to the other.
    Cut { column: usize, at: f32, below: usize, above: usize },
    /// The number of a bin.
    Bin(usize),
}

impl Bins {
    /// One bin for all rows.
    pub fn whole() -> Bins {
        Bins { nodes: vec![Node::Bin(0)], bins: 1 }
    }

    /// How many bins there are.
    pub fn count(&self) -> usize {
        self.bins
    }

    /// Cuts a bin in two: rows whose cell in a column is below `at`, in lattice units, stay; the others are in a new bin, whose number is the number
    /// of bins there were.
    ///
    /// # Panics
    /// When there is no such bin.
    pub fn cut(&mut self, bin: usize, column: usize, at: f32) {
        let node = self.nodes.iter().position(|node| *node == Node::Bin(bin)).expect("a bin");
        let (below, above) = (self.nodes.len(), self.nodes.len() + 1);
        self.nodes[node] = Node::Cut { column, at, below, above };
        self.nodes.extend([Node::Bin(bin), Node::Bin(self.bins)]);
        self.bins += 1;
    }

    /// The bin of a row, from its cells.
    fn bin_of(&self, row: &[f32]) -> usize {
        let mut node = 0;
        loop {
            match self.nodes[node] {
                Node::Bin(bin) => return bin,
                Node::Cut { column, at, below, above } => node = if row[column] < at { below } else { above },
            }
        }
    }
}

/// For each bin, how many rows are in it and the sums of their cells, for which nothing has been paid: both are releases of their own.
pub struct BinSums {
    counts: Vec<i128>,
    /// The sums of features and response, bin by bin.
    sums: Vec<i128>,
    radius: u64,
    sensitivity: Sensitivity,
}

impl BinSums {
    pub(super) fn new(bins: &Bins, radius: u64, features: usize, sensitivity: Sensitivity) -> BinSums {
        let (counts, sums) = (vec![0; bins.bins], vec![0; bins.bins * (features + 1)]);
        BinSums { counts, sums, radius, sensitivity }
    }

    /// Adds the rows of a block. Rows of zeros are in no bin.
    pub(super) fn add(&mut self, bins: &Bins, block: RowBlock<'_>) {
        for lane in 0..BLOCK_ROWS {
            let row: Vec<f32> = block.cells().iter().skip(lane).step_by(BLOCK_ROWS).copied().collect();
            if row.iter().all(|&cell| cell == 0.0) {
                continue;
            }
            let bin = bins.bin_of(&row);
            self.counts[bin] += 1;
            let sums = &mut self.sums[bin * row.len()..][..row.len()];
            sums.iter_mut().zip(shortened(&row, self.radius)).for_each(|(sum, cell)| *sum += cell);
        }
    }

    /// How many rows are in each bin.
    pub fn counts(&self) -> Sensitive {
        // A row is in one bin at most, by a rule about it alone.
        Sensitive::claim(self.counts.clone(), self.sensitivity.of_partition())
    }

    /// The sums of features and response, bin by bin.
    pub fn into_sums(self) -> Sensitive {
        // A row adds a vector of norm at most the radius to the sums of one bin: among all sums together, a vector of that norm.
        Sensitive::claim(self.sums, self.sensitivity.of_vector_sum(&BigUint::from(self.radius).pow(2)))
    }
}

/// A row of whole numbers, shortened to a norm of at most `radius`: each cell times `radius / norm`, the norm rounded up, towards zero.
fn shortened(row: &[f32], radius: u64) -> impl Iterator<Item = i128> {
    // Cells are whole numbers of at most 2^19.
    let norm_sq: u128 = row.iter().map(|&cell| (cell as i128).unsigned_abs().pow(2)).sum();
    let norm = norm_sq.isqrt() + u128::from(norm_sq.isqrt().pow(2) < norm_sq);
    let (radius, norm) = (i128::from(radius), i128::try_from(norm).expect("below 2^64"));
    row.iter().map(move |&cell| if norm <= radius { cell as i128 } else { cell as i128 * radius / norm })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_bin_that_the_cuts_say() {
        let mut bins = Bins::whole();
        bins.cut(0, 1, 0.0);
        bins.cut(0, 0, 5.0);
        assert_eq!(bins.count(), 3);
        let found: Vec<usize> =
            [[4.0, -1.0], [5.0, -1.0], [4.0, 0.0], [9.0, 3.0]].iter().map(|row| bins.bin_of(row)).collect();
        assert_eq!(found, [0, 2, 1, 1]);
    }

    #[test]
    fn long_rows_are_shortened_to_the_radius() {
        assert_eq!(shortened(&[3.0, -4.0], 5).collect::<Vec<_>>(), [3, -4]);
        let short: Vec<i128> = shortened(&[300.0, -401.0], 50).collect();
        assert!(short.iter().map(|cell| cell * cell).sum::<i128>() <= 2500 && short == [29, -40], "{short:?}");
    }
}
