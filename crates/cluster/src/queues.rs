//! What was read of the journal and not applied yet, for each part.

use std::collections::VecDeque;

use waypost_journal::{BatchId, Position, Record, Row};
use waypost_log::Entry;

use crate::member::Base;
use crate::part::{PARTS, Part, Places};

/// How many records become visible at once, unless one append has more.
const PAGE_RECORDS_MAX: usize = 512;
/// How much of one part waits in memory. If a part does not take its records, they are read again
/// later.
const QUEUE_BYTES_MAX: usize = 64 << 20;

/// The end of what was read, and the records up to there that their part has not applied.
#[derive(Debug)]
pub(crate) struct Queues {
    base: Base,
    /// Everything up to here is applied or in a queue.
    tail: Position,
    /// The furthest tail, also if reading has begun again since.
    furthest: Position,
    /// Where the journal ended when it was last read.
    end: u64,
    /// Where it ended at the last look, for the parts that have not used this yet.
    looked: [Option<u64>; PARTS],
    /// Where it ended when a part got the lock of the head row, while the part has its turn.
    locked: Option<(Part, u64)>,
    /// The last result of [`Queues::applied`].
    applied: u64,
    of_parts: [Queue; PARTS],
}

#[derive(Debug, Default)]
struct Queue {
    /// The part's last record up to the tail.
    place: u64,
    rows: VecDeque<Queued>,
    /// The last record that was removed from the front because a reader of the part has it.
    taken: u64,
    bytes: usize,
    /// Records were dropped because the part did not take them.
    is_dropped: bool,
    /// The last request for records that are not here any more.
    asked: Option<u64>,
    /// The part appended behind this record, and lacks what follows: it asks for that next.
    lacks_after: Option<u64>,
}

#[derive(Debug)]
struct Queued {
    seq: u64,
    batch: BatchId,
    entry: Entry,
}

/// What a part can apply next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// These records.
    Rows(Vec<Entry>),
    /// What was not read yet.
    Unread,
    /// Records that were read, but are no longer in memory.
    Dropped,
}

/// How the records of a replica compare with those that were read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// All of them are the same.
    Same,
    /// The record with this number is another one.
    Different(u64),
    /// More must be read.
    Unread,
    /// Records that were not compared are no longer in memory.
    Dropped,
}

/// Why rows do not continue what was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) String);

impl Queues {
    pub(crate) fn new(base: Base) -> Self {
        let mut of_parts: [Queue; PARTS] = Default::default();
        for (queue, place) in of_parts.iter_mut().zip(base.places) {
            queue.place = place;
        }
        let tail = base.position;
        let (end, applied) = (tail.seq, tail.seq);
        let (looked, locked) = ([None; PARTS], None);
        Self { base, tail, furthest: tail, end, looked, locked, applied, of_parts }
    }

    /// Begins at the base again.
    pub(crate) fn rewind(&mut self) {
        let (furthest, end, applied) = (self.furthest(), self.end, self.applied);
        *self = Self { furthest, end, applied, ..Self::new(self.base) };
    }

    /// All parts have this on disk: reading begins there from now on.
    pub(crate) fn set_base(&mut self, base: Base) {
        self.base = base;
    }

    pub(crate) fn base(&self) -> Base {
        self.base
    }

    pub(crate) fn tail(&self) -> Position {
        self.tail
    }

    /// The furthest position up to which everything was read, which never goes back.
    pub(crate) fn furthest(&self) -> Position {
        if self.furthest.seq > self.tail.seq { self.furthest } else { self.tail }
    }

    /// Where the journal ended when it was last read.
    pub(crate) fn end(&self) -> u64 {
        self.end.max(self.tail.seq)
    }

    /// Notes where the journal ended at a look, after which all parts follow.
    pub(crate) fn set_looked(&mut self, end: u64) {
        self.looked = [Some(end); PARTS];
    }

