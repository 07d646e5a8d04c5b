//! The fuzz targets as functions, for `fuzz_targets/` and for the tests.

pub mod targets;
