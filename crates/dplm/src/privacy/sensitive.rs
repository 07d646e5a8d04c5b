//! A query on rows that has not been released.

use num_bigint::BigUint;

use super::NotPrivate;

/// An integer query computed from rows, with a claim about how far one row can move it.
///
/// It cannot be printed, cloned, compared or serialised, and its value cannot be read outside this
/// module.
///
/// ```compile_fail
/// # use dplm::privacy::Sensitive;
/// let query = Sensitive::claim(vec![1], 1u32.into());
/// println!("{:?}", query); // not Debug
/// ```
/// ```compile_fail
/// # use dplm::privacy::Sensitive;
/// let query = Sensitive::claim(vec![1], 1u32.into());
/// let copy = query.clone(); // not Clone
/// ```
/// ```compile_fail
/// # use dplm::privacy::Sensitive;
/// let query = Sensitive::claim(vec![1], 1u32.into());
/// let value = query.values; // private
/// ```
pub struct Sensitive {
    pub(super) values: Vec<i128>,
    pub(super) weights: Vec<u32>,
    pub(super) delta_sq: BigUint,
}

impl Sensitive {
    /// Claims that neighbouring data sets give vectors `q`, `q'` with
    /// `sum_j (q_j - q'_j)^2 <= delta_sq`.
    ///
    /// # Guarantee
    /// None of its own: the call site names the argument that proves the claim.
    #[doc(hidden)]
    pub fn claim(values: Vec<i128>, delta_sq: BigUint) -> Sensitive {
        let weights = vec![1; values.len()];
        Sensitive { values, weights, delta_sq }
    }

    /// Claims `sum_j w_j (q_j - q'_j)^2 <= delta_sq`: coordinate j gets noise smaller by
    /// `sqrt(w_j)`.
    ///
    /// A symmetric matrix is claimed by its upper triangle with weight 1 on the diagonal and 2 off
    /// it, since each entry off the diagonal stands for two in the Frobenius norm.
    #[doc(hidden)]
    pub fn claim_weighted(values: Vec<i128>, weights: Vec<u32>, delta_sq: BigUint) -> Sensitive {
        assert_eq!(values.len(), weights.len(), "one weight for each value");
        assert!(weights.iter().all(|&weight| weight > 0), "a weight of nothing would need no noise");
        Sensitive { values, weights, delta_sq }
    }

    /// The query, for a mechanism of another crate.
    pub fn sealed(self) -> Sealed<Claim> {
        let Sensitive { values, weights, delta_sq } = self;
        Sealed::claim(Claim { values, weights, delta_sq })
    }

    /// The query without noise, for tests that compare it on neighbouring data sets. The name is
    /// one to search for: no fit may use it (`crates/dplm/tests/door.rs`).
    #[doc(hidden)]
    pub fn into_not_private(self) -> NotPrivate<Claim> {
        let Sensitive { values, weights, delta_sq } = self;
        NotPrivate::new(Claim { values, weights, delta_sq })
    }
}

/// What is inside a [`Sensitive`]: `sum_j w_j (q_j - q'_j)^2 <= delta_sq` on neighbouring data
/// sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The query.
    pub values: Vec<i128>,
    /// The weight of each coordinate.
    pub weights: Vec<u32>,
    /// The claim.
    pub delta_sq: BigUint,
}

/// Something computed from rows, for which nothing has been paid, with what is known of how far one
/// row moves it.
///
/// As a [`Sensitive`] it cannot be printed, cloned, compared or serialised, and what is inside
/// cannot be read: only [`release_by`](super::release_by) shows it, to a mechanism.
///
/// ```compile_fail
/// # use dplm::privacy::Sealed;
/// println!("{:?}", Sealed::claim(1)); // not Debug
/// ```
/// ```compile_fail
/// # use dplm::privacy::Sealed;
/// let copy = Sealed::claim(1).clone(); // not Clone
/// ```
/// ```compile_fail
/// # use dplm::privacy::Sealed;
/// let value = Sealed::claim(1).inside; // private
/// ```
pub struct Sealed<T> {
    pub(super) inside: T,
}

impl<T> Sealed<T> {
    /// Seals an answer.
    ///
    /// # Guarantee
    /// None of its own: the call site, or the type that is sealed, says how far one row moves it.
    #[doc(hidden)]
    pub fn claim(inside: T) -> Sealed<T> {
        Sealed { inside }
    }

    /// What is inside, for tests that compare it on neighbouring data sets. The name is one to
    /// search for: no fit may use it (`crates/dplm/tests/door.rs`).
    #[doc(hidden)]
    pub fn into_not_private(self) -> NotPrivate<T> {
        NotPrivate::new(self.inside)
    }
}
