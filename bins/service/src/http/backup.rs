//! The contents of a backup of the running service.

use std::io::Write;

use waypost_api::backup::{Error, Summary, Writer, is_part, is_set_aside};
use waypost_log::Snapshot;

use crate::app::App;
use crate::clock::now;
use crate::error::chain;
use crate::http::failure::Failure;

/// The files of all stores, each store as of one moment. Runs refer to events, events to memories, and
/// the offsets of sessions to the memories of their turns; a store is copied before the stores that it refers to, so that no reference dangles.
pub(crate) fn collect(app: &App) -> Result<Snapshot, Failure> {
    let dir = &app.data_dir;
    let flows = app.flows.snapshot()?.under("flows");
    let events = app.events.snapshot()?.under("events");
    let recall = app.recall.log.snapshot()?.under("recall/log");
    let memory = app.store.snapshot()?;
    let pairing = Snapshot::default()
        .and_folder(&dir.join("pairing"), &|_| true)
        .map_err(|error| failed(&error))?;
    // Here, where no store waits for it: each log was right when it was opened, and may have decayed.
    let stores = [("flows", &flows), ("events", &events), ("recall", &recall), ("memory", &memory)];
    for (store, taken) in stores {
        taken.check().map_err(|error| unsound(store, &error))?;
    }
    let logs = flows.and(events).and(recall).and(memory);
    logs.and(pairing.under("pairing"))
        .and_file(&dir.join("tokens.json"), "tokens.json")
        .and_then(|file| file.and_file(&dir.join("format"), "format"))
        .map_err(|error| failed(&error))
}

fn failed(error: &waypost_log::Error) -> Failure {
    tracing::error!(error = chain(error), "failed to read a file for a backup");
    Failure::internal()
}

fn unsound(store: &str, error: &waypost_log::Error) -> Failure {
    match error {
        waypost_log::Error::Damaged(_) => {
            tracing::error!(store, error = chain(error), "a damaged store is not backed up");
            Failure::damaged(store)
        }
        error => failed(error),
    }
}

/// The total size of its files.
pub(crate) fn bytes(taken: &Snapshot) -> u64 {
    taken
        .files()
        .iter()
        .filter(|file| is_wanted(file.name()))
        .map(waypost_log::SnapshotFile::bytes)
        .sum()
}

/// Writes the files as a backup.
pub(crate) fn write(taken: &Snapshot, out: &mut dyn Write) -> Result<Summary, Error> {
    let mut backup = Writer::new(out, now(), env!("CARGO_PKG_VERSION"))?;
    for file in taken.files().iter().filter(|file| is_wanted(file.name())) {
        backup.file(file.name(), file.bytes(), &mut file.reader())?;
    }
    Ok(backup.finish()?.1)
}

fn is_wanted(name: &str) -> bool {
    is_part(name) && !is_set_aside(name)
}
