//! Whether an event has the values that the actions of a run need.

use waypost_events::Event;

use super::Call;
use crate::{Action, Facts, Flow, Truth};

/// The first action that would run for the event and cannot, because of the event's values, and
/// why. Only the event has values for actions, so this is known before the first one starts.
pub(crate) fn unready(flow: &Flow, event: &Event) -> Option<String> {
    let facts = Facts::from(event);
    (0_u16..).zip(&flow.actions).find_map(|(step, action)| {
        let runs = action.condition.as_ref().is_none_or(|it| it.holds(&facts) == Truth::True);
        let call = Call { flow, action, event, run: "", attempt: 1, key: "" };
        let checked = if runs { call.check() } else { Ok(()) };
        checked.err().map(|why| format!("{}: {why}", named(action, step)))
    })
}

/// An action for people.
pub(crate) fn named(action: &Action, step: u16) -> String {
    match &action.name {
        Some(name) => format!("action {} ({name})", step + 1),
        None => format!("action {}", step + 1),
    }
}
