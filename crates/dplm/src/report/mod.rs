//! A [`Fit`](crate::Fit) for people and for programs. Nothing here can see a row.

mod json;
mod number;
mod text;
mod warning;

pub use json::to_json;
pub use text::summary;
pub use warning::Warning;
