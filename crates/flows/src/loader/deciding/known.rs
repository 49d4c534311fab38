//! What a word becomes, as far as the flow says it.

use super::words::Shown;
use super::{BYTES_MIN, CHOICE, Check, DEPTH_MAX, INSTEAD, VALUES_MAX};
use crate::INHERITED;
use crate::command::pieces::{Piece, expands};

impl Check<'_> {
    /// The values of a word that decides what runs.
    pub(super) fn decided(&mut self, word: &Shown) -> Result<Vec<String>, String> {
        let values = self.values_of(word).map_err(|what| {
            format!("{} is {what}, where it decides which program runs; {INSTEAD}", word.quoted())
        })?;
        self.spend(values.iter().map(String::len).sum())?;
        Ok(values)
    }

    /// What a word becomes; an error says why that is not known.
    pub(super) fn values_of(&self, word: &Shown) -> Result<Vec<String>, &'static str> {
        match self.all_values_of(word) {
            Err(_) if self.is_first => Ok(vec![word.text()]),
            values => values,
        }
    }

    fn all_values_of(&self, word: &Shown) -> Result<Vec<String>, &'static str> {
        if let Some(what) = expands(&word.pieces) {
            return Err(what);
        }
        let mut values = vec![String::new()];
        let mut literal = String::new();
        let mut budget = BYTES_MIN;
        for piece in &word.pieces {
            let next = match piece {
                Piece::Char(it, _) => self.choices_of(*it).map(<[String]>::to_vec),
                Piece::Computed(what) => return Err(what),
                Piece::Variable(text, is_quoted) => {
                    let next = self.referred(text, &mut budget)?;
                    if !is_quoted && next.iter().any(|it| it.contains(['*', '?', '['])) {
                        return Err("a pattern");
                    }
                    Some(next)
                }
            };
            if let (None, Piece::Char(it, _)) = (&next, piece) {
                literal.push(*it);
                continue;
            }
            let next = next.unwrap_or_default();
            let pairs = values.iter().flat_map(|it| next.iter().map(move |end| (it, end)));
            let joined = pairs.map(|(it, end)| format!("{it}{literal}{end}"));
            values = joined.take(VALUES_MAX + 1).collect();
            literal.clear();
            if values.len() > VALUES_MAX
                || values.iter().map(String::len).sum::<usize>() > BYTES_MIN
            {
                return Err("a word with too many values");
            }
        }
        for value in &mut values {
            value.push_str(&literal);
        }
        let is_in_hole = |it: &String| {
            let hole = self.hole.as_ref().filter(|_| !it.starts_with('-'));
            hole.is_some_and(|hole| it.contains(hole))
        };
        if values.iter().any(is_in_hole) {
            return Err("a name that is inserted when the command runs");
        }
        Ok(values)
    }

    /// The values of a placeholder.
    fn choices_of(&self, mark: char) -> Option<&[String]> {
        let number = (mark as u32).checked_sub(CHOICE)?;
        self.choices.get(number as usize).copied()
    }

    /// The values of a variable, if the flow gives them literally.
    fn referred(&self, text: &str, budget: &mut usize) -> Result<Vec<String>, &'static str> {
        const UNKNOWN: &str = "a variable whose value the flow does not give literally";

        let name = name_of(text);
        if INHERITED.contains(&name) && text.len() <= name.len() + 3 {
            let known = self.values.expanded(text, VALUES_MAX, budget);
            return Ok(known.unwrap_or_default().into_iter().collect());
        }
        if !is_plain_reference(text) || self.is_computed(text, 0) {
            return Err(UNKNOWN);
        }
        let mut known = self.values.expanded(text, VALUES_MAX, budget).ok_or(UNKNOWN)?;
        known.remove(text);
        let is_known = !known.is_empty() && known.iter().all(|it| !it.contains(['$', '`']));
        if is_known { Ok(known.into_iter().collect()) } else { Err(UNKNOWN) }
    }

    /// Whether a reference, or a value of its variable, refers to a computed one.
    fn is_computed(&self, text: &str, depth: usize) -> bool {
        let mut names = text.match_indices('$').map(|(at, _)| name_of(&text[at..]));
        names.any(|name| {
            self.computed.contains(name)
                || (depth < DEPTH_MAX
                    && self
                        .values
                        .of(name)
                        .any(|it| it.contains('$') && self.is_computed(it, depth + 1)))
        })
    }
}

/// The name of the variable at the beginning of a reference.
pub(super) fn name_of(text: &str) -> &str {
    let name = text.trim_start_matches(['$', '{']);
    let end = name.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    &name[..end.unwrap_or(name.len())]
}

/// Whether a reference stands for a value, or for what it says itself: `$x`, `${x:-a}`.
pub(super) fn is_plain_reference(text: &str) -> bool {
    let name = name_of(text);
    let Some(rest) = text.strip_prefix("${") else { return true };
    let Some(rest) = rest.strip_prefix(name) else { return false };
    let operator = rest.strip_prefix(':').unwrap_or(rest);
    operator.starts_with(['}', '-', '=', '+'])
        && !rest.contains(['\'', '"', '\\', '`', '*', '?', '['])
        && !rest.contains("$(")
}
