//! Which programs receive an event's texts: for the person who approves a flow.

use std::collections::BTreeSet;

use crate::definition::words_of;
use crate::{Flow, Kind};

/// A program that receives a text of the event from an action.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextReceiver {
    /// The action's index in its flow, from 0.
    pub action: usize,
    /// The program as named in the flow.
    pub program: String,
    /// The key of the text in the event's data.
    pub key: String,
}

/// The programs that receive texts of events from a flow: as arguments, or through a pipe. Values
/// of closed types are not listed, nor what every program gets: the event on standard input and the
/// environment variables.
pub fn text_receivers(flow: &Flow) -> Vec<TextReceiver> {
    let mut found = BTreeSet::new();
    for (action, it) in flow.actions.iter().enumerate() {
        match &it.kind {
            Kind::Command(command) => {
                found.extend(command.receivers().map(|(program, key)| TextReceiver {
                    action,
                    program: program.to_owned(),
                    key: key.to_owned(),
                }));
            }
            Kind::Exec { program, arguments, .. } => {
                let words = words_of(program, arguments, &flow.trigger.data);
                for (word, argument) in words[1..].iter().zip(arguments) {
                    let references = argument.references().filter(|_| word.has_text());
                    let is_text =
                        |key: &str| flow.trigger.data.get(key).is_none_or(|it| !it.is_closed());
                    found.extend(references.filter(|it| is_text(&it.key)).map(|it| TextReceiver {
                        action,
                        program: program.clone(),
                        key: it.key.clone(),
                    }));
                }
            }
            Kind::Emit { .. } | Kind::Http { .. } | Kind::MemoryAdd { .. } => {}
        }
    }
    found.into_iter().collect()
}
