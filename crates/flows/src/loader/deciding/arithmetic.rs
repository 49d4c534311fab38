//! Arithmetic can set variables, too.

use super::words::Shown;
use super::{ANY, BYTES_MIN, CHOICE, Check, VALUES_MAX};
use crate::command::literals::is_resolving;

impl Check<'_> {
    /// Checks arithmetic, in which the shell first expands variables.
    pub(super) fn arithmetic(&self, text: &str) -> Result<(), String> {
        calculated(text, true)?;
        let all = self.values.expanded(text, VALUES_MAX, &mut BYTES_MIN.clone());
        all.into_iter().flatten().try_for_each(|it| calculated(&it, false))
    }
}

/// The text with a number in place of each value in plain arithmetic: the grammar does not know the
/// characters that represent values there.
pub(super) fn with_numbers(text: &str) -> String {
    let is_value = |it: char| (CHOICE..=ANY as u32).contains(&(it as u32));
    // No quote, and nothing that ends a command.
    let is_plain =
        |it: char| it.is_ascii_alphanumeric() || " _$+-*/%<>=!^~?:,".contains(it) || is_value(it);
    let mut replaced = String::with_capacity(text.len());
    let mut left = text;
    while let Some((before, rest)) = left.split_once("$((") {
        let Some((inside, after)) = rest.split_once("))") else { break };
        replaced.push_str(before);
        replaced.push_str("$((");
        if inside.chars().all(is_plain) && !before.ends_with('\\') {
            replaced.extend(inside.chars().map(|it| if is_value(it) { '1' } else { it }));
            replaced.push_str("))");
            left = after;
        } else {
            left = rest;
        }
    }
    replaced.push_str(left);
    replaced
}

/// Rejects a text that sets a variable when it is evaluated as arithmetic, if that could change which
/// program a name stands for.
pub(super) fn calculated(text: &str, is_arithmetic: bool) -> Result<(), String> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    for (at, _) in text.match_indices('=') {
        if text[at + 1..].starts_with('=') || text[..at].ends_with(['=', '!', '<', '>']) {
            continue;
        }
        let before = text[..at].trim_end_matches(|it: char| "+-*/%&|^ ".contains(it));
        let name = before.rsplit(|it| !is_part(it)).next().unwrap_or_default();
        let around = &before[..before.len() - name.len()];
        if is_arithmetic && around.ends_with(['$', '}', ')']) {
            return Err(format!(
                "{} sets a variable whose name the shell computes; write its name",
                Shown::new(text).quoted()
            ));
        }
        if is_resolving(name) {
            return Err(format!(
                "{} sets {name}, which changes the programs that it runs; do not set it, and name each program by its path",
                Shown::new(text).quoted()
            ));
        }
    }
    Ok(())
}
