//! Appending: the waiting writers' queue, and the leader that writes and syncs for all of them.
//!
//! A writer encodes its batch by itself and queues it. The first in an empty queue leads: it takes
//! what waits, writes it with one call, syncs once, and answers everybody. Then the next waiting
//! writer leads. No thread of the log's own is needed.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::thread::Thread;

use parking_lot::{Mutex, RwLock};

use crate::active::Active;
use crate::disk::Disk;
use crate::format::{Batch, Chain, HEADER_BYTES};
use crate::reached::Reached;
use crate::segment::{Segment, file_name};
use crate::{Error, Options, Result};

/// Bytes that one leader writes at once, at most, unless one batch is larger.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// All segments, in order; the last one may be active.
pub(crate) type Segments = Arc<Vec<Arc<Segment>>>;

/// The log as its handles, readers and writers share it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) disk: Disk,
    pub(crate) options: Options,
    pub(crate) segments: RwLock<Segments>,
    /// Held by whoever rewrites or removes sealed segments.
    pub(crate) maintenance: Mutex<()>,
    queue: Mutex<Queue>,
    tail: Mutex<Tail>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Request>,
    leading: bool,
}

/// What only the leader touches.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) active: Option<Active>,
    pub(crate) next: u64,
    /// Also while a group is being written: a leader that panics leaves it set.
    pub(crate) poisoned: bool,
    pub(crate) buffer: Vec<u8>,
    pub(crate) reached: Reached,
}

/// What an append wants beyond being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// On disk before the answer.
    Durable,
    /// On disk some time.
    Written,
    /// The active segment sealed, and a new one begun.
    Sealed,
}

/// What a waiting writer wants. It is answered whatever happens, also when its leader panics.
#[derive(Debug)]
struct Request {
    batch: Batch,
    wish: Wish,
    slot: Arc<Slot>,
    is_answered: bool,
}

impl Request {
    fn answer(mut self, outcome: Result<Range<u64>>) {
        self.is_answered = true;
        self.slot.give(Turn::Done(outcome));
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.is_answered {
            self.slot.give(Turn::Done(Err(Error::Poisoned)));
        }
    }
}

/// Hands the lead on, also when the leader panics.
struct Lead<'a>(&'a Shared);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        match queue.waiting.front() {
            Some(next) => next.slot.give(Turn::Lead),
            None => queue.leading = false,
        }
    }
}

/// Where a waiting writer finds its answer.
#[derive(Debug)]
struct Slot {
    turn: Mutex<Turn>,
    thread: Thread,
}

#[derive(Debug)]
enum Turn {
    Wait,
    Lead,
    Done(Result<Range<u64>>),
}

impl Slot {
    fn give(&self, turn: Turn) {
        *self.turn.lock() = turn;
        self.thread.unpark();
    }

