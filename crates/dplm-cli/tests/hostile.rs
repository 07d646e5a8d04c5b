//! Bytes that an attacker may choose: the fuzz targets on a stable compiler, from the committed
//! corpus and its mutations.
//!
//! A few hundred runs a target here;
//! `DPLM_FUZZ_RUNS=1000000 cargo test -p dplm-cli --test all hostile` for more. With a nightly
//! compiler, `cargo +nightly fuzz run csv` looks further, guided by coverage.

#[path = "../../../fuzz/src/targets.rs"]
mod targets;

use std::{fs, panic, path::PathBuf, sync::Once};

use crate::common::Chance;

/// Runs of a target when nothing is said.
const RUNS: u64 = 300;
/// Numbers at the ends of what lengths and counts are stored in.
const ENDS: [u64; 8] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("a corpus").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("readable")).collect()
}

/// One small change.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let at = chance.below(bytes.len());
    let length = 1 + chance.below(24).min(bytes.len().saturating_sub(at + 1));
    let end = (at + length).min(bytes.len());
    match chance.below(8) {
        0 | 1 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
        2 if at < bytes.len() => bytes[at] = chance.next() as u8,
        3 => {
            let number = ENDS[chance.below(ENDS.len())].to_le_bytes();
            let width = [1, 2, 4, 8][chance.below(4)].min(bytes.len() - at);
            bytes[at..at + width].copy_from_slice(&number[..width]);
        }
        4 => drop(bytes.drain(at..end)),
        5 => {
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        6 => {
            let from = chance.below(other.len());
            let to = (from + length).min(other.len());
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        _ => bytes.truncate(at),
    }
}

/// Panics that are caught on purpose, inside the decoders, would fill the screen; those of tests
/// are shown.
fn silence_decoders() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if panic.location().is_some_and(|place| place.file().contains("tests")) {
                shown(panic);
            }
        }));
    });
}

fn attack(name: &str) {
    let runs = std::env::var("DPLM_FUZZ_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let target = targets::ALL.iter().find(|(known, _)| *known == name).expect("a target").1;
    let corpus = corpus(name);
    let mut chance = Chance(name.bytes().map(u64::from).sum());
    silence_decoders();
    for run in 0..runs {
        // The corpus itself first.
        let unchanged = usize::try_from(run).ok().and_then(|run| corpus.get(run));
        let mut bytes = unchanged.unwrap_or_else(|| &corpus[chance.below(corpus.len())]).clone();
        let changes = if unchanged.is_some() { 0 } else { 1 + chance.below(6) };
        for _ in 0..changes {
            let other = &corpus[chance.below(corpus.len())];
            mutate(&mut bytes, other, &mut chance);
        }
        if run > 0 && run.is_multiple_of(10_000) {
            println!("{name}: {run} runs");
        }
        if let Err(reason) = panic::catch_unwind(|| target(&bytes)) {
            let reason = reason.downcast_ref::<String>().cloned().unwrap_or_default();
            let kept = std::env::temp_dir().join(format!("dplm-{name}-{run}"));
            fs::write(&kept, &bytes).expect("kept");
            eprintln!("{name}, run {run}: {reason}; the bytes are in {}", kept.display());
            std::process::abort();
        }
    }
}

macro_rules! attacks {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            attack(stringify!($name));
        })*
    };
}

attacks!(csv tsv parquet arrow model formula request ledger locality fit remote);
