//! Which programs receive an event's texts: for the person who approves a flow.

use std::collections::BTreeSet;

use crate::Flow;

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
        let receivers = it.kind.receivers(&flow.trigger.data).into_iter();
        found.extend(receivers.map(|(program, key)| TextReceiver {
            action,
            program: program.to_owned(),
            key: key.to_owned(),
        }));
    }
    found.into_iter().collect()
}
