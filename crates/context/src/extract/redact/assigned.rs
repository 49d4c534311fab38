//! Values that are secret by the name of what they are given to: `password = "…"`.

use std::ops::Range;

use super::{Secret, of_known_shape, run};

/// What such names contain.
pub(super) const NAMES: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "access-key",
    "accesskey",
    "private_key",
    "auth_key",
    "credential",
];

/// The shortest value that is taken for a secret.
const VALUE_BYTES_MIN: usize = 8;

/// The longest.
const VALUE_BYTES_MAX: usize = 512;

/// Words of values that stand for a secret and are none.
const PLACEHOLDERS: [&str; 15] = [
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

/// The value of a setting of which a part of the name ends at `at`.
pub(super) fn setting(text: &str, at: usize, is_code: bool) -> Option<Secret> {
    let rest = &text[at..];
    let name = run(rest, |it| it.is_ascii_alphanumeric() || it == b'_' || it == b'-');
    (name <= 32).then_some(())?;
    let mut here = name + run(&rest[name..], |it| b"\"'`]) \t*".contains(&it));
    let sign = run(&rest[here..], |it| b":=>".contains(&it));
    (1..=2).contains(&sign).then_some(())?;
    here += sign;
    here += annotation(&rest[here..]);
    here += run(&rest[here..], |it| b" \t*".contains(&it));
    let (value, is_quoted) = value(rest, here)?;
    // `token = token_of(user)`, `password: String`.
    (is_quoted || !is_code).then_some(())?;
    if let Some(secret) = of_known_shape(text, at + value.start) {
        return Some(secret);
    }
    is_secret(&rest[value.clone()]).then_some((at + value.start..at + value.end, "secret"))
}

/// A type between a name and its value: `: &str =`.
fn annotation(text: &str) -> usize {
    let length = run(text, |it| it.is_ascii_alphanumeric() || b" &'_<>?:[]".contains(&it));
    match text[length..].strip_prefix('=') {
        Some(rest) if length <= 40 && !rest.starts_with('=') => length + 1,
        _ => 0,
    }
}

/// The value that stands at a place, and whether it is in quotes.
fn value(text: &str, at: usize) -> Option<(Range<usize>, bool)> {
    let rest = &text[at..];
    // `b"…"`, `f'…'`.
    let prefix = run(rest, |it| b"brfu@".contains(&it.to_ascii_lowercase())).min(2);
    let quote = rest[prefix..].chars().next().filter(|it| ['"', '\'', '`'].contains(it));
    let (start, length, is_quoted) = match quote {
        Some(quote) => {
            let inside = &rest[prefix + 1..];
            let length = run(inside, |it| it != quote as u8 && it != b'\n');
            inside[length..].starts_with(quote).then_some(())?;
            (prefix + 1, length, true)
        }
        None => {
            (0, run(rest, |it| it.is_ascii_graphic() && !b"\"'`,;<>(){}|".contains(&it)), false)
        }
    };
    let range = at + start..at + start + length;
    (VALUE_BYTES_MIN..=VALUE_BYTES_MAX).contains(&length).then_some((range, is_quoted))
}

fn is_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let plain = value.bytes().all(|it| it.is_ascii_graphic());
    // `${TOKEN}`, `{{ token }}`, `<token>`, `$(cmd)`, `%s`, `env.TOKEN`, a path or an address.
    let stands_for = value.starts_with(['$', '{', '<', '[', '%', '/', '.', '&', '*', '('])
        || value.contains("://");
    let placeholder = PLACEHOLDERS.iter().any(|it| lower.contains(it));
    plain && !stands_for && !placeholder && is_random(value)
}

/// Whether a value looks made by chance, or chosen to: letters and digits, or letters and signs,
/// of some variety.
pub(super) fn is_random(value: &str) -> bool {
    let has = |of: fn(&u8) -> bool| value.bytes().any(|it| of(&it));
    let letters = has(u8::is_ascii_alphabetic);
    let digits = has(u8::is_ascii_digit);
    let signs = value.bytes().any(|it| b"!@#$%^&*+/=~?".contains(&it));
    letters && (digits || signs) && entropy(value.as_bytes()) >= 2.75
}

/// Bits for each byte, by how often each occurs.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let total = bytes.len() as f64;
    let share = |count: &u32| f64::from(*count) / total;
    counts.iter().filter(|it| **it > 0).map(|it| -share(it) * share(it).log2()).sum()
}

/// The password in `scheme://user:password@host`, from behind the `://`.
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
