//! A folder for a bus, and short words for what the tests do.

use std::fs;
use std::path::Path;
use std::time::Duration;

use waypost_events::{Bus, Data, Draft, Event, Options, Page, Published, Query, Timestamp};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// So many milliseconds after [`NOW`].
pub(crate) fn at(ms: u64) -> Timestamp {
    NOW.saturating_add(Duration::from_millis(ms))
}

/// A folder in memory where the system has one: a sync there costs nothing.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it works");
    for entry in fs::read_dir(from).expect("it works") {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("it works");
        if path.is_dir() {
            copy_folder(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).expect("it works");
        }
    }
}

pub(crate) fn options() -> Options {
    Options::default().with_free_bytes_min(0).with_segment_bytes(64 << 10)
}

pub(crate) fn open(dir: &Path) -> Bus {
    Bus::open(dir, &options()).expect("the bus opens").0
}

pub(crate) fn data(json: &str) -> Data {
    serde_json::from_str(json).expect("good data")
}

pub(crate) fn draft(kind: &str) -> Draft {
    Draft::new(kind.parse().expect("a good type"), Data::default(), "test")
}

pub(crate) fn keyed(kind: &str, key: &str) -> Draft {
    draft(kind).with_key(key.parse().expect("a good key"))
}

pub(crate) fn publish(bus: &Bus, kind: &str) -> Event {
    let Published { event, duplicate } = bus.publish(draft(kind), NOW).expect("published");
    assert!(!duplicate);
    event
}

pub(crate) fn page(bus: &Bus, query: &Query) -> Page {
    bus.read(query).expect("readable")
}

pub(crate) fn after(after: u64, limit: usize) -> Query {
    Query::default().with_after(after).with_limit(limit)
}

pub(crate) fn pattern(text: &str) -> Query {
    Query::default().with_pattern(text.parse().expect("a good pattern"))
}

pub(crate) fn ids(page: &Page) -> Vec<u64> {
    page.events.iter().map(|event| event.id).collect()
}

/// All events, read page by page.
pub(crate) fn all(bus: &Bus) -> Vec<Event> {
    let mut events = Vec::new();
    let mut cursor = bus.first() - 1;
    loop {
        let page = page(bus, &after(cursor, 1000));
        cursor = page.next_after;
        if page.events.is_empty() {
            return events;
        }
        events.extend(page.events);
    }
}

/// Pseudo-random numbers from a seed (Marsaglia 2003, xorshift64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}
