//! Appending by [group commit](crate::group_commit): each thread encodes its own batch, and the
//! leader writes a group of batches with one call and syncs once.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::active::Active;
use crate::disk::Disk;
use crate::format::{Batch, Chain, HEADER_BYTES};
use crate::group_commit::{Lead, Pending, Queue};
use crate::reached::Reached;
use crate::segment::{Segment, file_name};
use crate::{Damage, Error, Options, Result};

/// Maximum number of bytes that one leader writes at once, unless one batch is larger.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// All segments, in order; the last one may be active.
pub(crate) type Segments = Arc<Vec<Arc<Segment>>>;

/// The parts of the log that its handles, readers and writers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) disk: Disk,
    pub(crate) options: Options,
    pub(crate) segments: RwLock<Segments>,
    /// Held while sealed segments are rewritten or removed.
    pub(crate) maintenance: Mutex<()>,
    queue: Queue<Append, Answer>,
    tail: Mutex<Tail>,
    /// What poisoned the tail, for those who do not wait for it.
    pub(crate) fault: Mutex<Option<Error>>,
}

/// What only the leader uses.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) active: Option<Active>,
    pub(crate) next: u64,
    /// Also set while a group is being written, so that a leader that panics leaves it set.
    pub(crate) poisoned: bool,
    pub(crate) buffer: Vec<u8>,
    pub(crate) reached: Reached,
}

/// What an append guarantees when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// On disk.
    Durable,
    /// In the file, and on disk at some later time.
    Written,
    /// On disk, the active segment sealed, and a new one created.
    Sealed,
}

/// A batch to append.
#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) batch: Batch,
    pub(crate) durability: Durability,
    /// The sequence that the log must end at; `None` for any.
    pub(crate) after: Option<u64>,
}

impl Append {
    pub(crate) fn new(batch: Batch, durability: Durability) -> Self {
        Self { batch, durability, after: None }
    }
}

/// The batch's sequences.
type Answer = Result<Range<u64>>;
type Group = Vec<Pending<Append, Answer>>;

impl Shared {
    /// A log whose segments are `segments`.
    pub(crate) fn new(
        disk: Disk,
        options: Options,
        segments: Vec<Arc<Segment>>,
        tail: Tail,
    ) -> Self {
        Self {
            disk,
            options,
            segments: RwLock::new(Arc::new(segments)),
            maintenance: Mutex::new(()),
            queue: Queue::default(),
            tail: Mutex::new(tail),
            fault: Mutex::default(),
        }
    }

    pub(crate) fn list(&self) -> Segments {
        Arc::clone(&self.segments.read())
    }

    /// The segments, and the end of the active one, at one moment.
    pub(crate) fn freeze(&self) -> (Segments, Option<Chain>) {
        let tail = self.tail.lock();
        (self.list(), tail.active.as_ref().map(Active::chain))
    }

    /// Appends a batch together with those of other threads, and returns its sequences.
    pub(crate) fn submit(&self, append: Append) -> Result<Range<u64>> {
        self.queue.submit(append, &|lead| self.lead(lead)).unwrap_or(Err(Error::Poisoned))
    }

    fn lead(&self, lead: &Lead<'_, Append, Answer>) {
        let mut tail = self.tail.lock();
        let mut group = self.take_group(lead, &tail);
        let outcome = self.serve(&mut tail, &mut group);
        drop(tail);
        let mut start = outcome.as_ref().copied().unwrap_or_default();
        for Pending { request, reply } in group {
            let end = start + request.batch.records();
            reply.answer(match &outcome {
                Ok(_) => Ok(start..end),
                Err(error) => Err(error.clone()),
            });
            start = end;
        }
    }

    /// The highest sequence that is known to be on disk.
    pub(crate) fn reached(&self) -> u64 {
        self.tail.lock().reached.sequence()
    }

    /// Records how far the log has reached. Nothing may be appended afterwards.
    pub(crate) fn close(&self) {
        let mut tail = self.tail.lock();
        if !tail.poisoned {
            tail.reached.close(&self.disk);
        }
    }

    /// Takes the batches that fit in one write. An append that seals or names a position is a group
    /// of its own.
    fn take_group(&self, lead: &Lead<'_, Append, Answer>, tail: &Tail) -> Group {
        let end = tail.active.as_ref().map_or(HEADER_BYTES, Active::end);
        let (mut bytes, mut room, mut is_alone) = (0, None, false);
        lead.take(|next| {
            bytes += next.batch.bytes.len();
            let room =
                *room.get_or_insert(if self.overflows(end, bytes) { HEADER_BYTES } else { end });
            is_alone |= next.durability == Durability::Sealed || next.after.is_some();
            !is_alone && bytes <= GROUP_BYTES_MAX && !self.overflows(room, bytes)
        })
    }

