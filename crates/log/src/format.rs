//! The bytes on disk: segment headers and frames. `docs/formats.md` describes them for readers.

use crate::Record;
use crate::reached::Note;

/// Length of a segment's header.
pub(crate) const HEADER_BYTES: u64 = 32;
/// Length of a frame's head.
pub(crate) const FRAME_BYTES: u64 = 32;
/// The format that this release writes, and the newest that it reads.
pub(crate) const FORMAT_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"WPLOGSEG";
const FLOOR_MAGIC: [u8; 8] = *b"WPLOGFLR";
const REACHED_MAGIC: [u8; 8] = *b"WPLOGRCH";
/// The format of the file `reached` that this release writes, and the newest that it reads.
pub(crate) const REACHED_VERSION: u32 = 1;
/// Length of one of its two slots.
pub(crate) const SLOT_BYTES: usize = 64;
/// Length of the file.
pub(crate) const REACHED_BYTES: usize = 2 * SLOT_BYTES;
const TAG_RECORD: u8 = b'R';
const TAG_END: u8 = b'E';
const FLAG_MORE: u8 = 1;
const FLAG_SEALED: u8 = 2;

/// The segment that a byte belongs to. Part of every checksum, so that a frame from another file,
/// or from an older version of this one, is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// First sequence that the segment covers.
    pub(crate) base: u64,
    /// Number of times that compaction has rewritten it.
    pub(crate) generation: u32,
}

/// Why the first bytes of a segment are not a valid header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadHeader {
    Damaged,
    Newer(u32),
}

/// Encodes a segment's header.
pub(crate) fn header(place: Place) -> [u8; HEADER_BYTES as usize] {
    let mut bytes = [0; HEADER_BYTES as usize];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    let preamble = crc32c::crc32c(&bytes[..12]);
    bytes[12..16].copy_from_slice(&preamble.to_le_bytes());
    bytes[16..24].copy_from_slice(&place.base.to_le_bytes());
    bytes[24..28].copy_from_slice(&place.generation.to_le_bytes());
    let all = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&all.to_le_bytes());
    bytes
}

/// Decodes a segment's header. Also returns the checksum that the first frame continues.
pub(crate) fn parse_header(bytes: &[u8]) -> Result<(Place, u32), BadHeader> {
    let version = preamble(bytes, MAGIC).ok_or(BadHeader::Damaged)?;
    if bytes.len() < HEADER_BYTES as usize {
        return Err(BadHeader::Damaged);
    }
    if version > FORMAT_VERSION {
        return Err(BadHeader::Newer(version));
    }
    let chain = u32_at(bytes, 28);
    if version == 0 || crc32c::crc32c(&bytes[..28]) != chain {
        return Err(BadHeader::Damaged);
    }
    Ok((Place { base: u64_at(bytes, 16), generation: u32_at(bytes, 24) }, chain))
}

