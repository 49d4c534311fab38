//! Secrets in texts: found, counted, and replaced by `[redacted:what]`.
//!
//! One pass over the text searches at once for the prefixes of secrets and for what their names
//! contain; a second examines words that are too random for prose or names. Replacing keeps line
//! breaks, so line numbers stay correct.

mod assigned;
mod command;
mod header;
mod prefixes;
mod random;
mod tail;
mod word;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use assigned::Name;
use prefixes::{KNOWN, Known};

/// A secret: its range, and its type.
type Secret = (Range<usize>, &'static str);

/// The longest private key.
const KEY_BYTES_MAX: usize = 64 << 10;
/// The longest name of a kind of key, between its dashes.
const LABEL_BYTES_MAX: usize = 64;
/// So much of a long value shows whether it is random.
const SAMPLE_BYTES: usize = 256;

/// What a pattern starts.
#[derive(Clone, Copy)]
enum Start {
    /// A token of known shape.
    Token(&'static str, &'static Known),
    /// What this looks for.
    Other(Look),
    /// A part of a setting's name.
    Name(Name),
}

/// The search patterns, and an automaton that finds them.
static STARTS: LazyLock<(AhoCorasick, Vec<Start>)> = LazyLock::new(|| {
    let token = |known: &'static Known| {
        known.starts.iter().map(move |start| (*start, Start::Token(start, known)))
    };
    let other = |(starts, look): &'static (&'static [&'static str], Look)| {
        starts.iter().map(move |start| (*start, Start::Other(*look)))
    };
    let names = assigned::names().map(|(part, name)| (part, Start::Name(name)));
    let all = KNOWN.iter().flat_map(token).chain(OTHERS.iter().flat_map(other)).chain(names);
    let (patterns, starts): (Vec<&str>, Vec<Start>) = all.unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .build(patterns)
        .expect("a few short words make a small automaton");
    (automaton, starts)
});

/// What earlier matches in a text found. Matches of one pattern come in order, so a part of the text
/// that one match has searched is not searched again for the next.
#[derive(Default)]
struct Seen {
    /// The end of the last private key: what starts before it is part of that key.
    key_end: usize,
    /// The last `-----END ` that was searched for; `usize::MAX` if there was none.
    footer: Option<usize>,
    /// The end of the first part of the last web token.
    token_end: usize,
    /// The last value of a setting without quotes.
    value: Range<usize>,
    /// The last value of a setting that is a secret.
    secret: Range<usize>,
}

/// Examines a match: the text, where the pattern starts, where it ends.
type Look = fn(&str, usize, usize, &mut Seen) -> Option<Secret>;

static OTHERS: [(&[&str], Look); 30] = [
    (&["-----begin "], |text, at, _, seen| private_key(text, at, seen)),
    (&["-----end "], |text, at, _, seen| tail::private_key(text, at, seen)),
    (&["private-lines:"], |text, _, end, seen| putty_key(text, end, seen)),
    (&["eyj"], |text, at, _, seen| next_web_token(text, at, seen)),
    (&["://"], |text, _, end, _| assigned::in_url(text, end)),
    (&["bearer ", "digest ", "geniekey "], |text, _, end, _| header::bearer(text, end)),
    (&["basic "], |text, _, end, _| header::basic(text, end)),
    (&["authorization"], |text, _, end, _| header::authorization(text, end)),
    (&["--user "], |text, _, end, _| header::user(text, end)),
    (&["-u "], |text, at, end, _| header::short_user(text, at, end)),
    (&["machine "], |text, at, end, _| header::netrc(text, at, end)),
    (&["/webhook"], |text, _, end, _| header::webhook(text, end)),
    (&["/bot"], |text, _, end, _| header::bot(text, end)),
    (&[":aa"], |text, at, _, _| header::telegram(text, at)),
    (&[":apa91b"], |text, at, end, _| header::firebase(text, at, end)),
    (&["q~"], |text, at, end, _| header::entra(text, at, end)),
    (&["ls0tls1crudjti"], |text, at, _, seen| encoded_key(text, at, seen)),
    (&[" -p"], |text, at, end, _| command::p(text, at, end)),
    (&[" -n "], |text, at, end, _| command::of_command(text, at, end, &["ssh-keygen"])),
    (&["login(", "connect(", "connection(", "pdo(", "begin("], |text, _, end, _| {
        command::call(text, end)
    }),
    (&[" -a "], |text, at, end, _| {
        command::of_command(text, at, end, &["redis-cli", "valkey-cli", "keydb-cli"])
    }),
    (&[" -w "], |text, at, end, _| command::of_command(text, at, end, &["ldap", "isql"])),
    (&["pass:"], |text, at, end, _| command::of_command(text, at, end, &["openssl", "-pass"])),
    (&["password-stdin", "chpasswd", "sudo -s"], |text, at, end, _| command::stdin(text, at, end)),
    (&[" by "], |text, at, end, _| command::sql(text, at, end)),
    (&["convertto-securestring "], |text, _, end, _| command::password(text, end)),
    (&["-u "], |text, at, end, _| command::joined(text, at, end)),
    (&["add_user ", "change_password ", "/user:"], |text, _, end, _| command::second(text, end)),
    (&["auth=(", "auth = (", "basicauth("], |text, _, end, _| command::pair(text, end)),
    (&[":5432:", ":6432:", ":*:"], |text, _, end, _| command::pgpass(text, end)),
];

