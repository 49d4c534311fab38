//! The segment that is being appended to.

use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::format::{
    Batch, Chain, FRAME_BYTES, HEADER_BYTES, Place, end_frame, header, parse_header,
};
use crate::scan::Scan;
use crate::segment::{Segment, View, file_name};
use crate::{Error, Options, Result};

/// Granularity of file growth when the disk is almost full.
const BLOCK_BYTES: u64 = 4096;

/// The end of the log. It advances only after a whole group has been written and, if requested,
/// synced; until then the next group is written to the same place.
#[derive(Debug)]
pub(crate) struct Active {
    segment: Arc<Segment>,
    chain: Chain,
    /// Length of the file, which contains zeros after the records.
    capacity: u64,
    /// Whether bytes were written since the last sync.
    unsynced: bool,
}

impl Active {
    /// Starts a segment with `base` as its first sequence. `free_min` bytes must remain free.
    pub(crate) fn create(disk: &Disk, options: &Options, free_min: u64, base: u64) -> Result<Self> {
        let name = file_name(base);
        let temporary = format!("{name}.new");
        let wanted = options.preallocate_bytes.min(options.segment_bytes).max(BLOCK_BYTES);
        let wanted = affordable(disk, free_min, BLOCK_BYTES, wanted)?;
        let mut created = Self::prepare(disk, &temporary, base, wanted);
        if matches!(created, Err(Error::Full)) && wanted > BLOCK_BYTES {
            created = Self::prepare(disk, &temporary, base, BLOCK_BYTES);
        }
        let (mut file, chain, capacity) = match created {
            Ok(it) => it,
            Err(error) => {
                // Cleanup only: otherwise the next attempt or the next opening removes it.
                disk.remove(&temporary).unwrap_or_default();
                return Err(error);
            }
        };
        disk.rename(&mut file, &name)?;
        disk.sync_folder()?;
        let segment = Arc::new(Segment::new(chain.place, file, View::new(base)));
        Ok(Self { segment, chain, capacity, unsynced: false })
    }

    fn prepare(disk: &Disk, name: &str, base: u64, len: u64) -> Result<(DiskFile, Chain, u64)> {
        let place = Place { base, generation: 0 };
        let header = header(place);
        let checksum = parse_header(&header).map_or(0, |header| header.1);
        let offset = HEADER_BYTES;
        let chain = Chain { place, offset, sequence: base, durable: offset, checksum };
        let file = disk.create(name)?;
        let start = [&header[..], &end_frame(chain, false)].concat();
        disk.write(&file, 0, &start)?;
        disk.write_zeros(&file, start.len() as u64, len - start.len() as u64)?;
        disk.sync(&file)?;
        Ok((file, chain, len))
    }

    /// Continues the last segment of an opened log.
    pub(crate) fn resume(disk: &Disk, scan: Scan) -> Result<Self> {
        let file = disk.open_for_writing(&scan.name)?;
        let capacity =
            file.len().map_err(|error| Error::io("measure", scan.name.as_ref(), error))?;
        let chain = Chain {
            place: scan.place,
            offset: scan.view.end,
            sequence: scan.view.next,
            durable: scan.view.end,
            checksum: scan.chain,
        };
        let segment = Arc::new(Segment::new(scan.place, file, scan.view));
        let mut active = Self { segment, chain, capacity, unsynced: false };
        active.mark(disk).or_else(|error| match error {
            // A log on a full disk can still be read and compacted.
            Error::Full => Ok(()),
            other => Err(other),
        })?;
        Ok(active)
    }

    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    pub(crate) fn chain(&self) -> Chain {
        self.chain
    }

    pub(crate) fn end(&self) -> u64 {
        self.chain.offset
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chain.offset == HEADER_BYTES
    }

