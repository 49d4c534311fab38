//! Remedies for startup errors.

use std::error::Error as StdError;

const REPAIR: &str =
    "`ctl doctor` says what is damaged, and `ctl doctor --repair` keeps everything else";

/// The remedy for the first cause that has one.
pub(super) fn hint(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(of_cause)
}

fn of_cause(cause: &(dyn StdError + 'static)) -> Option<&'static str> {
    if let Some(error) = cause.downcast_ref() {
        return of_project(error);
    }
    let is_damaged = if let Some(error) = cause.downcast_ref::<waypost_memory::Error>() {
        error.kind() == waypost_memory::ErrorKind::Damaged
    } else if let Some(error) = cause.downcast_ref() {
        matches!(error, waypost_events::Error::Damaged(_))
    } else {
        use waypost_flows::Error;
        matches!(cause.downcast_ref()?, Error::Damaged { .. } | Error::EventsLost { .. })
    };
    is_damaged.then_some(REPAIR)
}

fn of_project(error: &waypost_project::Error) -> Option<&'static str> {
    use waypost_project::Error;
    match error {
        Error::Pending(_) => Some("look at the file and approve it: `ctl allow`"),
        Error::Unregistered { .. } => Some("`ctl allow --data` registers the data folder"),
        Error::Tracked { .. } => Some("afterwards, `ctl allow --data` registers the data folder"),
        _ => None,
    }
}
