//! The hashes that chain entries.

use sha2::{Digest, Sha256};

use crate::{Attribution, Entry};

/// The hash before the first entry.
pub(crate) const START: &str = "dplm ledger v1";

/// The hash of an entry after one whose hash is `previous`: SHA-256 of every field, each preceded by its length so that fields cannot be
/// shifted into one another.
///
/// An entry that says neither who asked and why nor what it reverses has the hash that it had before ledgers could say so: such entries stay
/// as they were recorded. Fields that carry their length are told apart whatever their number, so no other entry has that hash.
pub(crate) fn hash(previous: &str, entry: &Entry) -> String {
    let delta = entry.delta.map_or(String::new(), |delta| delta.to_string());
    let about = entry.about.map_or(String::new(), |about| about.to_string());
    let Entry { id, dataset, time, kind, rho, neighbours, text, plan, table, attribution, .. } = entry;
    let (id, units) = (id.to_string(), rho.0.to_string());
    let always = [previous, dataset, time, kind.name(), neighbours, text, plan, table, &id, &units, &delta];
    let Attribution { analyst, purpose, note } = attribution;
    let said = [analyst, purpose, note, &about];
    let said = if said.iter().all(|field| field.is_empty()) { &[] } else { &said[..] };
    let mut digest = Sha256::new();
    for field in always.into_iter().chain(said.iter().map(|field| field.as_str())) {
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
