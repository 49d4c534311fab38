//! Remembers what was typed into secret fields, to mask it in all output.
//!
//! A page may show a secret letter by letter while it is typed, so the beginnings of a secret are
//! masked as well, and long parts of it.

mod form;

use std::collections::VecDeque;
use std::ops::Range;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use url::form_urlencoded::byte_serialize;

use self::form::Form;
use crate::{Problem, ProblemKind};

/// The replacement for a secret.
const MASK: &str = "••••";
/// Shorter secrets would match in every second word.
const LETTERS_MIN: usize = 2;
/// Beyond this number the oldest are forgotten.
const SECRETS_MAX: usize = 64;
/// Beyond this number for one field the oldest are forgotten.
const OF_FIELD_MAX: usize = 8;

/// Names of secret fields, in lower case and without spaces and punctuation.
const NAMES: &[&str] = &[
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "onetime",
    "otp",
    "2fa",
    "cvv",
    "cvc",
    "securitycode",
    "verificationcode",
    "cardnum",
    "apikey",
    "accesstoken",
    "kennwort",
];

/// Whether a field's names, label or `autocomplete` identify it as secret.
pub(crate) fn says_secret(names: &[&str], label: &str, fill: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let mut said = names.iter().chain(std::iter::once(&label)).map(|name| plain(name));
    let is_filled = ["password", "one-time-code", "cc-"].iter().any(|it| fill.contains(it));
    is_filled || said.any(|said| NAMES.iter().any(|name| said.contains(name)))
}

/// Values of secret fields. They are never returned in any form.
#[derive(Default)]
pub(crate) struct Secrets {
    kept: Mutex<VecDeque<Kept>>,
}

struct Kept {
    /// The field that it was typed into: a longer value replaces the preceding one.
    field: String,
    value: String,
    /// The secret itself, and its form in addresses.
    forms: Vec<Form>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Remembers the present content of a field.
    pub(crate) fn keep(&self, field: &str, value: &str) {
        if value.chars().count() < LETTERS_MIN {
            return;
        }
        let mut kept = self.kept.lock();
        // A prefix of a known value is masked with it, as when letters are deleted.
        if kept.iter().any(|kept| kept.field == field && kept.value.starts_with(value)) {
            return;
        }
        // While a value is typed, each version starts with the preceding one; only the last is
        // kept.
        kept.retain(|kept| !(kept.field == field && value.starts_with(kept.value.as_str())));
        let form: String = byte_serialize(value.as_bytes()).collect();
        let spaced = form.replace('+', "%20");
        let (component, escaped) = (as_component(value), as_identifier(value));
        let mut forms: Vec<String> = vec![value.to_owned()];
        for other in [form, spaced, component, escaped, crate::clean_line(value)] {
            if other.chars().count() >= LETTERS_MIN && !forms.contains(&other) {
                forms.push(other);
            }
        }
        let forms = forms.iter().map(|form| Form::new(form)).collect();
        kept.push_back(Kept { field: field.to_owned(), value: value.to_owned(), forms });
        let of_field = kept.iter().filter(|kept| kept.field == field).count();
        let goes = |kept: &Kept| of_field <= OF_FIELD_MAX || kept.field == field;
        if (of_field > OF_FIELD_MAX || kept.len() > SECRETS_MAX)
            && let Some(oldest) = kept.iter().position(goes)
        {
            kept.remove(oldest);
        }
    }

    /// The text with every secret masked.
    pub(crate) fn mask(&self, text: &str) -> String {
        let mut found: Vec<Range<usize>> = Vec::new();
        {
            let kept = self.kept.lock();
            if kept.is_empty() {
                return text.to_owned();
            }
            let lower = text.to_ascii_lowercase();
            for form in kept.iter().flat_map(|kept| &kept.forms) {
                form.find(text, &lower, &mut found);
            }
        }
        if found.is_empty() {
            return text.to_owned();
        }
        found.sort_unstable_by_key(|found| (found.start, found.end));
        let (mut masked, mut at) = (String::with_capacity(text.len()), 0);
        for range in found {
            // A match that starts inside the preceding one is merged with it.
            if range.start >= at {
                masked.push_str(&text[at..range.start]);
                masked.push_str(MASK);
            }
            at = at.max(range.end);
        }
        masked.push_str(&text[at..]);
        masked
    }
}

/// The form that `encodeURIComponent` writes.
fn as_component(value: &str) -> String {
    let mut written = String::new();
    for byte in value.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
        if is_plain {
            written.push(char::from(byte));
        } else {
            written.extend(
                byte_serialize(&[byte]).map(|written| if written == "+" { "%20" } else { written }),
            );
        }
    }
    written
}

/// The form that `CSS.escape` writes in a selector.
fn as_identifier(value: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || !c.is_ascii() || c == '-' || c == '_';
    let mut written = String::new();
    for letter in value.chars() {
        written.extend((!is_plain(letter)).then_some('\\'));
        written.push(letter);
    }
    written
}

/// The key of digests that show only whether something changed, and only to this process.
#[derive(Debug)]
pub(crate) struct DigestKey([u8; 32]);