    /// Notes that nothing follows the tail until the turn of this part ends.
    pub(crate) fn set_locked(&mut self, part: Part) {
        self.locked = Some((part, self.tail.seq));
    }

    /// The part's turn has ended: other machines can append.
    pub(crate) fn end_turn(&mut self, part: Part) {
        self.locked = self.locked.filter(|locked| locked.0 != part);
    }

    /// Whether nothing follows the tail: by the lock, or by the last look. A look counts once for each
    /// part: who reads without one asks the database.
    pub(crate) fn is_read(&mut self, part: Part) -> bool {
        let (tail, is_end) = (self.tail.seq, self.end() == self.tail.seq);
        let looked = self.looked[part.index()].take();
        is_end && (looked == Some(tail) || self.locked == Some((part, tail)))
    }

    /// The tail with the last record of each part.
    pub(crate) fn mark(&self) -> Base {
        let mut places: Places = [0; PARTS];
        for (place, queue) in places.iter_mut().zip(&self.of_parts) {
            *place = queue.place;
        }
        Base { position: self.tail, places }
    }

    /// The part's last record up to the tail.
    pub(crate) fn place(&self, part: Part) -> u64 {
        self.of_parts[part.index()].place
    }

    /// The last position up to which parts with these last records have everything. It never goes
    /// back. A reader has records before its part shows them: then their positions are not known
    /// here any more, and the last result still holds.
    pub(crate) fn applied(&mut self, places: &Places) -> u64 {
        let of_queue = |(queue, place): (&Queue, &u64)| {
            if *place < queue.taken || queue.is_dropped && *place < queue.place {
                return 0;
            }
            let next = queue.rows.iter().find(|row| row.entry.sequence > *place);
            next.map_or(self.tail.seq, |next| next.seq - 1)
        };
        let applied = self.of_parts.iter().zip(places).map(of_queue).min();
        self.applied = self.applied.max(applied.unwrap_or(0));
        self.applied
    }

    /// Takes rows that follow the tail; the journal ends at `end`.
    pub(crate) fn take(&mut self, rows: Vec<Row>, end: u64) -> Result<(), Broken> {
        self.end = self.end.max(end);
        for row in rows {
            // An append of this machine has moved the tail since the rows were requested.
            if row.seq <= self.tail.seq {
                continue;
            }
            if row.seq != self.tail.seq + 1 {
                return Ok(());
            }
            let Some(part) = Part::of_number(row.record.part) else {
                let number = row.record.part;
                return Err(Broken(format!(
                    "record {} belongs to part {number}, which this release does not know",
                    row.seq
                )));
            };
            let queue = &mut self.of_parts[part.index()];
            if row.record.place != queue.place + 1 {
                return Err(Broken(format!(
                    "record {} is number {} of {part}, where {} follows",
                    row.seq,
                    row.record.place,
                    queue.place + 1
                )));
            }
            self.tail = row.position();
            queue.push(row.seq, row.batch, row.record);
        }
        Ok(())
    }

    /// Notes an append of this machine behind the position `from`. The part applies these records
    /// itself; they are kept until it has, because a reader may ask for them meanwhile.
    pub(crate) fn appended(
        &mut self,
        part: Part,
        from: Position,
        records: &[Record],
        end: Position,
    ) {
        let queue = &mut self.of_parts[part.index()];
        let Some(first) = records.first() else { return };
        if self.furthest.seq < end.seq {
            self.furthest = end;
        }
        queue.drop_through(first.place - 1);
        // Otherwise, they were read meanwhile, or reading has begun again and comes to them.
        if self.tail != from {
            return;
        }
        self.tail = end;
        let batch = BatchId(std::array::from_fn(|it| end.hash.0[it]));
        for (seq, record) in (from.seq + 1..).zip(records) {
            queue.push(seq, batch, record.clone());
        }
    }

    /// Notes that an append of a part behind its record `after` was refused: it lacks what follows.
    pub(crate) fn refused(&mut self, part: Part, after: u64) {
        self.of_parts[part.index()].lacks_after = Some(after);
    }

