//! Whether an event has the values that the actions of a run need.

use waypost_events::Event;

use super::{Call, Unready};
use crate::{Action, Facts, Flow, Kind, Truth};

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

impl Call<'_> {
    /// Substitutes every value of the action.
    fn check(&self) -> Result<(), Unready> {
        let data = &self.event.data;
        match &self.action.kind {
            Kind::Command(command) => command.checked_variables(data).map(drop),
            Kind::Exec { program, arguments, allow_dash } => {
                self.arguments(program, arguments, *allow_dash).map(drop)
            }
            Kind::Emit { data: values, .. } => self.emitted(values).map(drop),
            Kind::Http { url, body, .. } => {
                self.body(body.as_ref())?;
                self.url(url).map(drop)
            }
            Kind::MemoryAdd { content, title, tags, .. } => {
                for it in [content].into_iter().chain(title).chain(tags) {
                    it.render(data)?;
                }
                Ok(())
            }
        }
    }
}
