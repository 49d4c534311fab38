//! Words that are too random for prose and names, whatever precedes them.

use std::ops::Range;

use crate::assigned::{is_placeholder, is_public};
use crate::random::{alternation, consonants, entropy, is_hex, is_jumbled, unrest};
use crate::{Secret, floor, run};

pub(super) const WHAT: &str = "random-token";

/// Shorter words occur in code by chance.
const BYTES_MIN: usize = 20;
/// Longer ones are data: pictures, certificates, compressed text.
const BYTES_MAX: usize = 256;

/// Shorter words without a prefix are names of files and other ids.
const BARE_BYTES_MIN: usize = 24;

const SEPARATORS: [char; 4] = ['_', '-', '.', '='];

/// The lengths of MD5, SHA-1, SHA-256 and SHA-512 in hexadecimal.
const DIGEST_BYTES: [usize; 4] = [32, 40, 64, 128];

/// The start of a label of an internationalised domain name.
const PUNYCODE: &str = "xn--";

/// Words before a hash that is not a secret.
const HASHES: [&str; 15] = [
    "sha", "md5", "crc", "hash", "digest", "blake", "commit", "rev", "git", "etag", "checksum",
    "h1", "build", "index", "ref",
];

pub(super) fn in_text(text: &str, is_code: bool) -> impl Iterator<Item = Secret> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let rest = &text.as_bytes()[at..];
            let skipped = rest.iter().position(|it| is_word(*it)).unwrap_or(rest.len());
            let mut start = at + skipped;
            let mut length = run(&text[start..], is_word);
            at = start + length;
            // `NAME=value`
            let name = run(&text[start..], |byte| byte.is_ascii_uppercase() || byte == b'_');
            if name > 0 && text.as_bytes().get(start + name) == Some(&b'=') {
                start += name + 1;
                length -= name + 1;
            }
            if (BYTES_MIN..=BYTES_MAX).contains(&length) {
                let before = text.as_bytes()[..start].last().copied();
                let after = text.as_bytes().get(at).copied();
                let is_other = |_: &Range<usize>| {
                    (is_code && is_identifier(before, after)) || is_line_of_data(text, start, at)
                };
                let token = token(&text[start..at], before, after).filter(|token| !is_other(token));
                if let Some(span) = token {
                    let end = start + span.end;
                    // The rest of a token whose alphabet is base64.
                    let rest = run(&text[end..], |byte| {
                        byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte)
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
    if before.is_some_and(|before| b"/+@#%:\\&~".contains(&before)) {
        return None;
    }
    let word = word.trim_end_matches(SEPARATORS);
    if is_path(word)
        || is_placeholder(word)
        || is_public(word)
        || is_name(word)
        || word.contains(PUNYCODE)
    {
        return None;
    }
    let Some((prefix, rest)) = split_prefix(word) else {
        let first = word.split(SEPARATORS).next().unwrap_or_default();
        let is_hash = first.len() < word.len() && names_a_hash(&first.to_ascii_lowercase());
        // Lines of base64, as in certificates, start at the start of a line or contain its other
        // characters.
        let is_base64 = before.is_none_or(|before| before == b'\n')
            || after.is_some_and(|after| b"/+".contains(&after));
        let is_token = !is_hash && !is_base64 && is_bare_token(word);
        return is_token.then_some(0..word.len());
    };
    let lower = prefix.to_ascii_lowercase();
    if names_a_hash(&lower) {
        return None;
    }
    let says_token = ["tok", "pat", "sat", "key", "sec", "pw"].iter().any(|it| lower.contains(it));
    // `csr-id-8941f4b5…`, `crash-f1fd008d…`: a digest after a word. Tokens of that shape are known by
    // their prefix.
    let is_digest =
        DIGEST_BYTES.contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_digest && !says_token {
        return None;
    }
    let least = if says_token { 16 } else { 20 };
    let is_token = looks_random(rest) || (says_token && is_short_token(rest));
    (rest.len() >= least && is_token).then_some(0..word.len())
}

/// Whether a word is a name such as `java.security.spec.X509EncodedKeySpec`: one of its parts is
/// all letters, and not a short prefix.
fn is_path(word: &str) -> bool {
    let is_letters =
        |text: &str| text.len() >= 3 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    word.split('.').skip(1).any(is_letters)
}

/// Whether a word without a prefix is a token: long, with letters of both cases and digits.
fn is_bare_token(word: &str) -> bool {
    let has = |of: fn(&u8) -> bool| word.bytes().any(|byte| of(&byte));
    let all = [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit];
    // Digests, UUIDs and addresses of Ethereum, whose case is a checksum.
    let is_hash = is_hex(word.trim_start_matches("0x"));
    (BARE_BYTES_MIN..=128).contains(&word.len()) && !is_hash && all.iter().all(|of| has(*of)) && {
        let letters = word.bytes().filter(u8::is_ascii_alphanumeric).count();
        letters * 16 >= word.len() * 15 && unrest(word) >= 0.45 && alternation(word) >= 0.1
    }
}

/// Whether the bytes around a word make it a name in code: `call(`, `.field:`, `Type<`.
fn is_identifier(before: Option<u8>, after: Option<u8>) -> bool {
    let is_quote = |it: Option<u8>| it.is_some_and(|byte| b"\"'`".contains(&byte));
    !is_quote(before)
        && !is_quote(after)
        && (after.is_some_and(|after| b"(:<,{)[;".contains(&after))
            || before.is_some_and(|before| b"(.!&*<[".contains(&before)))
}

/// Whether a word is alone in its line, as is one in a line next to it: data such as a certificate.
fn is_line_of_data(text: &str, start: usize, end: usize) -> bool {
    const BYTES_MAX: usize = 160;
    let is_alone = |line: &str| {
        let word = line.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_data = |byte: u8| is_word(byte) || byte == b'+' || byte == b'/';
        word.len() >= BYTES_MIN && word.bytes().all(is_data)
    };
    let before = &text[floor(text, start.saturating_sub(BYTES_MAX))..start];
    let after = &text[end..floor(text, end + BYTES_MAX)];
    let mut earlier = before.rsplit('\n');
    let mut later = after.split('\n');
    let (head, tail) = (earlier.next().unwrap_or_default(), later.next().unwrap_or_default());
    let has_word = |text: &str| text.bytes().any(|byte| byte.is_ascii_alphanumeric());
    let is_tail = tail.bytes().all(|byte| is_word(byte) || b"+/\\\",; \r".contains(&byte));
    !has_word(head.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "+/".contains(c)))
        && is_tail
        && (earlier.next().is_some_and(is_alone) || later.next().is_some_and(is_alone))
}

/// Whether a word is a name in code, such as `AppenderV2AsLimitedV1` or `_mm512_cvtepi64_epi8`.
pub(super) fn is_name(word: &str) -> bool {
    // Words in camel case have longer runs of small letters than random texts, of which these runs
    // are an eighth.
    let has_upper = word.bytes().any(|byte| byte.is_ascii_uppercase());
    let small = in_runs(word, 4, |it| it.is_ascii_lowercase()).0;
    if has_upper && small * 5 >= word.len() * 2 {
        return true;
    }
    // A run of letters with vowels.
    let words = [
        in_runs(word, 10, |it| it.is_ascii_lowercase()),
        in_runs(word, 10, |it| it.is_ascii_uppercase()),
    ];
    if words.iter().any(|(_, longest)| !longest.is_empty() && consonants(longest) < 0.3) {
        return true;
    }
    // Short words, each with one number.
    let mut parts = word.split(['_', '.']).filter(|part| !part.is_empty());
    let is_numbered = |part: &str| {
        let digits = in_runs(part, 1, |it| it.is_ascii_digit());
        let runs = part.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
        part.len() < 16 && digits.0 <= 4 && runs.filter(|run| run[0].is_ascii_digit()).count() <= 1
    };
    word.contains(['_', '.']) && parts.all(is_numbered)
}

/// How many bytes of a word are in runs of a class that have a minimum length, and the longest run.
fn in_runs(word: &str, least: usize, of: fn(&u8) -> bool) -> (usize, &str) {
    let (mut sum, mut longest, mut at) = (0, "", 0);
    for run in word.as_bytes().chunk_by(|a, b| of(a) == of(b)) {
        if run.len() >= least && of(&run[0]) {
            sum += run.len();
            let text = &word[at..at + run.len()];
            longest = if text.len() > longest.len() { text } else { longest };
        }
        at += run.len();
    }
    (sum, longest)
}

fn names_a_hash(lower: &str) -> bool {
    HASHES.iter().any(|hash| lower.contains(hash))
}

/// A word's short first parts of letters, up to three, and the rest.
fn split_prefix(word: &str) -> Option<(&str, &str)> {
    let mut end = 0;
    for _ in 0..3 {
        let rest = &word[end..];
        let length = run(rest, |it| it.is_ascii_alphanumeric());
        let is_name = rest[..length].bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
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
    let mixed: usize = rest.split(SEPARATORS).filter(|part| is_mixed(part)).map(str::len).sum();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    mixed * 4 >= rest.len() * 3 && digits >= 2 && entropy(bytes) >= 3.4 && is_jumbled(rest)
}

/// Whether the rest after a prefix that means "token" is one run of all classes of characters.
fn is_short_token(rest: &str) -> bool {
    rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && rest.bytes().any(|byte| byte.is_ascii_digit())
        && unrest(rest) >= 0.35
}

/// Whether a part of a word has letters of both cases, or letters and digits.
fn is_mixed(part: &str) -> bool {
    let has = |of: fn(&u8) -> bool| part.bytes().any(|byte| of(&byte));
    let kinds = [
        has(u8::is_ascii_lowercase),
        part.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()),
        has(u8::is_ascii_digit),
    ];
    kinds.iter().filter(|kind| **kind).count() >= 2 || consonants(part) >= 0.3
}
