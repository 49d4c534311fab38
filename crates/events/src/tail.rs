//! Following the bus.

use std::sync::Arc;

use crate::bus::Bus;
use crate::read::LIMIT_MAX;
use crate::{Error, Event, Pattern, Query, Result};

/// Bytes of data after which a batch ends.
const BATCH_BYTES: usize = 64 << 10;

/// A cursor that follows the bus. It reads the log on request, so a slow reader never slows down a
/// publisher.
///
/// It does not wait; [`Bus::wait_beyond`] and [`Bus::subscribe`] do.
#[derive(Debug, Clone)]
pub struct Tail {
    bus: Arc<Bus>,
    pattern: Option<Pattern>,
    space: Option<String>,
    cursor: u64,
}

/// A batch of events that a tail has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tailed {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The last event that was examined: the new cursor of the tail.
    pub examined: u64,
}

impl Tail {
    /// Follows `bus` from the event after `after`: 0 for all events, [`Bus::last`] for new ones
    /// only.
    pub fn new(bus: Arc<Bus>, pattern: Option<Pattern>, after: u64) -> Self {
        Self { bus, pattern, space: None, cursor: after }
    }

    /// Follows only the events of one space; `None` for all spaces.
    #[must_use]
    pub fn in_space(self, space: Option<String>) -> Self {
        Self { space, ..self }
    }

    /// The last event that was examined.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The next events, at most `count` and at most [`LIMIT_MAX`]; empty if there are none yet. A
    /// batch of large events ends with the event that takes its data to 64 KiB, which limits the
    /// memory of many tails.
    ///
    /// # Errors
    /// [`Error::Gone`] if retention has overtaken the cursor; continue with [`Tail::skip_to`].
    pub fn next_batch(&mut self, count: usize) -> Result<Tailed> {
        if count == 0 {
            return Err(Error::invalid("count", "must be above 0"));
        }
        let query = Query {
            pattern: self.pattern.clone(),
            after: Some(self.cursor),
            before: None,
            since: None,
            space: self.space.clone(),
            limit: count.min(LIMIT_MAX),
            data_bytes_max: usize::MAX,
        };
        let page = self.bus.read_within(&query, BATCH_BYTES)?;
        self.cursor = page.next_after;
        Ok(Tailed { events: page.events, examined: page.next_after })
    }

    /// Moves the cursor, so that the next event is the one after `after`.
    pub fn skip_to(&mut self, after: u64) {
        self.cursor = after;
    }
}
