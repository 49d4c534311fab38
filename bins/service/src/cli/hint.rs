//! Remedies for startup errors.

use std::error::Error as StdError;

const REPAIR: &str =
    "`ctl doctor` says what is damaged, and `ctl doctor --repair` keeps everything else";

const FULL: &str = "the disk is full, and a start writes a few files: free some megabytes, then start the service again; nothing is lost";

/// The remedy for the first cause that has one.
pub(super) fn hint(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(of_cause)
}

fn of_cause(cause: &(dyn StdError + 'static)) -> Option<&'static str> {
    if let Some(error) = cause.downcast_ref() {
        return of_project(error);
    }
    if is_full(cause) {
        return Some(FULL);
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

fn is_full(cause: &(dyn StdError + 'static)) -> bool {
    use std::io::{Error, ErrorKind};
    if let Some(error) = cause.downcast_ref::<Error>() {
        return matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    }
    let is_memory = |it: &waypost_memory::Error| it.kind() == waypost_memory::ErrorKind::Full;
    let is_events = |it: &waypost_events::Error| it.kind() == waypost_events::ErrorKind::Full;
    let is_log = |it: &waypost_log::Error| it.kind() == waypost_log::ErrorKind::Full;
    cause.downcast_ref().is_some_and(is_memory)
        || cause.downcast_ref().is_some_and(is_events)
        || cause.downcast_ref().is_some_and(is_log)
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
