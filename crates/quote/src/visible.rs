//! Untrusted text: escapes everything that a terminal would interpret, or that hides or reorders other text.

use std::borrow::Cow;

/// How to treat line breaks and tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Keep them.
    Keep,
    /// Replace them by spaces.
    Fold,
}

/// The text with an escape such as `\u{1b}` for every character that a terminal interprets, or that
/// hides or reorders other text.
///
/// ```
/// use waypost_quote::{Lines, visible};
/// assert_eq!(visible("red \u{1b}[31mtext", Lines::Fold), "red \\u{1b}[31mtext");
/// ```
pub fn visible(text: &str, lines: Lines) -> Cow<'_, str> {
    let stays = |c: char| match c {
        '\n' | '\t' => lines == Lines::Keep,
        c => !is_deceptive(c),
    };
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' | '\t' if lines == Lines::Fold => shown.push(' '),
            c if stays(c) => shown.push(c),
            c => {
                shown.push_str(&c.escape_unicode().to_string());
            }
        }
    }
    Cow::Owned(shown)
}

/// One line of text, in which also line breaks and tabs are escapes.
///
/// ```
/// assert_eq!(waypost_quote::escaped("two\nlines"), "two\\nlines");
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_deceptive(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// JSON text with these characters as `\uXXXX`, except for line breaks. Outside strings, JSON has none of
/// the others.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(|c| c != '\n' && is_deceptive(c)) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if c == '\n' || !is_deceptive(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            shown.extend(["\\u".to_owned(), format!("{unit:04x}")]);
        }
    }
    Cow::Owned(shown)
}

/// Whether a terminal interprets the character, or it hides or reorders other text. Line breaks and tabs are included.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // direction
            | '\u{2028}' | '\u{2029}' // line and paragraph separators
            | '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
            | '\u{feff}' // invisible
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' // fillers, which look like blanks
            | '\u{fff9}'..='\u{fffb}' // interlinear annotation
            | '\u{e0000}'..='\u{e007f}') // tags, which carry invisible text
}
