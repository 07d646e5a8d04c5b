//! How many rows are in each bin of a partition, and their sums.

use dplm::rows::{CustomQuery, Shape, Term};

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

    /// Cuts a bin in two: rows whose cell in a column is below `at`, in lattice units, stay; the
    /// others are in a new bin, whose number is the number of bins there were.
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

    /// The bin of a row, from its cells, which a short float holds.
    fn bin_of(&self, row: &[i64]) -> usize {
        let mut node = 0;
        loop {
            match self.nodes[node] {
                Node::Bin(bin) => return bin,
                Node::Cut { column, at, below, above } => node = if (row[column] as f32) < at { below } else { above },
            }
        }
    }
}

/// How many rows are in each bin.
pub struct BinCounts<'a>(pub &'a Bins);

impl CustomQuery for BinCounts<'_> {
    fn len(&self, _: usize) -> usize {
        self.0.count()
    }

    /// A row is in one bin.
    fn shape(&self) -> Shape {
        Shape::Nonnegative { norm: 1 }
    }

    fn term(&self, row: &[i64], term: &mut Term) {
        term.push((self.0.bin_of(row), 1));
    }
}

/// The sums of features and response, bin by bin, each row shortened to a norm of at most `radius`,
/// in lattice units of a cell.
pub struct BinSums<'a> {
    /// The bins.
    pub bins: &'a Bins,
    /// The largest norm.
    pub radius: u64,
}

impl CustomQuery for BinSums<'_> {
    fn len(&self, features: usize) -> usize {
        self.bins.count() * (features + 1)
    }

    /// A row adds a vector of norm at most the radius to the sums of one bin.
    fn shape(&self) -> Shape {
        Shape::Vector { norm: self.radius.into() }
    }

    fn term(&self, row: &[i64], term: &mut Term) {
        term.extend((self.bins.bin_of(row) * row.len()..).zip(shortened(row, self.radius)));
    }
}

/// A row of whole numbers, shortened to a norm of at most `radius`: each cell times
/// `radius / norm`, the norm rounded up, towards zero.
fn shortened(row: &[i64], radius: u64) -> impl Iterator<Item = i64> {
    let norm_sq: u128 = row.iter().map(|&cell| u128::from(cell.unsigned_abs()).pow(2)).sum();
    let norm = norm_sq.isqrt() + u128::from(norm_sq.isqrt().pow(2) < norm_sq);
    let (radius, norm) = (i128::from(radius), i128::try_from(norm).expect("below 2^64"));
    row.iter().map(move |&cell| if norm <= radius { cell } else { (i128::from(cell) * radius / norm) as i64 })
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
        let found: Vec<usize> = [[4, -1], [5, -1], [4, 0], [9, 3]].iter().map(|row| bins.bin_of(row)).collect();
        assert_eq!(found, [0, 2, 1, 1]);
    }

    #[test]
    fn long_rows_are_shortened_to_the_radius() {
        assert_eq!(shortened(&[3, -4], 5).collect::<Vec<_>>(), [3, -4]);
        let short: Vec<i64> = shortened(&[300, -401], 50).collect();
        assert!(short.iter().map(|cell| cell * cell).sum::<i64>() <= 2500 && short == [29, -40], "{short:?}");
    }
}
