//! A program and its arguments, without a shell.

use crate::command::rules::{self, Refused};
use crate::command::word::{Part, Word};
use crate::command::{check_defaults, check_length};
use crate::task::{Call, Unready};
use crate::{DataTypes, MissingKey, Template};

/// A program and its arguments, without a shell.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Exec {
    /// The program; it contains no value of an event.
    pub program: String,
    /// Each is one argument, whatever a value contains.
    pub arguments: Vec<Template>,
    /// Whether an argument that starts with a value may start with `-`.
    pub allow_dash: bool,
}

impl Exec {
    pub(super) fn new(words: Vec<Template>, allow_dash: bool) -> Result<Self, String> {
        let mut words = words.into_iter();
        let Some(program) = words.next().filter(|it| !it.as_str().is_empty()) else {
            return Err("exec needs a program".to_owned());
        };
        if program.references().next().is_some() {
            return Err("the event's value would choose the program; write its name".to_owned());
        }
        let program = program.as_str().to_owned();
        Ok(Self { program, arguments: words.collect(), allow_dash })
    }

    /// Checks where values of these types occur. A position is an index in the list.
    pub(super) fn check(&self, types: &DataTypes) -> Result<(), Refused> {
        check_length("exec", self.bytes()).map_err(|it| (0, it))?;
        for (idx, argument) in self.arguments.iter().enumerate() {
            check_defaults(argument.placeholders(), types).map_err(|(_, it)| (idx + 1, it))?;
        }
        rules::check(&self.words(types))
    }

    /// The bytes of the list.
    pub(crate) fn bytes(&self) -> usize {
        self.program.len() + self.arguments.iter().map(|it| it.as_str().len()).sum::<usize>()
    }

    /// The words of the list, the program first; each position is its index in the list.
    pub(crate) fn words(&self, types: &DataTypes) -> Vec<Word> {
        let program = Word { parts: vec![Part::Literal(self.program.clone())], at: 0 };
        let arguments = self.arguments.iter().enumerate().map(|(idx, it)| {
            let parts = it.parts().map(|part| match part {
                Ok(text) => Part::Literal(text.to_owned()),
                Err((number, reference)) => Part::Value(number, types.class(&reference.key)),
            });
            Word { parts: parts.collect(), at: idx + 1 }
        });
        std::iter::once(program).chain(arguments).collect()
    }

    /// The keys of the texts that the program receives.
    pub(super) fn texts<'a>(&'a self, types: &'a DataTypes) -> impl Iterator<Item = &'a str> {
        let words = self.words(types).into_iter().skip(1).zip(&self.arguments);
        let is_text = |key: &str| types.get(key).is_none_or(|it| !it.is_closed());
        words.flat_map(move |(word, argument)| {
            let keys = argument.references().map(|it| it.key.as_str());
            keys.filter(move |it| word.has_text() && is_text(it))
        })
    }

    /// The arguments for an event.
    pub(super) fn arguments(&self, call: &Call<'_>) -> Result<Vec<String>, Unready> {
        let texts = self.arguments.iter().map(|it| it.render(&call.event.data));
        let texts = texts.collect::<Result<Vec<String>, MissingKey>>()?;
        let leads = rules::leads(&self.words(&call.flow.trigger.data));
        let dashed = leads.iter().find(|(idx, _)| texts[idx - 1].starts_with('-'));
        match dashed.filter(|_| !self.allow_dash) {
            Some((idx, _)) => Err(Unready::Dash { place: format!("argument {idx}") }),
            None => Ok(texts),
        }
    }
}