    fn overflows(&self, end: u64, bytes: usize) -> bool {
        end + bytes as u64 > self.options.segment_bytes
    }

    /// Writes the group and returns its first sequence.
    fn serve(&self, tail: &mut Tail, group: &mut Group) -> Result<u64> {
        if tail.poisoned {
            return Err(Error::Poisoned);
        }
        let first = tail.next;
        if let Some(expected) = group.first().and_then(|group| group.request.after)
            && expected + 1 != first
        {
            return Err(Error::Moved { expected, last: first - 1 });
        }
        tail.poisoned = true;
        let outcome = self.try_serve(tail, group);
        tail.poisoned = !matches!(outcome, Ok(()) | Err(Error::Full));
        if tail.poisoned {
            *self.fault.lock() = outcome.as_ref().err().cloned();
        }
        outcome.map(|()| first)
    }

    fn try_serve(&self, tail: &mut Tail, group: &mut Group) -> Result<()> {
        let bytes: usize = group.iter().map(|group| group.request.batch.bytes.len()).sum();
        let sealing = group.iter().any(|group| group.request.durability == Durability::Sealed);
        let durable = group.iter().any(|group| group.request.durability == Durability::Durable);
        if let Some(active) = tail.active.as_mut()
            && !active.is_empty()
            && (sealing || (bytes > 0 && self.overflows(active.end(), bytes)))
        {
            active.seal(&self.disk)?;
            tail.active = None;
        }
        if tail.active.is_none() {
            // Compaction frees space: it must not fail because the disk is full.
            let free_min = if sealing { 0 } else { self.options.free_bytes_min };
            let active = Active::create(&self.disk, &self.options, free_min, tail.next)?;
            let segment = Arc::clone(active.segment());
            let mut segments = self.segments.write();
            let mut list = segments.to_vec();
            list.push(segment);
            *segments = Arc::new(list);
            tail.active = Some(active);
        }
        let active = tail.active.as_mut().expect("made just now where there was none");
        let batches = group.iter_mut().map(|group| &mut group.request.batch);
        let records =
            active.write(&self.disk, &self.options, batches, &mut tail.buffer, durable)?;
        tail.next += records;
        if durable {
            tail.reached.note(&self.disk, tail.next - 1);
        }
        Ok(())
    }

    /// Replaces the adjacent segments `old` by `new`.
    pub(crate) fn swap(&self, old: &[Arc<Segment>], new: Option<Segment>) {
        let mut segments = self.segments.write();
        let kept = |segment: &&Arc<Segment>| !old.iter().any(|gone| Arc::ptr_eq(gone, segment));
        let mut list: Vec<Arc<Segment>> = segments.iter().filter(kept).map(Arc::clone).collect();
        if let Some(new) = new {
            let at = list.partition_point(|item| item.place.base < new.place.base);
            list.insert(at, Arc::new(new));
        }
        *segments = Arc::new(list);
    }

    /// The segments whose files were removed or replaced by somebody else.
    pub(crate) fn gone(&self) -> Vec<Damage> {
        // Maintenance replaces files, too.
        let Some(_no_maintenance) = self.maintenance.try_lock() else { return Vec::new() };
        let list = self.list();
        let gone = list.iter().filter(|item| !self.disk.has(&item.file));
        gone.map(|gone| gone.missing()).collect()
    }

    /// Removes segments' files whose records nobody needs under that name any more.
    pub(crate) fn unlink(&self, gone: &[Arc<Segment>]) -> Result<()> {
        for segment in gone {
            self.disk.remove(&file_name(segment.place.base))?;
        }
        if gone.is_empty() { Ok(()) } else { self.disk.sync_folder() }
    }
}

/// The segment that covers `sequence`, otherwise the first one after it.
pub(crate) fn covering(segments: &[Arc<Segment>], sequence: u64) -> Option<&Arc<Segment>> {
    let at = segments.partition_point(|segment| segment.place.base <= sequence);
    let candidate = at.checked_sub(1).and_then(|difference| segments.get(difference));
    candidate.filter(|candidate| sequence < candidate.view.read().next).or_else(|| segments.get(at))
}
