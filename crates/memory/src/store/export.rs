//! Export as NDJSON.

use std::io::{self, Write};

use crate::records::Frozen;
use crate::state::damaged;
use crate::state::keys::Head;
use crate::store::Store;
use crate::wire::{FORMAT, Header, Line, VERSION};
use crate::{Error, Exported, Link, MemoryId, Result};

/// Counts and sums what goes through it.
struct Summing<'a> {
    out: &'a mut dyn Write,
    sum: u32,
}

impl Summing<'_> {
    fn line(&mut self, line: &impl serde::Serialize) -> Result<()> {
        let mut bytes = serde_json::to_vec(line)
            .map_err(|error| io_error(io::Error::other(error.to_string())))?;
        bytes.push(b'\n');
        self.sum = crc32c::crc32c_append(self.sum, &bytes);
        self.out.write_all(&bytes).map_err(io_error)
    }
}

impl Store {
    /// Writes every memory with its history, deleted ones included, and every link as NDJSON.
    ///
    /// The same store gives the same bytes. The lines are those of the moment when it begins, however
    /// slowly they are written, and nothing waits for it. Meanwhile it holds 32 bytes for each link, and
    /// on disk what compactions remove. If a compaction removes the texts of earlier versions, the lines
    /// that were not written yet lack these texts.
    pub fn export(&self, out: &mut dyn Write) -> Result<Exported> {
        let (frozen, links) = {
            let _no_writer = self.writer.lock();
            let links: Vec<Link> = self.index.view.read().graph.all().collect();
            (self.records.freeze(), links)
        };
        let mut out = Summing { out, sum: 0 };
        out.line(&Header { format: FORMAT.to_owned(), version: VERSION })?;
        let mut memories = 0;
        let mut next = 0;
        while let Some((after, heads)) = frozen.cells.heads_from(next).map_err(damaged)? {
            next = after;
            memories += heads.len() as u64;
            for (id, head) in heads {
                self.export_memory(&frozen, id, &head, &mut out)?;
            }
        }
        for link in &links {
            out.line(&Line::link(*link))?;
        }
        let exported = Exported { memories, links: links.len() as u64 };
        out.line(&Line::end(exported.memories, exported.links, out.sum))?;
        out.out.flush().map_err(io_error)?;
        Ok(exported)
    }

    fn export_memory(
        &self,
        frozen: &Frozen,
        id: MemoryId,
        head: &Head,
        out: &mut Summing<'_>,
    ) -> Result<()> {
        for (version, stored) in self.records.stored_versions_at(frozen, id)? {
            let (valid_from, deleted_at) = (stored.valid_from, stored.deleted_at);
            let body = self.records.whole_body_at(frozen, stored)?;
            out.line(&Line::memory(id, (version, valid_from), deleted_at, body))?;
        }
        match head.deleted_at {
            Some(at) => out.line(&Line::deletion(id, at)),
            None => Ok(()),
        }
    }
}

fn io_error(error: io::Error) -> Error {
    Error::io("the export", error)
}
