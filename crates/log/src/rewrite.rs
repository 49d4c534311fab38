//! Writes a whole sealed segment to a new file and puts it in place.

use crate::disk::{Disk, DiskFile};
use crate::format::{
    Batch, Chain, FRAME_BYTES, HEADER_BYTES, Place, end_frame, header, parse_header,
};
use crate::segment::{Segment, View, file_name};
use crate::{Record, Result};

/// Bytes buffered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// A segment that is being written. Nothing refers to it before [`Self::finish`].
#[derive(Debug)]
pub(crate) struct Rewrite {
    file: DiskFile,
    chain: Chain,
    buffer: Vec<u8>,
    view: View,
}

impl Rewrite {
    pub(crate) fn new(disk: &Disk, base: u64, generation: u32) -> Result<Self> {
        let place = Place { base, generation };
        let header = header(place);
        let checksum = parse_header(&header).map_or(0, |header| header.1);
        let file = disk.create(&format!("{}.new", file_name(base)))?;
        let chain = Chain { place, offset: HEADER_BYTES, sequence: base, durable: 0, checksum };
        Ok(Self { file, chain, buffer: header.to_vec(), view: View::new(base) })
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.chain.offset
    }

    pub(crate) fn name(&self) -> &str {
        &self.file.name
    }

    /// Adds a record under its old sequence.
    pub(crate) fn add(&mut self, disk: &Disk, sequence: u64, record: &Record<'_>) -> Result<()> {
        let mut batch = Batch::new(&[*record]);
        self.chain.sequence = sequence;
        let view = &mut self.view;
        batch.settle(&mut self.chain, &mut |sequence, offset| view.note(sequence, offset));
        self.buffer.extend_from_slice(&batch.bytes);
        if self.buffer.len() >= BUFFER_BYTES { self.flush(disk) } else { Ok(()) }
    }

    /// Seals the segment, syncs it, and replaces the segment with the same base. `next` is the
    /// first sequence after it.
    pub(crate) fn finish(mut self, disk: &Disk, next: u64) -> Result<Segment> {
        self.chain.sequence = next;
        self.buffer.extend_from_slice(&end_frame(self.chain, true));
        self.view.end = self.chain.offset;
        self.view.next = next;
        self.chain.offset += FRAME_BYTES;
        self.flush(disk)?;
        disk.sync(&self.file)?;
        let name = file_name(self.chain.place.base);
        disk.rename(&mut self.file, &name)?;
        disk.sync_folder()?;
        Ok(Segment::new(self.chain.place, self.file, self.view))
    }

    fn flush(&mut self, disk: &Disk) -> Result<()> {
        let offset = self.chain.offset - self.buffer.len() as u64;
        disk.write(&self.file, offset, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
