//! Values that are secret because of the name they are assigned to: `password = "…"`.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::command::{self, Place};
use crate::random::{consonants, entropy, is_hex, is_jumbled, is_random};
use crate::{Secret, Seen, floor, of_known_shape, run, run_within, word};

/// What a part of a setting's name says about the value.
#[derive(Clone, Copy)]
pub(super) struct Name {
    /// How random a value under such a name must be.
    proof: Proof,
    /// The part counts only as a whole word: `KEY` and `apiKey`, not `monkey`.
    is_whole: bool,
}

#[derive(Clone, Copy)]
enum Proof {
    /// The name indicates a secret: letters and digits or punctuation.
    Some,
    /// Other things have such names, too: as random as a key.
    Much,
}

/// Parts of such names, with a `|` between two of them.
const NAMES: [(&str, Name); 3] = [
    (
        "password|passwd|passphrase|pwd|secret|token|api_key|api-key|apikey|access_key|\
         access-key|accesskey|private_key|auth_key|credential|passcode|passwort|kennwort|\
         contrase|mot de passe|requirepass|storepass|keypass|masterauth|preshared|pre-shared",
        Name { proof: Proof::Some, is_whole: false },
    ),
    (
        "psk|_pass|-pass|dbpass|userpass|pw|_pw|-pw|bindpw|rootpw",
        Name { proof: Proof::Some, is_whole: true },
    ),
    (
        "key|pass|pat|auth|cookie|sess|sid|sig|otp|seed|salt|webhook",
        Name { proof: Proof::Much, is_whole: true },
    ),
];

/// Each part of such names.
pub(super) fn names() -> impl Iterator<Item = (&'static str, Name)> {
    NAMES.into_iter().flat_map(|(parts, name)| parts.split('|').map(move |part| (part, name)))
}

/// How words go on that only start like a part of a name: tokenizer, tokenise, secretary,
/// passwordless.
const OTHER_WORDS: [&str; 4] = ["iz", "is", "ary", "less"];

/// The longest rest of a name.
const NAME_TAIL_BYTES_MAX: usize = 32;
/// The ends of an option's name that still name the secret itself.
const TAILS: [&str; 4] = ["", "-key", "_key", "-value"];
/// How far before a part of a name `public` may start: `publicKeyToken`.
const PUBLIC_BYTES_MAX: usize = 12;
/// The longest block in which a variable's default is looked for.
const BLOCK_BYTES_MAX: usize = 256;
/// How public keys start.
const PUBLIC_KEYS: &str = "AAAAB3NzaC1 AAAAC3NzaC1 AAAAE2VjZHNh AAAAGnNrLX AAAAInNrLX MFkwEwYHKoZIzj0 \
     MIIBIjANBgkqhkiG9w0BAQEF MCowBQYDK2Vw";
/// The longest gap between a name and the field with its value.
const GAP_BYTES_MAX: usize = 40;
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
        .build(PLACEHOLDER_WORDS.split(' '))
        .expect("a few short words make a small automaton")
});

const PLACEHOLDER_WORDS: &str = "abcdefgh 0123456 example changeme change-me change_me placeholder your xxxx **** .... dummy \
     redacted 1234567890 process.env os.environ insert";

/// Passwords of examples. Redacting them hides nothing.
const EXAMPLES: [&str; 6] = ["password", "passwd", "pass", "pwd", "pw", "secret"];

/// The value of a setting whose name contains the part at `part`.
pub(super) fn setting(
    text: &str,
    part: Range<usize>,
    name: Name,
    is_code: bool,
    seen: &mut Seen,
) -> Option<Secret> {
    let at = part.end;
    let rest = &text[at..];
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let tail = run_within(rest, NAME_TAIL_BYTES_MAX, is_name)?;
    let is_other_word = OTHER_WORDS.iter().any(|word| rest.starts_with(word));
    (!is_other_word && (!name.is_whole || is_word(text, &part))).then_some(())?;
    (!is_public_name(text, part.start)).then_some(())?;
    let quote = run(&rest[tail..], |byte| b"\\\"'`]) \t*".contains(&byte));
    let mut here = tail + quote;
    // `Unseal Key 1: …`.
    let number = run(&rest[here..], |it| it.is_ascii_digit());
    let is_numbered = (1..=2).contains(&number) && rest[here + number..].starts_with(':');
    here += if is_numbered { number } else { 0 };
    here += value_field(&rest[here..]);
    let sign = run(&rest[here..], |byte| b":=>".contains(&byte));
    if sign == 0 {
        return without_sign(text, &part, tail, name.proof, seen);
    }
    (sign <= 3).then_some(())?;
    here += sign;
    // After a colon, a type may stand before the value: `: &str = "…"`. The first of the two places
    // that holds a secret counts: `password: X user="me"` looks like the former, too.
    let is_colon = rest[here - sign..here].bytes().all(|byte| byte == b':');
    let typed = if is_colon { annotation(&rest[here..]) } else { 0 };
    let mut places = [Some(here), (typed > 0).then_some(here + typed)].into_iter().flatten();
    places.find_map(|place| assigned(text, at + place, name.proof, is_code, seen))
}

