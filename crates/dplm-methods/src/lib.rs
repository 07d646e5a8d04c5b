//! Methods of private linear regression from the literature, one file each, on the traits of [`dplm::method`].
//!
//! They read rows through the same queries, pay from the same budget and draw the same exact noise as the library's own methods, so that they can
//! be compared on equal terms. Where a publication's accounting or code is wrong, the file says how and this is right.
//!
//! | name | from | gives |
//! |---|---|---|
//! | [`ssp`] | Vu and Slavkovic 2009; Foulds et al. 2016; Sheffet 2017 | least squares from noisy second moments, with intervals |
//! | [`boosted`] | Tang et al. 2023 | steps preconditioned by noisy second moments |
//! | [`huber`] | Avella-Medina et al. 2021 | descent on Huber's loss with Mallows weights, with intervals |
//! | [`adaptive`] | Liu et al. 2023 | separate clips for rows and residuals, found privately |
//! | [`functional`] | Zhang et al. 2012 | least squares from second moments with Laplace noise: pure differential privacy |
//! | [`binagg`] | Lin et al. 2026 | least squares on noisy sums of bins |
//! | [`projected`] | Cai et al. 2021 | descent within a ball, with noise for the worst gradient there |
//! | [`tukey`] | Amin et al. 2022 | a vector deep among the fits of many batches |
//! | [`medians`] | Knop and Steinke 2022 | medians of the coefficients of many small fits |
//! | [`theil_sen`] | Dwork and Lei 2009; Alabi et al. 2022 | medians of lines through pairs of rows, for one feature |

mod asked;
mod steps;
mod batches;
pub mod ssp;
pub mod boosted;
pub mod functional;
pub mod huber;
pub mod adaptive;
pub mod binagg;
pub mod projected;
pub mod tukey;
pub mod medians;
pub mod theil_sen;

use dplm::{method::Entry, options::UnknownWord};

/// The methods of this crate.
pub const METHODS: &[Entry] = &[
    ssp::ENTRY,
    boosted::ENTRY,
    huber::ENTRY,
    adaptive::ENTRY,
    functional::ENTRY,
    binagg::ENTRY,
    projected::ENTRY,
    tukey::ENTRY,
    medians::ENTRY,
    theil_sen::ENTRY,
];

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
