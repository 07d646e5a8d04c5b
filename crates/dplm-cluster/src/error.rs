//! Why rows on other machines did not give an answer that can be used.

use std::fmt;

use dplm::{Error, ErrorKind, OtherError};

/// Why rows on other machines cannot be asked. Names blocks and versions, never anything of what a
/// block holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The machines that hold the rows gave no answers at all.
    #[error(
        "the cluster did not answer a question: its own log says why, and is not shown here since it may hold cells of the data"
    )]
    Failed,
    /// There is nothing to fit.
    #[error("the data on the cluster have no rows: there is nothing to fit")]
    NoRows,
    /// Bytes that are not what they should be.
    #[error(
        "{what} cannot be read: it was not made by this version of dplm, or was damaged on its way; pack the rows again"
    )]
    Malformed {
        /// Which bytes.
        what: &'static str,
    },
    /// Another version of the library on the other side.
    #[error(
        "{what} is of another version of dplm than {}: install the same version on the driver and on every worker",
        env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// Which bytes.
        what: &'static str,
    },
    /// A block that answered before did not.
    #[error("{block} of the packed rows did not answer: pack the rows to a folder that outlives the workers")]
    Lost {
        /// Which block.
        block: BlockId,
    },
    /// A block answered twice, so that its rows would count twice.
    #[error("{block} of the packed rows answered twice: its rows would count twice")]
    Repeated {
        /// Which block.
        block: BlockId,
    },
    /// A block that was not there at first.
    #[error("{block} was not among the packed rows at first: the data changed while they were fitted")]
    Unknown {
        /// Which block.
        block: BlockId,
    },
    /// A block that holds other rows than at first.
    #[error(
        "{block} of the packed rows is not what it was at first: the data changed, or come in another order each time; pack the rows to a folder"
    )]
    Changed {
        /// Which block.
        block: BlockId,
    },
    /// An answer to another question.
    #[error("a worker answered another question than the one that was asked: ask again from the start")]
    Stale,
    /// Persons whose rows take too much memory when they are laid out.
    #[error(
        "persons with up to {asked} rows need too much memory on the workers for this number of coefficients: set rows_per_person to at most {most}"
    )]
    WidePersons {
        /// How many rows of a person were to count.
        asked: u32,
        /// How many can.
        most: u32,
    },
    /// Rows of a person that are not next to each other, so that a person would count more than
    /// once.
    #[error(
        "the rows of a person are not together on the cluster: pack the rows to a folder, or fit them on one machine"
    )]
    Scattered,
    /// What only rows on this machine can do.
    #[error(
        "rows on a cluster are not shown or rearranged on this machine: use the rows where they are, or a part of them here"
    )]
    NotHere,
}

impl From<RemoteError> for Error {
    fn from(error: RemoteError) -> Error {
        let kind = match error {
            RemoteError::WidePersons { .. } => ErrorKind::Request,
            _ => ErrorKind::Data,
        };
        OtherError::new(kind, error).into()
    }
}

/// The number of a block: the part of the data it was packed from, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockId(pub u64);

impl BlockId {
    /// The block at a place of a part.
    pub const fn new(part: u32, place: u32) -> BlockId {
        BlockId((part as u64) << 32 | place as u64)
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} of part {}", self.0 & u64::from(u32::MAX), self.0 >> 32)
    }
}
