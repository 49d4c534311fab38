//! What happens to memories, published as events.
//!
//! Nobody waits for it: an event that cannot be published is logged, and the memory is there.

use waypost_events::{Data, Draft, InvalidData, Lineage, Number, Value};
use waypost_memory::{Link, Memory, Reindexed};

use crate::failure::chain;
use crate::state::{App, event_time};

/// Characters of a title that an event has.
const TITLE_CHARS_MAX: usize = 200;

impl App {
    /// A memory is new.
    pub(crate) fn tell_added(&self, memory: &Memory, lineage: Lineage) {
        self.tell("memory:added", lineage, || {
            let title = memory.title.chars().filter(|it| *it != '\0');
            let title = title.take(TITLE_CHARS_MAX).collect();
            vec![
                ("id", number(memory.id.get())),
                ("type", Value::Text(memory.kind.clone())),
                ("title", Value::Text(title)),
                ("space", Value::Text(memory.space.clone())),
            ]
        });
    }

    /// A link is new.
    pub(crate) fn tell_linked(&self, link: &Link, lineage: Lineage) {
        self.tell("memory:linked", lineage, || {
            vec![
                ("from", number(link.from.get())),
                ("to", number(link.to.get())),
                ("type", Value::Text(link.kind.to_string())),
            ]
        });
    }

    /// The index was built anew.
    pub(crate) fn tell_reindexed(&self, done: &Reindexed, lineage: Lineage) {
        self.tell("memory:reindexed", lineage, || {
            vec![
                ("indexed", number(done.indexed)),
                ("embedded", number(done.embedded)),
                ("failed", number(done.failed)),
                ("skipped", number(done.skipped)),
            ]
        });
    }

    fn tell(
        &self,
        kind: &str,
        lineage: Lineage,
        values: impl FnOnce() -> Vec<(&'static str, Value)>,
    ) {
        if !self.tells_of_memory {
            return;
        }
        match draft(kind, values(), lineage) {
            Ok(draft) => {
                let failed = |error: &waypost_events::Error| {
                    tracing::warn!(error = chain(error), "an event about a memory is missing");
                };
                let then = Box::new(move |done: waypost_events::Result<_>| {
                    done.map_or_else(|error| failed(&error), drop);
                });
                if let Err(error) = self.events.queue(draft, event_time(), then) {
                    failed(&error);
                }
                self.wake.publishing_soon();
            }
            Err(error) => tracing::error!(%error, kind, "an event about a memory is none"),
        }
    }
}

fn number(number: u64) -> Value {
    Value::Number(Number::from(number))
}

fn draft(
    kind: &str,
    values: Vec<(&'static str, Value)>,
    lineage: Lineage,
) -> Result<Draft, InvalidData> {
    let mut data = Data::default();
    for (name, value) in values {
        data.insert(name, value)?;
    }
    let kind = kind.parse().expect("memory: and a name are a type");
    Ok(Draft { lineage, ..Draft::new(kind, data, "memory") })
}