/// The value after a name without a sign of assignment: `--token X`, `requirepass X`, and
/// `define("AUTH_KEY", "X")`.
fn without_sign(
    text: &str,
    part: &Range<usize>,
    tail: usize,
    proof: Proof,
    seen: &mut Seen,
) -> Option<Secret> {
    let at = part.end + tail;
    let rest = &text[at..];
    if rest.starts_with("\",") || rest.starts_with("',") {
        let at = at + 2 + run(&rest[2..], |byte| byte == b' ');
        let (value, is_quoted) = value(text, at, seen)?;
        return (is_quoted && is_secret(&text[value.clone()], Proof::Much))
            .then_some((value, "secret"));
    }
    // `--secret-key`, but not `--token-file`.
    let is_value = TAILS.contains(&&text[part.end..at]);
    let place = command::place(text, part.start);
    let is_option = matches!(place, Place::Option);
    (is_value && (is_option || matches!(proof, Proof::Some))).then_some(())?;
    let value = command::after_space(text, at, &place)?;
    (matches!(proof, Proof::Some) || is_key(&text[value.clone()])).then_some(())?;
    // A value inside another.
    let is_covered = seen.secret.start <= value.start && value.end <= seen.secret.end;
    (!is_covered).then_some((value, "secret"))
}

/// Skips from the end of a name in one field to its value in the next: `name: DB_PASSWORD`, then
/// `value: X`; `<add key="password" value="X"/>`.
fn value_field(text: &str) -> usize {
    let Some(gap) = run_within(text, GAP_BYTES_MAX, |byte| b",; \t\r\n\"'\\".contains(&byte))
    else {
        return 0;
    };
    let rest = &text[gap..];
    // A variable of Terraform.
    if rest.starts_with('{') {
        let block = &rest[..floor(rest, BLOCK_BYTES_MAX)];
        let block = &block[..block.find('}').unwrap_or(block.len())];
        return block.find("default").map_or(0, |other| {
            gap + other
                + "default".len()
                + run(&block[other + "default".len()..], |byte| byte == b' ')
        });
    }
    if !(rest.starts_with("value") || rest.starts_with("Value")) {
        return 0;
    }
    let end = gap + "value".len();
    end + run(&text[end..], |byte| b"\\\"'".contains(&byte)).min(2)
}

/// The secret that is assigned at a position, if any.
fn assigned(text: &str, at: usize, proof: Proof, is_code: bool, seen: &mut Seen) -> Option<Secret> {
    let at = at + run(&text[at..], |byte| b" \t*".contains(&byte));
    let (value, is_quoted) = value(text, at, seen)?;
    // `token = token_of(user)`, `password: String`.
    (is_quoted || !is_code).then_some(())?;
    if let Some(secret) = of_known_shape(text, value.start) {
        return Some(secret);
    }
    // A value inside another: `token=key=…`.
    let is_covered = seen.secret.start <= value.start && value.end <= seen.secret.end;
    let is_pass = is_quoted && text[..at].trim_end_matches([' ', ':', '=']).ends_with("pass");
    let proof = if is_pass { Proof::Some } else { proof };
    (!is_covered && is_secret(&text[value.clone()], proof)).then_some(())?;
    seen.secret = value.clone();
    Some((value, "secret"))
}

/// Whether a name says that its value is public: `publicKey`, `PublicKeyToken`, `pubkey`.
fn is_public_name(text: &str, part: usize) -> bool {
    let before = &text.as_bytes()[part.saturating_sub(PUBLIC_BYTES_MAX)..part];
    before
        .split(|before| !before.is_ascii_alphanumeric() && !b"_-".contains(before))
        .next_back()
        .is_some_and(|name| {
            let name = name.to_ascii_lowercase();
            name.ends_with(b"pub") || name.windows(6).any(|window| window == b"public")
        })
}

