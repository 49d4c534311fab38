use waypost_events::Number;

use super::{CONDITION_BYTES_MAX, InvalidCondition};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Text(String),
    Number(Number),
    /// Letters, digits, `_` and `-`: there is no arithmetic, so `-` can be in a name.
    Name(String),
    /// An operator, bracket, comma or dot.
    Sign(&'static str),
    End,
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// In bytes.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Longer ones before their prefixes.
const SIGNS: [&str; 15] =
    ["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", ",", "."];

pub(super) fn error(source: &str, at: usize, what: impl Into<String>) -> InvalidCondition {
    InvalidCondition { column: source[..at].chars().count() + 1, what: what.into() }
}

/// The tokens of a condition; the last one is [`Kind::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, InvalidCondition> {
    if source.len() > CONDITION_BYTES_MAX {
        let what = format!("it has {} bytes; the limit is {CONDITION_BYTES_MAX}", source.len());
        return Err(InvalidCondition { column: 1, what });
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (kind, end) = token(source, at, first)?;
        tokens.push(Token { kind, start: at, end });
        at = end;
    }
    tokens.push(Token { kind: Kind::End, start: source.len(), end: source.len() });
    Ok(tokens)
}

fn token(source: &str, at: usize, first: char) -> Result<(Kind, usize), InvalidCondition> {
    let rest = &source[at..];
    match first {
        '"' | '\'' => text(source, at, first),
        '0'..='9' | '-' => number(source, at),
        _ if is_name_start(first) => {
            let len = rest.find(|it| !is_name_part(it)).unwrap_or(rest.len());
            Ok((Kind::Name(rest[..len].to_owned()), at + len))
        }
        _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => Ok((Kind::Sign(sign), at + sign.len())),
            None => Err(error(source, at, unknown(first))),
        },
    }
}

fn unknown(it: char) -> String {
    match it {
        '=' => "= compares nothing; write ==".to_owned(),
        '&' => "& is nothing here; write &&".to_owned(),
        '|' => "| is nothing here; write ||".to_owned(),
        '“' | '”' | '„' | '‘' | '’' => {
            format!("{it} is a typographic quote; write \" or '")
        }
        '+' | '*' | '/' | '%' => format!("{it}: conditions have no arithmetic"),
        _ => format!("unexpected character {it:?}"),
    }
}

fn is_name_start(it: char) -> bool {
    it.is_ascii_alphabetic() || it == '_'
}

fn is_name_part(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_' || it == '-'
}

fn text(source: &str, at: usize, quote: char) -> Result<(Kind, usize), InvalidCondition> {
    let mut text = String::new();
    let mut rest = source[at + 1..].char_indices();
    while let Some((offset, it)) = rest.next() {
        if it == quote {
            return Ok((Kind::Text(text), at + 1 + offset + 1));
        }
        if it != '\\' {
            text.push(it);
            continue;
        }
        text.push(match rest.next() {
            Some((_, it @ ('\\' | '"' | '\''))) => it,
            Some((_, 'n')) => '\n',
            Some((_, 't')) => '\t',
            Some((_, 'r')) => '\r',
            _ => {
                let what = "after \\ comes one of \\ \" ' n t r";
                return Err(error(source, at + 1 + offset, what));
            }
        });
    }
    Err(error(source, at, format!("unclosed string: expected {quote}")))
}

fn number(source: &str, at: usize) -> Result<(Kind, usize), InvalidCondition> {
    let rest = &source[at..];
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    // A sign belongs to it at its start and after the e of an exponent.
    let mut len = usize::from(rest.starts_with('-'));
    for it in rest[len..].chars() {
        let in_exponent = rest[..len].ends_with(['e', 'E']) && (it == '-' || it == '+');
        if !is_part(it) && !in_exponent {
            break;
        }
        len += it.len_utf8();
    }
    match Number::from_decimal(&rest[..len]) {
        Some(number) => Ok((Kind::Number(number), at + len)),
        None if len == 1 && rest.starts_with('-') => {
            Err(error(source, at, "conditions have no arithmetic"))
        }
        None => {
            let what = format!("{} is not a decimal number; strings need quotes", &rest[..len]);
            Err(error(source, at, what))
        }
    }
}
