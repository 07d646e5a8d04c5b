//! Which data sets the guarantee makes hard to tell apart.

use num_bigint::BigUint;

crate::choice! {
    "neighbours";
    /// The relation between neighbouring data sets. The number n of privacy units is public in both. A unit is a row, or a person: all rows
    /// with the same value in an identifier column. What is said of a row below is said of a unit.
    #[derive(Default)]
    pub enum Neighbours {
        /// One row is replaced by any other row: the paper's relation.
        #[default]
        ReplaceOne = "replace-one",
        /// One row's contribution is removed (all its cells become missing): what DP-SGD tools report.
        ZeroOut = "zero-out",
    }
}

impl Neighbours {
    /// Squared L2 sensitivity of `sum_i v_i` when every row's vector has `||v_i||^2 <= norm_sq`.
    ///
    /// Replacing `v` by `v'` moves the sum by `v' - v`, of norm at most `2 ||v||`; zeroing it moves the sum by `-v`.
    #[doc(hidden)]
    pub fn of_vector_sum(self, norm_sq: &BigUint) -> BigUint {
        match self {
            Neighbours::ReplaceOne => norm_sq * 4u32,
            Neighbours::ZeroOut => norm_sq.clone(),
        }
    }

    /// Squared Frobenius sensitivity of `sum_i c_i v_i v_i'` when `0 <= c_i` and `c_i ||v_i||^2 <= norm_sq`.
    ///
    /// `||a vv' - b uu'||_F^2 = a^2 |v|^4 + b^2 |u|^4 - 2ab (u.v)^2 <= 2 norm_sq^2`: the cross term only helps. So it does for any positive
    /// semidefinite `A` and `B` with `||A||_F, ||B||_F <= norm_sq` in the place of the two, since `tr AB >= 0`.
    #[doc(hidden)]
    pub fn of_outer_sum(self, norm_sq: &BigUint) -> BigUint {
        let fourth = norm_sq * norm_sq;
        match self {
            Neighbours::ReplaceOne => fourth * 2u32,
            Neighbours::ZeroOut => fourth,
        }
    }

    /// Squared sensitivity of `sum_i s_i` when `0 <= s_i <= top`: one row moves it by at most `top` either way.
    #[doc(hidden)]
    pub fn of_nonnegative_sum(self, top: &BigUint) -> BigUint {
        top * top
    }
}
