//! A [`Fit`](crate::Fit) as text, as JSON and in a file. Nothing here can see a row. The crate
//! `dplm-report` makes pages, pictures and tables.

mod check;
mod schema2;
#[doc(hidden)]
pub mod event;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod groups;
mod json;
mod study;
mod file;

#[doc(hidden)]
pub use crate::fit::csv_field;
pub use file::{FitFileError, Saved, SavedGuarantee, read};
pub use groups::grouped_summary;
pub use json::{facts_json, grouped_to_json, to_json};
pub use study::study_json;
pub use text::{are_student, interval_cells, interval_heads, summary};
