//! Words of a simple command, from a shell's command or from the list of `exec`.

use crate::declared::Class;

/// A word of a simple command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    /// Its start in the source.
    pub(crate) at: usize,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Without quotes.
    Literal(String),
    /// A placeholder, by its number and class.
    Value(usize, Class),
    /// An expansion with unknown text.
    Unknown,
}

impl Word {
    /// The whole word, if it contains no value and no expansion.
    pub(crate) fn literal(&self) -> Option<String> {
        let parts = self.parts.iter().map(|it| match it {
            Part::Literal(text) => Some(text.as_str()),
            Part::Value(..) | Part::Unknown => None,
        });
        parts.collect()
    }

    /// The literal text at its start.
    pub(crate) fn prefix(&self) -> String {
        let literals = self.parts.iter().map_while(|it| match it {
            Part::Literal(text) => Some(text.as_str()),
            Part::Value(..) | Part::Unknown => None,
        });
        literals.collect()
    }

    /// Whether it may be no word at all: an expansion without quotes.
    pub(crate) fn may_vanish(&self) -> bool {
        self.parts.iter().all(|it| *it == Part::Unknown)
    }

    pub(crate) fn has(&self, wanted: impl Fn(Class) -> bool) -> bool {
        self.parts.iter().any(|it| matches!(it, Part::Value(_, class) if wanted(*class)))
    }

    pub(crate) fn has_text(&self) -> bool {
        self.has(|it| it == Class::Text)
    }

    /// The values that can determine the start of the word, in order.
    pub(crate) fn lead(&self) -> Vec<usize> {
        let mut lead = Vec::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) if text.is_empty() => {}
                Part::Literal(_) => break,
                Part::Value(number, _) => lead.push(*number),
                // It can be empty.
                Part::Unknown => {}
            }
        }
        lead
    }
}
