#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| dplm_fuzz::targets::ledger(data));
