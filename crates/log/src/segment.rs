//! One file of records: where it ends, where its records are, and reading them.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::disk::{DiskFile, Window};
use crate::format::{FRAME_BYTES, FrameKind, HEADER_BYTES, Head, Place};
use crate::{Damage, DamageKind, Entry, Error, Result};

/// Every so many bytes the index remembers a record's offset: 16 bytes of memory for 4 KiB on disk,
/// and a random read scans at most so much.
const INDEX_STEP_BYTES: u64 = 4 << 10;

/// Name of the file whose first sequence is `base`.
pub(crate) fn file_name(base: u64) -> String {
    format!("{base:020}.log")
}

/// The `base` of a segment's file name.
pub(crate) fn base_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    let all_digits = digits.len() == 20 && digits.bytes().all(|it| it.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// A segment. Readers keep it by `Arc`: its file stays readable after compaction has replaced or
/// removed its name.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) place: Place,
    pub(crate) file: DiskFile,
    pub(crate) view: RwLock<View>,
}

/// What of a segment may be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// Offset behind the last readable record.
    pub(crate) end: u64,
    /// First sequence after the segment so far.
    pub(crate) next: u64,
    /// Sparse index: sequences and offsets, ascending.
    pub(crate) points: Vec<(u64, u64)>,
}

impl Segment {
    pub(crate) fn new(place: Place, file: DiskFile, view: View) -> Self {
        Self { place, file, view: RwLock::new(view) }
    }
}

impl View {
    pub(crate) fn new(base: u64) -> Self {
        Self { end: HEADER_BYTES, next: base, points: Vec::new() }
    }

    /// Remembers a record's place, if the last remembered one is far enough.
    pub(crate) fn note(&mut self, sequence: u64, offset: u64) {
        if self.points.last().is_none_or(|it| offset >= it.1 + INDEX_STEP_BYTES) {
            self.points.push((sequence, offset));
        }
    }

    /// From where to look for `sequence`.
    fn offset_before(&self, sequence: u64) -> u64 {
        let at = self.points.partition_point(|it| it.0 <= sequence);
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
}

impl Cursor {
    /// A cursor at or before the first record that is not below `sequence`. `step` bytes are read
    /// at once.
    pub(crate) fn new(segment: Arc<Segment>, sequence: u64, step: usize) -> Self {
        let offset = segment.view.read().offset_before(sequence);
        Self { segment, offset, window: Window::new(step), covered: 0 }
    }

    /// A cursor at the record at `offset`.
    pub(crate) fn at(segment: Arc<Segment>, offset: u64, step: usize) -> Self {
        Self { segment, offset, window: Window::new(step), covered: 0 }
    }

    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// After [`Self::next_from`] found nothing: the first sequence that it did not look for.
    pub(crate) fn covered(&self) -> u64 {
        self.covered
    }

    /// The first entry from here on that is not below `sequence`.
    pub(crate) fn next_from(&mut self, sequence: u64) -> Result<Option<Entry>> {
        loop {
            let view = self.segment.view.read();
            let (end, next) = (view.end, view.next);
            drop(view);
            if self.offset >= end {
                self.covered = next;
                return Ok(None);
            }
            let head = self.bytes(FRAME_BYTES, end)?;
            let Some(head) = head.and_then(Head::parse) else { return Err(self.damaged(sequence)) };
            let offset = self.offset;
            if head.sequence >= sequence {
                let place = self.segment.place;
                let genuine = self.bytes(head.frame_len(), end)?.is_some_and(|frame| {
                    matches!(head.frame, FrameKind::Record { .. })
                        && Head::is_genuine(frame, place, offset)
                });
                if !genuine {
                    return Err(self.damaged(sequence));
                }
                let frame = self.bytes(head.frame_len(), end)?.unwrap_or_default();
                let payload = &frame[FRAME_BYTES as usize..][..head.payload_len as usize];
                let entry = Entry {
                    sequence: head.sequence,
                    kind: head.kind,
                    version: head.version,
                    payload: payload.to_vec(),
                };
                self.offset += head.frame_len();
                return Ok(Some(entry));
            }
            self.offset += head.frame_len();
        }
    }

    fn bytes(&mut self, len: u64, end: u64) -> Result<Option<&[u8]>> {
        let file = &self.segment.file;
        self.window
            .get(file.reading(), self.offset, len, end)
            .map_err(|it| Error::io("read", file.name.as_ref(), it))
    }

    fn damaged(&self, from: u64) -> Error {
        let view = self.segment.view.read();
        Error::Damaged(vec![Damage {
            segment: self.segment.file.name.clone(),
            offset: self.offset,
            len_bytes: view.end.saturating_sub(self.offset),
            from,
            to: view.next.saturating_sub(1),
            what: DamageKind::Record,
        }])
    }
}
