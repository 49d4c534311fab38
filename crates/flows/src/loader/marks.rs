//! The characters that represent values of the event in a text that is checked.

use crate::command::pieces::FIRST_MARK;
use crate::declared::Class;
use crate::template::placeholders;
use crate::{DataType, DataTypes};

/// Represents the current folder in the value of a variable.
pub(super) const HERE: char = '\u{f8fe}';
/// Represents every value beyond those that have a character of their own.
const OTHER: char = '\u{f8fd}';

/// What is known about a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind<'a> {
    /// It is one of these.
    Choice(&'a [String]),
    Number,
    /// One word, which no shell reads in another way.
    Name {
        /// Whether it can begin with `-`.
        has_dash: bool,
    },
    /// Anything, also no word at all.
    Text,
}

/// What each character represents.
#[derive(Debug, Default)]
pub(super) struct Marks<'a>(Vec<(String, Kind<'a>)>);

impl<'a> Marks<'a> {
    /// The text with a character in place of each value.
    pub(super) fn mark(&mut self, text: &str, types: &'a DataTypes) -> String {
        let mut marked = String::new();
        let mut at = 0;
        for it in placeholders(text).unwrap_or_default() {
            marked.push_str(&text[at..it.span.start]);
            at = it.span.end;
            marked.push(self.add(&it.reference.key, types));
        }
        marked.push_str(&text[at..]);
        marked
    }

    fn add(&mut self, key: &str, types: &'a DataTypes) -> char {
        let number = u32::try_from(self.0.len()).ok();
        let mark = number.and_then(|it| char::from_u32(FIRST_MARK as u32 + it));
        let Some(mark) = mark.filter(|it| *it < OTHER) else { return OTHER };
        let kind = types.get(key).map_or(Kind::Text, |it| match (it.choices(), it.class()) {
            (Some(all), _) => Kind::Choice(all),
            (None, Class::Number) => Kind::Number,
            (None, Class::Name) if !it.admits("") => Kind::Name { has_dash: may_begin_dash(it) },
            _ => Kind::Text,
        });
        self.0.push((key.to_owned(), kind));
        mark
    }

    /// What a character represents.
    pub(super) fn kind(&self, mark: char) -> Kind<'a> {
        self.get(mark).map_or(Kind::Text, |(_, it)| *it)
    }

    fn get(&self, mark: char) -> Option<&(String, Kind<'a>)> {
        (mark as u32).checked_sub(FIRST_MARK as u32).and_then(|it| self.0.get(it as usize))
    }

    /// The characters that represent one of several values, with these.
    pub(super) fn choices(&self) -> impl Iterator<Item = (char, &'a [String])> {
        let all = (FIRST_MARK..OTHER).zip(&self.0);
        all.filter_map(|(mark, (_, kind))| match kind {
            Kind::Choice(all) => Some((mark, *all)),
            Kind::Number | Kind::Name { .. } | Kind::Text => None,
        })
    }

    /// A message with the placeholders in place of their characters.
    pub(super) fn shown(&self, text: &str) -> String {
        let mut shown = text.to_owned();
        for (mark, (key, _)) in (FIRST_MARK..OTHER).zip(&self.0) {
            let placeholder = format!("{{{{data.{key}}}}}");
            // Also as it is in quotes.
            let escaped = mark.escape_unicode().to_string();
            shown = shown.replace(mark, &placeholder).replace(&escaped, &placeholder);
        }
        shown
    }
}

/// Whether a value of a closed type can begin with `-`.
fn may_begin_dash(kind: &DataType) -> bool {
    // The only other type of this class is a regular expression.
    kind.to_string() != "slug"
}
