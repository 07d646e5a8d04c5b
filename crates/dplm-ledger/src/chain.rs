//! The hashes that chain entries.

use sha2::{Digest, Sha256};

use crate::Entry;

/// The hash before the first entry.
pub(crate) const START: &str = "dplm ledger v1";

/// The hash of an entry after one whose hash is `previous`: SHA-256 of every field, each preceded by its length so that fields cannot be
/// shifted into one another.
pub(crate) fn hash(previous: &str, entry: &Entry) -> String {
    let mut digest = Sha256::new();
    let delta = entry.delta.map_or(String::new(), |delta| delta.to_string());
    let numbers = [entry.id.to_string(), entry.rho.units().to_string(), delta];
    let Entry { dataset, time, kind, neighbours, text, plan, table, .. } = entry;
    let words = [previous, dataset, time, kind.name(), neighbours, text, plan, table];
    for field in words.into_iter().chain(numbers.iter().map(String::as_str)) {
        digest.update((field.len() as u64).to_le_bytes());
        digest.update(field.as_bytes());
    }
    hex(&digest.finalize())
}

/// A fingerprint of public words; empty for none.
pub(crate) fn fingerprint(words: &str) -> String {
    if words.is_empty() { String::new() } else { hex(&Sha256::digest(words.as_bytes()))[..16].to_owned() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
