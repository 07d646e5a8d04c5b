//! The conversions between kinds of numbers that the lattice needs, each with the reason why it is
//! right. Elsewhere in the lattice `as` is refused where it could change a number.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "this is where they are argued"
)]

/// The whole number that a float holds, below 2^63 in size: exact.
#[inline(always)]
pub(super) fn integer(value: f64) -> i64 {
    debug_assert!(value as i64 as f64 == value, "not a whole number, or too large");
    value as i64
}

/// The whole number that a float holds, nonnegative and below 2^64: exact.
#[inline(always)]
pub(super) fn natural(value: f64) -> u64 {
    debug_assert!(value as u64 as f64 == value, "not a whole number, negative or too large");
    value as u64
}

/// The same below 2^128.
#[inline(always)]
pub(super) fn large(value: f64) -> u128 {
    debug_assert!(value as u128 as f64 == value, "not a whole number, negative or too large");
    value as u128
}

/// The whole part of any float, at the ends of the type where it is beyond them, 0 for NaN: for
/// numbers that are only tried, where any answer is right.
pub(super) fn saturated(value: f64) -> i64 {
    value as i64
}

/// The nearest float: for estimates, which integers then check, and exact below 2^53.
#[inline(always)]
pub(super) const fn nearest(value: i128) -> f64 {
    value as f64
}

/// A number of things in memory, of which there are fewer than 2^53: exact.
pub(super) const fn count(value: usize) -> f64 {
    value as f64
}

/// The nearest short float: exact for whole numbers of at most 24 bits, where the lattice's cells
/// and bounds are.
#[inline(always)]
pub(super) const fn narrow(value: f64) -> f32 {
    value as f32
}

/// `2^bits`, `bits` below 64: exact.
pub(super) const fn power(bits: u32) -> f64 {
    (1u64 << bits) as f64
}

/// The least `k` for which `value <= 2^k`, up to the rounding of the logarithm; it is between -1074
/// and 1024.
pub(super) fn log2_up(value: f64) -> i32 {
    value.log2().ceil() as i32
}
