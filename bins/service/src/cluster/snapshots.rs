//! The thread that keeps a snapshot of the store in the database, and trims the journal below it.

use std::io::PipeWriter;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use waypost_api::backup::{Writer, is_part, is_set_aside};
use waypost_cluster::{Base, Part};
use waypost_journal::{Journal, Machine, NewSnapshot, Snapshot, Until};

use super::Cluster;
use crate::clock::now;
use crate::flows::Flows;
use crate::leadership::Leadership;
use crate::wake::Wake;

/// How often the thread looks whether a snapshot is needed.
const EVERY: Duration = Duration::from_secs(5);
/// After a failure, it waits twice as long as before, up to this time: an upload can be large.
const EVERY_MAX: Duration = Duration::from_secs(300);
/// How often old vectors are looked for.
const VECTORS_EVERY: Duration = Duration::from_secs(60 * 60);
/// A machine that was silent for this long is forgotten, and must join again.
const SILENT_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// What a failed upload left behind is removed after this time.
const UNFINISHED_MAX: Duration = Duration::from_secs(60 * 60);
/// How long one snapshot may take.
const TIME_MAX: Duration = Duration::from_secs(60 * 60);

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct Snapshots {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) data_dir: PathBuf,
    pub(crate) leadership: Leadership,
    pub(crate) wake: Arc<Wake>,
    /// A new snapshot is made when a machine that joins would have to read this many records after
    /// the last one.
    pub(crate) records_max: u64,
}

/// What was done about the vectors in the database.
#[derive(Debug, Default)]
struct Vectors {
    /// No vector of a text that was removed up to this record is left.
    removed: u64,
    trimmed: Option<Instant>,
}

impl Snapshots {
    /// Makes snapshots while this machine leads, until the service stops.
    pub(crate) fn run(&self) {
        let mut vectors = Vectors::default();
        let mut pause = EVERY;
        while self.wake.rest(pause) {
            if !self.leadership.leads() {
                pause = EVERY;
                continue;
            }
            pause = match self.maintain(&mut vectors) {
                Ok(()) => EVERY,
                Err(error) => {
                    let pause = EVERY_MAX.min(2 * pause);
                    tracing::warn!(
                        error = format!("{error:#}"),
                        retry_in_s = pause.as_secs(),
                        "failed to maintain the journal of the cluster; retrying"
                    );
                    pause
                }
            };
        }
    }

    fn maintain(&self, vectors: &mut Vectors) -> anyhow::Result<()> {
        let until = self.cluster.hub.within(TIME_MAX);
        let journal = self.cluster.hub.journal(&until)?;
        forget_silent(&journal, &until)?;
        self.trim_vectors(&journal, vectors, &until)?;
        let mut snapshots = journal.snapshots(&until)?;
        snapshots.retain(|snapshot| snapshot.incarnation == journal.incarnation());
        let mark = self.cluster.hub.mark();
        // Without a snapshot, no machine can join.
        let is_needed = match snapshots.first() {
            Some(newest) => {
                let records = mark.position.seq.saturating_sub(newest.position.seq);
                records >= self.records_max || self.has_purged(newest)?
            }
            None => true,
        };
        // Records that the journal has, but this machine does not yet, are waited for.
        if !is_needed || self.cluster.applied() < mark.position.seq {
            return trim(&journal, &snapshots, &until);
        }
        // A user of the database that may not delete cannot trim, and snapshots are only added.
        let snapshot = self.put(&journal, &mark, &until);
        let snapshot = snapshot.context("failed to write a snapshot to the cluster's database")?;
        tracing::info!(
            position = snapshot.position.seq,
            bytes = snapshot.bytes,
            "wrote a snapshot of the store to the cluster's database"
        );
        snapshots.insert(0, snapshot);
        trim(&journal, &snapshots, &until)
    }

    /// Removes vectors from the database: old ones, which all machines have, and, after a purge that
    /// all machines have carried out, all of them. What is missed is computed again.
    fn trim_vectors(
        &self,
        journal: &Journal,
        vectors: &mut Vectors,
        until: &Until,
    ) -> anyhow::Result<()> {
        let removed = self.cluster.store.removed_through()?;
        let is_purged = || {
            let machines = journal.machines(until)?;
            anyhow::Ok(machines.iter().all(|machine| machine.report.purged >= removed))
        };
        if removed > vectors.removed && is_purged()? {
            journal.trim_vectors(Duration::ZERO, until)?;
            vectors.removed = removed;
        }
        if vectors.trimmed.is_none_or(|trimmed| trimmed.elapsed() >= VECTORS_EVERY) {
            journal.trim_vectors(SILENT_MAX, until)?;
            vectors.trimmed = Some(Instant::now());
        }
        Ok(())
    }

