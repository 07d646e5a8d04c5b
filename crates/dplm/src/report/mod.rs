//! A [`Fit`](crate::Fit) as text, as JSON and as a page, and the kit that draws its pictures. Nothing here can see a row.

pub mod svg;
mod html;
mod json;
mod text;

pub use html::{summary_html, to_html};
pub use json::to_json;
pub use text::summary;
