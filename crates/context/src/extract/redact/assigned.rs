//! Values that are secret because of the name they are assigned to: `password = "…"`.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::random::{consonants, entropy, is_hex, is_jumbled, is_random};
use super::{Secret, Seen, of_known_shape, run, run_within};

/// A part of a setting's name.
pub(super) struct Name {
    pub(super) text: &'static str,
    /// How random a value under such a name must be.
    proof: Proof,
}

#[derive(Clone, Copy)]
enum Proof {
    /// The name indicates a secret: letters and digits or punctuation.
    Some,
    /// Other things have such names, too: as random as a key.
    Much,
}

const fn secret(text: &'static str) -> Name {
    Name { text, proof: Proof::Some }
}

const fn maybe(text: &'static str) -> Name {
    Name { text, proof: Proof::Much }
}

/// Parts of such names.
pub(super) static NAMES: [Name; 26] = [
    secret("password"),
    secret("passwd"),
    secret("passphrase"),
    secret("pwd"),
    secret("secret"),
    secret("token"),
    secret("api_key"),
    secret("api-key"),
    secret("apikey"),
    secret("access_key"),
    secret("access-key"),
    secret("accesskey"),
    secret("private_key"),
    secret("auth_key"),
    secret("credential"),
    maybe("key"),
    maybe("pass"),
    maybe("pat"),
    maybe("auth"),
    maybe("cookie"),
    maybe("sess"),
    maybe("sid"),
    maybe("sig"),
    maybe("otp"),
    maybe("seed"),
    maybe("webhook"),
];

/// The longest rest of a name.
const NAME_TAIL_BYTES_MAX: usize = 32;
/// The longest type between a name and its value.
const TYPE_BYTES_MAX: usize = 40;

/// The shortest value that counts as a secret.
const VALUE_BYTES_MIN: usize = 8;

/// The longest.
const VALUE_BYTES_MAX: usize = 2048;

/// Words of placeholder values.
static PLACEHOLDERS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(PLACEHOLDER_WORDS)
        .expect("a few short words make a small automaton")
});

const PLACEHOLDER_WORDS: [&str; 17] = [
    "abcdefgh",
    "0123456",
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "your",
    "xxxx",
    "****",
    "....",
    "dummy",
    "redacted",
    "1234567890",
    "process.env",
    "os.environ",
    "insert",
];

/// The value of a setting whose name contains the part at `part`.
pub(super) fn setting(
    text: &str,
    part: Range<usize>,
    name: &Name,
    is_code: bool,
    seen: &mut Seen,
) -> Option<Secret> {
    let at = part.end;
    let rest = &text[at..];
    let is_name = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
    let tail = run_within(rest, NAME_TAIL_BYTES_MAX, is_name)?;
    let proof = match name.proof {
        Proof::Much if !is_word(text, &part) => return None,
        proof => proof,
    };
    let mut here = tail + run(&rest[tail..], |it| b"\"'`]) \t*".contains(&it));
    // `<add key="password" value="…"/>`
    here += if rest[here..].starts_with("value=") { "value".len() } else { 0 };
    let sign = run(&rest[here..], |it| b":=>".contains(&it));
    (1..=3).contains(&sign).then_some(())?;
    here += sign;
    // After a colon, a type may stand before the value: `: &str = "…"`. The first of the two places
    // that holds a secret counts: `password: X user="me"` looks like the former, too.
    let is_colon = rest[here - sign..here].bytes().all(|it| it == b':');
    let typed = if is_colon { annotation(&rest[here..]) } else { 0 };
    let mut places = [Some(here), (typed > 0).then_some(here + typed)].into_iter().flatten();
    places.find_map(|place| assigned(text, at + place, proof, is_code, seen))
}

/// The secret that is assigned at a position, if any.
fn assigned(text: &str, at: usize, proof: Proof, is_code: bool, seen: &mut Seen) -> Option<Secret> {
    let at = at + run(&text[at..], |it| b" \t*".contains(&it));
    let (value, is_quoted) = value(text, at, seen)?;
    // `token = token_of(user)`, `password: String`.
    (is_quoted || !is_code).then_some(())?;
    if let Some(secret) = of_known_shape(text, value.start) {
        return Some(secret);
    }
    // A value inside another: `token=key=…`.
    let is_covered = seen.secret.start <= value.start && value.end <= seen.secret.end;
    (!is_covered && is_secret(&text[value.clone()], proof)).then_some(())?;
    seen.secret = value.clone();
    Some((value, "secret"))
}

