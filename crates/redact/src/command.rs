//! Secrets on command lines: `--password X`, `mysql -pX`, `openssl … pass:X`, `echo X | … --password-stdin`.

use std::ops::Range;

use crate::assigned::{is_key, is_placeholder, stands_for};
use crate::random::entropy;
use crate::{Secret, floor, run, run_within};

/// How far before its option a command's name stands.
const LINE_BYTES_MAX: usize = 1024;
/// The longest list of arguments.
const CALL_BYTES_MAX: usize = 200;
/// The longest password.
const PASSWORD_BYTES_MAX: usize = 256;
/// The longest name of an option.
const NAME_BYTES_MAX: usize = 40;

/// Commands whose `-p` or `-P` takes a password as the next word.
const NEXT_WORD: [&str; 12] = [
    "sshpass",
    "login",
    "mongo",
    "sqlcmd",
    "bcp ",
    "ipmitool",
    "zip ",
    "cqlsh",
    "impdp",
    "vncdo",
    "x11vnc",
    "mosquitto",
];
/// Commands whose `-p` takes a password in the same word.
const SAME_WORD: [&str; 5] = ["mysql", "mariadb", "sshpass", "7z", "mycli"];

/// The password after ` -p`.
pub(super) fn p(text: &str, at: usize, end: usize) -> Option<Secret> {
    let is_next = text[end..].starts_with(' ');
    let commands: &[&str] = if is_next { &NEXT_WORD } else { &SAME_WORD };
    of_command(text, at, end + usize::from(is_next), commands)
}

/// The password at a position, if the line before its option names one of these commands. That is
/// asked last: options without a password may fill a text.
pub(super) fn of_command(text: &str, at: usize, start: usize, commands: &[&str]) -> Option<Secret> {
    let secret = password(text, start)?;
    let line = line_before(text, at);
    commands.iter().any(|command| line.contains(command)).then_some(secret)
}

/// The password that is piped or redirected into a command that reads one from its standard input.
pub(super) fn stdin(text: &str, at: usize, end: usize) -> Option<Secret> {
    let here = run(&text[end..], |byte| byte == b' ');
    if text[end + here..].starts_with("<<<") {
        let start = end + here + "<<<".len();
        return password(text, start + run(&text[start..], |byte| byte == b' '));
    }
    let line = line_before(text, at);
    let before = &line[..line.rfind('|')?];
    let begin = before.rfind(['|', ';', '&', '(']).map_or(0, |at| at + 1);
    let echo = before[begin..].trim_start();
    (echo.starts_with("echo ") || echo.starts_with("printf ")).then_some(())?;
    let word = before.trim_end().rsplit([' ', '"', '\'']).find(|part| !part.is_empty())?;
    // `user:password`, as `chpasswd` takes it.
    let word = word.rsplit(':').next()?;
    let start = at - line.len() + (word.as_ptr() as usize - line.as_ptr() as usize);
    is_password(word).then_some((start..start + word.len(), "password"))
}

/// The password after `IDENTIFIED … BY `.
pub(super) fn sql(text: &str, at: usize, end: usize) -> Option<Secret> {
    text[end..].starts_with(['\'', '"']).then_some(())?;
    let secret = password(text, end)?;
    line_before(text, at).to_ascii_lowercase().contains("identified").then_some(secret)
}

/// The password of `smbclient -U name%password` and `lftp -u name,password`.
pub(super) fn joined(text: &str, at: usize, end: usize) -> Option<Secret> {
    let after = |sign: u8, commands: &[&str]| {
        let is_name = |byte: u8| byte.is_ascii_graphic() && byte != sign;
        let name = run_within(&text[end..], NAME_BYTES_MAX, is_name)?;
        (text.as_bytes().get(end + name) == Some(&sign)).then_some(())?;
        of_command(text, at, end + name + 1, commands)
    };
    after(b'%', &["smb", "rpcclient", "winexe", "net "]).or_else(|| after(b',', &["ftp"]))
}

/// The password of `rabbitmqctl add_user name password` and `net use … /user:name password`.
pub(super) fn second(text: &str, at: usize) -> Option<Secret> {
    let name = run_within(&text[at..], NAME_BYTES_MAX, |it| it.is_ascii_graphic())?;
    (name > 0 && text[at + name..].starts_with(' ')).then(|| password(text, at + name + 1))?
}

/// The password of `auth=("name", "password")`.
pub(super) fn pair(text: &str, at: usize) -> Option<Secret> {
    let is_sign = |byte: u8| b"\"', ".contains(&byte);
    let open = run_within(&text[at..], 1, is_sign)?;
    let is_name = |byte: u8| !is_sign(byte) && byte.is_ascii_graphic();
    let name = at + open + run_within(&text[at + open..], NAME_BYTES_MAX, is_name)?;
    let gap = run_within(&text[name..], 4, |byte| b"\"', ".contains(&byte))?;
    let is_quoted = text[..name + gap].ends_with(['"', '\'']);
    (open > 0 && gap > 1 && is_quoted).then(|| password(text, name + gap - 1))?
}

/// The password among the arguments of a call: `login("name", "password")`.
pub(super) fn call(text: &str, end: usize) -> Option<Secret> {
    let rest = &text[end..floor(text, end + CALL_BYTES_MAX)];
    let arguments = &rest[..rest.find([')', '\n']).unwrap_or(rest.len())];
    let quote = arguments.find(['"', '\'']).map(|argument| &arguments[argument..=argument])?;
    let mut at = end;
    for (number, part) in arguments.split(quote).enumerate() {
        if number % 2 == 1 && is_scrambled(part) {
            return Some((at..at + part.len(), "password"));
        }
        at += part.len() + quote.len();
    }
    None
}

