//! Secrets in texts: found, counted, and replaced by `[redacted:what]`.
//!
//! One pass over the text looks for what secrets begin with, all at once; only there is looked
//! closer. What is replaced keeps its line breaks, so that the numbers of lines hold.

mod assigned;
mod known;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use known::{KNOWN, Known};

/// A secret: where, and what it is.
type Secret = (Range<usize>, &'static str);

/// What is looked for, in the order of the patterns of the automaton: tokens of known shape, then
/// [`OTHERS`], then names of settings.
static STARTS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let patterns = KNOWN.iter().map(|it| it.start).chain(OTHERS).chain(assigned::NAMES);
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostFirst)
        .build(patterns)
        .expect("a few short words make a small automaton")
});

const OTHERS: [&str; 4] = ["-----begin ", "eyj", "://", "bearer "];

/// The text without secrets, and how many of which kind were in it. In code, a setting is only
/// taken for a secret if its value is in quotes: what is not is the name of something.
pub(crate) fn redact(text: &str, is_code: bool) -> (Cow<'_, str>, BTreeMap<&'static str, u32>) {
    let mut counts = BTreeMap::new();
    let mut out = String::new();
    let mut done = 0;
    for start in STARTS.find_iter(text) {
        if start.start() < done {
            continue;
        }
        let Some((span, what)) = secret(text, start.pattern().as_usize(), start.range(), is_code)
        else {
            continue;
        };
        *counts.entry(what).or_default() += 1;
        out.push_str(&text[done..span.start]);
        out.push_str("[redacted:");
        out.push_str(what);
        out.push(']');
        out.extend(text[span.clone()].chars().filter(|it| *it == '\n'));
        done = span.end;
    }
    if done == 0 {
        return (Cow::Borrowed(text), counts);
    }
    out.push_str(&text[done..]);
    (Cow::Owned(out), counts)
}

fn secret(text: &str, pattern: usize, start: Range<usize>, is_code: bool) -> Option<Secret> {
    if let Some(known) = KNOWN.get(pattern) {
        return known.at(text, start.start);
    }
    match pattern - KNOWN.len() {
        0 => private_key(text, start.start),
        1 => web_token(text, start.start),
        2 => assigned::in_url(text, start.end),
        3 => bearer(text, start.end),
        _ => assigned::setting(text, start.end, is_code),
    }
}

/// A secret of known shape that begins at a place, if one does.
fn of_known_shape(text: &str, at: usize) -> Option<Secret> {
    KNOWN.iter().find_map(|known| known.at(text, at)).or_else(|| web_token(text, at))
}

/// From `-----BEGIN … PRIVATE KEY-----` to its end; without an end, as far as lines look like it.
fn private_key(text: &str, at: usize) -> Option<Secret> {
    let rest = &text[at..];
    let first = rest.lines().next()?;
    let label = first.get("-----BEGIN ".len()..)?;
    // The key may be on one line, with its breaks written as `\n`.
    let label_end = label.find("-----")?;
    label[..label_end].contains("PRIVATE KEY").then_some(())?;
    let body = "-----BEGIN ".len() + label_end + "-----".len();
    let end = if let Some(end) = rest.find("-----END ").filter(|end| *end < 64 << 10) {
        let tail = end + "-----END ".len();
        tail + rest[tail..].find("-----").filter(|it| *it < 64).map_or(0, |it| it + 5)
    } else {
        let inside =
            |it: char| it.is_ascii_alphanumeric() || "+/=\\-:,".contains(it) || it.is_whitespace();
        body + rest[body..].find(|it| !inside(it)).unwrap_or(rest.len() - body)
    };
    Some((at..at + end, "private-key"))
}

/// Three parts of base64, of which the first two are JSON objects.
fn web_token(text: &str, at: usize) -> Option<Secret> {
    is_start(text, at).then_some(())?;
    let mut end = at;
    for part in 0..3 {
        let rest = &text[end..];
        if part < 2 {
            rest.starts_with("eyJ").then_some(())?;
        }
        let length = run(rest, is_url_base64);
        (length >= 10).then_some(())?;
        end += length;
        if part < 2 {
            text[end..].starts_with('.').then_some(())?;
            end += 1;
        }
    }
    Some((at..end, "jwt"))
}

/// The credentials of an `Authorization` header.
fn bearer(text: &str, at: usize) -> Option<Secret> {
    let token = |it: u8| it.is_ascii_alphanumeric() || b"-._~+/=".contains(&it);
    let end = at + run(&text[at..], token);
    let value = &text[at..end];
    if let Some(secret) = of_known_shape(text, at) {
        return Some(secret);
    }
    (value.len() >= 20 && assigned::is_random(value)).then_some((at..end, "bearer-token"))
}

impl Known {
    fn at(&self, text: &str, at: usize) -> Option<Secret> {
        let rest = text[at..].strip_prefix(self.start)?;
        is_start(text, at).then_some(())?;
        let length = run(rest, self.letters);
        self.length.contains(&length).then_some(())?;
        let value = &rest[..length];
        (!self.mixed || assigned::is_random(value)).then_some(())?;
        Some((at..at + self.start.len() + length, self.what))
    }
}

/// Whether a word begins here.
fn is_start(text: &str, at: usize) -> bool {
    at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric()
}

/// How many of the first bytes are of a kind. All kinds are ASCII.
fn run(text: &str, of: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(|it| !of(it)).unwrap_or(text.len())
}

fn is_url_base64(it: u8) -> bool {
    it.is_ascii_alphanumeric() || it == b'-' || it == b'_'
}

#[cfg(test)]
mod tests;
