//! The idempotency keys of the last day, and of the last hundred thousand events.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use waypost_time::Timestamp;

use crate::codec::canonical;
use crate::{Data, EventType, IdempotencyKey};

/// A key is known for this long …
pub const KEY_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
/// … and for so many events, whichever is longer.
pub const KEY_WINDOW_EVENTS: u64 = 100_000;

/// The number of events whose keys are dropped at a time.
const GENERATION_EVENTS: u64 = 1 << 17;

/// A key and what was published with it, as their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keyed {
    pub(crate) key: u128,
    pub(crate) body: u64,
}

/// The event for which a key was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) id: u64,
    pub(crate) body: u64,
    pub(crate) time: Timestamp,
}

impl Keyed {
    /// The same key in two spaces is two keys, so that neither reveals the other.
    pub(crate) fn new(
        key: &IdempotencyKey,
        space: Option<&str>,
        kind: &EventType,
        data: &Data,
    ) -> Self {
        let mut hasher = Sha256::new_with_prefix(key.as_str().as_bytes());
        if let Some(space) = space {
            // A key contains no byte 0.
            hasher.update([0]);
            hasher.update(space.as_bytes());
        }
        let key = hasher.finalize();
        let body = Sha256::digest(canonical(kind, data));
        Self {
            key: u128::from_le_bytes(*key.first_chunk().expect("a digest has 32 bytes")),
            body: u64::from_le_bytes(*body.first_chunk().expect("a digest has 32 bytes")),
        }
    }
}

/// All keys in the window: about 60 bytes of memory for each.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The oldest first.
    generations: VecDeque<Generation>,
}

#[derive(Debug, Default)]
struct Generation {
    number: u64,
    /// The latest time of its events, also of those without a key: a clock may go back.
    time_max: Timestamp,
    uses: HashMap<u128, Use>,
}

impl Window {
    /// The last use of the key.
    pub(crate) fn get(&self, key: u128) -> Option<Use> {
        self.generations.iter().rev().find_map(|generation| generation.uses.get(&key).copied())
    }

    /// Takes the event `id` in, whose place is behind all others.
    pub(crate) fn push(&mut self, id: u64, time: Timestamp, keyed: Option<Keyed>) {
        let number = id / GENERATION_EVENTS;
        if self.generations.back().is_none_or(|back| back.number != number) {
            self.generations.push_back(Generation { number, ..Generation::default() });
        }
        let Some(newest) = self.generations.back_mut() else { return };
        newest.time_max = newest.time_max.max(time);
        if let Some(Keyed { key, body }) = keyed {
            newest.uses.insert(key, Use { id, body, time });
        }
    }

    /// Forgets what is older than the window at `now`, when `last` is the last event.
    pub(crate) fn forget(&mut self, now: Timestamp, last: u64) {
        self.forget_before(self.forgettable(now, last));
    }

    /// Keys of events before this one are older than the window at `now`, when `last` is the last
    /// event.
    pub(crate) fn forgettable(&self, now: Timestamp, last: u64) -> u64 {
        let is_old = |generation: &&Generation| {
            generation.time_max.saturating_add(KEY_WINDOW) < now
                && generation.end().saturating_add(KEY_WINDOW_EVENTS) <= last
        };
        let newest = self.generations.iter().take_while(is_old).last();
        newest.map_or(self.first(), Generation::end)
    }

    /// Forgets the keys of events before this one.
    pub(crate) fn forget_before(&mut self, id: u64) {
        while self.generations.front().is_some_and(|front| front.end() <= id) {
            self.generations.pop_front();
        }
        if let Some(oldest) = self.generations.front_mut().filter(|it| it.start() < id) {
            oldest.uses.retain(|_, it| it.id >= id);
        }
    }

    /// Keys of events before this one have been dropped.
    pub(crate) fn first(&self) -> u64 {
        self.generations.front().map_or(0, Generation::start)
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.generations.iter().map(|generation| generation.uses.len()).sum()
    }

