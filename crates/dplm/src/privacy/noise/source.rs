//! Where the random words come from: the operating system, or a seed that voids the guarantee.

use std::fmt;

use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, Infallible, Rng, SeedableRng, TryCryptoRng, TryRng};

/// The operating system gave no random key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random seed, so no noise can be drawn: run again where one is available")]
pub struct EntropyError {
    /// The system's own reason.
    #[source]
    source: getrandom::Error,
}

/// The generator of every private release: ChaCha20 with a 256-bit key from the operating system.
///
/// It cannot be cloned and does not show its state, since the same noise added twice cancels. A
/// process that forks after making one has the same stream in both halves: make it after the fork.
pub struct SystemRng(ChaCha20Rng);

impl SystemRng {
    /// Takes a fresh key from the operating system.
    ///
    /// # Errors
    ///
    /// [`EntropyError`] when the system has no randomness to give.
    pub fn new() -> Result<Self, EntropyError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|source| EntropyError { source })?;
        Ok(Self(ChaCha20Rng::from_seed(key)))
    }
}

/// A reproducible ChaCha20 stream from a 64-bit seed. **Results drawn with it are not private.**
///
/// Anybody who knows or guesses the seed can subtract the noise. It is a type of its own so that
/// functions that take it can mark their result; it satisfies `CryptoRng` only so that tests and
/// examples run the code that private fits run.
///
/// The stream is part of the interface: the key is the seed's eight bytes, little-endian, then
/// `dplm fixed seed, v1` and zeros, so a seed gives the same noise on every machine and in every
/// version.
pub struct FixedSeed(ChaCha20Rng);

impl FixedSeed {
    /// The stream of this seed, from its beginning.
    pub fn new(seed: u64) -> Self {
        const LABEL: &[u8] = b"dplm fixed seed, v1";
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..8 + LABEL.len()].copy_from_slice(LABEL);
        Self(ChaCha20Rng::from_seed(key))
    }
}

/// Uniform, independent, unpredictable words. Every cryptographic generator of `rand_core` gives
/// them.
pub trait RandomWords {
    /// The next 64 bits.
    fn next_word(&mut self) -> u64;
}

impl<R: CryptoRng> RandomWords for R {
    #[inline]
    fn next_word(&mut self) -> u64 {
        self.next_u64()
    }
}

/// Where the noise comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseSource {
    /// The operating system: private.
    System,
    /// A seed: reproducible, and not private.
    Seed(u64),
}

impl NoiseSource {
    /// Whether what is drawn from it protects anybody.
    pub fn is_private(self) -> bool {
        self == NoiseSource::System
    }

    /// The generator of this source.
    ///
    /// # Errors
    /// When the operating system has no randomness to give.
    pub fn open(self) -> Result<NoiseRng, EntropyError> {
        Ok(NoiseRng(match self {
            NoiseSource::System => SystemRng::new()?.0,
            NoiseSource::Seed(seed) => FixedSeed::new(seed).0,
        }))
    }
}

/// The generator of one fit: the stream of a [`SystemRng`] or of a [`FixedSeed`], as its
/// [`NoiseSource`] says.
pub struct NoiseRng(ChaCha20Rng);

/// The sources hand on the words of the ChaCha20 stream they hold, and print without it.
macro_rules! chacha_source {
    ($name:ident) => {
        impl TryRng for $name {
            type Error = Infallible;

            #[inline]
            fn try_next_u32(&mut self) -> Result<u32, Infallible> {
                Ok(self.0.next_u32())
            }

            #[inline]
            fn try_next_u64(&mut self) -> Result<u64, Infallible> {
                Ok(self.0.next_u64())
            }

            #[inline]
            fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
                self.0.fill_bytes(bytes);
                Ok(())
            }
        }

        impl TryCryptoRng for $name {}

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

chacha_source!(SystemRng);
chacha_source!(FixedSeed);
chacha_source!(NoiseRng);
