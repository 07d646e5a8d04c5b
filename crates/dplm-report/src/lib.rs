//! Pages, pictures and tables of what was released: the page of a fit, of groups, of a study and of
//! a plan, results side by side for a paper, and the kit that draws their pictures.
//!
//! ```no_run
//! let fit = dplm::lm("pay[0..200000] ~ age[18..90]").rho(0.015).fit("people.csv")?;
//! std::fs::write("fit.html", dplm_report::to_html(&fit, &Default::default()))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here can see a row. The text of a fit, its JSON and its file are
//! [`dplm::report`]: loading a fit checks them. Modules are declared in the order in which they use
//! each other, and none uses a later one.

pub mod svg;
mod study;
mod html;
mod over;
mod plan;
mod table;

pub use html::{Cover, grouped_to_html, study_html, summary_html, to_html};
pub use over::over_svg;
pub use plan::plan_page;
pub use study::study_summary;
pub use table::{Table, TableError, TableForm, TableOptions};

/// The style sheet of the pages, for others that should look like them.
pub const STYLE: &str = include_str!("html/style.css");
