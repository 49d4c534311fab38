//! `${…}`.

use super::{Checked, Reader};

const EXPANSION: &str = "is an expansion other than ${NAME} and ${NAME:-WORD} with a plain WORD, which shells read differently; the operators are - = + ? # %, and WORD has no quotes, $, brackets or operators";

pub(super) fn is_name_start(it: char) -> bool {
    it.is_ascii_alphabetic() || it == '_'
}

/// The name at the beginning of a text.
pub(super) fn name_of(text: &str) -> &str {
    let is_end = |it: char| !it.is_ascii_alphanumeric() && it != '_';
    &text[..text.find(is_end).unwrap_or(text.len())]
}

impl Reader<'_> {
    /// Reads `${…}`. Returns whether it can become several words.
    pub(super) fn parameter(&mut self) -> Checked<bool> {
        let begin = self.at;
        let unclear = Err((begin, EXPANSION));
        let inside = &self.rest()[2..];
        let Some(end) = inside.find('}') else { return unclear };
        let inside = &inside[..end];
        let is_length = inside.len() > 1 && inside.starts_with('#');
        let name = if is_length { &inside[1..] } else { inside };
        let is_special = name.starts_with(['@', '*', '#', '?', '$', '-']);
        let len = if is_special { 1 } else { name_of(name).len() };
        let (name, operator) = name.split_at(len);
        let is_number = name.chars().all(|it| it.is_ascii_digit());
        let is_name = name.starts_with(is_name_start) || is_special || is_number;
        let word = match operator {
            "" => "",
            _ if is_length => return unclear,
            _ => {
                let operators = [":-", ":=", ":+", ":?", "-", "=", "+", "?", "##", "#", "%%", "%"];
                let Some(it) = operators.iter().find(|it| operator.starts_with(**it)) else {
                    return unclear;
                };
                &operator[it.len()..]
            }
        };
        if name.is_empty() || !is_name || word.contains(|it: char| "'\"`$\\{()<>;&|\n".contains(it))
        {
            return unclear;
        }
        self.at = begin + 2 + end + 1;
        Ok(!is_length && !matches!(name, "#" | "?" | "$" | "-"))
    }
}
