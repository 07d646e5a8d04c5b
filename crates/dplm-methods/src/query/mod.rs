//! Queries of comparison methods: what one row adds to a sum. `dplm` holds every term against its
//! shape.

mod bins;
mod separate;

pub use bins::{BinCounts, BinSums, Bins};
pub use separate::{At, Separate, SeparateGradients, SeparateSquares, Weight};
