//! Events that the system reports, and waiting until they have settled.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use notify::event::{EventKind, ModifyKind};
use parking_lot::{Condvar, Mutex};

use super::Changes;

/// Folders whose contents are of no interest: the service's own, which it writes all the time, and
/// repositories.
const LEFT_OUT: [&str; 2] = [".waypost", ".git"];
/// Changes are reported after this many milliseconds without another: an editor's save is complete,
/// and a person does not notice the wait.
const QUIET_MS: u64 = 100;
/// They are reported after this time even if changes continue.
const LONGEST_MS: u64 = 1_000;
/// With more paths than these a walk is cheaper than a list.
const PATHS_MAX: usize = 10_000;

/// State shared by the notification thread and the waiting thread.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) root: PathBuf,
    since: Instant,
    pub(super) state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    debounce: Debounce,
    /// Watched folders, those of the repository included.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Relevant files of the repository.
    pub(super) git: BTreeSet<PathBuf>,
    woken: bool,
    /// The polling interval, and when a rescan was last requested.
    poll: Option<(Duration, u64)>,
}

impl Events {
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
            if elsewhere && state.folders.contains(path) {
                // The system watches a folder itself, not its name.
                state.folders.retain(|folder| !folder.starts_with(path));
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
        let path = path.to_str().filter(|text| !left_out(text))?;
        Some(Event::Path(path.to_owned()))
    }

    fn tell(&self, state: &mut State, now: u64, event: Event) {
        state.debounce.note(now, event);
        self.news.notify_all();
    }

    pub(super) fn wait(&self, timeout: Option<Duration>) -> Changes {
        let end = timeout.map(|timeout| self.now().saturating_add(millis(timeout)));
        let mut state = self.state.lock();
        loop {
            let now = self.now();
            if let Some(changes) = state.debounce.take(now) {
                return changes;
            }
            let look = state.poll.map(|(every, last)| last.saturating_add(millis(every)));
            if let Some((_, last)) =
                state.poll.as_mut().filter(|_| look.is_some_and(|look| look <= now))
            {
                *last = now;
                return Changes { rescan: true, git: true, ..Changes::default() };
            }
            if std::mem::take(&mut state.woken) || end.is_some_and(|end| end <= now) {
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
        state.poll = every.map(|every| (every, last));
        drop(state);
        self.news.notify_all();
    }

    /// In milliseconds.
    fn now(&self) -> u64 {
        millis(self.since.elapsed())
    }
}

/// Changes since the last call of `take`: decides when they have settled, without a clock.
#[derive(Debug, Default)]
struct Debounce {
    paths: BTreeSet<String>,
    rescan: bool,
    git: bool,
    /// When the first and the last change happened.
    span: Option<(u64, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    /// To a path.
    Path(String),
    /// To the repository.
    Git,
    /// A missed change.
    Missed,
}

impl Debounce {
    /// Records an event at `now`. Times never run backwards.
    fn note(&mut self, now: u64, event: Event) {
        let first = self.span.map_or(now, |(first, _)| first);
        self.span = Some((first, now));
        match event {
            Event::Path(_) if self.rescan => {}
            Event::Path(path) => {
                self.paths.insert(path);
                if self.paths.len() > PATHS_MAX {
                    self.missed();
                }
            }
            Event::Git => self.git = true,
            Event::Missed => self.missed(),
        }
    }

    /// When to report if nothing else happens; nothing if nothing happened.
    fn due(&self) -> Option<u64> {
        self.span.map(|(first, last)| (last + QUIET_MS).min(first + LONGEST_MS))
    }

    /// What to report at `now`, once it is due.
    fn take(&mut self, now: u64) -> Option<Changes> {
        self.due().filter(|due| *due <= now)?;
        let Self { paths, rescan, git, .. } = std::mem::take(self);
        Some(Changes { paths: paths.into_iter().collect(), rescan, git })
    }

    /// A rescan finds the single paths as well.
    fn missed(&mut self) {
        self.rescan = true;
        self.paths.clear();
    }
}

/// Whether changes of a path, relative to the root, are not reported.
pub(super) fn left_out(path: &str) -> bool {
    // The project's own journal is in the service's folder, but the service does not write there.
    let journal = path.strip_prefix(".waypost/journal");
    let path =
        journal.filter(|journal| journal.is_empty() || journal.starts_with('/')).unwrap_or(path);
    path.split('/').any(|part| LEFT_OUT.contains(&part))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "changes come by the clock; the debouncing has none")]
fn instant() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_goes_on_without_end_is_told_once_a_second() {
        let mut debounce = Debounce::default();
        let mut told = Vec::new();
        for now in 0..3_500 {
            debounce.note(now, Event::Path("a".to_owned()));
            told.extend(debounce.take(now).map(|_| now));
        }
        assert_eq!(told, [1_000, 2_001, 3_002]);
    }

    #[test]
    fn more_paths_than_are_worth_a_list_are_a_rescan() {
        let mut debounce = Debounce::default();
        for it in 0..=PATHS_MAX {
            debounce.note(0, Event::Path(it.to_string()));
        }
        let changes = debounce.take(QUIET_MS).expect("due");
        assert_eq!(changes, Changes { rescan: true, ..Changes::default() });
    }

    fn events() -> impl Strategy<Value = Vec<(u64, Option<Event>)>> {
        let event = prop_oneof![
            8 => (0..5_u8).prop_map(|it| Some(Event::Path(it.to_string()))),
            1 => Just(Some(Event::Git)),
            1 => Just(Some(Event::Missed)),
            4 => Just(None),
        ];
        prop::collection::vec((0..150_u64, event), 0..60)
    }

    proptest! {
        /// The model checks the whole list at each millisecond.
        #[test]
        fn it_tells_everything_once_and_when_it_is_due(steps in events()) {
            let mut debounce = Debounce::default();
            let mut waiting: Vec<(u64, Event)> = Vec::new();
            let mut now = 0;
            let quiet_end = [(LONGEST_MS + 1, None)];
            for (rest, event) in steps.into_iter().chain(quiet_end) {
                for _ in 0..rest {
                    now += 1;
                    let due = waiting.first().zip(waiting.last()).is_some_and(|(first, last)| {
                        now >= last.0 + QUIET_MS || now >= first.0 + LONGEST_MS
                    });
                    let missed = waiting.iter().any(|(_, it)| *it == Event::Missed);
                    let paths: BTreeSet<String> = waiting
                        .iter()
                        .filter_map(|(_, it)| match it {
                            Event::Path(path) if !missed => Some(path.clone()),
                            _ => None,
                        })
                        .collect();
                    let git = waiting.iter().any(|(_, it)| *it == Event::Git);
                    let paths = paths.into_iter().collect();
                    let expected = due.then_some(Changes { paths, rescan: missed, git });
                    prop_assert_eq!(debounce.take(now), expected);
                    if due {
                        waiting.clear();
                    }
                }
                if let Some(event) = event {
                    debounce.note(now, event.clone());
                    waiting.push((now, event));
                }
            }
            prop_assert!(waiting.is_empty());
            prop_assert_eq!(debounce.due(), None);
        }
    }
}
