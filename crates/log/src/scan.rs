//! Reads a whole segment and checks every byte.
//!
//! A frame contains the offset below which everything had been synced when it was written. So an
//! invalid frame is damage if a valid frame after it shows that it had been synced; otherwise it is
//! the torn end of a write that was never acknowledged. After every sync an end frame is written
//! after the last records, which the next record overwrites.

use std::io;
use std::ops::Range;
use std::path::Path;

use crate::disk::{DiskFile, Window};
use crate::format::{
    ALIGNMENT, BadHeader, FRAME_BYTES, FrameKind, HEADER_BYTES, Head, Place, parse_header,
};
use crate::segment::{View, base_of};
use crate::{Damage, DamageKind, Error, Result};

const STEP_BYTES: usize = 256 << 10;
/// How many generations a salvage tries for a segment whose header is damaged.
const GENERATIONS_TRIED: u32 = 64;

/// The contents of a segment's file.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) view: View,
    pub(crate) sealed: bool,
    pub(crate) records: u64,
    /// The checksum that the next frame continues.
    pub(crate) chain: u32,
    /// Bytes at the end that are not part of an acknowledged record and must be zeroed.
    pub(crate) torn: Range<u64>,
    /// Length of the file.
    pub(crate) len: u64,
    /// Whether the first sequence after it was found and not only estimated.
    pub(crate) is_end_known: bool,
    /// The first record that the caller cannot read.
    pub(crate) unreadable: Option<Head>,
    pub(crate) damage: Vec<Damage>,
}

/// What is known to follow a segment.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Behind {
    /// A segment with this first sequence.
    Segment(u64),
    /// Nothing; this sequence had been reached.
    Nothing(u64),
}

/// Whether the caller can read records of a kind and a version.
pub(crate) type CanRead = fn(u8, u8) -> bool;

/// Reads the file `name`.
pub(crate) fn scan(folder: &Path, name: &str, behind: Behind, can_read: CanRead) -> Result<Scan> {
    let file = DiskFile::open(folder, name)?;
    scan_file(&file, base_of(name).unwrap_or_default(), behind, can_read)
}

/// Reads only the header and the end marker of the file `name`. `None` if they are not those of a
/// sealed segment, or are invalid: then it needs a scan.
pub(crate) fn glance(folder: &Path, name: &str) -> Result<Option<Scan>> {
    let file = DiskFile::open(folder, name)?;
    let io = |it| Error::io("read", name.as_ref(), it);
    let len = file.len().map_err(io)?;
    let mut window = Window::new(FRAME_BYTES as usize);
    let header = window.get(file.reading(), 0, HEADER_BYTES, len).map_err(io)?;
    let Some(Ok((place, _))) = header.map(parse_header) else { return Ok(None) };
    let Some(end) = len.checked_sub(FRAME_BYTES).filter(|difference| *difference >= HEADER_BYTES)
    else {
        return Ok(None);
    };
    let frame = window.get(file.reading(), end, FRAME_BYTES, len).map_err(io)?.unwrap_or_default();
    let Some(head) = Head::parse(frame).filter(|_| Head::is_genuine(frame, place, end)) else {
        return Ok(None);
    };
    let is_whole = matches!(head.frame, FrameKind::End { sealed: true })
        && base_of(name) == Some(place.base)
        && head.sequence >= place.base;
    let view = View { end, next: head.sequence, is_unchecked: true, ..View::default() };
    let (sealed, chain) = (true, head.checksum);
    Ok(is_whole.then(|| Scan { sealed, chain, ..Scan::new(name, place, view, len) }))
}

impl Scan {
    /// A segment of which nothing but its length is known.
    fn new(name: &str, place: Place, view: View, len: u64) -> Self {
        Self {
            name: name.to_owned(),
            place,
            view,
            sealed: false,
            records: 0,
            chain: 0,
            torn: len..len,
            len,
            is_end_known: true,
            unreadable: None,
            damage: Vec::new(),
        }
    }
}

