//! Rows on a graphics card.
//!
//! Rows are copied to the card once and stay there; a question travels as a few numbers, and so
//! does its answer: the same integers that rows in memory give. `kernels/` has the programs that
//! run on the card, as source and compiled for NVIDIA's driver, which is all that is needed at run
//! time.

mod error;
#[cfg(feature = "cuda")]
mod driver;
#[cfg(feature = "cuda")]
mod kernels;
#[cfg(feature = "cuda")]
mod card;
#[cfg(feature = "cuda")]
mod store;
#[cfg(feature = "cuda")]
mod ask;

#[cfg(feature = "cuda")]
use std::sync::Arc;

#[cfg(feature = "cuda")]
pub use card::Card;
pub use error::DeviceError;
#[cfg(feature = "cuda")]
pub use store::DeviceRows;

use crate::options::Device;

/// Where rows go once they are encoded.
pub(crate) enum Destination {
    /// They stay.
    Here,
    /// A card that is ready.
    #[cfg(feature = "cuda")]
    Card(Arc<Card>),
}

impl Device {
    /// Makes the device ready, before anything is read.
    pub(crate) fn ready(self) -> Result<Destination, DeviceError> {
        match self {
            Device::Cpu => Ok(Destination::Here),
            #[cfg(feature = "cuda")]
            Device::Cuda => Ok(Destination::Card(Card::open()?)),
            #[cfg(not(feature = "cuda"))]
            Device::Cuda => Err(DeviceError::NotBuilt),
        }
    }
}
