//! Answers of which more than one release is made. The sums themselves stay inside.

use crate::{
    lattice::SecondMoments,
    privacy::{Neighbours, Sealed, Sensitive, Sensitivity},
};

/// `sum_i A_i` for `A_i = v_i v_i'` of a row, or the sum of those over a person's rows, for which
/// nothing has been paid: each query of it is a release of its own.
pub struct OuterSum {
    sum: SecondMoments,
    /// The largest `||A_i||_F`, which is `||v_i||^2` of a row, whatever a row or a person holds.
    norm_sq: u128,
    sensitivity: Sensitivity,
}

impl OuterSum {
    pub(super) fn new(sum: SecondMoments, largest_norm: u128, sensitivity: Sensitivity) -> OuterSum {
        OuterSum { sum, norm_sq: largest_norm * largest_norm, sensitivity }
    }

    /// How many rows and columns the matrix has.
    pub fn size(&self) -> usize {
        self.sum.size()
    }

    /// The sum, for a mechanism of another crate.
    pub fn sealed(&self) -> Sealed<OuterProducts> {
        let (sum, sensitivity) = (self.sum.clone(), self.sensitivity);
        Sealed::claim(OuterProducts { sum, norm_sq: self.norm_sq, sensitivity })
    }

    /// The upper triangle, column by column, with weight 2 off the diagonal: noise there is smaller
    /// by `sqrt(2)`.
    pub fn into_matrix(self) -> Sensitive {
        let size = self.sum.size();
        // Every row's vector has integer norm at most `largest_norm` (`Outer::largest_norm`), so
        // its outer product has Frobenius norm at most `norm_sq`; a person's sum of outer products
        // has by the same rule, and is positive semidefinite. A weighted triangle has the squared
        // norm of the matrix.
        let delta_sq = self.sensitivity.of_outer_sum(&self.norm_sq.into());
        Sensitive::claim_weighted(self.sum.into_upper(), SecondMoments::multiplicities(size), delta_sq)
    }
}

/// How many rows, or persons, are above each threshold of a ladder, for which nothing has been
/// paid: each count is a release of its own.
pub struct TailCounts {
    counts: Vec<u64>,
    sensitivity: Sensitivity,
}

impl TailCounts {
    pub(crate) fn new(counts: Vec<u64>, sensitivity: Sensitivity) -> TailCounts {
        TailCounts { counts, sensitivity }
    }

    /// How many thresholds there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are no thresholds.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// All counts, for a mechanism of another crate.
    pub fn sealed(self) -> Sealed<Tail> {
        Sealed::claim(Tail { counts: self.counts, sensitivity: self.sensitivity })
    }

    /// How many are above a threshold.
    pub fn above(&self, threshold: usize) -> Sensitive {
        let count = i128::from(self.counts[threshold]);
        // A row, or a person, is above the threshold or not, by a rule about them alone: the term
        // is 0 or 1.
        Sensitive::claim(vec![count], self.sensitivity.of_number(&1u32.into()))
    }
}

/// A sum of positive semidefinite matrices, one of each unit.
///
/// # Guarantee
/// That of a unit has Frobenius norm at most `norm_sq`, whatever the unit holds, and is nothing for
/// one that is zeroed out.
pub struct OuterProducts {
    /// The sum.
    pub sum: SecondMoments,
    /// The largest norm.
    pub norm_sq: u128,
    /// What follows for a query of it.
    pub sensitivity: Sensitivity,
}

/// How many units are above each of several thresholds.
///
/// # Guarantee
/// Each unit moves each count by at most 1, whatever it holds.
pub struct Tail {
    /// The counts.
    pub counts: Vec<u64>,
    /// What follows for a query of them.
    pub sensitivity: Sensitivity,
}

/// How many units are above the threshold of each of these ladders of one threshold, together.
///
/// Each is of rows of its own: of a whole table, or of the groups that a unit is in one of at most.
pub(super) fn above_in_all(tables: &[TailCounts], neighbours: Neighbours) -> Sensitive {
    let count = tables.iter().map(|table| i128::from(table.counts[0])).sum();
    // A unit has rows in one of these tables at most, by a rule about it alone, and is above the
    // threshold there or not, by another: its term is 0 or 1, also where it changes its group,
    // which moves two counts and their sum by no more than 1. So nothing is doubled, as it is for a
    // count within a group.
    Sensitive::claim(vec![count], Sensitivity::of_table(neighbours).of_number(&1u32.into()))
}

/// How many units there are in each of several groups: for none of them is that public.
pub(super) fn group_sizes(sizes: impl Iterator<Item = u64>, neighbours: Neighbours) -> Sensitive {
    // A unit is counted in one group at most, by a rule about it alone.
    Sensitive::claim(sizes.map(i128::from).collect(), Sensitivity::of_sizes(neighbours))
}
