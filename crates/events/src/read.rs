//! Reading by cursor, pattern and time.

use waypost_time::Timestamp;

use crate::bus::{Bus, decode, malformed};
use crate::codec::Stored;
use crate::index::{Look, Wanted, block_of, ids_of};
use crate::{Data, Error, Event, Pattern, Result};

/// Maximum number of events in a page.
pub const LIMIT_MAX: usize = 1000;

/// Which events to read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// Only those whose type matches.
    pub pattern: Option<Pattern>,
    /// Only those after this one, starting with the oldest. Without it, the newest ones are read.
    pub after: Option<u64>,
    /// Only those before this one.
    pub before: Option<u64>,
    /// Only those from this time on.
    pub since: Option<Timestamp>,
    /// Only those of this space. Events without a space are in none.
    pub space: Option<String>,
    /// Maximum number of events, 1 to [`LIMIT_MAX`].
    pub limit: usize,
    /// How much data the events of the page have: further ones have none, and [`Bus::get`] reads them.
    pub data_bytes_max: usize,
}

impl Default for Query {
    /// The newest 100 events, the oldest of them first.
    fn default() -> Self {
        Self {
            pattern: None,
            after: None,
            before: None,
            since: None,
            space: None,
            limit: 100,
            data_bytes_max: usize::MAX,
        }
    }
}

impl Query {
    /// The same for events whose type the pattern selects.
    #[must_use]
    pub fn with_pattern(self, pattern: Pattern) -> Self {
        Self { pattern: Some(pattern), ..self }
    }

    /// The same for events after this one, the oldest first.
    #[must_use]
    pub fn with_after(self, after: u64) -> Self {
        Self { after: Some(after), ..self }
    }

    /// The same for events before this one.
    #[must_use]
    pub fn with_before(self, before: u64) -> Self {
        Self { before: Some(before), ..self }
    }

    /// The same for events from this time on.
    #[must_use]
    pub fn with_since(self, since: Timestamp) -> Self {
        Self { since: Some(since), ..self }
    }

    /// The same for events of this space.
    #[must_use]
    pub fn with_space(self, space: impl Into<String>) -> Self {
        Self { space: Some(space.into()), ..self }
    }

    /// The same with at most this many events, 1 to [`LIMIT_MAX`].
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// The same with about this much data.
    #[must_use]
    pub fn with_data_bytes_max(self, data_bytes_max: usize) -> Self {
        Self { data_bytes_max, ..self }
    }
}

/// A page of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The events, as ordered.
    pub events: Vec<Event>,
    /// The last event that was examined: reading after it skips and repeats nothing, even if no
    /// event matched.
    pub next_after: u64,
    /// The first retained event at the time of the read; one after the last if there was none.
    pub first: u64,
    /// The last event at the time of the read.
    pub last: u64,
    /// Whether some events are without their data; see [`Query::data_bytes_max`].
    pub lacks_data: bool,
}

/// What to search for, and where.
#[derive(Debug, Clone, Copy)]
struct Search<'a> {
    pattern: Option<&'a Pattern>,
    since: Option<Timestamp>,
    space: Option<&'a str>,
    from: u64,
    to: u64,
    limit: usize,
    newest: bool,
}

impl Search<'_> {
    /// Whether the search is for events of one space.
    fn shows(&self, space: Option<&str>) -> bool {
        self.space.is_none() || self.space == space
    }
}

/// The contents of a page so far.
struct Found {
    events: Vec<Event>,
    bytes_left: usize,
    data_bytes_left: usize,
    lacks_data: bool,
}

impl Found {
    fn is_full(&self, search: &Search<'_>) -> bool {
        self.events.len() == search.limit || self.bytes_left == 0
    }

    /// The event, without its data if the page has enough.
    fn within(&mut self, mut event: Event) -> Event {
        if self.data_bytes_left == 0 && !event.data.is_empty() {
            event.data = Data::default();
            self.lacks_data = true;
        }
        self.data_bytes_left = self.data_bytes_left.saturating_sub(event.data.bytes());
        event
    }