/// Encodes the file that contains the first retained sequence.
pub(crate) fn floor(sequence: u64) -> Vec<u8> {
    let mut bytes = FLOOR_MAGIC.to_vec();
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

/// Decodes what [`floor`] wrote. A newer format has another length and starts like a segment.
pub(crate) fn parse_floor(bytes: &[u8]) -> Result<u64, BadHeader> {
    let is_floor = bytes.len() >= 20 && bytes[..8] == FLOOR_MAGIC;
    if is_floor && bytes.len() == 20 && crc32c::crc32c(&bytes[..16]) == u32_at(bytes, 16) {
        return Ok(u64_at(bytes, 8));
    }
    match preamble(bytes, FLOOR_MAGIC) {
        Some(version) if bytes.len() > 20 && version > 1 => Err(BadHeader::Newer(version)),
        _ => Err(BadHeader::Damaged),
    }
}

/// The version in the first 16 bytes of a file, which stay the same in all versions.
fn preamble(bytes: &[u8], magic: [u8; 8]) -> Option<u32> {
    let is_right = bytes.len() >= 16
        && bytes[..8] == magic
        && crc32c::crc32c(&bytes[..12]) == u32_at(bytes, 12);
    is_right.then(|| u32_at(bytes, 8))
}

/// Encodes a slot of the file `reached`.
pub(crate) fn slot(note: &Note) -> [u8; SLOT_BYTES] {
    let mut bytes = [0; SLOT_BYTES];
    bytes[..8].copy_from_slice(&REACHED_MAGIC);
    bytes[8..12].copy_from_slice(&REACHED_VERSION.to_le_bytes());
    let preamble = crc32c::crc32c(&bytes[..12]);
    bytes[12..16].copy_from_slice(&preamble.to_le_bytes());
    bytes[16..24].copy_from_slice(&note.counter.to_le_bytes());
    bytes[24..32].copy_from_slice(&note.sequence.to_le_bytes());
    bytes[32..48].copy_from_slice(&note.boot);
    bytes[48] = u8::from(note.is_closed);
    let all = crc32c::crc32c(&bytes[..52]);
    bytes[52..56].copy_from_slice(&all.to_le_bytes());
    bytes
}

/// Decodes what [`slot`] wrote.
pub(crate) fn parse_slot(bytes: &[u8]) -> Result<Note, BadHeader> {
    match preamble(bytes, REACHED_MAGIC) {
        Some(version) if version > REACHED_VERSION => return Err(BadHeader::Newer(version)),
        Some(REACHED_VERSION) => {}
        _ => return Err(BadHeader::Damaged),
    }
    if bytes.len() != SLOT_BYTES || crc32c::crc32c(&bytes[..52]) != u32_at(bytes, 52) {
        return Err(BadHeader::Damaged);
    }
    Ok(Note {
        counter: u64_at(bytes, 16),
        sequence: u64_at(bytes, 24),
        boot: *bytes[32..].first_chunk().expect("a slot is longer than that"),
        is_closed: bytes[48] == 1,
    })
}

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// A record; `more` if others of its batch follow.
    Record { more: bool },
    /// The end of the records; `sealed` if the segment is complete.
    End { sealed: bool },
}

/// A decoded frame head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) frame: FrameKind,
    pub(crate) kind: u8,
    pub(crate) version: u8,
    pub(crate) payload_len: u32,
    /// The sequence of a record; for an end frame, the first sequence after the segment so far.
    pub(crate) sequence: u64,
    /// Everything below this offset had been synced when the frame was written.
    pub(crate) durable: u64,
    /// The checksum of the previous frame.
    pub(crate) chain: u32,
    pub(crate) checksum: u32,
}

impl Head {
    /// Decodes a head without checking its checksum. `None` if the bytes cannot be a head.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..FRAME_BYTES as usize)?;
        let payload_len = u32_at(bytes, 4);
        let frame = match (bytes[0], bytes[3]) {
            (TAG_RECORD, flags @ (0 | FLAG_MORE)) => FrameKind::Record { more: flags != 0 },
            (TAG_END, flags @ (0 | FLAG_SEALED)) => FrameKind::End { sealed: flags != 0 },
            _ => return None,
        };
        let possible = match frame {
            FrameKind::Record { .. } => payload_len as usize <= crate::PAYLOAD_BYTES_MAX,
            FrameKind::End { .. } => payload_len == 0,
        };
        possible.then(|| Self {
            frame,
            kind: bytes[1],
            version: bytes[2],
            payload_len,
            sequence: u64_at(bytes, 8),
            durable: u64_at(bytes, 16),
            chain: u32_at(bytes, 24),
            checksum: u32_at(bytes, 28),
        })
    }

    /// Bytes of the whole frame on disk.
    pub(crate) fn frame_len(&self) -> u64 {
        FRAME_BYTES + padded(u64::from(self.payload_len))
    }

    /// Whether the bytes `frame` were written as a frame at `offset` of `place`.
    pub(crate) fn is_genuine(frame: &[u8], place: Place, offset: u64) -> bool {
        let (head, payload) = frame.split_at(FRAME_BYTES as usize);
        let payload_crc = crc32c::crc32c(payload);
        checksum(payload_crc, &head[..28], place, offset) == u32_at(head, 28)
    }
}

