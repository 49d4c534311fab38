//! Retention, compaction, export and status.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use waypost_log::{Compacted, Entry, Keep};
use waypost_time::{SkipDetector, Timestamp};

use crate::bus::{Bus, decode, malformed};
use crate::codec::{self, Malformed, Stored};
use crate::floor::{self, Floor};
use crate::index::{SPAN_EVENTS, block_of};
use crate::{Data, Error, Result, Status};

/// Number of the log's files that one call of [`Bus::retain`] checks, about 20 ms each.
const SEGMENTS_CHECKED: usize = 8;
/// A clock that advances by less has not skipped: nobody may have called.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Bus {
    /// Drops what [`Options::retention`](crate::Options::retention) does not keep at the time
    /// `now`, and returns the first event that is kept. Call it now and then, every few seconds:
    /// it also forgets idempotency keys that are out of their window, syncs the index, and checks
    /// some of the log's files that opening only glanced at.
    ///
    /// None counts as too old on the first day after the clock has skipped more than the age that is
    /// kept, and more than a day: it may be wrong.
    ///
    /// Dropped events cannot be read from then on. Their bytes go with whole files of the log, the
    /// last ones with [`compact`](Self::compact).
    ///
    /// A replica drops and forgets nothing here, but what a [retention
    /// point](Self::apply_retention) has dropped leaves its files.
    pub fn retain(&self, now: Timestamp) -> Result<u64> {
        let mut clock = self.upkeep.lock();
        let (first, keys_from) = if self.upstream.is_some() {
            (self.first(), self.keys_from.load(Ordering::Acquire))
        } else {
            self.drop_by_clock(&mut clock, now)?
        };
        self.settle();
        let _writes_alone = self.settling.lock();
        // The log of a replica keeps the events whose keys are known: only from it do a machine that
        // joins and one that has lost its index know them.
        let log_from = match &self.upstream {
            Some(_) => self.kept_from(first).min(keys_from),
            None => first,
        };
        let drops = log_from > self.log.first_sequence();
        if drops || self.last() > self.writer.lock().saved_to {
            // Keys outlive the events that they were used for, and the block store knows how far
            // the log has come, even if files of the log are lost.
            self.save_keys()?;
        }
        if drops {
            self.block_store.sync()?;
            self.log.truncate_before(log_from).map_err(|error| self.log_error(&error))?;
        }
        self.block_store.forget_before(block_of(first), keys_from)?;
        self.block_store.sync()?;
        for _ in 0..SEGMENTS_CHECKED {
            if !self.log.check_next().map_err(|error| self.log_error(&error))? {
                break;
            }
        }
        Ok(first)
    }

    /// What [`retain`](Self::retain) does on a machine on its own: drops events and forgets keys.
    /// Returns the first event that is kept, and the first whose key is.
    fn drop_by_clock(&self, clock: &mut SkipDetector, now: Timestamp) -> Result<(u64, u64)> {
        let last = self.last();
        let keys_from = {
            let mut writer = self.writer.lock();
            writer.keys.forget(now, last);
            self.key_count.store(writer.keys.len(), Ordering::Relaxed);
            writer.keys.first()
        };
        let first = self.first_kept(clock, now, last)?;
        if first > self.first() {
            self.drop_before(Floor { first, ..self.floor() })?;
        }
        Ok((first, keys_from))
    }

    /// Records where what is kept begins; nobody reads what was before it from then on.
    pub(crate) fn drop_before(&self, floor: Floor) -> Result<()> {
        floor::write(&self.dir, floor)?;
        self.first.store(floor.first, Ordering::Release);
        self.index.write().forget_before(floor.first);
        Ok(())
    }

    /// The first event that the limits keep at the time `now`, when `last` is the last event.
    pub(crate) fn first_kept(
        &self,
        clock: &mut SkipDetector,
        now: Timestamp,
        last: u64,
    ) -> Result<u64> {
        let mut first = self.first();
        if let Some(events) = self.options.retention.events {
            first = first.max((last + 1).saturating_sub(events));
        }
        let newest = || self.get(last).ok().flatten().map(|it| it.time);
        if let Some(age) = self.options.retention.age
            && clock.believes(now, age.max(DAY), newest)
        {
            first = self.first_since(first, last, now.saturating_sub(age))?;
        }
        if let Some(bytes) = self.options.retention.bytes {
            first = first.max(self.first_within(bytes));
        }
        Ok(first)
    }

    /// The first event from `first` on that is not older than `oldest`.
    fn first_since(&self, mut first: u64, last: u64, oldest: Timestamp) -> Result<u64> {
        while first <= last && !self.index.read().may_be_since(first, oldest) {
            first = ((first - 1) / SPAN_EVENTS + 1) * SPAN_EVENTS + 1;
        }
        let first = first.min(last + 1);
        let mut entries = self.log.entries_after(first - 1);
        while let Some(entry) = entries.next_ref() {
            let entry = entry.map_err(|error| self.log_error(&error))?;
            let stored = Stored::read(entry.kind, entry.version, entry.payload)
                .map_err(|error| malformed(entry.sequence, error))?;
            if stored.time >= oldest {
                return Ok(entry.sequence);
            }
            if entry.sequence == last {
                return Ok(last + 1);
            }
        }
        Ok(first)
    }

    /// The first event of the oldest file of the log within the limit.
    fn first_within(&self, bytes_max: u64) -> u64 {
        let mut extents = self.log.extents();
        let newest = extents.pop();
        let mut bytes = newest.map_or(0, |newest| newest.bytes);
        let mut first = newest.map_or(1, |newest| newest.first);
        for extent in extents.into_iter().rev() {
            bytes += extent.bytes;
            if bytes > bytes_max {
                break;
            }
            first = extent.first;
        }
        first
    }

    /// Removes dropped events from the files for good, and releases their space. A replica keeps
    /// those whose idempotency keys are known.
    pub fn compact(&self) -> Result<Compacted> {
        let _one_at_a_time = self.upkeep.lock();
        let _writes_alone = self.settling.lock();
        let kept_from = self.kept_from(self.first());
        self.save_keys()?;
        self.block_store.sync()?;
        let compacted = self
            .log
            .compact(&mut |it| {
                let is_kept = it.sequence >= kept_from || self.needs_key_of(it);
                if is_kept { Keep::Yes } else { Keep::No }
            })
            .map_err(|error| self.log_error(&error))?;
        self.block_store.rewrite()?;
        Ok(compacted)
    }

    /// The first event that stays in the log if those before `first` were dropped: the next start
    /// compares the others with the shared journal.
    fn kept_from(&self, first: u64) -> u64 {
        self.upstream
            .as_ref()
            .map_or(first, |upstream| first.min(upstream.base().saturating_add(1)))
    }

    /// Whether the log is to keep a dropped event because of its key.
    fn needs_key_of(&self, entry: &Entry) -> bool {
        let is_known = entry.sequence >= self.keys_from.load(Ordering::Acquire);
        let stored = || Stored::read(entry.kind, entry.version, &entry.payload);
        // What cannot be read is not removed.
        self.upstream.is_some() && is_known && stored().map_or(true, |stored| stored.key.is_some())
    }

    /// Replaces the data of events, and removes what they had from the files; ids, types, times and
    /// the order stay. Returns how many were replaced: events that do not exist, or were dropped,
    /// are skipped. Takes time proportional to the log.
    ///
    /// Each file of the log is replaced at once: a crash leaves every event as it was or replaced.
    /// An idempotency key still belongs to the data that its event was published with, unless the
    /// index is rebuilt: then it belongs to the new data.
    pub fn replace_data(&self, data: &BTreeMap<u64, Data>) -> Result<u64> {
        if data.is_empty() {
            return Ok(0);
        }
        let _one_at_a_time = self.upkeep.lock();
        let _writes_alone = self.settling.lock();
        // The keys of these events are in the block store from now on, not only in the log.
        self.save_keys()?;
        self.block_store.sync()?;
        let mut failed = None;
        let compacted = self
            .log
            .compact(&mut |entry| {
                let Some(data) = data.get(&entry.sequence) else { return Keep::Yes };
                with_data(entry, data).unwrap_or_else(|error| {
                    failed.get_or_insert(malformed(entry.sequence, error));
                    Keep::Yes
                })
            })
            .map_err(|error| self.log_error(&error))?;
        failed.map_or(Ok(compacted.replaced), Err)
    }

    /// Writes the events from `from` on as JSON, one a line: `{"id", "type", "data", "time",
    /// "source", "root", "cause", "depth", "flows"}`, where `time` is in milliseconds since 1970.
    /// Returns the number of events; events published meanwhile are not included.
    pub fn export(&self, out: &mut dyn Write, from: u64) -> Result<u64> {
        let failed = |it| Error::io("the export", it);
        let (first, last) = (self.first(), self.last());
        let mut count = 0;
        let mut entries = self.log.entries_after(from.max(first).saturating_sub(1));
        while let Some(entry) = entries.next_ref() {
            let entry = entry.map_err(|error| self.log_error(&error))?;
            if entry.sequence > last {
                break;
            }
            let event = decode(entry.sequence, entry.kind, entry.version, entry.payload)?;
            let line = crate::wire::line(&event);
            serde_json::to_writer(&mut *out, &line).map_err(|error| failed(error.into()))?;
            out.write_all(b"\n").map_err(failed)?;
            count += 1;
        }
        Ok(count)
    }

    /// Statistics of the bus. Takes time proportional to the number of blocks of 65,536 events.
    pub fn status(&self) -> Status {
        let (first, last) = (self.first(), self.last());
        let (counts, other_kinds) = self.index.read().counts();
        let mut kinds: Vec<(String, u64)> = counts.into_iter().collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.1));
        Status {
            events: (last + 1).saturating_sub(first),
            first,
            last,
            oldest: self.get(first).ok().flatten().map(|it| it.time),
            bytes: self.log.bytes(),
            segments: self.log.segments(),
            kinds,
            other_kinds,
            indexed: self.index.read().stored_to(),
            keys: self.key_count.load(Ordering::Relaxed),
            fault: self.fault(),
        }
    }
}

/// The record of an event with other data.
fn with_data(entry: &Entry, data: &Data) -> std::result::Result<Keep, Malformed> {
    let stored = Stored::read(entry.kind, entry.version, &entry.payload)?;
    let key = stored.idempotency_key()?;
    let mut event = stored.event(entry.sequence)?;
    event.data = data.clone();
    Ok(Keep::Replace(codec::encode(&event, key.as_ref())))
}
