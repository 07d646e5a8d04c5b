//! The command, run on small files. One program, so that it is linked once.

mod common;

mod crate_agrees;
mod hostile;
mod lab;
mod ledger;
mod memory;
mod refusals;
mod results;