    /// Whether texts were purged since a snapshot, which therefore has them.
    fn has_purged(&self, newest: &Snapshot) -> anyhow::Result<bool> {
        let removed = self.cluster.store.removed_through()?;
        let is_destroyed_here = self.cluster.store.destroyed_through()? >= removed;
        let place = newest.place(Part::Memory.number()).unwrap_or(0);
        Ok(is_destroyed_here && place < removed)
    }

    /// Writes a snapshot that has at least the records up to `mark`, which this machine has applied.
    fn put(&self, journal: &Journal, mark: &Base, until: &Until) -> anyhow::Result<Snapshot> {
        let files = self.files()?;
        let new = NewSnapshot {
            position: mark.position,
            places: Part::numbered(&mark.places),
            machine: self.cluster.hub.machine(),
        };
        let (mut reader, writer) = std::io::pipe().context("failed to create a pipe")?;
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| write(&files, writer));
            let put = journal.put_snapshot(&new, &mut reader, until, &mut |_| {});
            // The other end then fails to write, if it still does.
            drop(reader);
            match writing.join() {
                Ok(written) => {
                    put.map_err(anyhow::Error::from).and_then(|put| written.map(|()| put))
                }
                Err(_) => bail!("reading the stores panicked"),
            }
        })
    }

    /// The files of the shared stores, each as of one moment after `mark` was applied.
    fn files(&self) -> anyhow::Result<waypost_log::Snapshot> {
        let flows = self.flows.snapshot()?.under("flows");
        let events = self.cluster.events.snapshot()?.under("events");
        let memory = self.cluster.store.snapshot()?;
        for files in [&flows, &events, &memory] {
            files.check()?;
        }
        let dir = &self.data_dir;
        Ok(flows
            .and(events)
            .and(memory)
            .and_file(&dir.join("tokens.json"), "tokens.json")?
            .and_file(&dir.join("format"), "format")?)
    }
}

/// Machines that will hardly return no longer keep the journal from being trimmed.
fn forget_silent(journal: &Journal, until: &Until) -> anyhow::Result<()> {
    for machine in journal.machines(until)? {
        if machine.silent >= SILENT_MAX {
            journal.forget(machine.report.id, until)?;
            let name = &machine.report.name;
            tracing::warn!(name, "forgot a machine of the cluster that was silent for 7 days");
        }
    }
    Ok(())
}

/// Trims the journal below the newest snapshot that every machine has passed, and removes older
/// snapshots.
fn trim(journal: &Journal, snapshots: &[Snapshot], until: &Until) -> anyhow::Result<()> {
    journal.remove_unfinished(UNFINISHED_MAX, until)?;
    let needed = needed_from(&journal.machines(until)?);
    let base = journal.head(until)?.base.seq;
    let passed = snapshots.iter().find(|snapshot| snapshot.position.seq <= needed);
    if let Some(passed) = passed.filter(|passed| passed.position.seq > base) {
        let trimmed = journal.trim(passed.id, until)?;
        tracing::info!(
            base = trimmed.base.seq,
            removed = trimmed.removed,
            "trimmed the journal of the cluster"
        );
    }
    // Older ones may have purged texts, and no machine needs them.
    let is_old = |snapshot: &&Snapshot| {
        passed.is_some_and(|passed| snapshot.position.seq < passed.position.seq)
    };
    for old in snapshots.iter().skip(1).filter(is_old) {
        journal.remove_snapshot(old.id, until)?;
    }
    Ok(())
}

/// Every machine has the records up to here on its disk.
fn needed_from(machines: &[Machine]) -> u64 {
    machines.iter().map(|machine| machine.report.base).min().unwrap_or(0)
}

fn write(files: &waypost_log::Snapshot, writer: PipeWriter) -> anyhow::Result<()> {
    let mut backup = Writer::new(writer, now(), env!("CARGO_PKG_VERSION"))?;
    let is_wanted = |name: &str| is_part(name) && !is_set_aside(name);
    for file in files.files().iter().filter(|file| is_wanted(file.name())) {
        backup.file(file.name(), file.bytes(), &mut file.reader())?;
    }
    backup.finish()?;
    Ok(())
}
