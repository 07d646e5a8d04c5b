//! Rows on a graphics card.
//!
//! Rows are copied to the card once and stay there; a question travels as a few numbers, and so
//! does its answer: the same integers that rows in memory give. `kernels/` has the programs that
//! run on the card, as source and compiled for NVIDIA's driver, which is all that is needed at run
//! time.
//!
//! A program that calls [`install`] keeps rows there where a fit asks for the device `cuda`.

mod error;
mod driver;
mod kernels;
mod card;
mod store;
mod ask;

pub use error::CardError;

use std::sync::Arc;

use dplm::{
    Error,
    rows::engine::{self, Accelerator, Shown, Store},
};

use crate::{card::Card, store::OnCard};

/// Has fits that ask for the device `cuda` find it: called once, at the start of a program. The
/// card itself is looked for when a fit asks for it.
pub fn install() {
    engine::install(|| Ok(Box::new(Gpu::open()?)));
}

/// The first NVIDIA GPU of this machine.
pub struct Gpu(Arc<Card>);

impl Gpu {
    /// Finds the GPU and makes it ready.
    ///
    /// # Errors
    /// When there is no driver or no GPU, or either is too old.
    pub fn open() -> Result<Gpu, CardError> {
        Card::open().map(Gpu)
    }

    /// What the GPU is called.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Reads about `bytes` bytes of the GPU's memory as fast as it can, and returns how many it
    /// read, for measuring.
    ///
    /// # Errors
    /// When there is no room for them.
    #[doc(hidden)]
    pub fn read_all(&self, bytes: usize) -> Result<usize, CardError> {
        self.0.read_all(bytes)
    }
}

impl Accelerator for Gpu {
    fn take(&self, rows: &Shown<'_>) -> Result<Box<dyn Store>, Error> {
        Ok(Box::new(OnCard::take(&self.0, rows)?))
    }
}
