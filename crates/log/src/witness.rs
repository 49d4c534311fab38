//! Records how far several logs have reached, in a file outside their folders, so that a folder
//! that was removed or replaced by an older copy is detected.

use std::collections::BTreeMap;
use std::path::Path;

use crate::marker::{Marked, Marker};
use crate::{Error, Result};

const MARKER: Marker = Marker { name: "data-reached", version: 1 };

/// Numbers that only grow, by name: how far each log of a data folder had reached when this was
/// written. The logs may have advanced since.
///
/// ```text
/// waypost data-reached 1
/// events 41
/// memory 20
/// crc32c 0b8c3c0b
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Witness {
    numbers: BTreeMap<String, u64>,
    is_damaged: bool,
}

impl Witness {
    /// Name of the file.
    pub const FILE: &str = "reached";

    /// Reads the file of the data folder `dir`. A missing or damaged file contains no numbers: the
    /// logs record them, too.
    ///
    /// # Errors
    /// [`Error::Newer`] if a newer release wrote it; otherwise if a file system operation fails.
    pub fn read(dir: &Path) -> Result<Self> {
        Ok(match MARKER.read(&dir.join(Self::FILE))? {
            Marked::Absent => Self::default(),
            Marked::Newer(version) => {
                let supported = MARKER.version;
                return Err(Error::Newer { segment: Self::FILE.to_owned(), version, supported });
            }
            Marked::Text { text, .. } => match text.lines().map(parse).collect() {
                Some(numbers) => Self { numbers, is_damaged: false },
                None => Self { is_damaged: true, ..Self::default() },
            },
            Marked::Damaged(_) => Self { is_damaged: true, ..Self::default() },
        })
    }

    /// Whether the file exists but is damaged.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// The number of this name, 0 if unknown.
    pub fn get(&self, name: &str) -> u64 {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    /// Stores a number, unless a higher one is known. A name must not contain blanks or line
    /// breaks.
    pub fn raise(&mut self, name: &str, number: u64) {
        let known = self.numbers.entry(name.to_owned()).or_default();
        *known = number.max(*known);
    }

    /// Replaces the file of the data folder `dir`. It is on disk when this returns.
    ///
    /// # Errors
    /// If a file system operation fails; the old file stays.
    pub fn write(&mut self, dir: &Path) -> Result<()> {
        let lines: Vec<String> =
            self.numbers.iter().map(|(it, to)| format!("{it} {to}\n")).collect();
        MARKER.write(&dir.join(Self::FILE), &lines.concat())?;
        self.is_damaged = false;
        Ok(())
    }
}

fn parse(line: &str) -> Option<(String, u64)> {
    let (name, number) = line.split_once(' ')?;
    Some((name.to_owned(), number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn witness() -> Witness {
        let mut witness = Witness::default();
        witness.raise("memory", 20);
        witness.raise("events", 41);
        witness
    }

    #[test]
    fn what_was_written_is_read_and_numbers_only_grow() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Witness::read(dir.path()).unwrap(), Witness::default());
        let mut written = witness();
        written.raise("events", 7);
        written.write(dir.path()).unwrap();
        let read = Witness::read(dir.path()).unwrap();
        assert_eq!((read.get("memory"), read.get("events"), read.get("flows")), (20, 41, 0));
        assert_eq!(read, written);
    }

    #[test]
    fn damage_is_told_and_ends_with_the_next_write() {
        let dir = tempfile::tempdir().unwrap();
        witness().write(dir.path()).unwrap();
        let path = dir.path().join(Witness::FILE);
        let bytes = std::fs::read(&path).unwrap();
        let half = bytes[..bytes.len() / 2].to_vec();
        for harmed in [half, Vec::new(), MARKER.bytes("memory\n"), MARKER.bytes("memory x\n")] {
            std::fs::write(&path, harmed).unwrap();
            let mut read = Witness::read(dir.path()).unwrap();
            assert!(read.is_damaged() && read.get("memory") == 0);
            read.write(dir.path()).unwrap();
            assert!(!read.is_damaged() && !Witness::read(dir.path()).unwrap().is_damaged());
        }
    }

    #[test]
    fn a_newer_version_is_newer_and_not_damaged() {
        let dir = tempfile::tempdir().unwrap();
        Marker { version: 2, ..MARKER }
            .write(&dir.path().join(Witness::FILE), "whatever\n")
            .unwrap();
        let error = Witness::read(dir.path()).unwrap_err();
        assert!(matches!(error, Error::Newer { version: 2, supported: 1, .. }), "{error}");
    }
}
