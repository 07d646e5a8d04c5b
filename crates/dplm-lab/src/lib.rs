//! Simulated data and the experiments that judge dplm.

pub mod simulate;
