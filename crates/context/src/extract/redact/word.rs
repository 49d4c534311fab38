//! Words that are too random for prose and names, whatever precedes them.

use std::ops::Range;

use super::assigned::is_placeholder;
use super::random::{alternation, consonants, entropy, is_hex, is_jumbled, unrest};
use super::{Secret, run};

pub(super) const WHAT: &str = "random-token";

/// Shorter words occur in code by chance.
const BYTES_MIN: usize = 20;
/// Longer ones are data: pictures, certificates, compressed text.
const BYTES_MAX: usize = 256;

const SEPARATORS: [char; 4] = ['_', '-', '.', '='];

/// Words before a hash that is not a secret.
const HASHES: [&str; 15] = [
    "sha", "md5", "crc", "hash", "digest", "blake", "commit", "rev", "git", "etag", "checksum",
    "h1", "build", "index", "ref",
];

pub(super) fn in_text(text: &str) -> impl Iterator<Item = Secret> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let rest = &text.as_bytes()[at..];
            let skipped = rest.iter().position(|it| is_word(*it)).unwrap_or(rest.len());
            let mut start = at + skipped;
            let mut length = run(&text[start..], is_word);
            at = start + length;
            // `NAME=value`
            let name = run(&text[start..], |it| it.is_ascii_uppercase() || it == b'_');
            if name > 0 && text.as_bytes().get(start + name) == Some(&b'=') {
                start += name + 1;
                length -= name + 1;
            }
            if (BYTES_MIN..=BYTES_MAX).contains(&length) {
                let before = text.as_bytes()[..start].last().copied();
                let after = text.as_bytes().get(at).copied();
                if let Some(span) = token(&text[start..at], before, after) {
                    let end = start + span.end;
                    // The rest of a token whose alphabet is base64.
                    let rest = run(&text[end..], |it| {
                        it.is_ascii_alphanumeric() || b"+/=_-".contains(&it)
                    });
                    at = at.max(end + rest);
                    return Some((start + span.start..end + rest, WHAT));
                }
            }
        }
        None
    })
}

fn is_word(it: u8) -> bool {
    it.is_ascii_alphanumeric() || b"_-.=".contains(&it)
}

/// A token in a word: short parts, each followed by `_`, `-` or `.`, and a random rest.
fn token(word: &str, before: Option<u8>, after: Option<u8>) -> Option<Range<usize>> {
    // Parts of paths, URLs, hashes with their algorithm, and longer base64.
    if before.is_some_and(|it| b"/+@#%:\\&~".contains(&it)) {
        return None;
    }
    let word = word.trim_end_matches(SEPARATORS);
    if is_path(word) || is_placeholder(word) {
        return None;
    }
    let Some((prefix, rest)) = split_prefix(word) else {
        let first = word.split(SEPARATORS).next().unwrap_or_default();
        let is_hash = first.len() < word.len() && names_a_hash(&first.to_ascii_lowercase());
        // Lines of base64, as in certificates, start at the start of a line or contain its other
        // characters.
        let is_base64 =
            before.is_none_or(|it| it == b'\n') || after.is_some_and(|it| b"/+".contains(&it));
        let is_token = !is_hash && !is_base64 && is_bare_token(word);
        return is_token.then_some(0..word.len());
    };
    let lower = prefix.to_ascii_lowercase();
    if names_a_hash(&lower) {
        return None;
    }
    let says_token = ["tok", "pat", "sat", "key", "sec", "pw"].iter().any(|it| lower.contains(it));
    let least = if says_token { 16 } else { 20 };
    let is_token = looks_random(rest) || (says_token && is_short_token(rest));
    (rest.len() >= least && is_token).then_some(0..word.len())
}

/// Whether a word is a name such as `java.security.spec.X509EncodedKeySpec`: one of its parts is
/// all letters, and not a short prefix.
fn is_path(word: &str) -> bool {
    let is_letters = |it: &str| it.len() >= 3 && it.bytes().all(|it| it.is_ascii_alphabetic());
    word.split('.').skip(1).any(is_letters)
}

/// Whether a word without a prefix is a token: long, with letters of both cases and digits.
fn is_bare_token(word: &str) -> bool {
    let has = |of: fn(&u8) -> bool| word.bytes().any(|it| of(&it));
    let all = [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit];
    let is_hash = is_hex(word) && word.contains(SEPARATORS);
    // Lines of certificates have 64 characters, or 76.
    (32..=128).contains(&word.len())
        && ![64, 76].contains(&word.len())
        && !is_hash
        && all.iter().all(|of| has(*of))
        && {
            let letters = word.bytes().filter(u8::is_ascii_alphanumeric).count();
            letters * 16 >= word.len() * 15 && unrest(word) >= 0.45 && alternation(word) >= 0.1
        }
}

fn names_a_hash(lower: &str) -> bool {
    HASHES.iter().any(|it| lower.contains(it))
}

/// A word's short first parts of letters, up to three, and the rest.
fn split_prefix(word: &str) -> Option<(&str, &str)> {
    let mut end = 0;
    for _ in 0..3 {
        let rest = &word[end..];
        let length = run(rest, |it| it.is_ascii_alphanumeric());
        let is_name = rest[..length].bytes().next().is_some_and(|it| it.is_ascii_alphabetic())
            && rest[..length].bytes().filter(u8::is_ascii_digit).count() <= 2;
        if length > 12 || !is_name || !rest[length..].starts_with(SEPARATORS) {
            break;
        }
        end += length + 1;
    }
    (end > 0).then_some((&word[..end], &word[end..]))
}

fn looks_random(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    if is_hex(rest) {
        let longest = rest.split(SEPARATORS).map(str::len).max().unwrap_or(0);
        return longest >= 32 && entropy(bytes) >= 3.0;
    }
    // Parts that are words or numbers belong to a name.
    let mixed: usize = rest.split(SEPARATORS).filter(|it| is_mixed(it)).map(str::len).sum();
    let digits = bytes.iter().filter(|it| it.is_ascii_digit()).count();
    mixed * 4 >= rest.len() * 3 && digits >= 2 && entropy(bytes) >= 3.4 && is_jumbled(rest)
}

/// Whether the rest after a prefix that means "token" is one run of all classes of characters.
fn is_short_token(rest: &str) -> bool {
    rest.bytes().all(|it| it.is_ascii_alphanumeric())
        && rest.bytes().any(|it| it.is_ascii_digit())
        && unrest(rest) >= 0.35
}

/// Whether a part of a word has letters of both cases, or letters and digits.
fn is_mixed(part: &str) -> bool {
    let has = |of: fn(&u8) -> bool| part.bytes().any(|it| of(&it));
    let kinds = [
        has(u8::is_ascii_lowercase),
        part.bytes().skip(1).any(|it| it.is_ascii_uppercase()),
        has(u8::is_ascii_digit),
    ];
    kinds.iter().filter(|it| **it).count() >= 2 || consonants(part) >= 0.3
}
