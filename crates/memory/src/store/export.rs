//! Export as NDJSON.

use std::io::{self, Write};

use crate::codec::Reader;
use crate::state::damaged;
use crate::state::keys::{self, Head, StoredVersion};
use crate::store::Store;
use crate::wire::{FORMAT, Header, Line, MemoryLine, VERSION};
use crate::{Error, Exported, MemoryId, Result};

/// Counts and sums what goes through it.
struct Summing<'a> {
    out: &'a mut dyn Write,
    sum: u32,
}

impl Summing<'_> {
    fn line(&mut self, line: &impl serde::Serialize) -> Result<()> {
        let mut bytes =
            serde_json::to_vec(line).map_err(|it| io_error(io::Error::other(it.to_string())))?;
        bytes.push(b'\n');
        self.sum = crc32c::crc32c_append(self.sum, &bytes);
        self.out.write_all(&bytes).map_err(io_error)
    }
}

impl Store {
    /// Writes every memory with its history, deleted ones included, and every link as NDJSON.
    ///
    /// The same store gives the same bytes. Writes wait until it is done, so that the lines are
    /// consistent.
    pub fn export(&self, out: &mut dyn Write) -> Result<Exported> {
        let writer = self.writer.lock();
        let mut out = Summing { out, sum: 0 };
        out.line(&Header { format: FORMAT.to_owned(), version: VERSION })?;
        let mut exported = Exported::default();
        self.records.state.heads(&mut |id, head| {
            exported.memories += 1;
            self.export_memory(id, &head, &mut out)
        })?;
        self.records.state.scan(keys::LINKS, &mut |key, value| {
            let edge = keys::edge_of(key).map_err(damaged)?;
            let created_at = Reader::new(value).time().map_err(damaged)?;
            exported.links += 1;
            out.line(&Line::Link {
                from: edge.from.get(),
                to: edge.to.get(),
                r#type: edge.kind.as_str().to_owned(),
                created_at: Some(created_at.to_string()),
            })
        })?;
        drop(writer);
        let crc32c = format!("{:08x}", out.sum);
        out.line(&Line::End { memories: exported.memories, links: exported.links, crc32c })?;
        out.out.flush().map_err(io_error)?;
        Ok(exported)
    }

    fn export_memory(&self, id: MemoryId, head: &Head, out: &mut Summing<'_>) -> Result<()> {
        for (version, stored) in self.records.stored_versions(id)? {
            out.line(&Line::Memory(self.memory_line(id, version, stored)?))?;
        }
        match head.deleted_at {
            Some(at) => out.line(&Line::Deletion { id: id.get(), at: at.to_string() }),
            None => Ok(()),
        }
    }

    fn memory_line(&self, id: MemoryId, version: u32, stored: StoredVersion) -> Result<MemoryLine> {
        let (valid_from, deleted_at) = (stored.valid_from, stored.deleted_at);
        let body = self.records.whole_body(stored)?;
        let deleted_at = deleted_at.map(|it| it.to_string());
        Ok(MemoryLine { deleted_at, ..MemoryLine::of(id, version, valid_from, body) })
    }
}

fn io_error(error: io::Error) -> Error {
    Error::io("the export", error)
}
