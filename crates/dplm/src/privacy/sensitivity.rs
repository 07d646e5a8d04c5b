//! How far one unit can move a sum over rows.

use num_bigint::BigUint;

use super::Neighbours;

/// What a query claims for a relation between neighbours, asked of a whole table or of one of
/// several groups of its rows.
///
/// # Guarantee
/// *Groups.* Each unit is in one group at most. Each group is asked queries of its own, chosen
/// after whatever was released before, of any group, and each group's releases spend at most `rho`.
/// Every query is claimed with a `delta_sq` such that a unit replaced by another of the same group
/// moves it by at most `delta_sq`, and a unit that comes into the group or leaves it by at most
/// half of that. Then all releases together are `rho`-zCDP and `sqrt(2 rho)`-GDP for replaced
/// units: take two tables that differ in one unit.
///
/// - In both it is in the same group. The other groups' answers are the same in both tables, and
///   this group's releases lose at most `rho`.
/// - It changes its group. A release of the group that it leaves loses at most half of what is
///   spent on it, given all that was released before, and so does one of the group that it comes
///   into: at most `rho / 2 + rho / 2` along every path. The other groups' answers are the same.
/// - It is in a group in one table only: at most `rho / 2`.
///
/// A bound on the sum of losses along every path is what adaptive composition needs (see
/// [`Budget`](super::Budget)): groups may take any number of releases, in any order, and no two of
/// them need be taken together. Where neighbours zero a unit out, it leaves its group and comes
/// into none: each query claims what it claims of a whole table, and the group's `rho` is all that
/// is lost.
///
/// *One group again.* A later fit of one group is the case in which every other group is asked
/// nothing: its releases are `rho`-zCDP, and add to what was spent before as any later release
/// does. The argument needs the claims of groups, since a unit may come into the group or leave it,
/// and that nothing but its queries depends on whose rows are in the group: its size is said to be
/// the one that was released before or is public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sensitivity {
    neighbours: Neighbours,
    of_group: bool,
}

impl Sensitivity {
    /// Of queries on all rows.
    pub(crate) fn of_table(neighbours: Neighbours) -> Sensitivity {
        Sensitivity { neighbours, of_group: false }
    }

    /// Of queries on the rows of one of several groups.
    pub(crate) fn of_group(neighbours: Neighbours) -> Sensitivity {
        Sensitivity { neighbours, of_group: true }
    }

    /// The claim, from how far a unit that is replaced and one that is zeroed out can move a query,
    /// squared. A unit that comes into a group moves its query as far as one that is zeroed out.
    fn claimed(self, replaced: BigUint, zeroed: BigUint) -> BigUint {
        match (self.neighbours, self.of_group) {
            (Neighbours::ZeroOut, _) => zeroed,
            (Neighbours::ReplaceOne, false) => replaced,
            (Neighbours::ReplaceOne, true) => replaced.max(zeroed * 2u32),
        }
    }

    /// Squared L2 sensitivity of `sum_i v_i` when every row's vector has `||v_i||^2 <= norm_sq`.
    ///
    /// Replacing `v` by `v'` moves the sum by `v' - v`, of norm at most `2 ||v||`; zeroing it moves
    /// the sum by `-v`. The latter is a quarter of the former, squared, so that groups cost
    /// nothing.
    pub(crate) fn of_vector_sum(self, norm_sq: &BigUint) -> BigUint {
        self.claimed(norm_sq * 4u32, norm_sq.clone())
    }

    /// Squared Frobenius sensitivity of `sum_i c_i v_i v_i'` when `0 <= c_i` and
    /// `c_i ||v_i||^2 <= norm_sq`.
    ///
    /// `||a vv' - b uu'||_F^2 = a^2 |v|^4 + b^2 |u|^4 - 2ab (u.v)^2 <= 2 norm_sq^2`: the cross term
    /// only helps. So it does for any positive semidefinite `A` and `B` with
    /// `||A||_F, ||B||_F <= norm_sq` in the place of the two, since `tr AB >= 0`. Zeroing moves it
    /// by half, squared, so that groups cost nothing.
    pub(crate) fn of_outer_sum(self, norm_sq: &BigUint) -> BigUint {
        let fourth = norm_sq * norm_sq;
        self.claimed(&fourth * 2u32, fourth)
    }

    /// Squared sensitivity of a number that one row moves by at most `most`, whether it is replaced
    /// or zeroed out: a sum of numbers from 0 to `most`, or a count where that is 1. In a group it
    /// is twice that of a table.
    pub fn of_number(self, most: &BigUint) -> BigUint {
        self.claimed(most * most, most * most)
    }

    /// Squared L2 sensitivity of `sum_i v_i` when every row's vector has `||v_i||^2 <= norm_sq` and
    /// no negative number.
    ///
    /// `||v - u||^2 = ||v||^2 + ||u||^2 - 2 u.v <= 2 norm_sq`; zeroing moves it by half, squared.
    /// So does a unit that is counted in one of several bins, whose vector has a single 1.
    pub(crate) fn of_nonnegative_sum(self, norm_sq: &BigUint) -> BigUint {
        self.claimed(norm_sq * 2u32, norm_sq.clone())
    }

    /// Squared sensitivity of a vector with one number for each of some columns, and one for each
    /// level of others: a unit moves the number of a column by at most 1, and is counted for one
    /// level of a column at most, so that it moves two levels by 1 where it is replaced and one
    /// where it is zeroed out.
    pub(crate) fn of_columns(self, numbers: u32, partitions: u32) -> BigUint {
        self.claimed((numbers + 2 * partitions).into(), (numbers + partitions).into())
    }

    /// Sensitivity of scores that one row moves by at most 1. In a group 2 is claimed, since the
    /// next lower whole number is below `sqrt 2`.
    pub fn of_scores(self) -> u32 {
        match (self.neighbours, self.of_group) {
            (Neighbours::ReplaceOne, true) => 2,
            (Neighbours::ReplaceOne, false) | (Neighbours::ZeroOut, _) => 1,
        }
    }

    /// Squared sensitivity of the sizes of groups of which each unit is in one at most: a unit that
    /// changes its group moves two by 1, and one that is zeroed out moves one.
    pub(crate) fn of_sizes(neighbours: Neighbours) -> BigUint {
        match neighbours {
            Neighbours::ReplaceOne => 2u32.into(),
            Neighbours::ZeroOut => 1u32.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a group a unit that comes or goes costs at most half of what one that is replaced does,
    /// for every kind of query.
    #[test]
    fn a_group_claims_twice_what_zeroing_moves() {
        let ten = BigUint::from(10u32);
        let [table, group, zeroed] = [
            Sensitivity::of_table(Neighbours::ReplaceOne),
            Sensitivity::of_group(Neighbours::ReplaceOne),
            Sensitivity::of_group(Neighbours::ZeroOut),
        ];
        let queries: [fn(Sensitivity, &BigUint) -> BigUint; 4] = [
            Sensitivity::of_vector_sum,
            Sensitivity::of_nonnegative_sum,
            Sensitivity::of_outer_sum,
            Sensitivity::of_number,
        ];
        for (query, costs) in queries.into_iter().zip([1u32, 1, 1, 2]) {
            assert!(query(group, &ten) >= query(zeroed, &ten) * 2u32 && query(group, &ten) >= query(table, &ten));
            assert_eq!(query(group, &ten), query(table, &ten) * costs);
        }
    }
}
