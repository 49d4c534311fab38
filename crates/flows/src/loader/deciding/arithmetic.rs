//! Arithmetic can set variables, too.

use std::collections::BTreeSet;

use super::super::marks::{Kind, Marks};
use super::Check;
use super::words::Shown;
use crate::EVENT_PREFIX;
use crate::command::literals::is_resolving;
use crate::command::pieces::is_mark;

impl Check<'_> {
    /// Checks arithmetic, in which the shell first expands variables.
    pub(super) fn arithmetic(&mut self, text: &str) -> Result<(), String> {
        self.found.calculates = true;
        if text.contains(EVENT_PREFIX) {
            return Err(format!(
                "{} is arithmetic with a value of the event, in which bash would run commands; declare the value as integer in trigger.data, and write {{{{data.key}}}}",
                Shown::new(text).quoted()
            ));
        }
        calculated(text, true)?;
        if sets(text) {
            for name in names(text) {
                self.unknown(name);
            }
        }
        Ok(())
    }
}

/// The text with a number in place of each value that is one, in plain arithmetic: the grammar does
/// not know the characters that represent values there, and any other value is rejected.
pub(super) fn with_numbers(text: &str, marks: &Marks<'_>) -> String {
    let is_value = |it: char| is_mark(it) && matches!(marks.kind(it), Kind::Number);
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

fn is_part(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}

/// The names of variables in arithmetic.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let all = text.split(|it| !is_part(it));
    all.filter(|it| it.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_'))
}

/// Whether arithmetic sets a variable.
fn sets(text: &str) -> bool {
    text.contains("++") || text.contains("--") || assignments(text).next().is_some()
}

/// The positions of `=` in assignments. `<<=` and `>>=` are assignments, `<=` and `>=` are not.
fn assignments(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices('=').map(|(at, _)| at).filter(|at| {
        let before = &text[..*at];
        let compares = (before.ends_with('<') && !before.ends_with("<<"))
            || (before.ends_with('>') && !before.ends_with(">>"));
        !text[at + 1..].starts_with('=') && !before.ends_with(['=', '!']) && !compares
    })
}

/// The variables that a value sets when it is evaluated as arithmetic. Reads the text once.
pub(super) fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut assigned = assignments(text).peekable();
    let steps = text.match_indices("++").chain(text.match_indices("--"));
    let steps: BTreeSet<usize> = steps.map(|(at, _)| at).collect();
    // The name before this place, with only operators and a subscript in between, and the name
    // directly before the last bracket.
    let (mut name, mut indexed) = (0..0, 0..0);
    for (at, it) in text.char_indices() {
        let is_assigned = assigned.next_if_eq(&at).is_some();
        let is_step = steps.contains(&at);
        if (is_assigned || is_step) && !name.is_empty() {
            found.push(&text[name.clone()]);
        }
        if is_step {
            let after = text[at + 2..].trim_start();
            found.push(after.split(|it| !is_part(it)).next().unwrap_or_default());
        }
        name = match it {
            it if is_part(it) && name.end == at => name.start..at + 1,
            it if is_part(it) => at..at + 1,
            '[' => {
                indexed = if name.end == at { name } else { 0..0 };
                0..0
            }
            ']' => indexed.clone(),
            it if "+-*/%&|^<> ".contains(it) => name,
            _ => 0..0,
        };
    }
    found.into_iter().filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// Whether a value runs a command when it is evaluated as arithmetic: `a[$(command)]`.
pub(super) fn evaluated(text: &str) -> bool {
    let commands = ["$(", "`", "${ "].iter().filter_map(|it| text.rfind(it));
    let Some(last) = commands.max() else { return false };
    text[..last].match_indices('[').any(|(at, _)| text[..at].ends_with(is_part))
}

/// Rejects a text that sets a variable when it is evaluated as arithmetic, if that could change which
/// program a name stands for.
pub(super) fn calculated(text: &str, is_arithmetic: bool) -> Result<(), String> {
    for at in assignments(text) {
        let before = text[..at].trim_end_matches(|it: char| "+-*/%&|^<> ".contains(it));
        let name = before.rsplit(|it| !is_part(it)).next().unwrap_or_default();
        let around = &before[..before.len() - name.len()];
        if is_arithmetic && around.ends_with(['$', '}', ')']) {
            return Err(format!(
                "{} sets a variable whose name the shell computes; write its name",
                Shown::new(text).quoted()
            ));
        }
    }
    let resolving = if is_arithmetic {
        names(text).find(|it| is_resolving(it)).filter(|_| sets(text)).map(str::to_owned)
    } else {
        targets(text).into_iter().find(|it| is_resolving(it))
    };
    match resolving {
        Some(name) => Err(format!(
            "{} sets {name}, which changes the programs that it runs; do not set it, and name each program by its path",
            Shown::new(text).quoted()
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::targets;

    #[test]
    fn arithmetic_sets_the_names_before_and_after_its_operators() {
        for (text, wanted) in [
            ("a=1", &["a"][..]),
            ("a == 1", &[]),
            ("a <<= 1", &["a"]),
            ("a <= 1", &[]),
            ("a++ + --b", &["a", "b", "b"]),
            ("a[1] = 2", &["a"]),
            ("a[b[1]] += 2", &["b"]),
            ("x = y = 1, z++", &["x", "y", "z"]),
            ("PATH += .", &["PATH"]),
            ("+++=", &[]),
            ("ä=1", &[]),
        ] {
            let mut found = targets(text);
            found.sort_unstable();
            let mut wanted: Vec<String> = wanted.iter().map(|it| (*it).to_owned()).collect();
            wanted.sort_unstable();
            found.dedup();
            wanted.dedup();
            assert_eq!(found, wanted, "{text}");
        }
    }
}
