//! The segment that is being appended to.

use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::format::{
    Batch, Chain, FRAME_BYTES, HEADER_BYTES, Place, end_frame, header, parse_header,
};
use crate::scan::Scan;
use crate::segment::{Segment, View, file_name};
use crate::{Error, Options, Result};

/// Granularity of files when there is hardly any room left.
const BLOCK_BYTES: u64 = 4096;

/// The end of the log. Its chain moves only when a whole group has been written, and synced where
/// that was asked for: until then the next group goes to the same place.
#[derive(Debug)]
pub(crate) struct Active {
    segment: Arc<Segment>,
    chain: Chain,
    /// Length of the file, all zeros behind the records.
    capacity: u64,
    /// Whether something was written that no sync has covered.
    unsynced: bool,
}

impl Active {
    /// Begins a segment with `base` as its first sequence. `free_min` bytes must remain.
    pub(crate) fn create(disk: &Disk, options: &Options, free_min: u64, base: u64) -> Result<Self> {
        let name = file_name(base);
        let temporary = format!("{name}.new");
        let wanted = options.preallocate_bytes.min(options.segment_bytes).max(BLOCK_BYTES);
        check_free(disk, free_min, BLOCK_BYTES)?;
        let mut created = Self::prepare(disk, &temporary, base, wanted);
        if matches!(created, Err(Error::Full)) && wanted > BLOCK_BYTES {
            created = Self::prepare(disk, &temporary, base, BLOCK_BYTES);
        }
        let (mut file, chain, capacity) = match created {
            Ok(it) => it,
            Err(error) => {
                // Only tidiness: the next attempt, or opening, takes care of it otherwise.
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
        let checksum = parse_header(&header).map_or(0, |it| it.1);
        let offset = HEADER_BYTES;
        let chain = Chain { place, offset, sequence: base, durable: offset, checksum };
        let file = disk.create(name)?;
        let start = [&header[..], &end_frame(chain, false)].concat();
        disk.write(&file, 0, &start)?;
        disk.write_zeros(&file, start.len() as u64, len - start.len() as u64)?;
        disk.sync(&file)?;
        Ok((file, chain, len))
    }

    /// Goes on with the last segment of an opened log.
    pub(crate) fn resume(disk: &Disk, scan: Scan) -> Result<Self> {
        let file = disk.open_for_writing(&scan.name)?;
        let capacity = file.len().map_err(|it| Error::io("measure", scan.name.as_ref(), it))?;
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
            // A full disk may still be read, and compacted.
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

    /// Writes the batches behind each other, syncs if `durable`, makes them readable, and returns
    /// how many records they are. After [`Error::Full`] everything is as before.
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
                // The kernel may have dropped the pages: not a state to go on from.
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
            // The records are on disk whether or not the witness can be left behind them.
            self.mark(disk).unwrap_or_default();
        }
        Ok(places.len() as u64)
    }

    /// Ends the segment for good and gives back the room that it does not need.
    pub(crate) fn seal(&mut self, disk: &Disk) -> Result<()> {
        let poisoned = |error| if matches!(error, Error::Full) { Error::Poisoned } else { error };
        let file = &self.segment.file;
        if self.unsynced {
            disk.sync(file).map_err(poisoned)?;
            self.unsynced = false;
        }
        self.reserve_mark(disk)?;
        let file = &self.segment.file;
        // If this has no room, what it left of itself is overwritten by the next record.
        disk.write(file, self.chain.offset, &end_frame(self.chain, true))?;
        disk.set_len(file, self.chain.offset + FRAME_BYTES).map_err(poisoned)?;
        disk.sync(file).map_err(poisoned)
    }

    /// Leaves the witness that everything so far was synced. It needs no sync of its own: the next
    /// group overwrites it and testifies the same.
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

    /// Makes the file at least `needed` bytes long, by zeros.
    fn reserve(&mut self, disk: &Disk, options: &Options, needed: u64) -> Result<()> {
        if needed <= self.capacity {
            return Ok(());
        }
        let least = needed.next_multiple_of(BLOCK_BYTES);
        let wanted = (self.capacity + options.preallocate_bytes).min(options.segment_bytes);
        check_free(disk, options.free_bytes_min, least - self.capacity)?;
        let file = &self.segment.file;
        let mut outcome = Ok(());
        for target in [wanted.max(least), least] {
            outcome = disk.write_zeros(file, self.capacity, target - self.capacity);
            if outcome.is_ok() {
                self.capacity = target;
                return Ok(());
            }
            // Give back what was taken; the file must stay zeros behind the records either way.
            disk.set_len(file, self.capacity)?;
        }
        outcome
    }

    /// Zeroes what a failed write may have left, so that it is never read as records.
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

fn check_free(disk: &Disk, free_min: u64, more: u64) -> Result<()> {
    let needed = free_min.saturating_add(more);
    if disk.free_bytes()? < needed { Err(Error::Full) } else { Ok(()) }
}
