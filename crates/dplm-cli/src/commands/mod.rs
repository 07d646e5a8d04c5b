//! One file for each command.

pub mod demo;
pub mod fit;
pub mod refine;
mod saved;
pub mod study;
pub mod test;
pub mod predict;
pub mod table;
pub mod export;
pub mod plan;
pub mod moments;
pub mod simulate;
pub mod diagnose;
pub mod ledger;
pub mod init;
#[cfg(feature = "lab")]
pub mod lab;
pub mod completions;
pub mod man;
