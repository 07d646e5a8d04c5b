//! method

pub mod ols;