/// Reads a file of the segment `base`.
pub(crate) fn scan_file(
    file: &DiskFile,
    base: u64,
    behind: Behind,
    can_read: CanRead,
) -> Result<Scan> {
    let name = file.name.as_str();
    let io = |it| Error::io("read", name.as_ref(), it);
    let len = file.len().map_err(io)?;
    let mut window = Window::new(STEP_BYTES);
    let header = window.get(file.reading(), 0, HEADER_BYTES, len).map_err(io)?.unwrap_or_default();
    let parsed = match parse_header(header) {
        Ok((place, _)) if place.base != base => Err(BadHeader::Damaged),
        other => other,
    };
    let raw_generation = header.get(24..28).and_then(|header| header.first_chunk()).copied();
    let mut scanner = Scanner {
        file,
        window,
        len,
        behind,
        can_read,
        witness: None,
        scan: Scan::new(name, Place { base, generation: 0 }, View::new(base), len),
    };
    match parsed {
        Ok((place, chain)) => {
            scanner.scan.place = place;
            scanner.scan.chain = chain;
            scanner.run(HEADER_BYTES).map_err(io)?;
        }
        Err(BadHeader::Newer(version)) => {
            let supported = crate::format::FORMAT_VERSION;
            return Err(Error::Newer { segment: name.to_owned(), version, supported });
        }
        Err(BadHeader::Damaged) => {
            scanner.headless(raw_generation.map(u32::from_le_bytes)).map_err(io)?;
        }
    }
    Ok(scanner.scan)
}

struct Scanner<'a> {
    file: &'a DiskFile,
    window: Window,
    len: u64,
    behind: Behind,
    can_read: CanRead,
    /// The highest synced offset that any frame after the first invalid one contains.
    witness: Option<u64>,
    scan: Scan,
}