    fn wait(&self) -> Turn {
        loop {
            let turn = std::mem::replace(&mut *self.turn.lock(), Turn::Wait);
            if !matches!(turn, Turn::Wait) {
                return turn;
            }
            std::thread::park();
        }
    }
}

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
            queue: Mutex::new(Queue::default()),
            tail: Mutex::new(tail),
        }
    }

    pub(crate) fn list(&self) -> Segments {
        Arc::clone(&self.segments.read())
    }

    /// The segments, and where the one that is being appended to ends, as of one moment.
    pub(crate) fn freeze(&self) -> (Segments, Option<Chain>) {
        let tail = self.tail.lock();
        (self.list(), tail.active.as_ref().map(Active::chain))
    }

    /// Puts a batch through the queue and returns its sequences.
    pub(crate) fn submit(&self, batch: Batch, wish: Wish) -> Result<Range<u64>> {
        let slot = Arc::new(Slot { turn: Mutex::new(Turn::Wait), thread: std::thread::current() });
        let leads = {
            let mut queue = self.queue.lock();
            let slot = Arc::clone(&slot);
            queue.waiting.push_back(Request { batch, wish, slot, is_answered: false });
            !std::mem::replace(&mut queue.leading, true)
        };
        if !leads && let Turn::Done(outcome) = slot.wait() {
            return outcome;
        }
        self.lead();
        match slot.wait() {
            Turn::Done(outcome) => outcome,
            // The leader's own request is the queue's first, so it has been answered.
            Turn::Wait | Turn::Lead => Err(Error::Poisoned),
        }
    }

    /// Serves the front of the queue and hands the lead on.
    fn lead(&self) {
        // Dropped last: who is given the lead finds its own request still waiting.
        let _lead = Lead(self);
        let mut tail = self.tail.lock();
        let mut group = self.take_group(&tail);
        let outcome = self.serve(&mut tail, &mut group);
        drop(tail);
        let mut start = outcome.as_ref().copied().unwrap_or_default();
        for request in group {
            let end = start + request.batch.records();
            request.answer(match &outcome {
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

    /// Notes how far the log has reached. Nothing is appended any more.
    pub(crate) fn close(&self) {
        let mut tail = self.tail.lock();
        if !tail.poisoned {
            tail.reached.close(&self.disk);
        }
    }

    /// What can be written together: the first request, and those behind it that fit beside it.
    fn take_group(&self, tail: &Tail) -> Vec<Request> {
        let mut queue = self.queue.lock();
        let mut group: Vec<Request> = queue.waiting.pop_front().into_iter().collect();
        let Some(first) = group.first().filter(|it| it.wish != Wish::Sealed) else { return group };
        let mut bytes = first.batch.bytes.len();
        let end = tail.active.as_ref().map_or(HEADER_BYTES, Active::end);
        let room = if self.overflows(end, bytes) { HEADER_BYTES } else { end };
        while let Some(next) = queue.waiting.front() {
            bytes += next.batch.bytes.len();
            let fits = bytes <= GROUP_BYTES_MAX && !self.overflows(room, bytes);
            if !fits || next.wish == Wish::Sealed {
                break;
            }
            group.extend(queue.waiting.pop_front());
        }
        group
    }

    fn overflows(&self, end: u64, bytes: usize) -> bool {
        end + bytes as u64 > self.options.segment_bytes
    }

    /// Does what the group asks for, and returns its first sequence.
    fn serve(&self, tail: &mut Tail, group: &mut [Request]) -> Result<u64> {
        if tail.poisoned {
            return Err(Error::Poisoned);
        }
        let first = tail.next;
        tail.poisoned = true;
        let outcome = self.try_serve(tail, group);
        tail.poisoned = !matches!(outcome, Ok(()) | Err(Error::Full));
        outcome.map(|()| first)
    }

    fn try_serve(&self, tail: &mut Tail, group: &mut [Request]) -> Result<()> {
        let bytes: usize = group.iter().map(|it| it.batch.bytes.len()).sum();
        let sealing = group.iter().any(|it| it.wish == Wish::Sealed);
        let durable = group.iter().any(|it| it.wish == Wish::Durable);
        if let Some(active) = tail.active.as_mut()
            && !active.is_empty()
            && (sealing || (bytes > 0 && self.overflows(active.end(), bytes)))
        {
            active.seal(&self.disk)?;
            tail.active = None;
        }
        if tail.active.is_none() {
            // Compaction is how room is made: it must not be refused for want of room.
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
        let batches = group.iter_mut().map(|it| &mut it.batch);
        let records =
            active.write(&self.disk, &self.options, batches, &mut tail.buffer, durable)?;
        tail.next += records;
        if durable {
            tail.reached.note(&self.disk, tail.next - 1);
        }
        Ok(())
    }

    /// The segment that covers `sequence`, or else the first one behind it.
    pub(crate) fn covering(&self, sequence: u64) -> Option<Arc<Segment>> {
        let segments = self.segments.read();
        let at = segments.partition_point(|it| it.place.base <= sequence);
        let candidate = at.checked_sub(1).and_then(|it| segments.get(it));
        candidate
            .filter(|it| sequence < it.view.read().next)
            .or_else(|| segments.get(at))
            .map(Arc::clone)
    }

    /// Replaces `old`, which are neighbours, by `new`.
    pub(crate) fn swap(&self, old: &[Arc<Segment>], new: Option<Segment>) {
        let mut segments = self.segments.write();
        let kept = |it: &&Arc<Segment>| !old.iter().any(|gone| Arc::ptr_eq(gone, it));
        let mut list: Vec<Arc<Segment>> = segments.iter().filter(kept).map(Arc::clone).collect();
        if let Some(new) = new {
            let at = list.partition_point(|it| it.place.base < new.place.base);
            list.insert(at, Arc::new(new));
        }
        *segments = Arc::new(list);
    }

    /// Removes segments' files whose records nobody needs under that name any more.
    pub(crate) fn unlink(&self, gone: &[Arc<Segment>]) -> Result<()> {
        for segment in gone {
            self.disk.remove(&file_name(segment.place.base))?;
        }
        if gone.is_empty() { Ok(()) } else { self.disk.sync_folder() }
    }
}
