//! What was typed into secret fields, so that it can be taken out of everything that goes out.

use std::collections::VecDeque;

use parking_lot::Mutex;
use url::form_urlencoded::byte_serialize;

/// What stands in a secret's place.
const MASK: &str = "••••";
/// Shorter ones are in every second word.
const LETTERS_MIN: usize = 4;
/// The oldest are forgotten beyond this.
const SECRETS_MAX: usize = 64;

/// What a secret field is called, in lower case and without spaces and signs.
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

/// Whether a field's names, label or `autocomplete` say that it is a secret one.
pub(crate) fn says_secret(names: &[&str], label: &str, fill: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let mut said = names.iter().chain(std::iter::once(&label)).map(|it| plain(it));
    let is_filled = ["password", "one-time-code", "cc-"].iter().any(|it| fill.contains(it));
    is_filled || said.any(|said| NAMES.iter().any(|it| said.contains(it)))
}

/// Values of secret fields. They leave it in no form.
#[derive(Default)]
pub(crate) struct Secrets {
    kept: Mutex<VecDeque<Kept>>,
}

struct Kept {
    /// The field that it was typed into: a longer value takes the place of the one before it.
    field: String,
    /// As it is, and as it is in addresses.
    forms: Vec<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Remembers what a field holds now.
    pub(crate) fn keep(&self, field: &str, value: &str) {
        let mut kept = self.kept.lock();
        // While it is being typed each value begins with the one before; then only the last counts.
        kept.retain(|it| !(it.field == field && value.starts_with(it.forms[0].as_str())));
        if value.chars().count() >= LETTERS_MIN {
            let mut forms = vec![value.to_owned()];
            let form: String = byte_serialize(value.as_bytes()).collect();
            let spaced = form.replace('+', "%20");
            let shown = crate::clean_line(value);
            for other in [form, spaced, shown] {
                if other.chars().count() >= LETTERS_MIN && !forms.contains(&other) {
                    forms.push(other);
                }
            }
            kept.push_back(Kept { field: field.to_owned(), forms });
            if kept.len() > SECRETS_MAX {
                kept.pop_front();
            }
        }
    }

    /// The text with every secret masked.
    pub(crate) fn mask(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for form in self.kept.lock().iter().flat_map(|it| &it.forms) {
            if masked.contains(form.as_str()) {
                masked = masked.replace(form.as_str(), MASK);
            }
        }
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    #[test]
    fn secrets_are_masked_as_they_are_and_as_they_are_in_addresses() {
        let secrets = Secrets::default();
        for typed in ["h", "hu", "hun", "hunt", "hunter 2&"] {
            secrets.keep("1", typed);
        }
        assert_eq!(
            secrets.mask("no hunter 2& and ?p=hunter+2%26 and hunter%202%26"),
            "no •••• and ?p=•••• and ••••"
        );
        // What was on the way to it is no secret of its own.
        assert_eq!(secrets.mask("hunt"), "hunt");
        // A second value, and that of another field, are further ones.
        secrets.keep("1", "swordfish");
        secrets.keep("2", "abc");
        assert_eq!(secrets.mask("hunter 2& swordfish abc"), "•••• •••• abc");
        assert!(!format!("{secrets:?}").contains("swordfish"));
    }
}
