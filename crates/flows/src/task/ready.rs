//! Whether an event has the values that the actions of a run need.

use waypost_events::Event;

use super::{Call, Unready};
use crate::{Action, Facts, Flow, Truth};

/// The first action that would run for the event and cannot, because of the event's values, and
/// why. Only the event has values for actions, so this is known before the first one starts.
pub(crate) fn unready<'a>(flow: &'a Flow, event: &Event) -> Option<(u16, &'a Action, Unready)> {
    let facts = Facts::from(event);
    (0_u16..).zip(&flow.actions).find_map(|(step, action)| {
        let runs = action.condition.as_ref().is_none_or(|it| it.holds(&facts) == Truth::True);
        let call = Call { flow, action, event, run: "", attempt: 1, key: "" };
        let checked = if runs { call.check() } else { Ok(()) };
        checked.err().map(|why| (step, action, why))
    })
}
