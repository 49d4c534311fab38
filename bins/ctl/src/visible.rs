//! Stored text on a terminal: what would command the terminal is shown instead of obeyed.

use std::borrow::Cow;

/// What becomes of line breaks and tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// They stay.
    Keep,
    /// They become blanks.
    Fold,
}

/// The text with every character that a terminal obeys, or that hides or reorders other text, as an escape such as
/// `\u{1b}`.
///
/// ```
/// use waypost_ctl::{Lines, visible};
/// assert_eq!(visible("red \u{1b}[31mtext", Lines::Fold), "red \\u{1b}[31mtext");
/// ```
pub fn visible(text: &str, lines: Lines) -> Cow<'_, str> {
    let stays = |c: char| match c {
        '\n' | '\t' => lines == Lines::Keep,
        c => !is_dangerous(c),
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

/// JSON text with the same characters as `\uXXXX`. Outside of strings JSON has none of them.
pub(crate) fn visible_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(|c| c != '\n' && is_dangerous(c)) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if c == '\n' || !is_dangerous(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            shown.extend(["\\u".to_owned(), format!("{unit:04x}")]);
        }
    }
    Cow::Owned(shown)
}

/// The text with every character as an escape that may be invisible, those included that belong to scripts and emoji:
/// for texts that are looked at before they act.
pub(crate) fn exact(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_joiner) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if is_joiner(c) { c.escape_unicode().to_string() } else { c.into() };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// Invisible characters that change how their neighbours look.
fn is_joiner(c: char) -> bool {
    matches!(c,
        '\u{200c}' | '\u{200d}' // joiners, of emoji and of several scripts
        | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}') // variants
}

fn is_dangerous(c: char) -> bool {
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
