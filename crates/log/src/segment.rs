//! One file of records: its end, the offsets of its records, and reading them.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::disk::{DiskFile, Window};
use crate::format::{FRAME_BYTES, FrameKind, HEADER_BYTES, Head, Place};
use crate::scan::{Behind, scan_file};
use crate::{Damage, DamageKind, Entry, EntryRef, Error, Result};

/// Distance in bytes between the entries of the sparse index: 16 bytes of memory for 1 KiB on disk.
/// A random read scans at most this much.
const INDEX_STEP_BYTES: u64 = 1 << 10;

/// Name of the file whose first sequence is `base`.
pub(crate) fn file_name(base: u64) -> String {
    format!("{base:020}.log")
}

/// The `base` of a segment's file name.
pub(crate) fn base_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    let all_digits = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// A segment. Readers hold it by `Arc`: its file stays readable after compaction has replaced or
/// removed it.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) place: Place,
    pub(crate) file: DiskFile,
    pub(crate) view: RwLock<View>,
    /// Held while the whole segment is checked.
    checking: Mutex<()>,
    /// The damage that reads and checks have found.
    damage: Mutex<Vec<Damage>>,
}

/// The readable part of a segment.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// Offset after the last readable record.
    pub(crate) end: u64,
    /// First sequence after the segment so far.
    pub(crate) next: u64,
    /// Sparse index: sequences and offsets, ascending.
    pub(crate) points: Vec<(u64, u64)>,
    /// Whether only header and end marker have been read; the index is empty then.
    pub(crate) is_unchecked: bool,
}

impl Segment {
    pub(crate) fn new(place: Place, file: DiskFile, view: View) -> Self {
        let (view, checking, damage) = (RwLock::new(view), Mutex::default(), Mutex::default());
        Self { place, file, view, checking, damage }
    }

    /// The damage that reads and checks have found so far.
    pub(crate) fn damage(&self) -> Vec<Damage> {
        self.damage.lock().clone()
    }

    /// The offset from which to search for `sequence`, after the whole segment has been checked
    /// once.
    fn offset_before(&self, sequence: u64) -> Result<u64> {
        if self.view.read().is_unchecked {
            self.ensure_checked()?;
        }
        Ok(self.view.read().offset_before(sequence))
    }

    /// Checks the whole segment, unless it has been checked.
    pub(crate) fn ensure_checked(&self) -> Result<()> {
        let _one_at_a_time = self.checking.lock();
        if self.view.read().is_unchecked { self.check() } else { Ok(()) }
    }

    /// Reads a whole sealed segment and builds its sparse index. A segment that is known to be
    /// damaged is not read again.
    fn check(&self) -> Result<()> {
        let known = self.damage();
        if !known.is_empty() {
            return Err(Error::Damaged(known));
        }
        let (end, next) = self.reach();
        let scan = scan_file(&self.file, self.place.base, Behind::Segment(next), |_, _| true)?;
        if !scan.damage.is_empty() {
            return Err(self.met(scan.damage));
        }
        if !scan.sealed || (scan.view.end, scan.view.next) != (end, next) {
            // Bytes that were valid at opening have changed.
            return Err(self.met(vec![Damage {
                segment: self.file.name.clone(),
                offset: scan.view.end,
                len_bytes: end.saturating_sub(scan.view.end),
                from: scan.view.next,
                to: next - 1,
                what: DamageKind::End,
            }]));
        }
        *self.view.write() = scan.view;
        Ok(())
    }

    /// The damage at an invalid frame that a reader found at `offset` on its way to `sequence`.
    /// Reads the whole segment to find the extent of the damage, unless it is known.
    fn damaged(&self, offset: u64, sequence: u64) -> Error {
        let _one_at_a_time = self.checking.lock();
        let (end, next) = self.reach();
        let last = next.saturating_sub(1);
        if !self.damage.lock().iter().any(|damage| damage.covers(offset)) {
            let behind = Behind::Nothing(last);
            let scan = scan_file(&self.file, self.place.base, behind, |_, _| true);
            let mut found = scan.map(|scan| scan.damage).unwrap_or_default();
            // Bytes being written at the end are not damage.
            found.retain(|found| found.offset < end);
            for it in &mut found {
                it.to = it.to.min(last);
            }
            if found.is_empty() {
                // The bytes cannot be read, or are valid again.
                let (segment, what) = (self.file.name.clone(), DamageKind::Record);
                let len_bytes = end.saturating_sub(offset);
                found.push(Damage { segment, offset, len_bytes, from: sequence, to: last, what });
            }
            self.met(found);
        }
        let known = self.damage();
        let around: Vec<_> = known.iter().filter(|known| known.covers(offset)).cloned().collect();
        // A damaged length leads a reader past the damage.
        Error::Damaged(if around.is_empty() { known } else { around })
    }

    /// The offset at which records continue after known damage at `offset` that does not affect
    /// `sequence`.
    fn behind_damage(&self, offset: u64, sequence: u64) -> Option<u64> {
        let known = self.damage.lock();
        let around = known.iter().find(|known| known.covers(offset) && known.to < sequence)?;
        Some(around.offset + around.len_bytes)
    }

