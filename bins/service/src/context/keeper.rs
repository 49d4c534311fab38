//! The thread that keeps the index fresh: it scans at the start, then follows changes.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use waypost_api as api;
use waypost_context::{Changes, Context, Error, How, ScanReport, Watch};

use super::{ProjectContext, ScanRequest, Unavailable};
use crate::clock::now;
use crate::error::chain;
use crate::model::EmbeddingModel;
use crate::nice::yield_to_requests;
use crate::stopping::Stopping;
use crate::wake::Wake;

/// How long nothing must change before the index is saved: each save writes everything that changed
/// since the previous one.
const QUIET_BEFORE_SAVE: Duration = Duration::from_secs(5);
/// How often the whole project is scanned without a notification, because notifications can be
/// lost.
const CHECK_EVERY: Duration = Duration::from_secs(5 * 60);
/// Number of indexed files after which free memory is returned to the system.
const MANY: u64 = 256;
/// The pause after a failure.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) context: Arc<ProjectContext>,
    pub(crate) model: Arc<EmbeddingModel>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) stopping: Stopping,
    pub(crate) release_memory: fn(),
}

impl Keeper {
    /// Keeps the index fresh until the service stops.
    pub(crate) fn run(&self) {
        if let Some(index) = self.context.index() {
            let mut follower = Follower {
                keeper: self,
                index,
                folders: Vec::new(),
                git_files: Vec::new(),
                looked: Instant::now(),
                unsaved_since: None,
            };
            while !self.stopping.has_begun() {
                // Unwinding restores nothing, but the next round may see other files.
                if catch_unwind(AssertUnwindSafe(|| follower.run())).is_err() {
                    tracing::error!("the context updater panicked");
                    self.wake.rest(FAILURE_PAUSE);
                }
            }
            follower.save();
        }
        // Requests that still wait get a response: the service is stopping.
        self.context.requests.lock().take();
    }
}

/// Follows the changes of the project.
struct Follower<'a> {
    keeper: &'a Keeper,
    index: &'a Context,
    /// The watched folders.
    folders: Vec<String>,
    git_files: Vec<PathBuf>,
    /// When the whole project was last scanned.
    looked: Instant,
    /// When the last unsaved change was indexed.
    unsaved_since: Option<Instant>,
}

