//! Remedies for startup errors.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::path::Path;
use std::sync::Arc;

use indicatif::HumanBytes;
use waypost_cluster::Member;

const REPAIR: &str =
    "`ctl doctor` says what is damaged, and `ctl doctor --repair` keeps everything else";
const OF_MEMBER: &str = "`ctl doctor` says what is damaged and what to do: a member of a cluster joins again instead of being repaired";

/// Bytes that a start writes at most: the first files of every store.
const START_BYTES: u64 = 16 << 20;

const DENIED: &str = "the service needs to read and write its files: if they are yours, `chmod -R u+rwX .waypost`; if they belong to another user, start the service as that user";

const SAME_DATA: &str = "start the service in the folder that the error names; if this path is to replace it, unmount or remove that one first, then run `ctl allow --data`";

/// The remedy for the first cause that has one. `data_dir` is known once the settings could be read.
pub(super) fn hint(error: &anyhow::Error, data_dir: Option<&Path>) -> Option<Cow<'static, str>> {
    error.chain().find_map(|cause| {
        if is_full(cause) {
            return Some(of_full_disk(data_dir).into());
        }
        of_cause(cause, data_dir).or_else(|| is_denied(cause).then_some(DENIED)).map(Cow::from)
    })
}

fn of_full_disk(data_dir: Option<&Path>) -> String {
    let there = data_dir.and_then(|dir| dir.ancestors().find(|folder| folder.exists()));
    let free = there.and_then(|there| Some((there, waypost_log::free_bytes(there).ok()?)));
    let found = free.map_or_else(String::new, |(dir, bytes)| {
        format!("{} are free on the disk of {}; ", HumanBytes(bytes), dir.display())
    });
    format!(
        "{found}a start needs up to {}, and the service accepts writes as long as 64 MiB stay free: make room, then start the service again; nothing is lost",
        HumanBytes(START_BYTES)
    )
}

fn of_cause(cause: &(dyn StdError + 'static), data_dir: Option<&Path>) -> Option<&'static str> {
    if let Some(error) = cause.downcast_ref() {
        return of_project(error);
    }
    let is_damaged = if let Some(error) = cause.downcast_ref::<waypost_memory::Error>() {
        error.kind() == waypost_memory::ErrorKind::Damaged
    } else if let Some(error) = cause.downcast_ref() {
        matches!(error, waypost_events::Error::Damaged(_))
    } else if let Some(waypost_recall::Error::Damaged(_)) = cause.downcast_ref() {
        // Also that of a member of a cluster is its own.
        return Some(REPAIR);
    } else {
        use waypost_flows::Error;
        matches!(cause.downcast_ref()?, Error::Damaged { .. } | Error::EventsLost { .. })
    };
    let is_member = || data_dir.is_some_and(|dir| Member::file(dir).exists());
    is_damaged.then(|| if is_member() { OF_MEMBER } else { REPAIR })
}

/// Whether the system refused access to a file.
fn is_denied(cause: &(dyn StdError + 'static)) -> bool {
    use std::io::{Error, ErrorKind};
    let shared = || cause.downcast_ref::<Arc<Error>>().map(AsRef::as_ref);
    let error = cause.downcast_ref::<Error>().or_else(shared);
    error.is_some_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

fn is_full(cause: &(dyn StdError + 'static)) -> bool {
    use std::io::{Error, ErrorKind};
    if let Some(error) = cause.downcast_ref::<Error>() {
        return matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    }
    let is_memory = |error: &waypost_memory::Error| error.kind() == waypost_memory::ErrorKind::Full;
    let is_events = |error: &waypost_events::Error| error.kind() == waypost_events::ErrorKind::Full;
    let is_log = |error: &waypost_log::Error| error.kind() == waypost_log::ErrorKind::Full;
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
        Error::SameData { .. } => Some(SAME_DATA),
        error => error.remedy(),
    }
}
