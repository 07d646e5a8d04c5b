//! Privacy
pub mod noise;
pub mod convert;
/// Why the guarantee cannot be given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivacyError {}
