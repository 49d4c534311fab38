//! Reads a change of tokens as the shared journal has it. What is read must be written as the same
//! bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waypost_auth::TokenChange;

fuzz_target!(|input: &[u8]| {
    if let Ok(change) = TokenChange::decode(input) {
        assert_eq!(change.encode(), input);
    }
});
