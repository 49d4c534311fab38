//! The values of an action's variables, as far as its flow says them.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::PATH_BYTES_MAX;

/// How often a value may refer to another variable.
const DEPTH_MAX: usize = 16;

/// Every value that is given to a variable: which of them it has is not known.
#[derive(Debug, Clone, Default)]
pub(super) struct Values(BTreeMap<String, BTreeSet<String>>);

impl Values {
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.0.entry(name.to_owned()).or_default().insert(value.to_owned());
    }

    /// Adds what a word sets: `NAME=VALUE`, `${NAME:=VALUE}`.
    pub(super) fn learn(&mut self, word: &str) {
        let setting = word.split_once('=').map(|(name, it)| (name.trim_end_matches('+'), it));
        if let Some((name, value)) = setting.filter(|(name, _)| is_name(name)) {
            self.set(name, value);
        }
        for (at, _) in word.match_indices("${") {
            let Some(Reference { name, operator: '=', other, .. }) = reference(&word[at..]) else {
                continue;
            };
            self.set(name, other);
        }
    }

    /// The word, and what it becomes when each variable has one of its values. Nothing if that is
    /// more than `max` words, or takes more bytes than are left.
    pub(super) fn expanded(
        &self,
        word: &str,
        max: usize,
        bytes: &mut usize,
    ) -> Option<BTreeSet<String>> {
        if !word.contains('$') {
            return Some(BTreeSet::from([word.to_owned()]));
        }
        let mut all = self.expand(word, &mut Vec::new(), max, bytes)?;
        all.insert(word.to_owned());
        Some(all)
    }

    /// `active` are the values that this text is a part of: a value is not part of itself.
    fn expand<'a>(
        &'a self,
        text: &'a str,
        active: &mut Vec<&'a str>,
        max: usize,
        bytes: &mut usize,
    ) -> Option<BTreeSet<String>> {
        let mut all = BTreeSet::from([String::new()]);
        let mut at = 0;
        while let Some(start) = text[at..].find('$').map(|it| at + it) {
            let found = reference(&text[start..]);
            let end = start + found.as_ref().map_or(1, |it| it.len);
            let mut choices = BTreeSet::new();
            if let Some(Reference { name, operator, other, .. }) = found {
                let values = self.0.get(name).into_iter().flatten().map(String::as_str);
                let values: Vec<&str> = match operator {
                    '+' => vec!["", other],
                    '-' | '=' => values.chain([other]).collect(),
                    _ => values.collect(),
                };
                for value in values {
                    // A text that begins with an assignment also looks like a value.
                    let is_rest = is_text(value) && refers(value, name);
                    if is_rest || active.contains(&value) || active.len() >= DEPTH_MAX {
                        continue;
                    }
                    active.push(value);
                    choices.extend(self.expand(value, active, max, bytes)?);
                    active.pop();
                }
            }
            if choices.is_empty() {
                choices.insert(text[start..end].to_owned());
            }
            let before = &text[at..start];
            let mut joined = BTreeSet::new();
            for (it, next) in all.iter().flat_map(|it| choices.iter().map(move |next| (it, next))) {
                *bytes = bytes.checked_sub(1 + it.len() + before.len() + next.len())?;
                joined.extend(ends(format!("{it}{before}{next}")));
                if joined.len() > max {
                    return None;
                }
            }
            all = joined;
            at = end;
        }
        Some(all.into_iter().flat_map(|it| ends(it + &text[at..])).collect())
    }
}

/// A text, or of one that is longer than a path what may be part of a path in a longer text: what is
/// before its first separator, and after its last one.
fn ends(text: String) -> Vec<String> {
    if text.len() <= PATH_BYTES_MAX {
        return vec![text];
    }
    let separates = |it: char| it.is_whitespace() || "=:,;|&()<>`'\"".contains(it);
    let ends = [text.split(separates).next(), text.rsplit(separates).next()];
    let paths = ends.into_iter().flatten().filter(|it| it.len() <= PATH_BYTES_MAX);
    paths.map(str::to_owned).collect()
}

