//! The end of a private key whose beginning is missing, as in a text that was cut.

use std::ops::Range;

use crate::{KEY_BYTES_MAX, Secret, Seen, key_label};

/// A shorter word is no line of a key, except for the last line.
const LINE_BYTES_MIN: usize = 16;

/// The lines of base64 before `-----END … PRIVATE KEY-----`, and the footer.
pub(crate) fn private_key(text: &str, at: usize, seen: &mut Seen) -> Option<Secret> {
    (at >= seen.key_end).then_some(())?;
    let label = key_label(&text[at + "-----END ".len()..])?;
    let end = at + "-----END ".len() + label.len() + "-----".len();
    let mut least = seen.key_end.max(at.saturating_sub(KEY_BYTES_MAX));
    while !text.is_char_boundary(least) {
        least += 1;
    }
    seen.key_end = end;
    let start = least + body(&text[least..at])?;
    Some((start..end, "private-key"))
}

/// Where the base64 at the end of a text starts.
fn body(text: &str) -> Option<usize> {
    let (mut start, mut rest, mut is_last) = (None, text, true);
    loop {
        let (line, above) = match rest.rfind('\n') {
            Some(at) => (at + 1, Some(&rest[..at])),
            None => (0, None),
        };
        // The footer is on a line of its own, or behind a break that is written as `\n`.
        let is_before_footer =
            rest.len() == text.len() && !rest[line..].contains(char::is_alphanumeric);
        if !is_before_footer {
            let word = last_word(&rest[line..]);
            // A quotation mark or an indent may precede it on each line; more is another text.
            let is_whole = !rest[line..line + word.start].contains(char::is_alphanumeric);
            match word.len() {
                LINE_BYTES_MIN.. => start = Some(line + word.start),
                1.. if is_last && is_whole => {}
                _ => return start,
            }
            if !is_whole {
                return start;
            }
            is_last = false;
        }
        let Some(above) = above else { return start };
        rest = above;
    }
}

/// The last word of a line if it is base64; its breaks may be written as `\n`.
fn last_word(line: &str) -> Range<usize> {
    let line = line.trim_end_matches([' ', '\t', '\r', '"', '\'', ',', ';']);
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "+/=\\".contains(c);
    let start = line.trim_end_matches(is_inside).len();
    start..line.len()
}