    /// Stores the damage and returns it as an error.
    fn met(&self, found: Vec<Damage>) -> Error {
        let mut known = self.damage.lock();
        let new = found.iter().filter(|found| !known.contains(found)).cloned().collect::<Vec<_>>();
        known.extend(new);
        Error::Damaged(found)
    }

    /// That the file is not in its folder any more.
    pub(crate) fn missing(&self) -> Damage {
        let (len_bytes, next) = self.reach();
        Damage {
            segment: self.file.name.clone(),
            offset: 0,
            len_bytes,
            from: self.place.base,
            to: next - 1,
            what: DamageKind::Missing,
        }
    }

    /// The offset behind the last readable record, and the next sequence.
    fn reach(&self) -> (u64, u64) {
        let view = self.view.read();
        (view.end, view.next)
    }
}

impl View {
    pub(crate) fn new(base: u64) -> Self {
        Self { end: HEADER_BYTES, next: base, ..Self::default() }
    }

    /// Adds a record's offset to the index, if the last entry is far enough.
    pub(crate) fn note(&mut self, sequence: u64, offset: u64) {
        if self.points.last().is_none_or(|point| offset >= point.1 + INDEX_STEP_BYTES) {
            self.points.push((sequence, offset));
        }
    }

    /// The offset from which to search for `sequence`.
    fn offset_before(&self, sequence: u64) -> u64 {
        let at = self.points.partition_point(|point| point.0 <= sequence);
        if at == 0 { HEADER_BYTES } else { self.points[at - 1].1 }
    }
}

/// A reading position in a segment.
#[derive(Debug)]
pub(crate) struct Cursor {
    segment: Arc<Segment>,
    offset: u64,
    window: Window,
    covered: u64,
    /// The end of the readable part, as of the last check. It only grows.
    end: u64,
}

impl Cursor {
    /// A cursor at or before the first record from `sequence` on. It reads `step` bytes at once.
    pub(crate) fn new(segment: Arc<Segment>, sequence: u64, step: usize) -> Result<Self> {
        let offset = segment.offset_before(sequence)?;
        Ok(Self::at(segment, offset, step))
    }

    /// A cursor at the record at `offset`.
    pub(crate) fn at(segment: Arc<Segment>, offset: u64, step: usize) -> Self {
        Self { segment, offset, window: Window::new(step), covered: 0, end: 0 }
    }

    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// After [`Self::find`] found nothing: the first sequence that it did not search for.
    pub(crate) fn covered(&self) -> u64 {
        self.covered
    }

    /// The first entry after the cursor from `sequence` on.
    pub(crate) fn next_from(&mut self, sequence: u64) -> Result<Option<Entry>> {
        let head = self.find(sequence)?;
        Ok(head.map(|head| self.entry(&head).to_entry()))
    }

    /// Moves to the first record after the cursor from `sequence` on, and checks it.
    pub(crate) fn find(&mut self, sequence: u64) -> Result<Option<Head>> {
        let from = self.offset;
        let found = self.skip_to(sequence, false)?;
        let at = self.offset - found.as_ref().map_or(0, Head::frame_len);
        // A damaged length may have skipped the record.
        if at > from && found.as_ref().is_none_or(|found| found.sequence != sequence) {
            self.offset = from;
            return self.skip_to(sequence, true);
        }
        Ok(found)
    }

    /// Like [`Self::find`]; also checks the records on the way if `checks_all`.
    fn skip_to(&mut self, sequence: u64, checks_all: bool) -> Result<Option<Head>> {
        loop {
            if self.offset >= self.end {
                let view = self.segment.view.read();
                self.end = view.end;
                if self.offset >= view.end {
                    self.covered = view.next;
                    return Ok(None);
                }
            }
            let head = self.bytes(FRAME_BYTES)?.and_then(Head::parse);
            let is_wanted = head.as_ref().is_none_or(|head| head.sequence >= sequence);
            let checked = match head {
                Some(head) if is_wanted || checks_all => self.genuine(head)?,
                head => head,
            };
            let Some(head) = checked else {
                let error = self.segment.damaged(self.offset, sequence);
                let behind = self.segment.behind_damage(self.offset, sequence);
                self.offset = behind.ok_or(error)?;
                continue;
            };
            self.offset += head.frame_len();
            if is_wanted {
                return Ok(Some(head));
            }
        }
    }

    /// The head, if its record was written at this place.
    fn genuine(&mut self, head: Head) -> Result<Option<Head>> {
        let (place, offset) = (self.segment.place, self.offset);
        let is_genuine = self.bytes(head.frame_len())?.is_some_and(|frame| {
            matches!(head.frame, FrameKind::Record { .. }) && Head::is_genuine(frame, place, offset)
        });
        Ok(is_genuine.then_some(head))
    }

    /// The record that [`Self::find`] found last.
    pub(crate) fn entry(&self, head: &Head) -> EntryRef<'_> {
        let start = self.offset - head.frame_len() + FRAME_BYTES;
        let payload = self.window.held(start, head.payload_len as usize);
        EntryRef { sequence: head.sequence, kind: head.kind, version: head.version, payload }
    }

    fn bytes(&mut self, len: u64) -> Result<Option<&[u8]>> {
        let file = &self.segment.file;
        self.window
            .get(file.reading(), self.offset, len, self.end)
            .map_err(|error| Error::io("read", file.name.as_ref(), error))
    }
}
