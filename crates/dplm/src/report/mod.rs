//! A [`Fit`](crate::Fit) as text, as JSON, as a page and in a file, and the kit that draws its pictures. Nothing here can see a row.

pub mod svg;
mod file;
mod html;
mod json;
mod text;

pub use file::FitFileError;
pub use html::{summary_html, to_html};
pub use json::{facts_json, to_json};
pub use text::summary;

/// The style sheet of the pages, for others that should look like them.
#[doc(hidden)]
pub const STYLE: &str = include_str!("html/style.css");
