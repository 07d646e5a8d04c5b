//! Why rows cannot be on a card.

use dplm::{Error, ErrorKind, OtherError};

/// The file name of NVIDIA's driver.
pub(crate) const DRIVER: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// Why a GPU cannot be used. Names the machine and what is public of the rows, never anything of a
/// cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    /// There is no driver.
    #[error(
        "no NVIDIA driver ({}) was found on this machine: leave out the device, or install the driver, version 580 or newer",
        DRIVER
    )]
    NoDriver,
    /// The driver lacks something.
    #[error("the NVIDIA driver of this machine is too old: install version 580 or newer, or leave out the device")]
    OldDriver,
    /// There is no card.
    #[error("the NVIDIA driver finds no GPU on this machine: leave out the device")]
    NoCard,
    /// The card lacks something.
    #[error("{name} is too old a GPU: one of compute capability 8.0 or newer is needed; leave out the device")]
    OldCard {
        /// The card.
        name: String,
    },
    /// The rows do not fit.
    #[error(
        "the rows and what is computed from them would take up to {needed} bytes of the GPU's memory, of which {free} are free: leave out the device"
    )]
    TooLarge {
        /// What is needed at most.
        needed: u64,
        /// What is free.
        free: u64,
    },
    /// Another program has taken the memory.
    #[error("the GPU has no memory left: end what else runs on it, or leave out the device")]
    OutOfMemory,
    /// A call failed.
    #[error("the GPU did not do what it was asked to ({call} gave error {code}): leave out the device")]
    Failed {
        /// The call of the driver.
        call: &'static str,
        /// What it gave.
        code: i32,
    },
}

impl From<CardError> for Error {
    fn from(error: CardError) -> Error {
        let kind = match error {
            // The fit failed, whatever the reason.
            CardError::OutOfMemory | CardError::Failed { .. } => ErrorKind::Fit,
            _ => ErrorKind::Request,
        };
        OtherError::new(kind, error).into()
    }
}