impl Follower<'_> {
    fn run(&mut self) {
        self.serve_requests_or_scan();
        let watch = self.watch();
        if watch.how() != How::Off {
            // Changes from before the watch started.
            self.scan_and_log();
        }
        // Memory that opening the index used.
        (self.keeper.release_memory)();
        while !self.keeper.stopping.has_begun() {
            if self.has_requests() {
                self.serve_requests_or_scan();
                self.follow(&watch, &Changes::default());
                continue;
            }
            let changes = watch.wait(Some(self.next_due()));
            if !self.keeper.stopping.has_begun() {
                self.take(&watch, &changes);
            }
        }
    }

    /// Indexes changes; if there are none, does the work that is due.
    fn take(&mut self, watch: &Watch, changes: &Changes) {
        if changes.git {
            self.look_at_git(watch);
        }
        if changes.rescan || self.looked.elapsed() >= CHECK_EVERY {
            self.scan_and_log();
        } else if !changes.paths.is_empty() {
            let stopping = || self.keeper.stopping.has_begun();
            let done = self.index.update(&changes.paths, now(), &stopping);
            self.took(done.as_ref().ok());
            if let Err(error) = done {
                self.failed(&error);
            }
        } else if self.unsaved_since.is_some_and(|since| since.elapsed() >= QUIET_BEFORE_SAVE) {
            self.save();
        }
        self.follow(watch, changes);
    }

    /// Starts a watch, replacing an earlier one.
    fn watch(&mut self) -> Arc<Watch> {
        self.folders = self.index.watched();
        self.git_files = self.find_git_files();
        let ProjectContext { root, mode, .. } = &*self.keeper.context;
        let watch = Arc::new(Watch::start(root, &self.folders, &self.git_files, *mode));
        *self.keeper.context.watch.lock() = Some(Arc::clone(&watch));
        watch
    }

    /// Watches the current folders until no new one appears.
    fn follow(&mut self, watch: &Watch, changes: &Changes) {
        let mut is_new = self.watch_folders(watch, changes);
        while is_new && !self.keeper.stopping.has_begun() {
            // Files that were created in a new folder before it was watched.
            self.scan_and_log();
            is_new = self.watch_folders(watch, &Changes::default());
        }
    }

    /// Watches the folders that the last scan saw, and changed ones again: a folder may have been
    /// replaced under its name. Returns whether there was a new one.
    fn watch_folders(&mut self, watch: &Watch, changes: &Changes) -> bool {
        let folders = self.index.watched();
        let changed: BTreeSet<&str> = changes.paths.iter().map(String::as_str).collect();
        let again: Vec<String> =
            folders.iter().filter(|folder| is_below_one_of(folder, &changed)).cloned().collect();
        let known: BTreeSet<&String> = self.folders.iter().collect();
        let is_new = !again.is_empty() || folders.iter().any(|folder| !known.contains(folder));
        if changes.rescan || folders != self.folders {
            self.folders = folders;
            watch.follow(&self.folders, &self.git_files);
        }
        if !again.is_empty() {
            watch.add(&again);
        }
        is_new
    }

    /// Indexes the current commit and branch.
    fn look_at_git(&mut self, watch: &Watch) {
        let files = self.find_git_files();
        if files != self.git_files {
            self.git_files = files;
            watch.follow(&self.folders, &self.git_files);
        }
        match self.index.update_history(&|| self.keeper.stopping.has_begun()) {
            Ok(is_other) => tracing::debug!(is_other, "read the git history"),
            Err(error) => self.failed(&error),
        }
    }

    /// The files that change when another commit is checked out.
    fn find_git_files(&self) -> Vec<PathBuf> {
        waypost_context::head_files(&self.keeper.context.root).unwrap_or_else(|error| {
            tracing::debug!(error = chain(&error), "failed to read the git repository");
            Vec::new()
        })
    }

    fn has_requests(&self) -> bool {
        self.keeper.context.requests.lock().as_ref().is_some_and(|request| !request.is_empty())
    }

    /// Runs one scan for all waiting requests.
    fn serve_requests_or_scan(&mut self) {
        let requests: Vec<ScanRequest> =
            self.keeper.context.requests.lock().as_mut().map(std::mem::take).unwrap_or_default();
        let scanned = self.scan_and_log();
        if self.keeper.stopping.has_begun() {
            return;
        }
        for request in requests {
            // The client may be gone.
            drop(request.send(scanned.ok_or(Unavailable::ScanFailed)));
        }
    }

    fn scan_and_log(&mut self) -> Option<api::ContextScan> {
        match self.scan() {
            Ok(done) => Some(done),
            Err(error) => {
                self.failed(&error);
                None
            }
        }
    }

    fn scan(&mut self) -> Result<api::ContextScan, Error> {
        let started = Instant::now();
        self.looked = started;
        let stopping = || self.keeper.stopping.has_begun();
        let report = in_background(|| self.index.scan(now(), &stopping))?;
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let scan = api::ContextScan {
            at: now(),
            found: report.found,
            indexed: report.indexed,
            removed: report.removed,
            duration_ms,
        };
        if report.indexed + report.removed > 0 {
            let ScanReport { found, indexed, removed, .. } = report;
            tracing::info!(files = found, indexed, removed, duration_ms, "indexed the project");
        }
        if report.indexed + report.removed >= MANY {
            (self.keeper.release_memory)();
        }
        if !report.cancelled {
            *self.keeper.context.last_scan.lock() = Some(scan);
        }
        self.took(Some(&report));
        Ok(scan)
    }

    /// After a change of the index: plans the next save, and wakes the embedding thread.
    fn took(&mut self, report: Option<&ScanReport>) {
        if report.is_some_and(|report| report.indexed + report.removed > 0) {
            self.unsaved_since = Some(Instant::now());
            self.keeper.model.embed_soon();
        }
    }

    fn failed(&self, error: &Error) {
        if self.keeper.stopping.has_begun() {
            return;
        }
        tracing::warn!(error = chain(error), "failed to index the project");
        self.keeper.wake.rest(FAILURE_PAUSE);
    }

    /// The time until something is due if nothing changes.
    fn next_due(&self) -> Duration {
        let look = CHECK_EVERY.saturating_sub(self.looked.elapsed());
        let save =
            self.unsaved_since.map(|since| QUIET_BEFORE_SAVE.saturating_sub(since.elapsed()));
        save.map_or(look, |save| save.min(look))
    }

    fn save(&mut self) {
        self.unsaved_since = None;
        match self.index.save() {
            Ok(saved) => tracing::trace!(saved, "saved the context index"),
            Err(error) => {
                tracing::warn!(error = chain(&error), "failed to save the context index");
            }
        }
    }
}

/// Runs a scan, and the threads that it starts, at a low priority. A single saved file is indexed
/// at normal priority, because a client may wait for it.
fn in_background<T: Send>(scan: impl FnOnce() -> T + Send) -> T {
    let scan = || {
        yield_to_requests();
        scan()
    };
    let scanned = std::thread::scope(|scope| scope.spawn(scan).join());
    scanned.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Whether a folder is one of these paths or below one.
fn is_below_one_of(folder: &str, paths: &BTreeSet<&str>) -> bool {
    let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
    !paths.is_empty() && ends.into_iter().any(|end| paths.contains(&folder[..end]))
}