impl DigestKey {
    pub(crate) fn random() -> Result<Self, Problem> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| {
            let detail = format!("cannot get random bytes: {error}");
            Problem::new(ProblemKind::Unavailable, detail)
        })?;
        Ok(Self(key))
    }

    pub(crate) fn digest(&self, parts: &[String]) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        format!("{:?}", hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    fn holding(values: &[&str]) -> Secrets {
        let secrets = Secrets::default();
        for (number, value) in values.iter().enumerate() {
            for (end, letter) in value.char_indices() {
                secrets.keep(&number.to_string(), &value[..end + letter.len_utf8()]);
            }
        }
        secrets
    }

    fn check(secrets: &Secrets, text: &str, masked: &str) {
        assert_eq!(secrets.mask(text), masked, "{text}");
    }

    #[test]
    fn secrets_are_masked_in_plain_and_url_encoded_form() {
        let secrets = holding(&["hunter 2&"]);
        check(
            &secrets,
            "no hunter 2& and ?p=hunter+2%26 and hunter%202%26",
            "no •••• and ?p=•••• and ••••",
        );
        check(&secrets, "HUNTER 2&", "••••");
        // A second value, and one of another field, are additional secrets.
        secrets.keep("0", "swordfish");
        secrets.keep("1", "abc");
        check(&secrets, "hunter 2& swordfish abc abcd", "•••• •••• •••• abcd");
        assert!(!format!("{secrets:?}").contains("swordfish"));
        check(&holding(&["to#p.x"]), "#to\\#p\\.x", "#••••");
        check(&holding(&["a!b/c d"]), "?p=a!b%2fc%20d&x", "?p=••••&x");
    }

    #[test]
    fn beginnings_of_a_secret_are_masked_while_it_is_typed_and_later() {
        let secrets = Secrets::default();
        let whole = "hunter2";
        let mut said = Vec::new();
        for end in 1..=whole.len() {
            secrets.keep("1", &whole[..end]);
            said.push(&whole[..end]);
            // A page that repeats it, one that shows each step, and one that queries a server about
            // each.
            if end > 1 {
                check(&secrets, &whole[..end], "••••");
                check(&secrets, &format!("You typed: {}!", &whole[..end]), "You typed: ••••!");
                check(&secrets, &format!("/check?p={}&x=1", &whole[..end]), "/check?p=••••&x=1");
            }
        }
        check(&secrets, &said.join(" "), &["••••"; 7].join(" "));
        for step in &said[1..] {
            check(&secrets, step, "••••");
            check(&secrets, &format!("/check?p={step}"), "/check?p=••••");
        }
        for step in &said[3..] {
            check(&secrets, &format!("{step} is weak"), "•••• is weak");
            check(&secrets, &format!("\"{step}…\""), "\"••••…\"");
        }
        // Deleting letters does not make it forget them.
        secrets.keep("1", "hunt");
        check(&secrets, "hunter2", "••••");
        // Words that only share the beginning.
        check(&secrets, "a hut, a hunch, the hub of it", "a hut, a hunch, the hub of it");
    }

    #[test]
    fn long_parts_and_spelled_out_ones_are_masked() {
        let secrets = holding(&["correct horse 9", "kanarienvogel"]);
        check(&secrets, "ends in ect horse 9", "ends in ••••");
        check(&secrets, "a horse", "a horse");
        check(&secrets, "narienvogel", "••••");
        check(&secrets, "k a n a r i e n", "••••");
        check(&secrets, "keys: k\na\nn\na and on", "keys: •••• and on");
        check(&secrets, "a b c d", "a b c d");
        let foreign = holding(&["пароль-密码"]);
        check(&foreign, "у меня паро и ль-密码", "у меня •••• и ль-密码");
    }

    #[test]
    fn a_beginning_with_separated_letters_is_masked_at_every_step() {
        let whole = "Hunter2xQz!";
        let secrets = Secrets::default();
        let shown = |typed: &str, before: &dyn Fn(usize) -> String, after: &str| {
            typed.chars().enumerate().fold(String::new(), |text, (number, letter)| {
                text + &before(number) + &letter.to_string() + after
            })
        };
        for (end, letter) in whole.char_indices() {
            let typed = &whole[..end + letter.len_utf8()];
            secrets.keep("1", typed);
            if end == 0 {
                continue;
            }
            for after in [".", "-", " ", "\n", "\u{200b}", " | ", "_", ", "] {
                let text = shown(typed, &|_| String::new(), after);
                check(&secrets, &text, &format!("••••{after}"));
            }
            let text = shown(typed, &|number| format!("{number}="), " ");
            check(&secrets, &text, "0=•••• ");
            let text = shown(typed, &|number| format!("\"{number}\": \""), "\", ");
            check(&secrets, &text, "\"0\": \"••••\", ");
        }
        check(&secrets, "Hu-nt-er", "••••");
        check(
            &secrets,
            "typed E Hu\ntyped E Hun\ntyped E Hunt",
            "typed E ••••\ntyped E ••••\ntyped E ••••",
        );
        for text in ["a hut, a hunch, the hub of it", "h-index of H. U. Smith", "Hu x", "hut, next"]
        {
            check(&secrets, text, text);
        }
        let number = holding(&["483920"]);
        check(&number, "4 8 3 9 2 0", "••••");
        check(&number, "4:08:23 and 14:8:3, 4 of 8 in 3", "4:08:23 and 14:8:3, 4 of 8 in 3");
    }

    #[test]
    fn whatever_is_masked_in_whatever_no_letter_is_cut() {
        let secrets = holding(&["ää̈äääää", "aaaaaaaaaaaaaaaa", "%41%41", "日本語日本語"]);
        for text in
            ["äääääää", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a%41%4", "日本語日本日本語日", "aäa"]
        {
            assert!(!secrets.mask(text).is_empty(), "{text}");
        }
    }
}
