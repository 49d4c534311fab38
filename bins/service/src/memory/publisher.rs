//! Publishes events about memories.
//!
//! The store writes a note about each new memory and link to its log, in the same batch as the change.
//! The publisher reads the notes in order, publishes an event for each, and reports its position to the
//! store. So every acknowledged change gets its event, even if the request fails or the service
//! crashes. It gets exactly one: the idempotency key is made from the note, whose position never
//! changes, and the store records the position long before the bus forgets a key.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use waypost_events::{
    Bus, Data, Draft, Error, Event, InvalidData, Lineage, Number, Pattern, Query, Refused, Value,
};
use waypost_memory::{LinkKind, MemoryId, Notice, Reindexed, Store, Summary, Vocabulary};

use crate::clock::now;
use crate::error::chain;
use crate::leadership::Leadership;
use crate::wake::Wake;

/// Characters of a title that an event has.
const TITLE_CHARS_MAX: usize = 200;
/// Notes whose events are published as one batch.
const NOTES_AT_ONCE: usize = 500;

/// Events that are read at once to find those whose memory was purged.
const EVENTS_AT_ONCE: usize = 1000;

const ADDED: &str = "memory:added";
const TITLE: &str = "title";

/// More than 128 random bits.
const RUN_CHARS: usize = 22;

/// Random bits of this run of the service: no client can use a note's key for another event first,
/// and a store that was restored from a backup has other keys than before.
static RUN: LazyLock<String> = LazyLock::new(|| {
    // Without randomness a key may have been used before; then the event counts as published.
    waypost_auth::random_text(RUN_CHARS).unwrap_or_else(|_| "without-a-name".to_owned())
});

/// The change that a note is about.
#[derive(Debug)]
pub(crate) enum About {
    /// The memory that the previous record adds.
    Memory,
    Link {
        from: MemoryId,
        to: MemoryId,
        kind: LinkKind,
        space: Option<String>,
    },
}

