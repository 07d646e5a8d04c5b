//! Privacy
/// Why the guarantee cannot be given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivacyError {}
