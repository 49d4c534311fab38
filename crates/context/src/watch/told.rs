//! Events that the system reports, and waiting for them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use notify::event::{EventKind, ModifyKind};
use parking_lot::{Condvar, Mutex};

use super::Changes;
use super::debounce::{Debounce, Event};

/// Folders whose contents are of no interest: the service's own, which it writes all the time, and
/// repositories.
const LEFT_OUT: [&str; 2] = [".waypost", ".git"];

/// State shared by the notification thread and the waiting thread.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) root: PathBuf,
    since: Instant,
    pub(super) state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    debounce: Debounce,
    /// Watched folders, relative to the root.
    pub(super) dirs: BTreeSet<String>,
    /// Watched folders of the repository.
    pub(super) git_dirs: BTreeSet<PathBuf>,
    /// Relevant files of the repository.
    pub(super) git: BTreeSet<PathBuf>,
    woken: bool,
    /// The polling interval, and when a rescan was last requested.
    poll: Option<(Duration, u64)>,
}

impl Told {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, since: instant(), state: Mutex::default(), news: Condvar::new() }
    }

    /// Records an event; called on the notification thread.
    pub(super) fn note(&self, event: notify::Result<notify::Event>) {
        let now = self.now();
        let mut state = self.state.lock();
        let Ok(event) = event else { return self.tell(&mut state, now, Event::Missed) };
        if event.need_rescan() {
            return self.tell(&mut state, now, Event::Missed);
        }
        // Reading is not a change, and the index reads because of a change.
        if event.kind.is_access() {
            return;
        }
        let elsewhere =
            matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        for path in &event.paths {
            if elsewhere {
                state.forget(&self.root, path);
            }
            if let Some(event) = self.event(&state, path) {
                self.tell(&mut state, now, event);
            }
        }
    }

    fn event(&self, state: &State, path: &Path) -> Option<Event> {
        if state.git.contains(path) {
            return Some(Event::Git);
        }
        let path = path.strip_prefix(&self.root).ok()?;
        if path.as_os_str().is_empty() {
            // The project itself was moved or removed, or its permissions changed.
            return Some(Event::Missed);
        }
        // A path that is not text is not in an index, either.
        let path = path.to_str().filter(|it| !left_out(it))?;
        Some(Event::Path(path.to_owned()))
    }

    fn tell(&self, state: &mut State, now: u64, event: Event) {
        state.debounce.note(now, event);
        self.news.notify_all();
    }

    pub(super) fn wait(&self, timeout: Option<Duration>) -> Changes {
        let end = timeout.map(|it| self.now().saturating_add(millis(it)));
        let mut state = self.state.lock();
        loop {
            let now = self.now();
            if let Some(batch) = state.debounce.take(now) {
                let paths = batch.paths.into_iter().collect();
                return Changes { paths, rescan: batch.rescan, git: batch.git };
            }
            let look = state.poll.map(|(every, last)| last.saturating_add(millis(every)));
            if let Some((_, last)) =
                state.poll.as_mut().filter(|_| look.is_some_and(|it| it <= now))
            {
                *last = now;
                return Changes { rescan: true, git: true, ..Changes::default() };
            }
            if std::mem::take(&mut state.woken) || end.is_some_and(|it| it <= now) {
                return Changes::default();
            }
            match [state.debounce.due(), look, end].into_iter().flatten().min() {
                Some(next) => {
                    self.news.wait_for(&mut state, Duration::from_millis(next - now));
                }
                None => self.news.wait(&mut state),
            }
        }
    }

    pub(super) fn wake(&self) {
        self.state.lock().woken = true;
        self.news.notify_all();
    }

    /// Polls the project at this interval from now on.
    pub(super) fn poll(&self, every: Option<Duration>) {
        let mut state = self.state.lock();
        let last = state.poll.map_or_else(|| self.now(), |(_, last)| last);
        state.poll = every.map(|it| (it, last));
        drop(state);
        self.news.notify_all();
    }

    /// In milliseconds.
    fn now(&self) -> u64 {
        millis(self.since.elapsed())
    }
}

impl State {
    /// Forgets the watches of a folder and its subfolders: the system watches a folder itself, not
    /// its name.
    fn forget(&mut self, root: &Path, path: &Path) {
        self.git_dirs.remove(path);
        let Some(dir) = path.strip_prefix(root).ok().and_then(Path::to_str) else { return };
        if self.dirs.remove(dir) {
            let within = format!("{dir}/");
            self.dirs.retain(|it| !it.starts_with(&within));
        }
    }
}

/// Whether changes of a path, relative to the root, are not reported.
pub(super) fn left_out(path: &str) -> bool {
    // The project's own journal is in the service's folder, but the service does not write there.
    let journal = path.strip_prefix(".waypost/journal");
    let path = journal.filter(|it| it.is_empty() || it.starts_with('/')).unwrap_or(path);
    path.split('/').any(|it| LEFT_OUT.contains(&it))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "changes come by the clock; the debouncing has none")]
fn instant() -> Instant {
    Instant::now()
}
