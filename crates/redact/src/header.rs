//! Credentials in headers, on command lines, and in files and URLs made for them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::assigned::{is_placeholder, stands_for};
use crate::command::line_before;
use crate::random::is_random;
use crate::{Secret, floor, is_url_base64, of_known_shape, run, run_within};

/// The longest credentials.
const BYTES_MAX: usize = 4096;
/// The longest path of a webhook.
const PATH_BYTES_MAX: usize = 512;

fn is_token(it: u8) -> bool {
    it.is_ascii_alphanumeric() || b"-._~+/=".contains(&it)
}

/// The credentials after `Bearer `.
pub(super) fn bearer(text: &str, at: usize) -> Option<Secret> {
    let end = at + run(&text[at..], is_token);
    if let Some(secret) = of_known_shape(text, at) {
        return Some(secret);
    }
    let value = &text[at..end];
    let is_secret = (20..=BYTES_MAX).contains(&value.len()) && is_random(value);
    (is_secret && !is_placeholder(value)).then_some((at..end, "bearer-token"))
}

/// The credentials after `Basic `: base64 of `user:password` (RFC 7617).
pub(super) fn basic(text: &str, at: usize) -> Option<Secret> {
    let length = run(&text[at..], |byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte));
    let value = &text[at..at + length];
    let plain = (8..=512).contains(&length).then(|| decode(value)).flatten()?;
    plain.contains(&b':').then_some((at..at + length, "basic-credentials"))
}

/// The value of an `Authorization` header or field without a scheme, or with a non-standard one.
pub(super) fn authorization(text: &str, at: usize) -> Option<Secret> {
    let rest = &text[at..];
    let before = run(rest, |byte| b"\"'`]): \t=>,".contains(&byte));
    (2..=8).contains(&before).then_some(())?;
    let mut start = at + before;
    let first = run_within(&text[start..], BYTES_MAX, is_token)?;
    // A scheme such as `token` or `GenieKey`.
    if first <= 16 && text[start + first..].starts_with(' ') {
        start += first + 1;
    }
    let length = run_within(&text[start..], BYTES_MAX, is_token)?;
    let value = &text[start..start + length];
    let is_secret = (16..=BYTES_MAX).contains(&length) && is_random(value);
    (is_secret && !is_placeholder(value)).then_some((start..start + length, "bearer-token"))
}

/// The password of `--user name:password`.
pub(super) fn user(text: &str, at: usize) -> Option<Secret> {
    let quote = run(&text[at..], |byte| byte == b'"' || byte == b'\'');
    let at = at + quote;
    let length =
        run(&text[at..], |byte| byte.is_ascii_graphic() && !b"\"'`<>()[]{}|;".contains(&byte));
    let (name, password) = text[at..at + length].split_once(':')?;
    let is_secret = !name.is_empty() && (6..=256).contains(&password.len());
    let is_id = password.bytes().all(|byte| byte.is_ascii_digit());
    (is_secret && !is_id && !stands_for(password) && !is_placeholder(password)).then_some(())?;
    let start = at + name.len() + 1;
    Some((start..start + password.len(), "password"))
}

/// The password of `curl -u name:password`; other programs give `-u` other meanings.
pub(super) fn short_user(text: &str, at: usize, end: usize) -> Option<Secret> {
    let secret = user(text, end)?;
    let line = line_before(text, at);
    let is_http = line.contains("curl") || line.contains("http") || line.contains("wget");
    is_http.then_some(secret)
}

/// The password in a line of a `.netrc`: `machine HOST login USER password PASSWORD`.
pub(super) fn netrc(text: &str, at: usize, end: usize) -> Option<Secret> {
    let is_line = text[..at].trim_end_matches([' ', '\t']).ends_with('\n') || at == 0;
    let rest = &text[end..floor(text, end + 512)];
    let password = rest.find("password ")?;
    let between = &rest[..password];
    (between.contains("login ") && between.lines().count() <= 3).then_some(())?;
    let start = end + password + "password ".len();
    let length = run(&text[start..], |byte| byte.is_ascii_graphic() && !b"\"'`".contains(&byte));
    let value = &text[start..start + length];
    let is_secret = length >= 4 && !stands_for(value) && !is_placeholder(value);
    // Prose about the format contains no random password.
    (is_secret && (is_line || is_random(value))).then_some((start..start + length, "password"))
}

/// The last part of a webhook's URL, which is secret.
pub(super) fn webhook(text: &str, at: usize) -> Option<Secret> {
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-@".contains(&byte);
    let length = run_within(&text[at..], PATH_BYTES_MAX, is_path)?;
    let path = &text[at..at + length];
    // Microsoft Teams: the secret is before the last part.
    if let Some(before) = path.find("IncomingWebhook/") {
        let start = at + before + "IncomingWebhook/".len();
        return (at + length - start >= 24).then_some((start..at + length, "webhook-secret"));
    }
    let last = path.rsplit(['/', '@']).next()?;
    let is_secret = last.len() >= 24 && is_random(last);
    is_secret.then_some((at + length - last.len()..at + length, "webhook-secret"))
}

/// The token in `https://api.telegram.org/bot<token>/`.
pub(super) fn bot(text: &str, at: usize) -> Option<Secret> {
    let digits = run(&text[at..], |it| it.is_ascii_digit());
    telegram(text, at + digits)
}

/// A bot's token: its id of 8 to 10 digits before the `:`, and 35 characters after it.
pub(super) fn telegram(text: &str, colon: usize) -> Option<Secret> {
    let before = text[..colon].bytes().rev().take_while(u8::is_ascii_digit).count();
    (7..=16).contains(&before).then_some(())?;
    let start = colon + 1;
    let length =
        run(text.get(start..)?, |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    (34..=36).contains(&length).then_some((colon - before..start + length, "telegram-token"))
}

/// A server key of Firebase Cloud Messaging: `AAAA…:APA91b…`.
pub(super) fn firebase(text: &str, at: usize, end: usize) -> Option<Secret> {
    let before = text[..at].bytes().rev().take(32).take_while(|byte| is_url_base64(*byte)).count();
    let length = run_within(&text[end..], PATH_BYTES_MAX, is_url_base64)?;
    (before >= 7 && length >= 100).then_some((at - before..end + length, "firebase-key"))
}

/// A client secret of Microsoft Entra: three characters, a digit, `Q~`, and 31 to 34 characters.
pub(super) fn entra(text: &str, at: usize, end: usize) -> Option<Secret> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let start = at.checked_sub(4)?;
    let before = text.as_bytes().get(start..at)?;
    let begins = before.iter().all(|before| is_letter(*before)) && before[3].is_ascii_digit();
    let length = run_within(&text[end..], 64, is_letter)?;
    let is_secret = begins && text[at..].starts_with("Q~") && (31..=34).contains(&length);
    is_secret.then_some((start..end + length, "entra-secret"))
}

/// Decodes base64 of either alphabet, with or without padding.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let plain = text.trim_end_matches('=').replace('-', "+").replace('_', "/");
    let bytes = STANDARD_NO_PAD.decode(plain).ok()?;
    let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    is_text.then_some(bytes)
}
