//! Compaction and retention, which remove records from the log.

use std::sync::Arc;

use crate::format::{Batch, FRAME_BYTES, HEADER_BYTES, floor, padded};
use crate::recovery::FLOOR;
use crate::rewrite::Rewrite;
use crate::segment::{Cursor, Segment};
use crate::writer::{Append, Durability, Shared};
use crate::{Compacted, Entry, Keep, PAYLOAD_BYTES_MAX, Record, Result};

const STEP_BYTES: usize = 256 << 10;

/// Adjacent segments that are being merged.
struct Merge {
    rewrite: Rewrite,
    covers: Vec<Arc<Segment>>,
    changed: bool,
}

/// The contents of a segment after `keep` has decided.
struct Decided {
    entries: Vec<Entry>,
    bytes: u64,
    removed: u64,
    replaced: u64,
}

impl Shared {
    /// Rewrites all segments that contain records which `keep` rejects, and merges small ones.
    pub(crate) fn compact(&self, keep: &mut dyn FnMut(&Entry) -> Keep) -> Result<Compacted> {
        let _one_at_a_time = self.maintenance.lock();
        self.submit(Append::new(Batch::default(), Durability::Sealed))?;
        let before = self.list();
        let mut compacted = Compacted {
            segments_before: before.len(),
            bytes_before: bytes(&before),
            ..Compacted::default()
        };
        let mut open = None;
        let outcome = before[..before.len().saturating_sub(1)]
            .iter()
            .try_for_each(|before| self.compact_segment(before, keep, &mut open, &mut compacted))
            .and_then(|()| self.put_in_place(&mut open));
        if let Err(error) = outcome {
            if let Some(merge) = open {
                // Cleanup only: opening removes unfinished files.
                self.disk.remove(merge.rewrite.name()).unwrap_or_default();
            }
            return Err(error);
        }
        let after = self.list();
        compacted.segments_after = after.len();
        compacted.bytes_after = bytes(&after);
        Ok(compacted)
    }

    fn compact_segment(
        &self,
        segment: &Arc<Segment>,
        keep: &mut dyn FnMut(&Entry) -> Keep,
        open: &mut Option<Merge>,
        compacted: &mut Compacted,
    ) -> Result<()> {
        let decided = decide(segment, keep)?;
        let changed = decided.removed + decided.replaced > 0;
        let limit = self.options.segment_bytes;
        if open.as_ref().is_some_and(|open| open.rewrite.bytes() + decided.bytes > limit) {
            self.put_in_place(open)?;
        }
        if !changed && open.is_none() && decided.bytes > limit / 2 {
            return Ok(());
        }
        if open.is_none() {
            let place = segment.place;
            let rewrite = Rewrite::new(&self.disk, place.base, place.generation + 1)?;
            *open = Some(Merge { rewrite, covers: Vec::new(), changed: false });
        }
        let merge = open.as_mut().expect("made just now where there was none");
        for entry in &decided.entries {
            let record =
                Record { kind: entry.kind, version: entry.version, payload: &entry.payload };
            merge.rewrite.add(&self.disk, entry.sequence, &record)?;
        }
        merge.covers.push(Arc::clone(segment));
        merge.changed |= changed;
        compacted.removed += decided.removed;
        compacted.replaced += decided.replaced;
        Ok(())
    }

    /// Puts the merged segment in the place of its first one, then removes the others. If the
    /// folder is opened in between, opening detects that the first one contains them and removes
    /// them.
    fn put_in_place(&self, open: &mut Option<Merge>) -> Result<()> {
        let Some(merge) = open.take() else { return Ok(()) };
        if !merge.changed && merge.covers.len() == 1 {
            return self.disk.remove(merge.rewrite.name());
        }
        let next = merge.covers.last().map_or(0, |covered| covered.view.read().next);
        let segment = merge.rewrite.finish(&self.disk, next)?;
        self.swap(&merge.covers, Some(segment));
        self.unlink(merge.covers.get(1..).unwrap_or_default())
    }

    /// Drops leading sealed segments that end before `sequence`, and returns the first sequence
    /// that the log covers afterwards.
    pub(crate) fn truncate_before(&self, sequence: u64) -> Result<u64> {
        let _one_at_a_time = self.maintenance.lock();
        let list = self.list();
        let sealed = list.len().saturating_sub(1);
        let count =
            list[..sealed].iter().take_while(|item| item.view.read().next <= sequence).count();
        let first = list.get(count).map_or(1, |item| item.place.base);
        if count > 0 {
            self.disk.replace(FLOOR, &floor(first))?;
            self.swap(&list[..count], None);
            self.unlink(&list[..count])?;
        }
        Ok(first)
    }
}

fn decide(segment: &Arc<Segment>, keep: &mut dyn FnMut(&Entry) -> Keep) -> Result<Decided> {
    let mut decided =
        Decided { entries: Vec::new(), bytes: HEADER_BYTES + FRAME_BYTES, removed: 0, replaced: 0 };
    let mut cursor = Cursor::new(Arc::clone(segment), 0, STEP_BYTES)?;
    while let Some(mut entry) = cursor.next_from(0)? {
        match keep(&entry) {
            Keep::Yes => {}
            Keep::No => {
                decided.removed += 1;
                continue;
            }
            Keep::Replace(payload) => {
                crate::log::check_len(payload.len(), PAYLOAD_BYTES_MAX)?;
                decided.replaced += 1;
                entry.payload = payload;
            }
        }
        decided.bytes += FRAME_BYTES + padded(entry.payload.len() as u64);
        decided.entries.push(entry);
    }
    Ok(decided)
}

/// Bytes in use by headers and records.
pub(crate) fn bytes(segments: &[Arc<Segment>]) -> u64 {
    segments.iter().map(|segment| segment.view.read().end).sum()
}
