//! What dplm is asked and what it reads: options, formulas and tables.
//!
//! Nothing here knows of privacy or of fits. The guarantee needs one thing of this crate: a row
//! decides nothing but its own cells. A formula says what a cell is, cell by cell; nothing is
//! voted, guessed or promoted over a column, and no message holds a cell.
//!
//! `dplm` offers these modules under the same names, and its programs use them from there.
//!
//! Modules are declared in the order in which they use each other, and none uses a later one.

pub mod number;
pub mod system;
pub mod options;
pub mod progress;
pub mod date;
pub mod schema;
pub mod formula;
pub mod table;

pub use progress::{Interrupted, Progress};
