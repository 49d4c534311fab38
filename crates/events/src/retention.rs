//! Retention of replicas: one of them decides what is dropped, and all of them drop it.

use std::sync::atomic::Ordering;

use waypost_log::SharedError;
use waypost_time::Timestamp;

use crate::bus::Bus;
use crate::codec::{Input, Malformed, NEWER_VERSION, put_number};
use crate::floor::Floor;
use crate::{Error, Result};

/// The version of its bytes that this release writes and reads.
const VERSION: u64 = 1;
const OUT_OF_RANGE: &str = "a retention point drops events after its last one";

/// What all replicas drop and forget at once. Whoever decides it keeps it where all replicas find it,
/// in the order of the decisions, and each replica [applies](Bus::apply_retention) it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionPoint {
    /// The first event that is kept; one after `last` if none is.
    pub first: u64,
    /// Idempotency keys of events before this one are forgotten.
    pub keys_from: u64,
    /// The last event when it was decided: a replica needs the events up to it.
    pub last: u64,
}

impl RetentionPoint {
    /// Its bytes: the version, and the fields in their order, as
    /// [numbers](https://protobuf.dev/programming-guides/encoding/#varints) of seven bits per byte.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [VERSION, self.first, self.keys_from, self.last] {
            put_number(&mut out, number);
        }
        out
    }

    /// Reads the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// [`Malformed`] for other bytes, and for a point that drops or forgets events after its last
    /// one. It says so if a newer release wrote them.
    pub fn decode(bytes: &[u8]) -> std::result::Result<Self, Malformed> {
        let mut input = Input(bytes);
        if input.number()? != VERSION {
            return Err(Malformed(NEWER_VERSION));
        }
        let (first, keys_from, last) = (input.number()?, input.number()?, input.number()?);
        if !input.0.is_empty() {
            return Err(Malformed("trailing bytes"));
        }
        let point = Self { first, keys_from, last };
        if point.is_valid() { Ok(point) } else { Err(Malformed(OUT_OF_RANGE)) }
    }

    fn is_valid(&self) -> bool {
        let range = 1..=self.last.saturating_add(1);
        range.contains(&self.first) && range.contains(&self.keys_from)
    }
}

impl Bus {
    /// Decides what [`Options::retention`](crate::Options::retention) and the windows of idempotency
    /// keys no longer keep at the time `now`, and changes nothing; `None` if that is what was dropped
    /// already. One replica decides for all: their settings and clocks may differ. Call it every
    /// minute or so; the clock is believed as in [`retain`](Self::retain).
    pub fn decide_retention(&self, now: Timestamp) -> Result<Option<RetentionPoint>> {
        let mut clock = self.upkeep.lock();
        let last = self.last();
        let first = self.first_kept(&mut clock, now, last)?;
        let forgettable = self.writer.lock().keys.forgettable(now, last);
        let current = self.keys_from.load(Ordering::Acquire);
        let keys_from = forgettable.min(last + 1).max(current).max(1);
        let is_new = first > self.first() || keys_from > current.max(1);
        Ok(is_new.then_some(RetentionPoint { first, keys_from, last }))
    }

    /// Drops events and forgets idempotency keys, on this replica. Events that it lacks are
    /// [followed](Self::follow) first. The point is on disk when this returns; a point that was
    /// applied before, or is older than one that was, changes nothing.
    ///
    /// The dropped events cannot be read from then on. [`retain`](Self::retain) releases their bytes
    /// when their keys are forgotten, too.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the point drops events after its last one, and on a bus without a shared
    /// journal. [`Error::SharedJournal`] if
    /// the shared journal has not given the events up to the last one.
    pub fn apply_retention(&self, point: &RetentionPoint) -> Result<()> {
        if self.upstream.is_none() {
            return Err(Error::invalid("retention", "is applied by replicas; use `Bus::retain`"));
        }
        if !point.is_valid() {
            return Err(Error::invalid("retention", OUT_OF_RANGE));
        }
        if self.last() < point.last {
            self.follow()?;
        }
        let last = self.last();
        if last < point.last {
            return Err(Error::SharedJournal(SharedError::Unavailable(format!(
                "events up to {} are to be retained or dropped, and it has given those up to {last}",
                point.last
            ))));
        }
        let _one_at_a_time = self.upkeep.lock();
        let floor = self.floor();
        let keys_from = self.keys_from.load(Ordering::Acquire).max(point.keys_from);
        let next = Floor { first: floor.first.max(point.first), keys_from: Some(keys_from) };
        if next == floor {
            return Ok(());
        }
        // A log that ends before the first retained event is damaged.
        self.sync()?;
        self.drop_before(next)?;
        let mut writer = self.writer.lock();
        writer.keys.forget_before(keys_from);
        self.keys_from.store(keys_from, Ordering::Release);
        self.key_count.store(writer.keys.len(), Ordering::Relaxed);
        Ok(())
    }
}
