//! Plain values: one word without shell syntax, for every shell and at any depth of quoting.

use std::sync::LazyLock;

use regex::Regex;
use waypost_events::Number;

/// The longest plain value, in characters.
const CHARS_MAX: usize = 1024;
/// Characters of a plain value besides letters, marks and digits. None of them is a blank, a quote
/// or an operator in a shell, or a part of an expansion, a pattern or a list in braces.
const SIGNS: &str = "_./:@%+-";

static LETTER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{Nd}]").expect("the expression is constant"));
static FIRST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[\p{L}\p{Nd}_./]").expect("the expression is constant"));

pub(super) fn is_plain_char(it: char) -> bool {
    it.is_ascii_alphanumeric()
        || SIGNS.contains(it)
        || (!it.is_ascii() && LETTER.is_match(it.encode_utf8(&mut [0; 4])))
}

/// Checks that a value is plain by itself; the error says why it is not.
pub(super) fn check(value: &str, allows_dash: bool) -> Result<(), String> {
    let Some(first) = value.chars().next() else { return Err("is empty".to_owned()) };
    if let Some(it) = value.chars().find(|c| !is_plain_char(*c)) {
        return Err(format!("contains {it:?}"));
    }
    let is_negative = first == '-' && Number::from_decimal(value).is_some();
    if !(FIRST.is_match(value) || is_negative || (allows_dash && first == '-')) {
        let hint = if first == '-' { " (allow_dash: true permits it)" } else { "" };
        return Err(format!("begins with {first:?}{hint}"));
    }
    let count = value.chars().count();
    if count > CHARS_MAX {
        return Err(format!("has {count} characters; the limit is {CHARS_MAX}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_plain_value_has_letters_digits_marks_and_a_few_signs() {
        let long = "x".repeat(1024);
        for value in [
            "412",
            "-5",
            "-0.5",
            "v1.2.3",
            "feature/x_y",
            "a@b.c:8080",
            "100%",
            "a+b",
            "/etc/hosts",
            ".env",
            "_x",
            "Grüße",
            "naïve\u{301}",
            "版本",
            "١٢",
            "main..dev",
            long.as_str(),
        ] {
            assert_eq!(check(value, false), Ok(()), "{value}");
        }
        let longer = "x".repeat(1025);
        for (value, why) in [
            ("", "is empty"),
            ("a b", "contains ' '"),
            ("a\nb", "contains '\\n'"),
            ("a;b", "contains ';'"),
            ("$x", "contains '$'"),
            ("x=1", "contains '='"),
            ("a,b", "contains ','"),
            ("~", "contains '~'"),
            ("a\u{200b}b", "contains '\\u{200b}'"),
            ("a\u{a0}b", "contains '\\u{a0}'"),
            ("a\u{3000}b", "contains '\\u{3000}'"),
            ("x²", "contains '²'"),
            ("🦀", "contains '🦀'"),
            ("-rf", "begins with '-' (allow_dash: true permits it)"),
            ("-", "begins with '-'"),
            ("+x", "begins with '+'"),
            ("@x", "begins with '@'"),
            ("%1", "begins with '%'"),
            (":", "begins with ':'"),
            ("\u{301}x", "begins with '\\u{301}'"),
            (longer.as_str(), "has 1025 characters; the limit is 1024"),
        ] {
            let error = check(value, false).unwrap_err();
            assert!(error.starts_with(why), "{value}: {error}");
        }
        assert_eq!(check("-rf", true), Ok(()));
        assert!(check("+x", true).is_err());
    }
}