impl Scanner<'_> {
    /// Reads frames from `offset` to the end.
    fn run(&mut self, mut offset: u64) -> io::Result<()> {
        // A batch is complete when its last record has been read.
        let mut batch: Vec<(u64, u64)> = Vec::new();
        let mut chain = Some(self.scan.chain);
        loop {
            let expected = self.expected(&batch);
            if let Some(head) =
                self.genuine(offset)?.filter(|genuine| self.fits(genuine, expected, chain))
            {
                if let FrameKind::Record { more } = head.frame {
                    if !(self.can_read)(head.kind, head.version) {
                        self.scan.unreadable.get_or_insert(head);
                    }
                    batch.push((head.sequence, offset));
                    chain = Some(head.checksum);
                    offset += head.frame_len();
                    if !more {
                        self.commit(&mut batch, offset, head.checksum);
                    }
                    continue;
                }
                if batch.is_empty() && self.ends_at(offset, &head)? {
                    return Ok(());
                }
            }
            if self.is_torn_from(offset, expected)? {
                let start = self.scan.view.end;
                self.scan.torn = start..self.dirty_end(start)?;
                return Ok(());
            }
            // Damage: the valid records of the incomplete batch stay; the search continues after
            // it.
            self.commit(&mut batch, offset, chain.unwrap_or_default());
            let Some((at, found)) = self.sweep(offset + ALIGNMENT)? else {
                let dirty = self.dirty_end(offset)?;
                let what = match self.behind {
                    _ if dirty > offset => DamageKind::Record,
                    Behind::Segment(_) => DamageKind::End,
                    Behind::Nothing(_) => DamageKind::Short,
                };
                self.scan.is_end_known = matches!(self.behind, Behind::Segment(_));
                self.hole(offset, dirty, expected, self.last_lost(expected), what);
                return Ok(());
            };
            self.hole(offset, at, expected, found.sequence.saturating_sub(1), DamageKind::Record);
            offset = at;
            chain = None;
        }
    }

    /// Accepts the end frame at `offset` as the end, unless something after it contradicts that.
    fn ends_at(&mut self, offset: u64, head: &Head) -> io::Result<bool> {
        let sealed = matches!(head.frame, FrameKind::End { sealed: true });
        let after = offset + FRAME_BYTES;
        if !sealed {
            let dirty = self.dirty_end(after)?;
            let is_followed = matches!(self.behind, Behind::Segment(_));
            if is_followed || (dirty > after && self.witness(after)? > offset) {
                return Ok(false);
            }
            self.scan.torn = after..dirty;
        }
        self.scan.sealed = sealed;
        self.scan.view.next = head.sequence;
        Ok(true)
    }

    /// Reads the valid records of a segment without a valid header.
    fn headless(&mut self, raw_generation: Option<u32>) -> io::Result<()> {
        let base = self.scan.place.base;
        let found = raw_generation.into_iter().chain(0..GENERATIONS_TRIED).find_map(|generation| {
            self.scan.place.generation = generation;
            self.sweep(HEADER_BYTES).transpose()
        });
        let Some((at, head)) = found.transpose()? else {
            self.scan.is_end_known = matches!(self.behind, Behind::Segment(_));
            self.hole(0, self.len, base, self.last_lost(base), DamageKind::Header);
            return Ok(());
        };
        self.hole(0, at, base, head.sequence.saturating_sub(1), DamageKind::Header);
        self.scan.chain = head.chain;
        // Everything that follows was written after the header was synced.
        self.witness = Some(u64::MAX);
        self.run(at)
    }

    fn expected(&self, batch: &[(u64, u64)]) -> u64 {
        batch.last().map_or(self.scan.view.next, |batch| batch.0 + 1)
    }

    /// Whether a valid frame is the one that must follow the frames so far.
    fn fits(&self, head: &Head, expected: u64, chain: Option<u32>) -> bool {
        let rewritten = self.scan.place.generation > 0;
        let sparse = rewritten || chain.is_none();
        let in_order = head.sequence == expected || (sparse && head.sequence > expected);

        in_order && chain.is_none_or(|chain| chain == head.chain)
    }

    fn commit(&mut self, batch: &mut Vec<(u64, u64)>, end: u64, chain: u32) {
        for (sequence, offset) in batch.drain(..) {
            self.scan.view.note(sequence, offset);
            self.scan.view.next = sequence + 1;
            self.scan.records += 1;
            self.scan.view.end = end;
            self.scan.chain = chain;
        }
    }

    fn hole(&mut self, offset: u64, end: u64, from: u64, to: u64, what: DamageKind) {
        let segment = self.scan.name.clone();
        let len_bytes = end.saturating_sub(offset);
        self.scan.damage.push(Damage { segment, offset, len_bytes, from, to, what });
        if to != u64::MAX && to >= from {
            self.scan.view.next = to + 1;
        }
    }

    /// The last of the lost sequences from `expected` on; the highest possible one if unknown.
    fn last_lost(&self, expected: u64) -> u64 {
        match self.behind {
            Behind::Segment(base) => base - 1,
            Behind::Nothing(reached) if reached >= expected => reached,
            Behind::Nothing(_) => u64::MAX,
        }
    }

    /// Whether nothing on disk shows that the invalid frame at `offset`, where `expected` must be,
    /// had been synced.
    fn is_torn_from(&mut self, offset: u64, expected: u64) -> io::Result<bool> {
        match self.behind {
            Behind::Nothing(reached) if reached < expected => Ok(self.witness(offset)? <= offset),
            _ => Ok(false),
        }
    }

    fn witness(&mut self, offset: u64) -> io::Result<u64> {
        if let Some(known) = self.witness {
            return Ok(known);
        }
        let mut highest = 0;
        let mut at = offset;
        while let Some((found, head)) = self.sweep(at)? {
            highest = highest.max(head.durable);
            at = found + head.frame_len();
        }
        self.witness = Some(highest);
        Ok(highest)
    }

    /// The first valid frame from `offset` on.
    fn sweep(&mut self, offset: u64) -> io::Result<Option<(u64, Head)>> {
        let mut at = offset.next_multiple_of(ALIGNMENT);
        while at + FRAME_BYTES <= self.len {
            if let Some(head) = self.genuine(at)? {
                return Ok(Some((at, head)));
            }
            at += ALIGNMENT;
        }
        Ok(None)
    }

    /// The frame at `offset`, if it was written there. An impossible sequence is rejected without
    /// reading the payload, which keeps searches fast.
    fn genuine(&mut self, offset: u64) -> io::Result<Option<Head>> {
        let file = self.file.reading();
        let head = self.window.get(file, offset, FRAME_BYTES, self.len)?.and_then(Head::parse);
        let base = self.scan.place.base;
        let reachable = |head: &Head| {
            head.durable <= offset
                && head.sequence >= base
                && (self.scan.place.generation > 0 || head.sequence - base <= offset / FRAME_BYTES)
        };
        let Some(head) = head.filter(reachable) else { return Ok(None) };
        let place = self.scan.place;
        let frame = self.window.get(file, offset, head.frame_len(), self.len)?;
        Ok(frame.filter(|frame| Head::is_genuine(frame, place, offset)).map(|_| head))
    }

    /// Offset after the last byte that is not zero, or `offset`.
    fn dirty_end(&mut self, offset: u64) -> io::Result<u64> {
        let mut at = offset;
        let mut dirty = offset;
        while at < self.len {
            let step = (self.len - at).min(STEP_BYTES as u64);
            let bytes = self.window.get(self.file.reading(), at, step, self.len)?;
            let content = end_of_content(bytes.unwrap_or_default());
            if content > 0 {
                dirty = at + content as u64;
            }
            at += step;
        }
        Ok(dirty)
    }
}

/// Offset after the last byte that is not zero. Preallocated space is long, so whole blocks are
/// compared.
fn end_of_content(bytes: &[u8]) -> usize {
    const BLOCK: usize = 256;
    let (head, blocks) = bytes.as_rchunks::<BLOCK>();
    let last = blocks.iter().rposition(|block| *block != [0; BLOCK]);
    let until = last.map_or(head.len(), |last| head.len() + (last + 1) * BLOCK);
    bytes[..until].iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1)
}