/// Payloads are padded with zeros to a multiple of this, so that a search for frames needs to check
/// only every eighth byte.
pub(crate) const ALIGNMENT: u64 = 8;

/// `len` with its padding.
pub(crate) fn padded(len: u64) -> u64 {
    len.next_multiple_of(ALIGNMENT)
}

/// Records encoded except for their positions: the part that the caller's thread does.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    frames: Vec<(usize, u32)>,
}

/// What the checksum of a frame needs from the previous frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) place: Place,
    pub(crate) offset: u64,
    pub(crate) sequence: u64,
    pub(crate) durable: u64,
    pub(crate) checksum: u32,
}

impl Batch {
    pub(crate) fn new(records: &[Record<'_>]) -> Self {
        let len = |record: &Record<'_>| FRAME_BYTES + padded(record.payload.len() as u64);
        let total: u64 = records.iter().map(len).sum();
        let mut bytes = Vec::with_capacity(total as usize);
        let mut frames = Vec::with_capacity(records.len());
        for (at, record) in records.iter().enumerate() {
            let start = bytes.len();
            let more = if at + 1 < records.len() { FLAG_MORE } else { 0 };
            bytes.extend([TAG_RECORD, record.kind, record.version, more]);
            bytes.extend((record.payload.len() as u32).to_le_bytes());
            bytes.extend([0; 24]);
            bytes.extend(record.payload);
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT as usize), 0);
            frames.push((start, crc32c::crc32c(&bytes[start + FRAME_BYTES as usize..])));
        }
        Self { bytes, frames }
    }

    pub(crate) fn records(&self) -> u64 {
        self.frames.len() as u64
    }

    /// Assigns the frames their positions; `each` is called with every record's sequence and
    /// offset.
    pub(crate) fn settle(&mut self, chain: &mut Chain, each: &mut dyn FnMut(u64, u64)) {
        for (index, &(start, payload_crc)) in self.frames.iter().enumerate() {
            let end = self.frames.get(index + 1).map_or(self.bytes.len(), |frame| frame.0);
            let head = &mut self.bytes[start..start + FRAME_BYTES as usize];
            finish_head(head, payload_crc, chain);
            each(chain.sequence, chain.offset);
            chain.offset += (end - start) as u64;
            chain.sequence += 1;
        }
    }
}

/// Encodes an end frame at `chain`.
pub(crate) fn end_frame(mut chain: Chain, sealed: bool) -> [u8; FRAME_BYTES as usize] {
    let mut bytes = [0; FRAME_BYTES as usize];
    bytes[0] = TAG_END;
    bytes[3] = if sealed { FLAG_SEALED } else { 0 };
    chain.durable = chain.offset;
    finish_head(&mut bytes, 0, &mut chain);
    bytes
}

fn finish_head(head: &mut [u8], payload_crc: u32, chain: &mut Chain) {
    head[8..16].copy_from_slice(&chain.sequence.to_le_bytes());
    head[16..24].copy_from_slice(&chain.durable.to_le_bytes());
    head[24..28].copy_from_slice(&chain.checksum.to_le_bytes());
    chain.checksum = checksum(payload_crc, &head[..28], chain.place, chain.offset);
    head[28..32].copy_from_slice(&chain.checksum.to_le_bytes());
}

/// CRC-32C over payload, head and position: the payload first, because the callers' threads compute
/// that part before the position is known.
fn checksum(payload_crc: u32, head: &[u8], place: Place, offset: u64) -> u32 {
    let mut place_bytes = [0; 20];
    place_bytes[..8].copy_from_slice(&place.base.to_le_bytes());
    place_bytes[8..12].copy_from_slice(&place.generation.to_le_bytes());
    place_bytes[12..].copy_from_slice(&offset.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c_append(payload_crc, head), &place_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let chunk = bytes[at..].first_chunk().expect("callers pass a whole header");
    u32::from_le_bytes(*chunk)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let chunk = bytes[at..].first_chunk().expect("callers pass a whole header");
    u64::from_le_bytes(*chunk)
}