/// Whether a word may be a text of its own, or a part of one.
pub(super) fn is_text(word: &str) -> bool {
    word.contains(|it: char| it.is_whitespace() || ";|&<>`'\"".contains(it))
}

/// Whether a text refers to a variable of this name.
fn refers(text: &str, name: &str) -> bool {
    let mut all = text.match_indices('$').filter_map(|(at, _)| reference(&text[at..]));
    all.any(|it| it.name == name)
}

/// A reference to a variable: `$NAME`, `${NAME}`, `${NAME:-OTHER}`.
struct Reference<'a> {
    name: &'a str,
    /// A blank if there is none.
    operator: char,
    other: &'a str,
    len: usize,
}

/// The reference at the beginning of a text.
fn reference(text: &str) -> Option<Reference<'_>> {
    let rest = text.strip_prefix('$')?;
    let inside = rest.strip_prefix('{');
    let from = inside.unwrap_or(rest);
    let end = from.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    let (name, after) = from.split_at(end.unwrap_or(from.len()));
    if !is_name(name) {
        return None;
    }
    if inside.is_none() {
        return Some(Reference { name, operator: ' ', other: "", len: 1 + name.len() });
    }
    let mut depth = 1_usize;
    let close = after.char_indices().find(|(_, it)| {
        match it {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let (close, _) = close?;
    let other = after[..close].strip_prefix(':').unwrap_or(&after[..close]);
    let operator = other.chars().next().unwrap_or(' ');
    let other = other.get(operator.len_utf8()..).unwrap_or_default();
    Some(Reference { name, operator, other, len: 2 + name.len() + close + 1 })
}

fn is_name(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        && text.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

#[cfg(test)]
mod tests {
    use super::Values;

    #[test]
    fn a_word_becomes_what_its_variables_make_of_it() {
        let mut values = Values::default();
        for word in ["DIR=./tools", "TOOL=$DIR/x", "TOOL=y", "T=a", "T=$T/b", "x ${NEW:=c} y"] {
            values.learn(word);
        }
        for (word, wanted) in [
            ("plain", &["plain"][..]),
            ("$DIR/x", &["$DIR/x", "./tools/x"]),
            ("${DIR}x$", &["${DIR}x$", "./toolsx$"]),
            ("$TOOL", &["$TOOL", "./tools/x", "y"]),
            ("${TOOL%.sh}", &["${TOOL%.sh}", "./tools/x", "y"]),
            ("${NONE:-$DIR/z}", &["${NONE:-$DIR/z}", "./tools/z"]),
            ("${NONE-z}$NONE", &["${NONE-z}$NONE", "z$NONE"]),
            ("${DIR:+z}", &["${DIR:+z}", "", "z"]),
            ("$NEW$1${x[0]}", &["$NEW$1${x[0]}", "c$1${x[0]}"]),
            ("$T", &["$T", "a", "a/b"]),
        ] {
            let found = values.expanded(word, 100, &mut 10_000).unwrap();
            assert_eq!(found.iter().collect::<Vec<_>>().len(), wanted.len(), "{word}: {found:?}");
            assert!(wanted.iter().all(|it| found.contains(*it)), "{word}: {found:?}");
        }
        assert!(values.expanded(&"$TOOL".repeat(7), 100, &mut 10_000).is_none());
        for number in 0..100 {
            values.learn(&format!("A{}=$A{number}$A{number}", number + 1));
        }
        assert!(values.expanded("$A100", 1000, &mut 10_000).is_none());
    }

    #[test]
    fn the_ends_of_a_long_value_are_parts_of_a_word() {
        let mut values = Values::default();
        let long = "x".repeat(3000);
        values.set("LONG", &long);
        values.set("LIST", "a:$LONG:$LONG:./la");
        let found = values.expanded("./${LIST}b", 100, &mut 100_000).unwrap();
        assert!(found.iter().any(|it| it.ends_with(":./lab")), "{found:?}");
        assert!(found.iter().any(|it| it.starts_with("./a:")), "{found:?}");
        assert!(values.expanded("./${LIST}b", 100, &mut 1000).is_none());
    }
}