    /// Whether a part that asks for records which are not here any more really lacks them. A reader
    /// that was overtaken by another one of its part asks only once. Before the base, only the second
    /// request counts: reading from the base again does not help there.
    pub(crate) fn lacks(&mut self, part: Part, after: u64) -> bool {
        let is_behind_base = after >= self.base.places[part.index()];
        let queue = &mut self.of_parts[part.index()];
        let has_asked = queue.asked.replace(after) == Some(after);
        queue.lacks_after == Some(after) && is_behind_base || has_asked
    }

    /// Compares the records of a part up to the number `last`, which its replica has, and drops those
    /// that are the same.
    pub(crate) fn compare(
        &mut self,
        part: Part,
        last: u64,
        is_same: &mut dyn FnMut(&Entry) -> bool,
    ) -> Compared {
        let queue = &mut self.of_parts[part.index()];
        if queue.is_dropped {
            return Compared::Dropped;
        }
        while let Some(first) = queue.rows.front()
            && first.entry.sequence <= last
        {
            let number = first.entry.sequence;
            if !is_same(&first.entry) {
                return Compared::Different(number);
            }
            queue.drop_through(number);
        }
        if queue.place < last { Compared::Unread } else { Compared::Same }
    }

    /// The records of a part after the number `after`, which it has applied: whole appends.
    pub(crate) fn page(&mut self, part: Part, after: u64) -> Page {
        let (tail, end) = (self.tail.seq, self.end);
        let queue = &mut self.of_parts[part.index()];
        queue.drop_through(after);
        // The part is further: who asked was overtaken.
        queue.asked = queue.asked.filter(|asked| *asked >= after);
        let Some(first) = queue.rows.front() else {
            return if queue.place > after { Page::Dropped } else { Page::Unread };
        };
        if first.entry.sequence != after + 1 {
            return Page::Dropped;
        }
        if queue.lacks_after == Some(after) {
            queue.lacks_after = None;
        }
        let mut len = queue.rows.len().min(PAGE_RECORDS_MAX);
        while let (Some(last), Some(next)) = (queue.rows.get(len - 1), queue.rows.get(len)) {
            if last.batch != next.batch {
                break;
            }
            len += 1;
        }
        // The rest of the last append may follow.
        let is_last =
            len == queue.rows.len() && queue.rows.back().is_some_and(|back| back.seq == tail);
        if is_last && tail < end && queue.bytes < QUEUE_BYTES_MAX {
            let whole = queue.whole_appends();
            if whole == 0 {
                return Page::Unread;
            }
            len = whole;
        }
        Page::Rows(queue.rows.iter().take(len).map(|row| row.entry.clone()).collect())
    }
}

impl Queue {
    fn push(&mut self, seq: u64, batch: BatchId, record: Record) {
        self.place = record.place;
        if self.is_dropped {
            return;
        }
        self.bytes += record.payload.len();
        let entry = Entry {
            sequence: record.place,
            kind: record.kind,
            version: record.version,
            payload: record.payload,
        };
        self.rows.push_back(Queued { seq, batch, entry });
        if self.bytes > 2 * QUEUE_BYTES_MAX {
            self.rows.clear();
            self.bytes = 0;
            self.is_dropped = true;
        }
    }

    fn drop_through(&mut self, number: u64) {
        while let Some(first) = self.rows.front()
            && first.entry.sequence <= number
        {
            self.bytes -= first.entry.payload.len();
            self.taken = first.entry.sequence;
            self.rows.pop_front();
        }
        if self.is_dropped && number >= self.place {
            self.is_dropped = false;
        }
    }

    /// The number of records without those of the last append.
    fn whole_appends(&self) -> usize {
        let Some(last) = self.rows.back() else { return 0 };
        self.rows.len() - self.rows.iter().rev().take_while(|row| row.batch == last.batch).count()
    }
}
