#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| steadfast_fuzz::guided(steadfast_fuzz::failure, input));
