//! One strict pass over raw JSON, before it is deserialized.
//!
//! `serde_json` alone accepts what the contract rejects: a repeated key, NUL characters, deep nesting in skipped
//! fields. This pass knows no types, needs memory only for the keys of the open objects, and finds the first fault with
//! its line and column.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// The maximum nesting depth of arrays and objects.
pub(crate) const DEPTH_MAX: usize = 32;

/// The position at which the text stops being acceptable JSON, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) what: String,
    /// From 1.
    pub(crate) line: usize,
    /// From 1, in characters.
    pub(crate) column: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {} column {}", self.what, self.line, self.column)
    }
}

/// Finds the first fault of a JSON text.
pub(crate) fn scan(bytes: &[u8]) -> Result<(), Fault> {
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(fault(bytes, error.valid_up_to(), "invalid UTF-8")),
    };
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(fault(bytes, at, "NUL character"));
    }
    let mut scanner = Scanner { text, bytes, at: 0, open: Vec::new() };
    scanner.document().map_err(|what| fault(bytes, scanner.at, &what))
}

fn fault(bytes: &[u8], at: usize, what: &str) -> Fault {
    let before = &bytes[..at.min(bytes.len())];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |idx| idx + 1);
    let is_char_start = |byte: &&u8| (**byte & 0xc0) != 0x80;
    Fault {
        what: what.to_owned(),
        line: before.split(|&byte| byte == b'\n').count(),
        column: before[line_start..].iter().filter(is_char_start).count() + 1,
    }
}

/// An array or object that is still open.
enum Open<'a> {
    Array,
    Object(HashSet<Cow<'a, str>>),
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    open: Vec<Open<'a>>,
}

impl<'a> Scanner<'a> {
    /// The whole text: one value, nothing after it. A loop with an explicit stack, so that depth uses no call stack.
    fn document(&mut self) -> Result<(), String> {
        self.value_start()?;
        while let Some(inner) = self.open.last() {
            let (close, is_object) = match inner {
                Open::Array => (b']', false),
                Open::Object(_) => (b'}', true),
            };
            self.space();
            match self.peek() {
                Some(byte) if byte == close => {
                    self.at += 1;
                    self.open.pop();
                }
                Some(b',') => {
                    self.at += 1;
                    self.space();
                    if is_object {
                        self.key()?;
                    }
                    self.value_start()?;
                }
                Some(_) => return Err(format!("expected `,` or `{}`", close as char)),
                None => return Err(format!("the text ends before `{}`", close as char)),
            }
        }
        self.space();
        if self.at < self.bytes.len() {
            Err("unexpected text after the value".to_owned())
        } else {
            Ok(())
        }
    }

    /// Scans a value without entering it: scalars completely, arrays and objects up to their first value.
    fn value_start(&mut self) -> Result<(), String> {
        loop {
            self.space();
            match self.peek() {
                Some(b'{') => {
                    self.enter(Open::Object(HashSet::new()))?;
                    self.space();
                    if self.peek() == Some(b'}') {
                        return Ok(());
                    }
                    self.key()?;
                }
                Some(b'[') => {
                    self.enter(Open::Array)?;
                    self.space();
                    if self.peek() == Some(b']') {
                        return Ok(());
                    }
                }
                Some(b'"') => return self.string().map(drop),
                Some(b'-' | b'0'..=b'9') => return self.number(),
                Some(b't') => return self.word("true"),
                Some(b'f') => return self.word("false"),
                Some(b'n') => return self.word("null"),
                Some(_) => return Err("expected a value".to_owned()),
                None => return Err("the text ends where a value is expected".to_owned()),
            }
        }
    }

    fn enter(&mut self, open: Open<'a>) -> Result<(), String> {
        if self.open.len() == DEPTH_MAX {
            return Err(format!("nested deeper than {DEPTH_MAX} levels"));
        }
        self.open.push(open);
        self.at += 1;
        Ok(())
    }

    fn key(&mut self) -> Result<(), String> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return Err("expected a key in double quotes".to_owned()),
            None => return Err("the text ends where a key is expected".to_owned()),
        }
        let key = self.string()?;
        let shown: String = key.chars().take(64).flat_map(char::escape_debug).collect();
        if let Some(Open::Object(keys)) = self.open.last_mut()
            && !keys.insert(key)
        {
            self.at = start;
            return Err(format!("duplicate key \"{shown}\""));
        }
        self.space();
        if self.peek() != Some(b':') {
            return Err("expected `:` after a key".to_owned());
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, String> {
        self.at += 1;
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut copied = start;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let rest = &self.text[copied..self.at];
                    self.at += 1;
                    return Ok(match owned {
                        Some(text) => Cow::Owned(text + rest),
                        None => Cow::Borrowed(rest),
                    });
                }
                Some(b'\\') => {
                    let text = owned.get_or_insert_default();
                    text.push_str(&self.text[copied..self.at]);
                    let c = self.escape()?;
                    text.push(c);
                    copied = self.at;
                }
                Some(0..=0x1f) => {
                    return Err("control character in a string; write it as an escape".to_owned());
                }
                Some(_) => self.at += 1,
                None => return Err("the text ends inside a string".to_owned()),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let start = self.at;
        self.at += 1;
        let simple = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let c = self.unicode_escape();
                if c.is_err() {
                    self.at = start;
                }
                return c;
            }
            Some(_) => {
                self.at = start;
                return Err("unknown escape in a string".to_owned());
            }
            None => return Err("the text ends inside a string".to_owned()),
        };
        self.at += 1;
        Ok(simple)
    }

    fn unicode_escape(&mut self) -> Result<char, String> {
        self.at += 1;
        let first = self.hex4()?;
        let code = match first {
            0 => return Err("NUL character in a string".to_owned()),
            0xd800..=0xdbff => {
                if self.peek() != Some(b'\\') || self.bytes.get(self.at + 1) != Some(&b'u') {
                    return Err("lone surrogate in a string".to_owned());
                }
                self.at += 2;
                let second = self.hex4()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err("lone surrogate in a string".to_owned());
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(|| "lone surrogate in a string".to_owned())
    }

    fn hex4(&mut self) -> Result<u32, String> {
        let digits = self.bytes.get(self.at..self.at + 4).unwrap_or_default();
        let mut code = 0;
        for &digit in digits {
            code = code * 16
                + char::from(digit).to_digit(16).ok_or("`\\u` needs four hexadecimal digits")?;
        }
        if digits.len() < 4 {
            return Err("`\\u` needs four hexadecimal digits".to_owned());
        }
        self.at += 4;
        Ok(code)
    }

    fn number(&mut self) -> Result<(), String> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err("expected a digit".to_owned()),
        }
        if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err("a number must not start with a zero".to_owned());
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn some_digits(&mut self) -> Result<(), String> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err("expected a digit".to_owned());
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err("expected a value".to_owned());
        }
        self.at += word.len();
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}
