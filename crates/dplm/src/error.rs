//! One error type for the crate; each kind is defined beside the code that raises it.

use crate::{formula::FormulaError, privacy::PrivacyError, table::DataError};

/// Why a fit could not be made. Every message is one sentence that says what to do, and none holds a cell's value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model cannot be understood; nothing was read.
    #[error(transparent)]
    Formula(#[from] FormulaError),
    /// The data cannot be used as they are.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The guarantee cannot be given.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
}
