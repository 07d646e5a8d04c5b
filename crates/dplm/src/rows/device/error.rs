//! Why rows cannot be on a card.

/// Why a GPU cannot be used. Names the machine and what is public of the rows, never anything of a
/// cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The program cannot use one.
    #[error("this program was built without the feature 'cuda': leave out the device, or build it with the feature")]
    NotBuilt,
    /// There is no driver.
    #[error(
        "no NVIDIA driver ({}) was found on this machine: leave out the device, or install the driver, version 580 or newer",
        crate::system::GPU_DRIVER
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
    /// Persons with several rows are to be protected.
    #[error("persons with several rows, and groups, are fitted on the processor only: leave out the device")]
    Units,
    /// A call failed.
    #[error("the GPU did not do what it was asked to ({call} gave error {code}): leave out the device")]
    Failed {
        /// The call of the driver.
        call: &'static str,
        /// What it gave.
        code: i32,
    },
}