/// A note as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    /// The run of the service that wrote it.
    run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    depth: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flows: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<StoredLink>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredLink {
    from: u64,
    to: u64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    space: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// Publishes events about memories, on the thread of the publisher.
#[derive(Debug)]
pub(crate) struct Publisher {
    store: Arc<Store>,
    events: Arc<Bus>,
    wake: Arc<Wake>,
    /// One machine of a cluster publishes the notes of all.
    leadership: Leadership,
    /// Whether changes get notes from now on.
    is_on: bool,
    /// Whether notes wait because publishing failed.
    is_behind: AtomicBool,
    /// Held from reading a note to publishing its event.
    publishing: Mutex<()>,
}

impl Publisher {
    pub(crate) fn new(
        store: &Arc<Store>,
        events: &Arc<Bus>,
        (wake, leadership): (&Arc<Wake>, &Leadership),
        is_on: bool,
    ) -> Self {
        Self {
            store: Arc::clone(store),
            events: Arc::clone(events),
            wake: Arc::clone(wake),
            leadership: leadership.clone(),
            is_on,
            is_behind: AtomicBool::new(false),
            publishing: Mutex::default(),
        }
    }

    /// Publishes queued events and notes until the service stops.
    pub(crate) fn run(&self) {
        self.wake.serve(&self.wake.publisher, "publishing", || {
            // The upkeep thread retries what cannot be published now.
            let is_done = self.publish_noted();
            self.is_behind.store(!is_done, Ordering::Relaxed);
            self.events.write_queued();
        });
    }

    /// Wakes the thread if notes wait for a retry.
    pub(crate) fn try_again(&self) {
        if self.is_behind.load(Ordering::Relaxed) {
            self.wake.publishing();
        }
    }

    /// The note for a change, from which its event is published; `None` if events about memories
    /// are off.
    pub(crate) fn note(&self, lineage: &Lineage, about: About) -> Option<Vec<u8>> {
        self.is_on.then(|| note(lineage, about))
    }

    /// Publishes the notes; `false` if a retry is necessary.
    fn publish_noted(&self) -> bool {
        while self.leadership.leads() {
            let _erasing_waits = self.publishing.lock();
            let notices = self.store.notices(NOTES_AT_ONCE);
            let Some(last) = notices.last().map(|notice| notice.sequence) else { return true };
            let is_all = notices.len() < NOTES_AT_ONCE;
            let drafts: Vec<Draft> = notices.into_iter().filter_map(event_of).collect();
            match self.events.publish_batch(drafts, now()) {
                Ok(answers) => {
                    for refused in answers.into_iter().filter_map(Result::err) {
                        // A purge has changed it since; it was published before the crash.
                        if !matches!(refused, Refused::KeyReused { .. }) {
                            let error = Error::from(refused);
                            tracing::error!(
                                error = chain(&error),
                                "created an invalid memory event"
                            );
                        }
                    }
                    self.store.mark_published(last);
                    if is_all {
                        // What came meanwhile was mentioned, and is gathered.
                        return true;
                    }
                }
                Err(error) => {
                    // Logged once, until publishing works again.
                    if !self.is_behind.load(Ordering::Relaxed) {
                        tracing::warn!(
                            error = chain(&error),
                            "failed to publish memory events; retrying"
                        );
                    }
                    return false;
                }
            }
        }
        true
    }

    /// Erases the titles of memories whose first text is removed, or is removed by the next purge,
    /// from their events.
    pub(crate) fn erase_forgotten(&self) -> Result<Result<u64, Error>, waypost_memory::Error> {
        let _no_title_is_being_published = self.publishing.lock();
        // An event that this machine does not have yet would keep its title.
        if let Err(error) = self.events.follow() {
            return Ok(Err(error));
        }
        let pattern: Pattern = ADDED.parse().expect("a type is a pattern");
        let query = Query::default().with_pattern(pattern).with_limit(EVENTS_AT_ONCE);
        let (mut after, mut erased) = (self.events.first() - 1, BTreeMap::new());
        loop {
            let page = match self.events.read(&query.clone().with_after(after)) {
                Ok(page) => page,
                // Retention drops events meanwhile.
                Err(Error::Gone { .. }) if after + 1 < self.events.first() => {
                    after = self.events.first() - 1;
                    continue;
                }
                Err(error) => return Ok(Err(error)),
            };
            for event in page.events {
                if event.data.get(TITLE).is_some() && self.is_forgotten(&event)? {
                    erased.insert(event.id, without_title(&event.data));
                }
            }
            if page.next_after == after {
                return Ok(self.events.replace_data(&erased));
            }
            after = page.next_after;
        }
    }

    fn is_forgotten(&self, event: &Event) -> Result<bool, waypost_memory::Error> {
        let id = match event.data.get("id") {
            Some(Value::Number(number)) => number.to_json().as_u64(),
            _ => None,
        };
        id.and_then(MemoryId::new).map_or(Ok(false), |id| self.store.is_forgotten(id))
    }

    /// Publishes that the index was rebuilt. No request waits for it: a failure is logged.
    pub(crate) fn reindexed(&self, done: &Reindexed, lineage: Lineage) {
        if !self.is_on {
            return;
        }
        let values = vec![
            ("indexed", number(done.indexed)),
            ("embedded", number(done.embedded)),
            ("failed", number(done.failed)),
            ("skipped", number(done.skipped)),
        ];
        let draft = match draft("memory:reindexed", values) {
            Ok(draft) => draft.with_lineage(lineage),
            Err(error) => {
                tracing::error!(%error, "created an invalid index event");
                return;
            }
        };
        let failed = |error: &Error| {
            tracing::warn!(error = chain(error), "failed to publish an index event");
        };
        let then = Box::new(move |done: waypost_events::Result<_>| {
            done.map_or_else(|error| failed(&error), drop);
        });
        if let Err(error) = self.events.queue(draft, now(), then) {
            failed(&error);
        }
        self.wake.publishing_soon();
    }
}

/// The data of an event whose memory was purged.
fn without_title(data: &Data) -> Data {
    let kept = data.iter().filter(|(name, _)| *name != TITLE);
    let kept = kept.map(|(name, value)| (name, value.clone()));
    let mut erased = Data::default();
    for (name, value) in kept.chain([("erased", Value::from(true))]) {
        erased.insert(name, value).expect("it has no more names than before");
    }
    erased
}

/// The note for a change, from which its event is published.
fn note(lineage: &Lineage, about: About) -> Vec<u8> {
    let link = match about {
        About::Memory => None,
        About::Link { from, to, kind, space } => Some(StoredLink {
            from: from.get(),
            to: to.get(),
            kind: kind.as_str().to_owned(),
            space,
        }),
    };
    let Lineage { root, cause, depth, flows } = lineage.clone();
    let stored = Stored { run: RUN.clone(), root, cause, depth, flows, link };
    serde_json::to_vec(&stored).expect("texts and numbers are JSON")
}

/// The event of a note.
fn event_of(notice: Notice) -> Option<Draft> {
    let drafted = match serde_json::from_slice::<Stored>(&notice.note) {
        Ok(stored) => drafted(stored, notice.sequence, notice.added),
        Err(error) => {
            tracing::error!(%error, sequence = notice.sequence, "failed to read a notice");
            return None;
        }
    };
    drafted
        .inspect_err(|error| tracing::error!(%error, "created an invalid memory event"))
        .ok()
        .flatten()
}

fn drafted(
    stored: Stored,
    sequence: u64,
    added: Option<Summary>,
) -> Result<Option<Draft>, InvalidData> {
    let Stored { run, root, cause, depth, flows, link } = stored;
    let (kind, values, space) = match (added, link) {
        (Some(Summary { id, kind, title, space }), _) => {
            let title = title.chars().filter(|c| *c != '\0').take(TITLE_CHARS_MAX).collect();
            let values = vec![
                ("id", number(id.get())),
                ("type", Value::Text(kind)),
                (TITLE, Value::Text(title)),
                ("space", Value::Text(space.clone())),
            ];
            (ADDED, values, Some(space))
        }
        (None, Some(StoredLink { from, to, kind, space })) => {
            let values =
                vec![("from", number(from)), ("to", number(to)), ("type", Value::Text(kind))];
            ("memory:linked", values, space)
        }
        (None, None) => return Ok(None),
    };
    let lineage = Lineage { root, cause, depth, flows };
    let mut draft = draft(kind, values)?.with_lineage(lineage);
    draft.key = format!("memory:{run}:{sequence}").parse().ok();
    draft.space = space;
    Ok(Some(draft))
}

fn number(number: u64) -> Value {
    Value::Number(Number::from(number))
}

fn draft(kind: &str, values: Vec<(&'static str, Value)>) -> Result<Draft, InvalidData> {
    let mut data = Data::default();
    for (name, value) in values {
        data.insert(name, value)?;
    }
    let kind = kind.parse().expect("memory: and a name are a type");
    Ok(Draft::new(kind, data, "memory"))
}