    /// Counts the bytes of an added event; returns true if the page is full.
    fn spend(&mut self, bytes: usize) -> bool {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.bytes_left == 0
    }
}

impl Bus {
    /// Reads events. The cost grows with the number of returned events and of blocks of 65,536
    /// events whose filter does not exclude the pattern, not with the events in between. With a
    /// space, it also grows with the events of other spaces in between: no index contains spaces.
    ///
    /// # Errors
    /// [`Error::Gone`] if events after the cursor have been dropped. [`Error::Invalid`] for a limit
    /// out of range and for a cursor beyond the last event.
    pub fn read(&self, query: &Query) -> Result<Page> {
        self.read_within(query, usize::MAX)
    }

    /// Like [`read`](Self::read); a page after a cursor also ends with the event with which its
    /// data reaches `bytes_max` bytes.
    pub(crate) fn read_within(&self, query: &Query, bytes_max: usize) -> Result<Page> {
        if !(1..=LIMIT_MAX).contains(&query.limit) {
            let reason = format!("must be from 1 to {LIMIT_MAX}, not {}", query.limit);
            return Err(Error::invalid("limit", reason));
        }
        let (first, last) = (self.first(), self.last());
        if let Some(after) = query.after {
            self.check_cursor(after, first, last)?;
        }
        let search = Search {
            pattern: query.pattern.as_ref().filter(|pattern| **pattern != Pattern::all()),
            since: query.since,
            space: query.space.as_deref(),
            from: query.after.map_or(first, |after| after.saturating_add(1)),
            to: query.before.map_or(last, |before| before.saturating_sub(1).min(last)),
            limit: query.limit,
            newest: query.after.is_none(),
        };
        let mut found = Found {
            events: Vec::new(),
            bytes_left: bytes_max,
            data_bytes_left: query.data_bytes_max,
            lacks_data: false,
        };
        self.search(&search, &mut found)?;
        let full = found.is_full(&search);
        let (events, lacks_data) = (found.events, found.lacks_data);
        let next_after = match (query.after, events.last()) {
            (Some(_), Some(event)) if full => event.id,
            (Some(after), _) => after.max(search.to),
            (None, _) => search.to,
        };
        if let Some(after) = query.after {
            // Events that retention dropped meanwhile may be missing from the page.
            self.check_cursor(after, self.first(), last)?;
        }
        Ok(Page { events, next_after, first, last, lacks_data })
    }

    /// The events in ascending order: the first or the last ones.
    fn search(&self, search: &Search<'_>, found: &mut Found) -> Result<()> {
        let (mut from, mut to) = (search.from, search.to);
        while from <= to && !found.is_full(search) {
            let number = block_of(if search.newest { to } else { from });
            let ids = ids_of(number);
            let (low, high) = (from.max(*ids.start()), to.min(*ids.end()));
            let wanted = Wanted {
                pattern: search.pattern,
                from: low,
                to: high,
                count: search.limit - found.events.len(),
                newest: search.newest,
            };
            let (examined_low, examined_high) = match self.look(number, &wanted) {
                Look::Nothing => (low, high),
                Look::Ids(ids) => {
                    let reached = ids.last().copied().filter(|_| ids.len() == wanted.count);
                    let reached = self.take_ids(ids, search, found)?.or(reached);
                    match (reached, search.newest) {
                        (None, _) => (low, high),
                        (Some(id), true) => (id, high),
                        (Some(id), false) => (low, id),
                    }
                }
                Look::All | Look::Stored(_) => self.take_run(low, high, search, found)?,
            };
            if search.newest {
                to = examined_low - 1;
            } else {
                from = examined_high + 1;
            }
        }
        if search.newest {
            found.events.reverse();
        }
        Ok(())
    }

