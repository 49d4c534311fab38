//! Masks secrets in a program's output.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::Captured;
use crate::encode::percent_encoded;

/// Shorter ones occur in too many words to be masked.
const SECRET_BYTES_MIN: usize = 4;
const HIDDEN: &[u8] = b"***";

/// Replaces secrets by `***`, also if one is written in pieces.
#[derive(Debug)]
pub(super) struct Mask {
    /// Longest first: one secret may be a prefix of another.
    patterns: Vec<Vec<u8>>,
    /// Whether some pattern starts with the byte.
    begins: [bool; 256],
    /// The end of the output, while it may be the start of a secret.
    held: Vec<u8>,
}

impl Mask {
    pub(super) fn new(secrets: &[String]) -> Self {
        let long = secrets.iter().filter(|secret| secret.len() >= SECRET_BYTES_MIN);
        let mut patterns: Vec<Vec<u8>> = long
            .flat_map(|secret| {
                // Other programs write the digits of escapes in lower case.
                let lower = percent_encoded(secret).map(|part| match part.strip_prefix('%') {
                    Some(digits) => format!("%{}", digits.to_lowercase()),
                    None => part.to_owned(),
                });
                [
                    secret.clone(),
                    STANDARD.encode(secret),
                    STANDARD_NO_PAD.encode(secret),
                    URL_SAFE_NO_PAD.encode(secret),
                    percent_encoded(secret).to_string(),
                    lower.collect(),
                ]
            })
            .map(String::into_bytes)
            .collect();
        patterns.sort_unstable_by(|left, right| (right.len(), right).cmp(&(left.len(), left)));
        patterns.dedup();
        let mut begins = [false; 256];
        for pattern in &patterns {
            begins[usize::from(pattern[0])] = true;
        }
        Self { patterns, begins, held: Vec::new() }
    }

    pub(super) fn push(&mut self, bytes: &[u8], captured: &mut Captured) {
        if self.patterns.is_empty() {
            captured.push(bytes);
            return;
        }
        self.held.extend_from_slice(bytes);
        self.release(captured, false);
    }

    pub(super) fn finish(&mut self, captured: &mut Captured) {
        self.release(captured, true);
    }

    /// Passes on everything that can no longer be part of a secret.
    fn release(&mut self, captured: &mut Captured, is_end: bool) {
        let longest = self.patterns.first().map_or(0, Vec::len);
        let held = std::mem::take(&mut self.held);
        let (mut at, mut passed) = (0, 0);
        while at < held.len() {
            let rest = &held[at..];
            if !is_end && rest.len() < longest {
                break;
            }
            let found = self.begins[usize::from(rest[0])]
                .then(|| self.patterns.iter().find(|pattern| rest.starts_with(pattern)))
                .flatten();
            match found {
                Some(pattern) => {
                    captured.push(&held[passed..at]);
                    captured.push(HIDDEN);
                    at += pattern.len();
                    passed = at;
                }
                None => at += 1,
            }
        }
        captured.push(&held[passed..at]);
        self.held = held[at..].to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(secrets: &[&str], text: &str, step: usize) -> String {
        let secrets: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
        let mut mask = Mask::new(&secrets);
        let mut captured = Captured::default();
        for part in text.as_bytes().chunks(step) {
            mask.push(part, &mut captured);
        }
        mask.finish(&mut captured);
        String::from_utf8(captured.to_bytes()).unwrap()
    }

    #[test]
    fn secrets_are_hidden_however_they_are_written() {
        let secrets = ["hunter2", "hunter2/longer?", "abc"];
        for (text, wanted) in [
            ("", ""),
            ("nothing", "nothing"),
            ("a hunter2 b", "a *** b"),
            ("hunter2hunter2", "******"),
            ("hunter2/longer?", "***"),
            ("hunter2/longer", "***/longer"),
            ("aHVudGVyMg==.", "***."),
            ("aHVudGVyMg", "***"),
            ("hunter2%2Flonger%3F hunter2%2flonger%3f", "*** ***"),
            ("hunter hunter", "hunter hunter"),
            ("abc", "abc"),
        ] {
            for step in [1, 2, 5, 100] {
                assert_eq!(masked(&secrets, text, step), wanted, "{text} by {step}");
            }
        }
    }
}
