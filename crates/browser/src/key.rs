//! Keys and their names.

use std::fmt;
use std::str::FromStr;

use crate::Problem;

/// A key with its modifiers: `Enter`, `a`, `Shift+Tab`, `Control+a`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name, as pages see it.
    pub name: String,
    /// Its position on the keyboard.
    pub code: String,
    /// Its Windows key code, which pages still use.
    pub number: u32,
    /// The text that it types.
    pub text: Option<String>,
    /// The sum of Alt 1, Control 2, Meta 4 and Shift 8.
    pub modifiers: u32,
}

/// Names, codes and texts of keys that type nothing, or a text other than their name.
const NAMED: &[(&str, u32, Option<&str>)] = &[
    ("Backspace", 8, None),
    ("Tab", 9, None),
    ("Enter", 13, Some("\r")),
    ("Escape", 27, None),
    ("Space", 32, Some(" ")),
    ("PageUp", 33, None),
    ("PageDown", 34, None),
    ("End", 35, None),
    ("Home", 36, None),
    ("ArrowLeft", 37, None),
    ("ArrowUp", 38, None),
    ("ArrowRight", 39, None),
    ("ArrowDown", 40, None),
    ("Insert", 45, None),
    ("Delete", 46, None),
];

impl Key {
    /// The key that types a letter.
    #[must_use]
    pub fn of(letter: char) -> Self {
        let upper = letter.to_ascii_uppercase();
        let (code, number) = match upper {
            'A'..='Z' => (format!("Key{upper}"), u32::from(upper)),
            '0'..='9' => (format!("Digit{upper}"), u32::from(upper)),
            ' ' => ("Space".to_owned(), 32),
            _ => (String::new(), 0),
        };
        let text = letter.to_string();
        Self { name: text.clone(), code, number, text: Some(text), modifiers: 0 }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, held) in [(1, "Alt+"), (2, "Control+"), (4, "Meta+"), (8, "Shift+")] {
            if self.modifiers & bit != 0 {
                formatter.write_str(held)?;
            }
        }
        formatter.write_str(if self.name == " " { "Space" } else { &self.name })
    }
}

impl FromStr for Key {
    type Err = Problem;

    fn from_str(given: &str) -> Result<Self, Problem> {
        let mut modifiers = 0;
        let mut rest = given;
        while let Some((held, after)) = rest.split_once('+').filter(|parts| !parts.1.is_empty()) {
            modifiers |= match held {
                "Alt" => 1,
                "Control" | "Ctrl" => 2,
                "Meta" => 4,
                "Shift" => 8,
                _ => return Err(unknown(given)),
            };
            rest = after;
        }
        let mut letters = rest.chars();
        let mut key = match (letters.next(), letters.next()) {
            (Some(letter), None) if !letter.is_control() => Self::of(letter),
            _ => {
                let function = rest.strip_prefix('F').and_then(|rest| rest.parse::<u32>().ok());
                let function = function.filter(|function| {
                    (1..=12).contains(function) && rest == format!("F{function}")
                });
                let named =
                    NAMED.iter().find(|named| named.0 == rest).map(|named| (named.1, named.2));
                let named = named.or_else(|| Some((111 + function?, None)));
                let (number, text) = named.ok_or_else(|| unknown(given))?;
                Self {
                    name: if rest == "Space" { " " } else { rest }.to_owned(),
                    code: rest.to_owned(),
                    number,
                    text: text.map(str::to_owned),
                    modifiers: 0,
                }
            }
        };
        key.modifiers = modifiers;
        // Modifiers other than Shift make commands, not letters.
        if modifiers & !8 != 0 {
            key.text = None;
        }
        Ok(key)
    }
}

fn unknown(given: &str) -> Problem {
    let given: String = given.chars().take(40).collect();
    Problem::invalid(format!(
        "key: unknown key {given:?}; expected a letter or a name such as Enter, Tab, Escape, ArrowDown \
         or F1, with Control+, Alt+, Shift+ or Meta+ before it"
    ))
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn keys_are_read_by_name() {
        let key = |text: &str| text.parse::<Key>().expect(text);
        assert_eq!(key("a").text.as_deref(), Some("a"));
        assert_eq!((key("Enter").number, key("Enter").text.as_deref()), (13, Some("\r")));
        assert_eq!((key("Control+a").modifiers, key("Control+a").text), (2, None));
        assert_eq!((key("Control+Shift+Tab").modifiers, key("+").name), (10, "+".to_owned()));
        assert_eq!(key("Shift++").name, "+");
        for bad in ["", "Nothing", "Hyper+a", "\u{1}", "ab"] {
            bad.parse::<Key>().expect_err(bad);
        }
    }
}
