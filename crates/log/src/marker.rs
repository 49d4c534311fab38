//! Small files next to a log: a few lines of text with a name, a version and a checksum.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::disk::{read_small, read_up_to};
use crate::{Error, Result};

/// The first and the last line stay the same in all versions of every such file.
const FIRST: &str = "waypost ";
const LAST: &str = "crc32c ";

/// A kind of small file. It is replaced atomically: a crash leaves the old one or the new one.
///
/// ```text
/// waypost events-first 2
/// 4711
/// crc32c 56e2d3d4
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// The name of the kind, in lower-case letters and hyphens.
    pub name: &'static str,
    /// The version that this release writes, and the newest that it reads.
    pub version: u32,
}

/// What was found at the path of a marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marked {
    /// No file.
    Absent,
    /// The text between the first line and the last, in a version that this release reads.
    Text {
        /// The file's version.
        version: u32,
        /// Lines, each with its line break.
        text: String,
    },
    /// A newer release wrote the file, in this version.
    Newer(u32),
    /// The bytes are not a marker of this name, or the checksum is wrong.
    Damaged(Vec<u8>),
}

impl Marker {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If a file system operation fails.
    pub fn read(&self, path: &Path) -> Result<Marked> {
        self.marked(path, read_small(path))
    }

    /// The same for a kind that may have up to `bytes_max` bytes, instead of 1 MiB.
    ///
    /// # Errors
    /// If a file system operation fails.
    pub fn read_up_to(&self, path: &Path, bytes_max: u64) -> Result<Marked> {
        self.marked(path, read_up_to(path, bytes_max))
    }

    fn marked(&self, path: &Path, read: io::Result<Vec<u8>>) -> Result<Marked> {
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Marked::Absent),
            Err(error) => return Err(Error::io("read", path, error)),
        };
        Ok(self.parse(&bytes).unwrap_or(Marked::Damaged(bytes)))
    }

    fn parse(&self, bytes: &[u8]) -> Option<Marked> {
        let all = std::str::from_utf8(bytes).ok()?;
        let (content, sum) = all.strip_suffix('\n')?.rsplit_once('\n')?;
        let content = &all[..=content.len()];
        if sum.strip_prefix(LAST)? != format!("{:08x}", crc32c::crc32c(content.as_bytes())) {
            return None;
        }
        let (head, text) = content.split_once('\n')?;
        let (name, version) = head.strip_prefix(FIRST)?.split_once(' ')?;
        let version: u32 = version.parse().ok().filter(|value| *value > 0)?;
        if name != self.name {
            return None;
        }
        if version > self.version {
            return Some(Marked::Newer(version));
        }
        Some(Marked::Text { version, text: text.to_owned() })
    }

    /// Replaces the file at `path` by `text`, which is empty or ends with a line break. It is on
    /// disk when this returns. Only this user can read the file.
    ///
    /// # Errors
    /// If a file system operation fails.
    pub fn write(&self, path: &Path, text: &str) -> Result<()> {
        let whole = self.bytes(text);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let unfinished = path.with_file_name(format!("{name}.new"));
        let write = || {
            // A crash may have left the file, and a link may be in its place: never write through
            // it.
            match fs::remove_file(&unfinished) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o600).open(&unfinished)?;
            file.write_all(&whole)?;
            file.sync_all()?;
            fs::rename(&unfinished, path)?;
            sync_parent(path)
        };
        write().map_err(|error| Error::io("write", path, error))
    }

    /// The bytes of a file with this text, which is empty or ends with a line break.
    pub fn bytes(&self, text: &str) -> Vec<u8> {
        let content = format!("{FIRST}{} {}\n{text}", self.name, self.version);
        format!("{content}{LAST}{:08x}\n", crc32c::crc32c(content.as_bytes())).into_bytes()
    }

    /// Removes the file at `path`, if it exists, and syncs its folder.
    ///
    /// # Errors
    /// If a file system operation fails.
    pub fn remove(path: &Path) -> Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", path, error))
            }
            _ => sync_parent(path).map_err(|error| Error::io("sync", path, error)),
        }
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: Marker = Marker { name: "test-marker", version: 2 };

    #[test]
    fn what_was_written_is_read_and_every_flipped_bit_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("marker");
        assert_eq!(MARKER.read(&path).unwrap(), Marked::Absent);
        for text in ["", "12\n", "1 2\n3 4\n"] {
            MARKER.write(&path, text).unwrap();
            let text = text.to_owned();
            assert_eq!(MARKER.read(&path).unwrap(), Marked::Text { version: 2, text });
        }
        let bytes = fs::read(&path).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &flipped).unwrap();
            assert_eq!(MARKER.read(&path).unwrap(), Marked::Damaged(flipped), "bit {bit}");
        }
        for len in 0..bytes.len() {
            fs::write(&path, &bytes[..len]).unwrap();
            assert!(matches!(MARKER.read(&path).unwrap(), Marked::Damaged(_)), "{len} bytes");
        }
    }

    #[test]
    fn a_newer_version_is_newer_and_another_name_is_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("marker");
        Marker { version: 3, ..MARKER }.write(&path, "whatever\n").unwrap();
        assert_eq!(MARKER.read(&path).unwrap(), Marked::Newer(3));
        Marker { version: 1, ..MARKER }.write(&path, "old\n").unwrap();
        let text = "old\n".to_owned();
        assert_eq!(MARKER.read(&path).unwrap(), Marked::Text { version: 1, text });
        Marker { name: "other", version: 1 }.write(&path, "").unwrap();
        assert!(matches!(MARKER.read(&path).unwrap(), Marked::Damaged(_)));
        Marker::remove(&path).unwrap();
        Marker::remove(&path).unwrap();
        assert_eq!(MARKER.read(&path).unwrap(), Marked::Absent);
    }
}
