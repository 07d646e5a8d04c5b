//! Bytes that travel: a head that says what they are and who wrote them, then numbers, all of them
//! little-endian, then a fingerprint of all that.

use sha2::{Digest, Sha256};

use crate::RemoteError;

const MARK: [u8; 4] = *b"dplm";
/// Other forms of the same bytes have other numbers.
const FORM: u8 = 4;
const LIBRARY: &str = env!("CARGO_PKG_VERSION");

/// What identifies bytes.
pub(crate) type Fingerprint = [u8; 32];

/// What bytes are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Block = 1,
    Question = 2,
    Answer = 3,
}

impl Kind {
    const fn in_words(self) -> &'static str {
        match self {
            Kind::Block => "a block of packed rows",
            Kind::Question => "a question to packed rows",
            Kind::Answer => "an answer of packed rows",
        }
    }

    pub(crate) const fn malformed(self) -> RemoteError {
        RemoteError::Malformed { what: self.in_words() }
    }
}

/// Bytes that are being written.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// The head: what follows, and of which version of the library.
    pub(crate) fn new(kind: Kind) -> Writer {
        let length = LIBRARY.len() as u8;
        Writer([&MARK[..], &[FORM, kind as u8, length], LIBRARY.as_bytes()].concat())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// A number of things in memory.
    pub(crate) fn count(&mut self, value: usize) {
        self.u32(value.try_into().expect("fewer than 2^32 of anything travel"));
    }

    pub(crate) fn i128(&mut self, value: i128) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn f64s(&mut self, values: &[f64]) {
        values.iter().for_each(|value| self.bytes(&value.to_le_bytes()));
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        sealed(self.0)
    }
}

/// Bytes with their fingerprint at the end.
#[doc(hidden)]
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let fingerprint = Sha256::digest(&bytes);
    bytes.extend_from_slice(&fingerprint);
    bytes
}

/// The fingerprint at the end of bytes that were written here.
pub(crate) fn fingerprint(bytes: &[u8]) -> Fingerprint {
    *bytes.last_chunk().expect("bytes end with their fingerprint")
}

/// Bytes that are being read; its methods return `None` if these end too soon.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads the head.
    pub(crate) fn new(bytes: &'a [u8], kind: Kind) -> Result<Reader<'a>, RemoteError> {
        let mut reader = Reader(bytes);
        let is_ours = reader.array() == Some(MARK);
        let form = reader.u8().filter(|_| is_ours).ok_or(kind.malformed())?;
        let what = kind.in_words();
        if form != FORM {
            return Err(RemoteError::OtherVersion { what });
        }
        if reader.u8() != Some(kind as u8) {
            return Err(kind.malformed());
        }
        let length = reader.u8().ok_or(kind.malformed())?;
        let library = reader.take(length.into()).ok_or(kind.malformed())?;
        if library != LIBRARY.as_bytes() {
            return Err(RemoteError::OtherVersion { what });
        }
        let (body, fingerprint) = reader.0.split_last_chunk::<32>().ok_or(kind.malformed())?;
        let all_but_fingerprint = &bytes[..bytes.len() - fingerprint.len()];
        let is_whole = Sha256::digest(all_but_fingerprint)[..] == fingerprint[..];
        if is_whole { Ok(Reader(body)) } else { Err(kind.malformed()) }
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn count(&mut self) -> Option<usize> {
        self.u32()?.try_into().ok()
    }

    fn many<const N: usize, T>(&mut self, count: usize, read: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
        let bytes = self.take(count.checked_mul(N)?)?;
        Some(bytes.as_chunks().0.iter().map(|bytes| read(*bytes)).collect())
    }

    pub(crate) fn u16s(&mut self, count: usize) -> Option<Vec<u16>> {
        self.many(count, u16::from_le_bytes)
    }

    pub(crate) fn u64s(&mut self, count: usize) -> Option<Vec<u64>> {
        self.many(count, u64::from_le_bytes)
    }

    pub(crate) fn i128s(&mut self, count: usize) -> Option<Vec<i128>> {
        self.many(count, i128::from_le_bytes)
    }

    pub(crate) fn f64s(&mut self, count: usize) -> Option<Vec<f64>> {
        self.many(count, f64::from_le_bytes)
    }

    /// Whether nothing is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}
