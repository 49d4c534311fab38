//! Parses `key=value,key=value`, the argument of `--data`.

use serde_json::Number;
use waypost_api::Scalar;

/// Splits a text into keys and values.
///
/// An unquoted value can be a [number](scalar). Within quotes, commas and equal signs are part of
/// the value; elsewhere, a backslash escapes `,`, `=`, `"` and `\`.
pub(crate) fn split(text: &str) -> Result<Vec<(String, Scalar)>, String> {
    let mut pairs = Vec::new();
    let mut rest = text.chars().peekable();
    while rest.peek().is_some() {
        let at = pairs.len() + 1;
        let (key, end) = key(&mut rest);
        if end != Some('=') {
            let hint = if at > 1 { "; pass a text with commas by --set key=TEXT" } else { "" };
            return Err(format!("pair {at} is {key:?}; expected key=value{hint}"));
        }
        if key.is_empty() {
            return Err(format!("pair {at} has no key; expected key=value"));
        }
        let (value, quoted) =
            value(&mut rest).map_err(|error| format!("the value of {key:?} {error}"))?;
        pairs.push((key, if quoted { Scalar::String(value) } else { scalar(value) }));
    }
    Ok(pairs)
}

/// A key and its value, which is everything after the first equal sign.
pub(crate) fn whole(text: &str) -> Result<(String, Scalar), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), scalar(value.to_owned()))),
        _ => Err(format!("{text:?} is not a pair; expected key=value")),
    }
}

/// A pair in the syntax of `--data`.
pub(crate) fn shown(key: &str, value: &Scalar) -> String {
    match value {
        Scalar::Number(number) => format!("{key}={number}"),
        Scalar::Bool(it) => format!("{key}={it}"),
        Scalar::String(text) => {
            let is_plain = !text.contains(['"', ',', '\\', ' ']) && !text.is_empty();
            match scalar(text.clone()) {
                Scalar::String(text) if is_plain => format!("{key}={text}"),
                _ => format!("{key}=\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            }
        }
    }
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Reads up to an equal sign or a comma, which is returned as well.
fn key(rest: &mut Rest<'_>) -> (String, Option<char>) {
    let mut key = String::new();
    while let Some(it) = rest.next() {
        match it {
            '=' | ',' => return (key, Some(it)),
            '\\' => key.push(escaped(rest)),
            it => key.push(it),
        }
    }
    (key, None)
}

/// Reads up to a comma or the end; also returns whether the value was quoted.
fn value(rest: &mut Rest<'_>) -> Result<(String, bool), &'static str> {
    let mut value = String::new();
    if rest.peek() == Some(&'"') {
        rest.next();
        loop {
            match rest.next() {
                None => return Err("has no closing quote"),
                Some('"') => break,
                Some('\\') => value.push(escaped(rest)),
                Some(it) => value.push(it),
            }
        }
        return match rest.next() {
            None | Some(',') => Ok((value, true)),
            Some(_) => Err("continues after its closing quote; put a comma there"),
        };
    }
    while let Some(it) = rest.next() {
        match it {
            ',' => break,
            '\\' => value.push(escaped(rest)),
            it => value.push(it),
        }
    }
    Ok((value, false))
}

/// The character that an escape stands for; a backslash before any other character is literal.
fn escaped(rest: &mut Rest<'_>) -> char {
    rest.next_if(|c| matches!(c, ',' | '=' | '"' | '\\')).unwrap_or('\\')
}

/// A number, if that number is written exactly so everywhere; any other text stays as it is:
/// `1.10` is a version, and `1234567e8` is a commit.
pub(crate) fn scalar(text: String) -> Scalar {
    match text.parse::<Number>() {
        Ok(number)
            if number.to_string() == text && !text.contains('e') && !text.ends_with(".0") =>
        {
            Scalar::Number(number)
        }
        _ => Scalar::String(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        match split(text) {
            Ok(pairs) => {
                let pairs: Vec<String> = pairs
                    .iter()
                    .map(|(key, value)| format!("{key}: {}", serde_json::to_string(value).unwrap()))
                    .collect();
                pairs.join("; ")
            }
            Err(error) => format!("! {error}"),
        }
    }

    #[test]
    fn pairs_are_split_as_documented() {
        for (text, wanted) in [
            ("", ""),
            (
                "agent=scout,delta=0.25,improved=true",
                r#"agent: "scout"; delta: 0.25; improved: "true""#,
            ),
            ("k=", r#"k: """#),
            ("k=,l=1", r#"k: ""; l: 1"#),
            ("k=1,", "k: 1"),
            ("k=a=b", r#"k: "a=b""#),
            (r"k=a\,b\=c\\d\e", r#"k: "a,b=c\\d\\e""#),
            (r#"k="a,b",l="1""#, r#"k: "a,b"; l: "1""#),
            (r#"k="say \"yes\"""#, r#"k: "say \"yes\"""#),
            ("k=7,l=-0.25,m=0", "k: 7; l: -0.25; m: 0"),
            ("k=-1e3,l=007,m=1e999,n= 1", r#"k: "-1e3"; l: "007"; m: "1e999"; n: " 1""#),
            ("k=1.10,l=2.0,m=72225e2,n=-0", r#"k: "1.10"; l: "2.0"; m: "72225e2"; n: "-0""#),
            ("k=1e16,l=1e-7,m=0.0000001", r#"k: "1e16"; l: "1e-7"; m: "0.0000001""#),
            (
                "k=0.1000000000000000055,l=18446744073709551616",
                r#"k: "0.1000000000000000055"; l: "18446744073709551616""#,
            ),
            ("k=18446744073709551615", "k: 18446744073709551615"),
            ("k", r#"! pair 1 is "k"; expected key=value"#),
            (
                "a=1,k,b=2",
                r#"! pair 2 is "k"; expected key=value; pass a text with commas by --set key=TEXT"#,
            ),
            ("=v", "! pair 1 has no key; expected key=value"),
            (r#"k="a"#, r#"! the value of "k" has no closing quote"#),
            (
                r#"k="a"b"#,
                r#"! the value of "k" continues after its closing quote; put a comma there"#,
            ),
        ] {
            assert_eq!(json(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_shown_can_be_given_again() {
        for value in ["", "a", "1", "a,b", "say \"yes\"", r"c:\d", "true", "a=b", "two words"] {
            let text = shown("k", &Scalar::String(value.to_owned()));
            assert_eq!(split(&text), Ok(vec![("k".to_owned(), Scalar::String(value.to_owned()))]));
        }
        assert_eq!(whole("k=a,b=c\\"), Ok(("k".to_owned(), Scalar::String("a,b=c\\".to_owned()))));
        assert_eq!(whole("k=2").unwrap().1, Scalar::Number(2.into()));
        assert!(whole("k").is_err() && whole("=v").is_err());
    }
}
