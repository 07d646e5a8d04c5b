//! Methods of private linear regression from the literature, one file each, on the traits of
//! [`dplm::method`].
//!
//! They read rows through the same queries, pay from the same budget and draw the same exact noise
//! as the library's own methods, so that they can be compared on equal terms. Where a publication's
//! accounting or code is wrong, the file says how and this is right.
//!
//! | name | from | gives |
//! |---|---|---|
//! | [`adassp`] | Wang 2018 | least squares from noisy second moments with a ridge: the paper's comparison |
//! | [`ssp`] | Vu and Slavkovic 2009; Foulds et al. 2016; Sheffet 2017 | least squares from noisy second moments, with intervals |
//! | [`boosted`] | Tang et al. 2023 | steps preconditioned by noisy second moments |
//! | [`huber`] | Avella-Medina et al. 2021 | descent on Huber's loss with Mallows weights, with intervals |
//! | [`adaptive`] | Liu et al. 2023 | separate clips for rows and residuals, found privately |
//! | [`one_pass`] | Varshney et al. 2022 | one step on each of a few disjoint batches, with clips found on each |
//! | [`preconditioned`] | Milionis et al. 2022; Kamath et al. 2019 | AdaSSP in coordinates found privately |
//! | [`functional`] | Zhang et al. 2012 | least squares from second moments with Laplace noise: pure differential privacy |
//! | [`binagg`] | Lin et al. 2026 | least squares on noisy sums of bins |
//! | [`projected`] | Cai et al. 2021 | descent within a ball, with noise for the worst gradient there |
//! | [`tukey`] | Amin et al. 2022 | a vector deep among the fits of many batches |
//! | [`tukey_tested`] | Amin et al. 2022; Dwork and Lei 2009 | the same without a public box, after a test that may fail |
//! | [`medians`] | Knop and Steinke 2022 | medians of the coefficients of many small fits |
//! | [`theil_sen`] | Dwork and Lei 2009; Alabi et al. 2022 | medians of lines through pairs of rows, for one feature |

mod asked;
#[doc(hidden)]
pub mod mechanism;
#[doc(hidden)]
pub mod query;
mod estimate;
mod steps;
mod thresholds;
mod batches;
pub mod adassp;
pub mod ssp;
pub mod boosted;
pub mod functional;
pub mod huber;
pub mod adaptive;
pub mod one_pass;
pub mod preconditioned;
pub mod binagg;
pub mod projected;
pub mod tukey;
pub mod tukey_tested;
pub mod medians;
pub mod theil_sen;

use dplm::{
    method::Entry,
    options::{Choice, UnknownWord},
};

/// Methods whose guarantee is about real numbers, which a program has none of: they run in the lab
/// only, for comparison.
pub const LAB_ONLY: &[&str] = &[
    "wishart",
    "projection",
    "hessian-mixing",
    "objective",
    "objective-sandwich",
    "sampled-steps",
    "propose-test-release",
    "insufficient-statistics",
    "parametric-bootstrap",
    "bootstrap",
    "little-bootstraps",
    "checkpoint-spread",
    "growing-batches",
    "rank-intervals",
];

/// Methods that show what an idea costs, and that nobody would choose: private as all others are,
/// they run in the lab only.
pub const COMPARISONS: &[&str] = &["preconditioned-adassp", "functional", "projected"];

/// Why there is no method of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoMethod {
    /// Nothing has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownWord),
    /// It is there for comparison.
    #[error(
        "the method {name} shows what an idea costs: it is private bit for bit, and runs in `dplm lab run arena` only, where others have less error; \
         choose another, such as auto"
    )]
    Comparison {
        /// The name that was asked for.
        name: &'static str,
    },
    /// It is not private bit for bit.
    #[error(
        "the method {name} is private on real numbers only, and a program rounds: it is not private bit for bit, and runs in `dplm lab run arena` only; \
         choose another, such as auto"
    )]
    LabOnly {
        /// The name that was asked for.
        name: &'static str,
    },
}

/// The methods of this crate.
pub const METHODS: &[Entry] = &[
    adassp::ENTRY,
    ssp::ENTRY,
    boosted::ENTRY,
    huber::ENTRY,
    adaptive::ENTRY,
    one_pass::ENTRY,
    preconditioned::ENTRY,
    functional::ENTRY,
    binagg::ENTRY,
    projected::ENTRY,
    tukey::ENTRY,
    tukey_tested::ENTRY,
    medians::ENTRY,
    theil_sen::ENTRY,
];

/// The method of this name that a fit may be asked for, among the library's own and those of this
/// crate.
///
/// # Errors
/// Lists the names there are, or says why the method runs in the lab only.
///
/// # Examples
/// ```
/// assert_eq!(dplm_methods::find("ssp")?.name, "ssp");
/// assert_eq!(dplm_methods::find("dpgd")?.name, "dpgd");
/// # Ok::<(), dplm_methods::NoMethod>(())
/// ```
pub fn find(name: &str) -> Result<Entry, NoMethod> {
    if let Some(name) = LAB_ONLY.iter().find(|known| **known == name) {
        return Err(NoMethod::LabOnly { name });
    }
    if let Some(name) = COMPARISONS.iter().find(|known| **known == name) {
        return Err(NoMethod::Comparison { name });
    }
    let known = || UnknownWord { option: Entry::OPTION, words: offered().map(|entry| entry.name).collect() };
    Ok(offered().find(|entry| entry.name == name).copied().ok_or_else(known)?)
}

/// The methods that a fit may be asked for by name: all but those for comparison.
pub fn offered() -> impl Iterator<Item = &'static Entry> {
    all().filter(|entry| !COMPARISONS.contains(&entry.name))
}

/// Every method there is, those for comparison too: the library's own, then those of this crate.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    Entry::ALL.iter().chain(METHODS)
}
