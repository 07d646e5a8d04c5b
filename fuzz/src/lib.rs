//! The fuzz targets as functions, for `fuzz_targets/` and for the tests, and how a fuzzer runs
//! them.

pub mod targets;

use std::{
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    process,
    sync::{Mutex, PoisonError},
};

/// The last panic, in its own words.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Makes panics quiet until one escapes, and runs everything on one thread.
///
/// The fuzzer's own hook ends the process at every panic. The readers catch those of the decoding
/// libraries on purpose: a damaged file is refused, which is no crash. Small inputs spend most of
/// their time waking threads, so there are none.
pub fn prepare() {
    panic::set_hook(Box::new(keep));
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    alone.expect("nothing has started threads yet");
}

fn keep(panic: &PanicHookInfo<'_>) {
    *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
}

/// Runs a target, and ends the process, which the fuzzer takes for a crash, where a panic escapes
/// it.
pub fn run(target: fn(&[u8]), data: &[u8]) {
    if panic::catch_unwind(AssertUnwindSafe(|| target(data))).is_err() {
        eprintln!("{}", LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner));
        process::abort();
    }
}

/// The whole of a fuzz target's program, of the target's name.
#[macro_export]
macro_rules! program {
    ($target:ident) => {
        libfuzzer_sys::fuzz_target!(init: $crate::prepare(), |data: &[u8]| {
            $crate::run($crate::targets::$target, data)
        });
    };
}
