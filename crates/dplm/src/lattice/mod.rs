//! Cells become integers, and every sum over rows is exact.
//!
//! A standardised cell `x` becomes the integer `X = round(2^12 x)`, saturated at 2^19, that is at
//! 128 units. The response is treated alike. Parameters live on a dyadic grid `Theta = 2^s theta`.
//! A residual is then the integer `2^s Y - X . Theta`, below 2^53, so `f64` computes it exactly in
//! any order; a clipped gradient is an integer vector whose norm is at most the integer `gamma`;
//! and sums of those are taken in `f64` over blocks that cannot round and in `i128` beyond.
//! [`Lattice::plan`] proves from public numbers that nothing can overflow, before a row is read.
//!
//! So the same rows give the same integers on any number of threads, in any order and on any
//! engine, and a claim about sensitivity is a claim about the program, not about real numbers.

#![cfg_attr(
    not(test),
    deny(
        clippy::cast_lossless,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a number that changes its value breaks the guarantee"
    )
)]

mod exact;
mod family;
mod bits;
mod clip;
mod factor;
mod basis;
mod design;
mod block;
mod simd;
mod kernel;
mod gram;
mod unit;
mod outer;
mod half;
mod whiten;
mod count;
mod coarse;

pub use bits::{CELL_RANGE_BITS, CELL_SCALE_BITS, Lattice, LatticeError, Theta};
pub(crate) use block::BlockWriter;
pub use block::{BLOCK_ROWS, RowBlock};
pub use clip::Clip;
pub(crate) use coarse::{CoarseRows, Displacement};
pub use count::Ladder;
pub(crate) use count::above;
pub use design::{ColumnScale, Design, Product, Slot};
pub use family::{Link, Number};
pub(crate) use gram::GramSum;
pub use gram::SecondMoments;
pub(crate) use kernel::{
    COMPRESSED, WeightedSum, all_norms_sq, bounds, bounds_given, clipped_in_block, compressed, norms_sq, residuals,
    square_of_block,
};
pub use outer::{ClippedOuter, Outer};
pub use simd::Kernel;
pub(crate) use unit::{
    Around, UnitClip, add_unit_gradients, clipped_units, number_sum, reaches, surely_within, unit_number_sum,
    unit_square_sum, weigh_as_one, without_means,
};
pub use unit::{MOST_ROWS, UnitGroup};
pub(crate) use whiten::Reencoded;
pub use whiten::Whitening;
