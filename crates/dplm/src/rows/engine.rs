//! The only entry for crates that keep rows themselves: a [`Store`] on a graphics card (`dplm-gpu`)
//! or on other machines (`dplm-cluster`).
//!
//! A store is trusted with the rows, as the memory that would otherwise hold them is, and with its
//! answers. No type can keep code that holds a cell from printing it; types ensure everything else:
//!
//! - A program that calls the library gets no number out of a store, of any crate: its answers are
//!   [`Unclaimed`], which only the library opens, to claim their sensitivity or to mark them as not
//!   private. [`Encoded`] shows no store.
//! - A store claims nothing: how far a unit moves its sums is claimed in `rows/encoded.rs`, for all
//!   stores alike. The units of rows that another crate opened are compared with the fit's before
//!   anything is asked (`dataset/mod.rs`: `check_kept`).
//! - Rows that were read are handed to the one [`Accelerator`] that the program has installed, when
//!   a fit asks for it, and to nobody else: only the library makes a [`Shown`].
//!
//! What a store answers for is said at [`Store`]: the integers that [`Query::over`] gives. The
//! library checks that they are as many as were asked for, and tests compare them, one by one and
//! for both relations between neighbours, with those of rows in memory.
//!
//! `crates/dplm/tests/door.rs` names the files that use this entry.

use std::sync::OnceLock;

use super::Encoded;
use crate::{Error, lattice::BLOCK_ROWS, options::Device};

pub use super::{
    file::allowed,
    held::{CHUNK_BLOCKS, Chunk, Chunks, Held, Piece, copy_row, evenly, stride},
    person::Grouping,
    query::{At, Each, Query, Sum},
    region::{Region, Sorted, Sorting},
    store::{Costs, Place, Store, Unclaimed},
};
pub use crate::lattice::{RowBlock, UnitGroup};

/// Why rows cannot be on a device, whichever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The program cannot use one.
    #[error("this program was built without the crate 'dplm-gpu': leave out the device, or build it with that crate")]
    NotBuilt,
    /// Persons with several rows are to be protected.
    #[error("persons with several rows, and groups, are fitted on the processor only: leave out the device")]
    Units,
}

/// What can keep rows beside the memory of this machine, and sum over them.
pub trait Accelerator {
    /// Copies rows there.
    ///
    /// # Errors
    /// When they do not fit.
    fn take(&self, rows: &Shown<'_>) -> Result<Box<dyn Store>, Error>;
}

/// The cells of rows, for the accelerator that is to keep them.
pub struct Shown<'a>(&'a Encoded);

impl Shown<'_> {
    /// How many coefficients a row has.
    pub fn features(&self) -> usize {
        self.0.features
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.0.true_count().div_ceil(BLOCK_ROWS as u64)
    }

    /// Shows the cells of all blocks, in order, a few blocks at a time.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn for_each_piece(&self, see: &mut dyn FnMut(&[f32])) -> Result<(), Error> {
        self.0.store.for_each_piece(&mut |cells| see(cells.open()))
    }
}

impl Encoded {
    /// The same rows on an accelerator, and no longer where they were; each stands for itself.
    ///
    /// # Errors
    /// When they do not fit there, or are of persons or groups.
    pub fn moved_to(self, accelerator: &dyn Accelerator) -> Result<Encoded, Error> {
        if !self.is_whole() {
            return Err(DeviceError::Units.into());
        }
        let store = accelerator.take(&Shown(&self))?;
        Ok(Encoded::new(store, self.features, self.true_count()))
    }
}

/// Makes an accelerator ready.
pub type Open = fn() -> Result<Box<dyn Accelerator>, Error>;

static ACCELERATOR: OnceLock<Open> = OnceLock::new();

/// Has this program keep rows on an accelerator where a fit asks for one. The first that is
/// installed stays.
pub fn install(open: Open) {
    ACCELERATOR.get_or_init(|| open);
}

/// Makes a device ready, before anything is read; nothing is to be made ready of the processor.
pub(crate) fn ready(device: Device) -> Result<Option<Box<dyn Accelerator>>, Error> {
    match (device, ACCELERATOR.get()) {
        (Device::Cpu, _) => Ok(None),
        (Device::Cuda, Some(open)) => open().map(Some),
        (Device::Cuda, None) => Err(DeviceError::NotBuilt.into()),
    }
}
