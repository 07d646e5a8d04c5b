//! Methods of private linear regression from the literature, one file each, on the traits of [`dplm::method`].
//!
//! They read rows through the same queries, pay from the same budget and draw the same exact noise as the library's own methods, so that they can
//! be compared on equal terms. Where a publication's accounting or code is wrong, the file says how and this is right.
//!
//! | name | from | gives |
//! |---|---|---|
//! | [`ssp`] | Vu and Slavkovic 2009; Foulds et al. 2016; Sheffet 2017 | least squares from noisy second moments, with intervals |
//! | [`boosted`] | Tang et al. 2023 | steps preconditioned by noisy second moments |

mod asked;
pub mod ssp;
pub mod boosted;

use dplm::{method::Entry, options::UnknownWord};

/// The methods of this crate.
pub const METHODS: &[Entry] = &[ssp::ENTRY, boosted::ENTRY];

/// The method of this name, among the library's own and those of this crate.
///
/// # Errors
/// Lists the names there are.
///
/// # Examples
/// ```
/// assert_eq!(dplm_methods::find("ssp")?.name, "ssp");
/// assert_eq!(dplm_methods::find("dpgd")?.name, "dpgd");
/// # Ok::<(), dplm::options::UnknownWord>(())
/// ```
pub fn find(name: &str) -> Result<Entry, UnknownWord> {
    dplm::method::find(name, METHODS)
}

/// Every method there is: the library's own, then those of this crate.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    <Entry as dplm::options::Choice>::ALL.iter().chain(METHODS)
}