/// The password of a line of `.pgpass`: `host:port:database:user:password`, after the port.
pub(super) fn pgpass(text: &str, end: usize) -> Option<Secret> {
    let is_field = |byte: u8| byte.is_ascii_graphic() && byte != b':';
    let mut at = end;
    for _ in 0..2 {
        let length = run_within(&text[at..], NAME_BYTES_MAX, is_field)?;
        at += length;
        (length > 0 && text[at..].starts_with(':')).then_some(())?;
        at += 1;
    }
    let length = run_within(&text[at..], PASSWORD_BYTES_MAX, is_field)?;
    let is_last = text[at + length..].chars().next().is_none_or(char::is_whitespace);
    let value = &text[at..at + length];
    (is_last && is_password(value)).then_some((at..at + length, "password"))
}

/// What stands before a name and a space makes the next word its value.
pub(super) enum Place {
    /// An option, `--token`, or a directive: `ENV TOKEN`.
    Option,
    /// Prose, or the line of a configuration file: `requirepass`.
    Other,
}

/// Where a name stands whose part starts at `at`.
pub(super) fn place(text: &str, at: usize) -> Place {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let before = &text.as_bytes()[at.saturating_sub(NAME_BYTES_MAX)..at];
    let length = before.iter().rev().take_while(|before| is_name(**before)).count();
    let name = &before[before.len() - length..];
    let before = &text[floor(text, at.saturating_sub(NAME_BYTES_MAX + 16))..at - length];
    let is_option =
        name.starts_with(b"-") && before.ends_with([' ', '\n', '"', '\'', '[', '(', '`']);
    let is_directive = ["ENV ", "setenv ", "ARG "].iter().any(|it| before.ends_with(it));
    if is_option || is_directive { Place::Option } else { Place::Other }
}

/// The value of a name with a space after it.
pub(super) fn after_space(text: &str, at: usize, place: &Place) -> Option<Range<usize>> {
    let spaces = run_within(&text[at..], 16, |byte| byte == b' ' || byte == b'\t')?;
    (spaces > 0).then_some(())?;
    let mut start = at + spaces;
    for word in ["is ", "was ", "to "] {
        start += if text[start..].starts_with(word) { word.len() } else { 0 };
    }
    // `password for staging: X`.
    if let Some(about) =
        run_within(&text[start..], NAME_BYTES_MAX, |byte| byte.is_ascii_lowercase() || byte == b' ')
        && matches!(place, Place::Other)
        && text[start + about..].starts_with(": ")
    {
        start += about + ": ".len();
    }
    let (quote, value) = word(text, start)?;
    // `#define TOKEN "X"`.
    let is_macro = line_before(text, at).starts_with("#define ");
    let here = &text[value.clone()];
    let is_secret = match place {
        Place::Option => here.len() >= 6 && is_password(here) && !here.starts_with('-'),
        Place::Other if quote.is_some_and(|quote| quote == '\'' || is_macro) => {
            here.len() >= 8 && is_password(here)
        }
        Place::Other => is_scrambled(here) || (here.len() >= 24 && is_key(here)),
    };
    is_secret.then_some(value)
}

/// The password at a position, in quotes or not.
pub(super) fn password(text: &str, at: usize) -> Option<Secret> {
    let (_, value) = word(text, at)?;
    let is_secret = !text[value.clone()].starts_with('-') && is_password(&text[value.clone()]);
    is_secret.then_some((value, "password"))
}

/// A word, and the quote around it.
fn word(text: &str, at: usize) -> Option<(Option<char>, Range<usize>)> {
    let quote = text[at..].chars().next().filter(|c| ['"', '\'', '`'].contains(c));
    let start = at + quote.map_or(0, char::len_utf8);
    let is_inside = |byte: u8| match quote {
        Some(quote) => byte != quote as u8 && byte.is_ascii_graphic(),
        None => byte.is_ascii_graphic() && !b"\"'`<>()[]{}|;,".contains(&byte),
    };
    let length = run_within(&text[start..], PASSWORD_BYTES_MAX, is_inside)?;
    let is_closed = quote.is_none_or(|quote| text[start + length..].starts_with(quote));
    let value = text[start..start + length].trim_end_matches(['.', '?']);
    (is_closed && !value.is_empty()).then_some((quote, start..start + value.len()))
}

/// Whether a word in the place of a password is one: not a placeholder, a path, a number or a plain
/// word.
fn is_password(value: &str) -> bool {
    let has = |of: fn(&u8) -> bool| value.bytes().any(|byte| of(&byte));
    let is_mixed = has(u8::is_ascii_alphabetic)
        && (has(u8::is_ascii_digit) || value.bytes().any(|byte| b"!@#$%^&*".contains(&byte)));
    value.len() >= 4
        && is_mixed
        && !stands_for(value)
        && !value.contains("://")
        && !value.trim_end_matches('=').contains('=')
        && !is_placeholder(value)
}

/// Whether a word cannot be one of prose: letters of both cases and digits that alternate.
fn is_scrambled(value: &str) -> bool {
    let has = |of: fn(&u8) -> bool| value.bytes().any(|byte| of(&byte));
    let is_word =
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!@#$%^&*_+~-".contains(&byte));
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (8..=128).contains(&value.len())
        && is_word
        && digits >= 2
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && crate::random::alternation(value) >= 0.12
        && entropy(value.as_bytes()) >= 2.75
        && !is_placeholder(value)
}

/// The text between the start of a line and a position.
pub(super) fn line_before(text: &str, at: usize) -> &str {
    let before = &text[floor(text, at.saturating_sub(LINE_BYTES_MAX))..at];
    &before[before.rfind('\n').map_or(0, |at| at + 1)..]
}
