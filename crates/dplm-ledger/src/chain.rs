//! The hashes that chain entries.

use sha2::{Digest, Sha256};

use crate::{Attribution, Entry};

/// The hash before the first entry.
pub(crate) const START: &str = "dplm ledger v1";

/// The hash of an entry after one whose hash is `previous`: SHA-256 of every field, each preceded
/// by its length so that bytes cannot move between fields.
///
/// Entries of older ledgers keep their hashes. An entry without a promise as a value has the hash
/// of ledgers that did not state promises as values; one without attribution and reversal has that
/// of ledgers that could not state these. Fields carry their length, and each form has another
/// number of them, so entries of different forms never share a hash.
pub(crate) fn hash(previous: &str, entry: &Entry) -> String {
    let delta = entry.delta.map_or(String::new(), |delta| delta.to_string());
    let about = entry.about.map_or(String::new(), |about| about.to_string());
    let Entry { id, dataset, time, kind, rho, neighbours, stated, text, plan, table, attribution, .. } = entry;
    let (id, units) = (id.to_string(), rho.0.to_string());
    let always = [previous, dataset, time, kind.name(), neighbours, text, plan, table, &id, &units, &delta];
    let Attribution { analyst, purpose, note } = attribution;
    let said = [analyst, purpose, note, &about, stated];
    let said = match stated.is_empty() {
        true if said.iter().all(|field| field.is_empty()) => &[],
        true => &said[..4],
        false => &said[..],
    };
    let mut digest = Sha256::new();
    for field in always.into_iter().chain(said.iter().map(|field| field.as_str())) {
        digest.update((field.len() as u64).to_le_bytes());
        digest.update(field.as_bytes());
    }
    hex(&digest.finalize())
}

/// A fingerprint of public text; empty for an empty text.
pub(crate) fn fingerprint(words: &str) -> String {
    if words.is_empty() { String::new() } else { hex(&Sha256::digest(words.as_bytes()))[..16].to_owned() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
