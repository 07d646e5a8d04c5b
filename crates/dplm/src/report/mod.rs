//! A [`Fit`](crate::Fit) as text, as JSON, as a page and in a file, the page of a plan, and the kit
//! that draws their pictures. Nothing here can see a row.

pub mod svg;
mod check;
mod schema2;
mod event;
mod text;
mod groups;
mod html;
mod json;
mod file;
mod over;
mod plan;
mod study;
mod table;

pub use file::{FitFileError, SavedGuarantee, read};
pub use groups::grouped_summary;
pub use html::{Cover, grouped_to_html, study_html, summary_html, to_html};
pub use json::{facts_json, grouped_to_json, to_json};
pub use over::over_svg;
pub use plan::plan_page;
pub use study::{study_json, study_summary};
pub use table::{Table, TableError, TableForm, TableOptions};
pub use text::{are_student, interval_cells, interval_heads, summary};

/// The style sheet of the pages, for others that should look like them.
#[doc(hidden)]
pub const STYLE: &str = include_str!("html/style.css");