/// The text without secrets, and the number of each type in it.
///
/// A secret is a token of known shape, the value of a setting whose name indicates a secret, a
/// credential in a URL or a header, a private key, or a long word that is too random to be a name.
/// If `is_code` is true, a setting's value counts as a secret only in quotes: without quotes it is
/// the name of something. Takes time proportional to the text.
///
/// ```
/// let (text, counts) = waypost_redact::redact("password: tr0ub4dor&3x", false);
/// assert_eq!(text, "password: [redacted:secret]");
/// assert_eq!(counts["secret"], 1);
/// ```
pub fn redact(text: &str, is_code: bool) -> (Cow<'_, str>, BTreeMap<&'static str, u32>) {
    let mut counts = BTreeMap::new();
    let secrets = secrets(text, is_code);
    if secrets.is_empty() {
        return (Cow::Borrowed(text), counts);
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (span, what) in secrets {
        if span.end <= done {
            continue;
        }
        // Of a secret that starts inside another, the rest.
        let start = span.start.max(done);
        *counts.entry(what).or_default() += 1;
        out.push_str(&text[done..start]);
        out.push_str("[redacted:");
        out.push_str(what);
        out.push(']');
        out.extend(text[start..span.end].chars().filter(|c| *c == '\n'));
        done = span.end;
    }
    out.push_str(&text[done..]);
    (Cow::Owned(out), counts)
}

/// All secrets, sorted by start, then longest first; they may overlap.
fn secrets(text: &str, is_code: bool) -> Vec<Secret> {
    let mut seen = Seen::default();
    let (automaton, starts) = &*STARTS;
    let looked_at = automaton.find_overlapping_iter(text).filter_map(|it| {
        let secret = match starts[it.pattern()] {
            Start::Token(start, known) => known.at(start, text, it.start()),
            Start::Other(look) => look(text, it.start(), it.end(), &mut seen),
            Start::Name(name) => assigned::setting(text, it.range(), name, is_code, &mut seen),
        }?;
        Some((secret, it.len()))
    });
    let mut secrets: Vec<(Secret, usize)> =
        looked_at.chain(word::in_text(text, is_code).map(|text| (text, 0))).collect();
    // Of two at one position the longer wins; of two of equal length, the more specific: `sk-ant-`
    // is more specific than `sk-`.
    secrets.sort_by_key(|((span, what), start)| {
        (span.start, Reverse(span.end), is_vague(what), Reverse(*start))
    });
    secrets.into_iter().map(|(secret, _)| secret).collect()
}

fn is_vague(what: &str) -> bool {
    matches!(what, "secret" | "bearer-token" | word::WHAT)
}

/// A secret of known shape that starts at a position, if any.
fn of_known_shape(text: &str, at: usize) -> Option<Secret> {
    let token = |known: &Known| known.starts.iter().find_map(|start| known.at(start, text, at));
    KNOWN.iter().find_map(token).or_else(|| web_token(text, at))
}

/// From `-----BEGIN … PRIVATE KEY-----` to its end; without an end, as long as lines look like it.
fn private_key(text: &str, at: usize, seen: &mut Seen) -> Option<Secret> {
    (at >= seen.key_end).then_some(())?;
    let rest = &text[at..];
    let label = key_label(&rest["-----BEGIN ".len()..])?;
    let find = || rest.find("-----END ").map_or(usize::MAX, |it| at + it);
    let footer = seen.footer.filter(|footer| *footer >= at).unwrap_or_else(find);
    seen.footer = Some(footer);
    let end = if footer - at < KEY_BYTES_MAX {
        let tail = footer - at + "-----END ".len();
        let after = &rest[tail..];
        tail + after[..floor(after, LABEL_BYTES_MAX)].find("-----").map_or(0, |after| after + 5)
    } else {
        let inside =
            |c: char| c.is_ascii_alphanumeric() || "+/=\\-:,".contains(c) || c.is_whitespace();
        let body = "-----BEGIN ".len() + label.len() + "-----".len();
        body + rest[body..].find(|it| !inside(it)).unwrap_or(rest.len() - body)
    };
    seen.key_end = at + end;
    Some((at..at + end, "private-key"))
}

/// The name of a kind of private key, up to its dashes. The key may be on one line, with its breaks
/// written as `\n`.
fn key_label(text: &str) -> Option<&str> {
    let label = text[..floor(text, LABEL_BYTES_MAX)].split_once("-----")?.0;
    let is_key = !label.contains('\n') && label.to_ascii_uppercase().contains("PRIVATE KEY");
    is_key.then_some(label)
}

/// The private lines of a key in PuTTY's format: `Private-Lines: N`, then N lines of base64.
fn putty_key(text: &str, at: usize, seen: &mut Seen) -> Option<Secret> {
    (at >= seen.key_end).then_some(())?;
    let rest = &text[at..];
    let first = &rest[..rest.bytes().take(16).position(|byte| byte == b'\n')?];
    let lines: usize = first.trim().parse().ok().filter(|value| (1..=512).contains(value))?;
    let start = first.len() + 1;
    let body: usize = rest[start..].split_inclusive('\n').take(lines).map(str::len).sum();
    let body = body - usize::from(rest[start..start + body].ends_with('\n'));
    seen.key_end = at + start + body;
    (body > 0).then_some((at + start..at + start + body, "private-key"))
}

/// A private key in PEM, encoded in base64 as in a kubeconfig, on one line or on several.
fn encoded_key(text: &str, at: usize, seen: &mut Seen) -> Option<Secret> {
    (at >= seen.key_end && text[at..].starts_with("LS0tLS1CRUdJTi")).then_some(())?;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let label = &text[at..at + run(&text[at..floor(text, at + SAMPLE_BYTES)], is_base64).min(88)];
    let label = header::decode(&label[..label.len() / 4 * 4])?;
    label.windows(11).any(|window| window == b"PRIVATE KEY").then_some(())?;
    let mut end = at + run(&text[at..], is_base64);
    // More lines, except for a last short one that could be a word.
    while let Some(rest) = text[end..].strip_prefix('\n') {
        let indent = run(rest, |byte| byte == b' ' || byte == b'\t');
        let length = run(&rest[indent..], is_base64);
        let is_line = length >= 16
            && rest[indent + length..]
                .trim_start_matches([' ', '\r'])
                .starts_with(['\n', '"', '\'']);
        if !is_line {
            break;
        }
        end += 1 + indent + length;
    }
    seen.key_end = end;
    Some((at..end, "private-key"))
}

/// A web token that starts behind the first part of the last one: in there, it would have the same
/// end.
fn next_web_token(text: &str, at: usize, seen: &mut Seen) -> Option<Secret> {
    (at >= seen.token_end && is_start(text, at)).then_some(())?;
    seen.token_end = at + run(&text[at..], is_url_base64);
    web_token(text, at)
}

/// Three parts of base64, of which the first two are JSON objects; or only the first part if it is
/// long, as in tokens of Grafana and other services.
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
        if part < 2 && !text[end..].starts_with('.') {
            // After a comma it is data of a `data:` URL, such as a source map.
            let is_data = text[..at].ends_with(',');
            let is_one_part =
                part == 0 && !is_data && length >= 60 && random::is_random(&text[at..end]);
            return is_one_part.then_some((at..end, "jwt"));
        }
        end += usize::from(part < 2);
    }
    Some((at..end, "jwt"))
}