/// Whether a part of a name is a word of it: `api.key`, `SIGNING_KEY`, `sessionId`, and not
/// `monkey` or `keyboard`.
fn is_word(text: &str, part: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let first = bytes[part.start];
    let begins = part.start == 0 || {
        let before = bytes[part.start - 1];
        !before.is_ascii_alphabetic()
            || (first.is_ascii_uppercase() && before.is_ascii_lowercase())
            || text[part.clone()].eq_ignore_ascii_case("key")
            || text[part.clone()].eq_ignore_ascii_case("pass")
            || text[part.clone()].eq_ignore_ascii_case("sid")
    };
    let last = bytes[part.end - 1];
    let ends = bytes.get(part.end).is_none_or(|after| {
        !after.is_ascii_lowercase()
            || last.is_ascii_uppercase()
            // session, signature.
            || text[part.end..].starts_with("ion")
            || text[part.end..].starts_with("nature")
    });
    begins && ends
}

/// A type between a name and its value: `: &str =`.
fn annotation(text: &str) -> usize {
    let is_type = |it: u8| it.is_ascii_alphanumeric() || b" &'_<>?:[]".contains(&it);
    let Some(length) = run_within(text, TYPE_BYTES_MAX, is_type) else { return 0 };
    match text[length..].strip_prefix('=') {
        Some(rest) if !rest.starts_with('=') => length + 1,
        _ => 0,
    }
}

/// The value at a position, and whether it is in quotes.
fn value(text: &str, at: usize, seen: &mut Seen) -> Option<(Range<usize>, bool)> {
    let rest = &text[at..];
    // `b"…"`, `f'…'`.
    let prefix = run(rest, |it| b"brfu@".contains(&it.to_ascii_lowercase())).min(2);
    let prefix = prefix + usize::from(rest[prefix..].starts_with("\"\""));
    let quote = rest[prefix..].chars().next().filter(|it| ['"', '\'', '`'].contains(it));
    let range = if let Some(quote) = quote {
        let start = at + prefix + 1;
        let is_inside = |it: u8| it != quote as u8 && it != b'\n';
        let end = start + run_within(&text[start..], VALUE_BYTES_MAX, is_inside)?;
        text[end..].starts_with(quote).then_some(())?;
        start..end
    } else if seen.value.contains(&at) {
        at..seen.value.end
    } else {
        seen.value = at..at + unquoted(rest);
        seen.value.clone()
    };
    (VALUE_BYTES_MIN..=VALUE_BYTES_MAX).contains(&range.len()).then_some((range, quote.is_some()))
}

/// The length of a value without quotes, which the next query parameter ends: `sig=…&se=…`.
fn unquoted(text: &str) -> usize {
    let is_parameter = |after: &str| {
        let name = run(after, |it| it.is_ascii_alphanumeric() || b"_.-".contains(&it));
        name > 0 && after[name..].starts_with('=')
    };
    let is_end = |(at, it): (usize, u8)| {
        !it.is_ascii_graphic()
            || b"\"'`,;<>(){}|".contains(&it)
            || (it == b'&' && is_parameter(&text[at + 1..]))
    };
    text.bytes().enumerate().position(is_end).unwrap_or(text.len())
}

fn is_secret(value: &str, proof: Proof) -> bool {
    let plain = value.bytes().all(|it| it.is_ascii_graphic());
    let might = plain && !stands_for(value) && !value.contains("://") && !is_placeholder(value);
    might
        && match proof {
            Proof::Some => is_random(value) || (value.len() >= 16 && consonants(value) >= 0.3),
            Proof::Much => is_key(value),
        }
}

/// Whether a value is as random as a key: at least 16 letters and digits that alternate.
fn is_key(value: &str) -> bool {
    let is_token = value.bytes().all(|it| it.is_ascii_alphanumeric() || b"+/=_-.~%:".contains(&it));
    let least = if is_hex(value) { 3.0 } else { 3.4 };
    (16..=512).contains(&value.len())
        && is_token
        && is_jumbled(value)
        && entropy(value.as_bytes()) >= least
}

/// Whether a value refers to one that is elsewhere: `${TOKEN}`, `{{ token }}`, `<token>`, `$(cmd)`,
/// `%s`, `env.TOKEN`, a path.
pub(super) fn stands_for(value: &str) -> bool {
    value.starts_with(['$', '{', '<', '[', '%', '/', '.', '&', '*', '('])
}

/// Whether a value contains a word that only examples have.
pub(super) fn is_placeholder(value: &str) -> bool {
    PLACEHOLDERS.is_match(value)
}

/// The password in `scheme://user:password@host`, starting after the `://`.
pub(super) fn in_url(text: &str, at: usize) -> Option<Secret> {
    let rest = &text[at..];
    let length = run(rest, |it| it.is_ascii_graphic() && !b"/\"'`<>()[]{}?#".contains(&it));
    let (user, _) = rest[..length.min(256)].rsplit_once('@')?;
    let (name, password) = user.split_once(':')?;
    let stands_for = password.starts_with(['$', '%', '*', '.']);
    (password.len() >= 3 && !stands_for).then_some(())?;
    let start = at + name.len() + 1;
    Some((start..start + password.len(), "url-password"))
}