    /// Writes the batches one after another, syncs if `durable`, makes them readable, and returns
    /// the number of records. [`Error::Full`] leaves everything as before.
    pub(crate) fn write<'a>(
        &mut self,
        disk: &Disk,
        options: &Options,
        batches: impl Iterator<Item = &'a mut Batch>,
        buffer: &mut Vec<u8>,
        durable: bool,
    ) -> Result<u64> {
        buffer.clear();
        let mut chain = self.chain;
        let mut places = Vec::new();
        for batch in batches {
            batch.settle(&mut chain, &mut |sequence, offset| places.push((sequence, offset)));
            buffer.extend_from_slice(&batch.bytes);
        }
        if !buffer.is_empty() {
            self.reserve(disk, options, chain.offset + FRAME_BYTES)?;
            if let Err(error) = disk.write(&self.segment.file, self.chain.offset, buffer) {
                return Err(self.roll_back(disk, buffer.len() as u64, error));
            }
            self.unsynced = true;
        }
        if durable && self.unsynced {
            disk.sync(&self.segment.file).map_err(|error| match error {
                // The kernel may have dropped the pages, so writing cannot continue.
                Error::Full => Error::Poisoned,
                other => other,
            })?;
            self.unsynced = false;
            chain.durable = chain.offset;
        }
        self.chain = chain;
        let mut view = self.segment.view.write();
        for &(sequence, offset) in &places {
            view.note(sequence, offset);
        }
        view.end = chain.offset;
        view.next = chain.sequence;
        drop(view);
        if durable {
            // The records are on disk even if the end frame after them cannot be written.
            self.mark(disk).unwrap_or_default();
        }
        Ok(places.len() as u64)
    }

    /// Seals the segment and releases the space that it does not need.
    pub(crate) fn seal(&mut self, disk: &Disk) -> Result<()> {
        let poisoned = |error| if matches!(error, Error::Full) { Error::Poisoned } else { error };
        let file = &self.segment.file;
        if self.unsynced {
            disk.sync(file).map_err(poisoned)?;
            self.unsynced = false;
        }
        self.reserve_mark(disk)?;
        let file = &self.segment.file;
        // If the disk is full, the next record overwrites the part that was written.
        disk.write(file, self.chain.offset, &end_frame(self.chain, true))?;
        disk.set_len(file, self.chain.offset + FRAME_BYTES).map_err(poisoned)?;
        disk.sync(file).map_err(poisoned)
    }

    /// Writes the end frame, which shows that everything before it was synced. It needs no sync of
    /// its own: the next group overwrites it and shows the same.
    fn mark(&mut self, disk: &Disk) -> Result<()> {
        self.reserve_mark(disk)?;
        let frame = end_frame(self.chain, false);
        disk.write(&self.segment.file, self.chain.offset, &frame)
    }

    fn reserve_mark(&mut self, disk: &Disk) -> Result<()> {
        let needed = self.chain.offset + FRAME_BYTES;
        if needed > self.capacity {
            disk.write_zeros(&self.segment.file, self.capacity, needed - self.capacity)?;
            self.capacity = needed;
        }
        Ok(())
    }

    /// Extends the file with zeros to at least `needed` bytes.
    fn reserve(&mut self, disk: &Disk, options: &Options, needed: u64) -> Result<()> {
        if needed <= self.capacity {
            return Ok(());
        }
        let least = needed.next_multiple_of(BLOCK_BYTES);
        let wanted = (self.capacity + options.preallocate_bytes).min(options.segment_bytes);
        let (least, wanted) = (least - self.capacity, wanted.max(least) - self.capacity);
        let wanted = affordable(disk, options.free_bytes_min, least, wanted)?;
        let file = &self.segment.file;
        let mut outcome = Ok(());
        for more in [wanted, least] {
            outcome = disk.write_zeros(file, self.capacity, more);
            if outcome.is_ok() {
                self.capacity += more;
                return Ok(());
            }
            // Release the added space; the file must contain only zeros after the records in any
            // case.
            disk.set_len(file, self.capacity)?;
        }
        outcome
    }

    /// Zeroes the remains of a failed write, so that they are never read as records.
    fn roll_back(&mut self, disk: &Disk, len: u64, error: Error) -> Error {
        if !matches!(error, Error::Full) {
            return error;
        }
        let file = &self.segment.file;
        let zeroed = disk.write_zeros(file, self.chain.offset, len);
        match zeroed.and_then(|()| if self.unsynced { Ok(()) } else { self.mark(disk) }) {
            Ok(()) => error,
            Err(_) => Error::Poisoned,
        }
    }
}

/// How many bytes to preallocate: what is wanted, or the least where the former would leave less than
/// `free_min`.
fn affordable(disk: &Disk, free_min: u64, least: u64, wanted: u64) -> Result<u64> {
    let free = disk.free_bytes()?;
    let fits = |number: &u64| free_min.saturating_add(*number) <= free;
    [wanted, least].into_iter().find(fits).ok_or(Error::Full)
}
