//! The files of a log at one moment, to be copied while appends, compaction and retention continue.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use crate::format::{FRAME_BYTES, HEADER_BYTES, end_frame, floor, slot};
use crate::reached::{Note, REACHED};
use crate::recovery::FLOOR;
use crate::segment::{Cursor, Segment, file_name};
use crate::writer::Shared;
use crate::{Error, Result};

/// Files to copy, in order. It holds the files open, so those that compaction replaces or retention
/// removes meanwhile can still be read.
#[derive(Debug, Default)]
pub struct Snapshot {
    files: Vec<SnapshotFile>,
}

/// One file of a [`Snapshot`].
pub struct SnapshotFile {
    name: String,
    bytes: u64,
    body: Body,
    /// Bytes after the body.
    end: Vec<u8>,
}

enum Body {
    None,
    Segment(Arc<Segment>),
    File(File),
}

impl fmt::Debug for SnapshotFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotFile")
            .field("name", &self.name)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Snapshot {
    /// The files, in order.
    pub fn files(&self) -> &[SnapshotFile] {
        &self.files
    }

    /// Reads and checks every entry of the logs in it, including those that were checked when the
    /// log was opened. Takes as long as reading them; hold no lock meanwhile.
    ///
    /// # Errors
    /// [`Error::Damaged`] if an entry is damaged: a copy would be damaged, too.
    pub fn check(&self) -> Result<()> {
        for file in &self.files {
            let Body::Segment(segment) = &file.body else { continue };
            let mut next = segment.place.base;
            let mut cursor = Cursor::new(Arc::clone(segment), next, CHECK_BYTES)?;
            while let Some(head) = cursor.find(next)? {
                next = head.sequence + 1;
            }
        }
        Ok(())
    }

    /// The same files in a folder: puts `folder/` before each name.
    #[must_use]
    pub fn under(mut self, folder: &str) -> Self {
        for file in &mut self.files {
            file.name = format!("{folder}/{}", file.name);
        }
        self
    }

    /// The files of this snapshot, followed by those of another.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.files.extend(other.files);
        self
    }

    /// Adds a file with these bytes.
    #[must_use]
    pub fn and_bytes(mut self, name: &str, bytes: Vec<u8>) -> Self {
        let len = bytes.len() as u64;
        self.files.push(SnapshotFile {
            name: name.to_owned(),
            bytes: len,
            body: Body::None,
            end: bytes,
        });
        self
    }

    /// Adds the regular files below a folder whose paths in it `wanted` accepts, ordered by path. A
    /// missing folder has none; symbolic links are skipped. The files must be replaced atomically
    /// or never change.
    ///
    /// # Errors
    /// [`Error::Io`] names the file.
    pub fn and_folder(mut self, dir: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Self> {
        self.walk(dir, "", wanted)?;
        Ok(self)
    }

    fn walk(&mut self, dir: &Path, prefix: &str, wanted: &dyn Fn(&str) -> bool) -> Result<()> {
        let failed = |it| Error::io("list", dir, it);
        let entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let mut entries = entries.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                self.walk(&entry.path(), &format!("{name}/"), wanted)?;
            } else if kind.is_file() && wanted(&name) {
                self.take(&entry.path(), name)?;
            }
        }
        Ok(())
    }

    /// Adds the file at `path` under that name, if it exists.
    ///
    /// # Errors
    /// [`Error::Io`] names the file; a symbolic link is an error.
    pub fn and_file(mut self, path: &Path, name: &str) -> Result<Self> {
        self.take(path, name.to_owned())?;
        Ok(self)
    }

    fn take(&mut self, path: &Path, name: String) -> Result<()> {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).custom_flags(NO_FOLLOW);
        match options.open(path).and_then(|file| held(name, file)) {
            Ok(file) => self.files.push(file),
            // It was just replaced or removed, or was never created.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("open", path, error)),
        }
        Ok(())
    }
}

/// Small files are read immediately: there may be more of them than a process can have open.
fn held(name: String, mut file: File) -> io::Result<SnapshotFile> {
    let bytes = file.metadata()?.len();
    if bytes > HELD_BYTES_MAX {
        return Ok(SnapshotFile { name, bytes, body: Body::File(file), end: Vec::new() });
    }
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(SnapshotFile { name, bytes: end.len() as u64, body: Body::None, end })
}

/// Bytes that a check reads at once.
const CHECK_BYTES: usize = 256 << 10;
const HELD_BYTES_MAX: u64 = 256 << 10;
const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

impl SnapshotFile {
    /// The name, with `/` between folders.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of bytes that [`reader`](Self::reader) returns.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the content as it was at the snapshot.
    pub fn reader(&self) -> impl Read + '_ {
        Reader { file: self, at: 0 }
    }
}

struct Reader<'a> {
    file: &'a SnapshotFile,
    at: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let body_bytes = self.file.bytes - self.file.end.len() as u64;
        let read = if self.at < body_bytes {
            let room =
                buffer.len().min(usize::try_from(body_bytes - self.at).unwrap_or(usize::MAX));
            let file = match &self.file.body {
                Body::None => return Ok(0),
                Body::Segment(segment) => segment.file.reading(),
                Body::File(file) => file,
            };
            let read = file.read_at(&mut buffer[..room], self.at)?;
            if read == 0 && room > 0 {
                let message = format!("{} was truncated while it was read", self.file.name);
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
            read
        } else {
            let from = usize::try_from(self.at - body_bytes).unwrap_or(usize::MAX);
            let rest = self.file.end.get(from..).unwrap_or_default();
            let read = rest.len().min(buffer.len());
            buffer[..read].copy_from_slice(&rest[..read]);
            read
        };
        self.at += read as u64;
        Ok(read)
    }
}

/// The log's files as of now. The copy of the active segment ends with its last record and is
/// sealed. The copy records how far it reaches, so that a lost end is detected.
pub(crate) fn snapshot(shared: &Shared) -> Result<Snapshot> {
    let (segments, chain) = shared.freeze();
    let sequence = match (&chain, segments.last()) {
        (Some(chain), _) => chain.sequence - 1,
        (None, Some(last)) => last.view.read().next - 1,
        (None, None) => 0,
    };
    let reached = slot(&Note { counter: 1, sequence, boot: [0; 16], is_closed: true });
    let mut taken = Snapshot::default().and_bytes(REACHED, [reached, reached].concat());
    let first = segments.first().map_or(1, |segment| segment.place.base);
    if first > 1 {
        taken = taken.and_bytes(FLOOR, floor(first));
    }
    for (idx, segment) in segments.iter().enumerate() {
        let name = file_name(segment.place.base);
        let active =
            chain.filter(|chain| chain.place == segment.place && idx + 1 == segments.len());
        let (body_bytes, end) = match active {
            // It is empty, and opening creates it again.
            Some(chain) if chain.offset == HEADER_BYTES && idx > 0 => continue,
            Some(chain) => {
                let has_records = chain.offset > HEADER_BYTES;
                (chain.offset, end_frame(chain, has_records).to_vec())
            }
            None => {
                segment.ensure_checked()?;
                (segment.view.read().end + FRAME_BYTES, Vec::new())
            }
        };
        let bytes = body_bytes + end.len() as u64;
        let body = Body::Segment(Arc::clone(segment));
        taken.files.push(SnapshotFile { name, bytes, body, end });
    }
    Ok(taken)
}
