//! A [`Fit`](crate::Fit) as text, as JSON and as a page. Nothing here can see a row.

mod html;
mod json;
mod text;

pub use html::{summary_html, to_html};
pub use json::to_json;
pub use text::summary;