/// Whether a part of a name is a word of it: `api.key`, `SIGNING_KEY`, `sessionId`, and not
/// `monkey` or `keyboard`.
fn is_word(text: &str, part: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let first = bytes[part.start];
    let begins = part.start == 0 || !first.is_ascii_alphabetic() || {
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
    let is_type = |byte: u8| byte.is_ascii_alphanumeric() || b" &'_<>?:[]".contains(&byte);
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
    // JSON in a text: `\"token\": \"…\"`.
    let is_escaped = rest[prefix..].starts_with("\\\"");
    let prefix = prefix + usize::from(is_escaped);
    let quote = rest[prefix..].chars().next().filter(|c| ['"', '\'', '`'].contains(c));
    let range = if let Some(quote) = quote {
        let start = at + prefix + 1;
        let is_inside =
            |byte: u8| byte != quote as u8 && byte != b'\n' && !(is_escaped && byte == b'\\');
        let end = start + run_within(&text[start..], VALUE_BYTES_MAX, is_inside)?;
        text[end..].starts_with(if is_escaped { '\\' } else { quote }).then_some(())?;
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
        let name = run(after, |byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
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
    let plain = value.bytes().all(|byte| byte.is_ascii_graphic());
    // The name in `[token]: config.md#token` is that of a link.
    let might = plain
        && !stands_for(value)
        && !value.contains(".md#")
        && !value.contains("://")
        && !is_placeholder(value)
        && !is_public(value);
    might
        && match proof {
            Proof::Some => is_random(value) || (value.len() >= 16 && consonants(value) >= 0.3),
            Proof::Much => is_key(value),
        }
}

/// Whether a value is as random as a key: at least 16 letters and digits that alternate.
pub(super) fn is_key(value: &str) -> bool {
    let is_token =
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.~%:".contains(&byte));
    let least = if is_hex(value) { 3.0 } else { 3.4 };
    let entropy = entropy(value.as_bytes());
    (16..=512).contains(&value.len())
        // Keys of signs, too, have more variety than texts.
        && (is_token || (value.len() >= 32 && entropy >= 4.2))
        && is_jumbled(value)
        && !word::is_name(value)
        && entropy >= least
}

/// Whether a value refers to one that is elsewhere: `${TOKEN}`, `{{ token }}`, `<token>`, `$(cmd)`,
/// `%s`, `env.TOKEN`, a path. A hashed password, `$6$…`, does not.
pub(super) fn stands_for(value: &str) -> bool {
    let scheme =
        value.strip_prefix('$').map_or(0, |rest| run(rest, |it| it.is_ascii_alphanumeric()));
    let is_hash = scheme > 0 && value[1 + scheme..].starts_with('$');
    !is_hash && value.starts_with(['$', '{', '<', '[', '%', '/', '.', '&', '*', '('])
}

/// Whether a value contains a word that only examples have, and does not have the form of a key nonetheless.
pub(super) fn is_placeholder(value: &str) -> bool {
    PLACEHOLDERS.is_match(value) && !is_aws_secret(value)
}

/// Whether a value has the form of a secret access key of AWS: 40 characters of base64. The one of AWS's documentation
/// contains `EXAMPLE`.
fn is_aws_secret(value: &str) -> bool {
    let has = |of: fn(u8) -> bool| value.bytes().any(of);
    value.len() == 40
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'/' || byte == b'+')
        && has(|it| it.is_ascii_lowercase())
        && has(|it| it.is_ascii_uppercase())
        && has(|it| it.is_ascii_digit())
        && has(|byte| byte == b'/' || byte == b'+')
        && is_random(value)
}

/// Whether a value is a public key in base64: of SSH, whose length and kind (`ssh-`, `ecdsa-sha2-`,
/// `sk-`) come first, or in DER, whose algorithm does (P-256, RSA, Ed25519).
pub(super) fn is_public(value: &str) -> bool {
    PUBLIC_KEYS.split(' ').any(|part| value.starts_with(part))
}

/// The password in `scheme://user:password@host`, starting after the `://`.
pub(super) fn in_url(text: &str, at: usize) -> Option<Secret> {
    let rest = &text[at..];
    let length = run(rest, |byte| byte.is_ascii_graphic() && !b"/\"'`<>()[]{}?#".contains(&byte));
    let (user, _) = rest[..length.min(256)].rsplit_once('@')?;
    let Some((name, password)) = user.split_once(':') else {
        return is_key(user).then_some((at..at + user.len(), "url-password"));
    };
    let is_word = EXAMPLES.iter().any(|example| password.eq_ignore_ascii_case(example));
    let stands_for = is_word || password.starts_with(['$', '%', '*', '.']);
    (password.len() >= 3 && !stands_for).then_some(())?;
    let start = at + name.len() + 1;
    Some((start..start + password.len(), "url-password"))
}