    /// Every key with its event, in order of the events.
    pub(crate) fn all(&self) -> Vec<(u64, u128)> {
        let uses = self.generations.iter().flat_map(|generation| &generation.uses);
        let mut all: Vec<_> = uses.map(|(key, it)| (it.id, *key)).collect();
        all.sort_unstable();
        all
    }
}

impl Generation {
    fn start(&self) -> u64 {
        self.number * GENERATION_EVENTS
    }

    /// One after its last event.
    fn end(&self) -> u64 {
        (self.number + 1) * GENERATION_EVENTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn keyed(key: u128) -> Keyed {
        Keyed { key, body: 7 }
    }

    #[test]
    fn a_key_is_known_for_a_day_and_a_hundred_thousand_events() {
        let mut window = Window::default();
        window.push(1, at(1000), Some(keyed(1)));
        let last = 10 * GENERATION_EVENTS;
        window.push(last, at(1000), Some(keyed(2)));
        window.forget(at(1000).saturating_add(KEY_WINDOW), last);
        assert_eq!(window.get(1).map(|it| it.id), Some(1), "the day is not over");
        window
            .forget(at(2000).saturating_add(KEY_WINDOW), GENERATION_EVENTS + KEY_WINDOW_EVENTS - 1);
        assert!(window.get(1).is_some(), "too few events came after it");
        window.forget(at(2000).saturating_add(KEY_WINDOW), last);
        assert!(window.get(1).is_none());
        assert_eq!(window.get(2).map(|it| it.id), Some(last));
        assert_eq!(window.len(), 1);
    }

    #[test]
    fn keys_before_an_event_are_forgotten_exactly() {
        let mut window = Window::default();
        for id in [1, 5, 6, GENERATION_EVENTS, GENERATION_EVENTS + 3] {
            window.push(id, at(1000), Some(keyed(u128::from(id))));
        }
        // Once more for the key of event 5.
        window.push(GENERATION_EVENTS + 4, at(1000), Some(keyed(5)));
        let mut ids = |before| {
            window.forget_before(before);
            window.all().into_iter().map(|pair| pair.0).collect::<Vec<_>>()
        };
        const NEXT: u64 = GENERATION_EVENTS;
        assert_eq!(ids(1), [1, 5, 6, NEXT, NEXT + 3, NEXT + 4]);
        assert_eq!(ids(6), [6, NEXT, NEXT + 3, NEXT + 4]);
        assert_eq!(ids(NEXT), [NEXT, NEXT + 3, NEXT + 4]);
        assert_eq!(ids(NEXT + 4), [NEXT + 4]);
        assert_eq!(window.get(5).map(|it| it.id), Some(NEXT + 4), "its later event has it");
    }

    #[test]
    fn a_body_is_type_and_data_in_any_order_of_names() {
        let kind: EventType = "a:b".parse().unwrap();
        let data = |json: &str| serde_json::from_str::<Data>(json).unwrap();
        let key: IdempotencyKey = "k".parse().unwrap();
        let one = Keyed::new(&key, None, &kind, &data(r#"{"a":1,"b":"x"}"#));
        assert_eq!(one, Keyed::new(&key, None, &kind, &data(r#"{"b":"x","a":1}"#)));
        let space = Keyed::new(&key, Some("s"), &kind, &data("{}"));
        assert_ne!(one.key, space.key, "a space has keys of its own");
        for other in [r#"{"a":1,"b":"y"}"#, r#"{"a":1}"#, r#"{"a":"1","b":"x"}"#] {
            assert_ne!(one.body, Keyed::new(&key, None, &kind, &data(other)).body, "{other}");
        }
        assert_ne!(
            one.body,
            Keyed::new(&key, None, &"a:c".parse().unwrap(), &data(r#"{"a":1,"b":"x"}"#)).body
        );
    }
}
