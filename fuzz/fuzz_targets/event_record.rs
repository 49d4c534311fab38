//! Reads an event as the log has it. What is read must be written as the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waypost_events::check_record;

fuzz_target!(|input: (u8, u8, Vec<u8>)| {
    let (kind, version, payload) = input;
    // Nearly every kind and version is refused at once.
    for (kind, version) in [(kind, version), (1, 1)] {
        if let Ok(again) = check_record(kind, version, &payload) {
            assert_eq!(again, payload);
        }
    }
});
