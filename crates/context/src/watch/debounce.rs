//! When changes have settled: a state machine without a clock.

use std::collections::BTreeSet;

/// Changes are reported after this many milliseconds without another: an editor's save is complete,
/// and a person does not notice the wait.
pub(super) const QUIET_MS: u64 = 100;
/// They are reported after this time even if changes continue.
pub(super) const LONGEST_MS: u64 = 1_000;
/// With more paths than these a walk is cheaper than a list.
pub(super) const PATHS_MAX: usize = 10_000;

/// Changes since the last call of `take`.
#[derive(Debug, Default)]
pub(super) struct Debounce {
    batch: Batch,
    /// When the first and the last change happened.
    span: Option<(u64, u64)>,
}

/// Changes that belong together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) paths: BTreeSet<String>,
    pub(super) rescan: bool,
    pub(super) git: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// To a path.
    Path(String),
    /// To the repository.
    Git,
    /// A missed change.
    Missed,
}

impl Debounce {
    /// Records an event at `now`. Times never run backwards.
    pub(super) fn note(&mut self, now: u64, event: Event) {
        let first = self.span.map_or(now, |(first, _)| first);
        self.span = Some((first, now));
        match event {
            Event::Path(_) if self.batch.rescan => {}
            Event::Path(path) => {
                self.batch.paths.insert(path);
                if self.batch.paths.len() > PATHS_MAX {
                    self.missed();
                }
            }
            Event::Git => self.batch.git = true,
            Event::Missed => self.missed(),
        }
    }

    /// When to report if nothing else happens; nothing if nothing happened.
    pub(super) fn due(&self) -> Option<u64> {
        self.span.map(|(first, last)| (last + QUIET_MS).min(first + LONGEST_MS))
    }

    /// What to report at `now`, once it is due.
    pub(super) fn take(&mut self, now: u64) -> Option<Batch> {
        self.due().filter(|it| *it <= now)?;
        self.span = None;
        Some(std::mem::take(&mut self.batch))
    }

    /// A rescan finds the single paths as well.
    fn missed(&mut self) {
        self.batch.rescan = true;
        self.batch.paths.clear();
    }
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
        let batch = debounce.take(QUIET_MS).expect("due");
        assert_eq!(batch, Batch { rescan: true, ..Batch::default() });
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
                    let expected = due.then_some(Batch { paths, rescan: missed, git });
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
