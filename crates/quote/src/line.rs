//! Text without control characters, in one line or in several.

use std::borrow::Cow;

use crate::{Lines, visible};

/// One line of stored text of up to that many characters.
pub fn line(text: &str, chars_max: usize) -> String {
    let shown = single(text);
    if shown.chars().count() <= chars_max {
        return shown;
    }
    shown.chars().take(chars_max).chain("…".chars()).collect()
}

/// One line of stored text.
pub fn single(text: &str) -> String {
    visible(text.trim(), Lines::Fold).into_owned()
}

/// Stored text without control characters; line breaks and tabs stay.
pub fn plain(text: &str) -> Cow<'_, str> {
    visible(text, Lines::Keep)
}