impl Known {
    /// The token with this prefix at a position.
    fn at(&self, start: &str, text: &str, at: usize) -> Option<Secret> {
        let rest = text[at..].strip_prefix(start)?;
        is_start(text, at).then_some(())?;
        let length = run_within(rest, *self.length.end(), |it| self.has(it))?;
        self.length.contains(&length).then_some(())?;
        let value = &rest[..length.min(SAMPLE_BYTES)];
        (!self.mixed || random::is_random(value)).then_some(())?;
        Some((at..at + start.len() + length, self.what))
    }
}

/// Whether a word starts here.
fn is_start(text: &str, at: usize) -> bool {
    at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric()
}

/// The length of the prefix of bytes of a class. All classes are ASCII.
fn run(text: &str, of: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(|byte| !of(byte)).unwrap_or(text.len())
}

/// The length of such a prefix, if it has at most so many bytes. A class that contains the pattern
/// that precedes it needs a limit: the pattern may be repeated throughout the text.
fn run_within(text: &str, bytes_max: usize, of: impl Fn(u8) -> bool) -> Option<usize> {
    let length = text.bytes().take(bytes_max + 1).take_while(|byte| of(*byte)).count();
    (length <= bytes_max).then_some(length)
}

/// The last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn is_url_base64(it: u8) -> bool {
    it.is_ascii_alphanumeric() || it == b'-' || it == b'_'
}

#[cfg(test)]
mod tests;
