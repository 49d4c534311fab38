//! Reads tokens: whatever is taken for one has the form of one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waypost_auth::Token;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    if let Ok(token) = Token::parse(&text) {
        assert!(text.starts_with("wp_") && text.is_ascii());
        assert!(!format!("{token:?}").contains(text.as_ref()), "its secret is shown");
    }
});