    /// Adds events that match a pattern, in the order of the search. Returns the last added one if
    /// they did not all fit in the page.
    fn take_ids(
        &self,
        mut ids: Vec<u64>,
        search: &Search<'_>,
        found: &mut Found,
    ) -> Result<Option<u64>> {
        /// Average distance up to which many events are read in one pass, which reads the file in
        /// larger pieces.
        const NEAR: u64 = 64;
        const FEW: usize = 16;
        let since = search.since.unwrap_or(Timestamp::EPOCH);
        if search.newest {
            ids.reverse();
        }
        if since > Timestamp::EPOCH {
            let index = self.index.read();
            ids.retain(|id| index.may_be_since(*id, since));
        }
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(None) };
        let mut taken = Vec::with_capacity(ids.len());
        let mut reached = None;
        let are_near = ids.len() > FEW && last - first <= NEAR * ids.len() as u64;
        let mut entries = are_near.then(|| self.log.entries_after(first - 1));
        for id in &ids {
            let (event, bytes) = if let Some(entries) = &mut entries {
                entries.skip_to(*id);
                let Some(entry) = entries.next_ref() else { break };
                let entry = entry.map_err(|error| self.log_error(&error))?;
                if entry.sequence != *id {
                    continue;
                }
                let event = decode(*id, entry.kind, entry.version, entry.payload)?;
                (event, entry.payload.len())
            } else {
                let Some(event) = self.get(*id)? else { continue };
                let bytes = event.data.bytes();
                (event, bytes)
            };
            taken.push(found.within(event));
            if !search.newest && found.spend(bytes) {
                reached = Some(*id);
                break;
            }
        }
        taken.retain(|taken| taken.time >= since && search.shows(taken.space.as_deref()));
        if search.newest {
            taken.reverse();
        }
        found.events.append(&mut taken);
        Ok(reached)
    }

    /// Reads consecutive events and adds those that match, in the order of the search. Returns
    /// which were examined.
    fn take_run(
        &self,
        low: u64,
        high: u64,
        search: &Search<'_>,
        found: &mut Found,
    ) -> Result<(u64, u64)> {
        /// Minimum number of events to read if not all of them match.
        const RUN_MIN: u64 = 256;
        let since = search.since.unwrap_or(Timestamp::EPOCH);
        let missing = (search.limit - found.events.len()) as u64;
        let is_filtered =
            since > Timestamp::EPOCH || search.pattern.is_some() || search.space.is_some();
        let len = if is_filtered { missing.max(RUN_MIN) } else { missing };
        let (low, high) = if search.newest {
            (low.max((high + 1).saturating_sub(len)), high)
        } else {
            (low, high.min(low.saturating_add(len - 1)))
        };
        let index = self.index.read();
        if since > Timestamp::EPOCH
            && !index.may_be_since(low, since)
            && !index.may_be_since(high, since)
        {
            return Ok((low, high));
        }
        drop(index);
        let mut run = Vec::new();
        let mut entries = self.log.entries_after(low - 1);
        while let Some(entry) = entries.next_ref() {
            let entry = entry.map_err(|error| self.log_error(&error))?;
            if entry.sequence > high {
                break;
            }
            let id = entry.sequence;
            let malformed = |it| malformed(id, it);
            let stored =
                Stored::read(entry.kind, entry.version, entry.payload).map_err(malformed)?;
            let is_wanted = search.pattern.is_none_or(|pattern| pattern.matches_text(stored.kind));
            if is_wanted && stored.time >= since && search.shows(stored.space) {
                let event = found.within(stored.event(id).map_err(malformed)?);
                if search.newest {
                    run.push(event);
                    continue;
                }
                found.events.push(event);
                found.spend(entry.payload.len());
                if found.is_full(search) {
                    return Ok((low, id));
                }
            }
        }
        let missing = search.limit - found.events.len();
        let dropped = run.len().saturating_sub(missing);
        run.drain(..dropped);
        found.events.extend(run.into_iter().rev());
        Ok((low, high))
    }

    fn check_cursor(&self, after: u64, first: u64, last: u64) -> Result<()> {
        if after < first - 1 {
            return Err(Error::Gone { first });
        }
        if after > last && self.upstream.is_some() {
            // It may come from another replica.
            return Err(Error::Behind { after, last });
        }
        if after > last {
            let reason = format!("is {after}, but the last event is {last}");
            return Err(Error::invalid("after", reason));
        }
        Ok(())
    }
}
