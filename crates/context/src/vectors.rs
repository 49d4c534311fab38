//! Vectors on disk, by the hash of their text: an append-only, derived file, truncated where it is
//! damaged.
//!
//! A record is the hash of the model's fingerprint, the hash of the text, the dimensions, the
//! components in 16 bits, and a CRC-32C over all of it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use half::f16;

use crate::text::hash;
use crate::texts::Hash;
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"WPCvec1\n";
/// Model, text, dimensions.
const HEAD_BYTES: usize = 16 + 16 + 4;
const DIMENSIONS_MAX: usize = 16_384;

/// The vectors of one model, in one file.
#[derive(Debug)]
pub(crate) struct Vectors {
    path: PathBuf,
    file: File,
    model: Hash,
    dimensions: usize,
    /// By text: the position of its components.
    places: HashMap<Hash, u64>,
    end: u64,
}

impl Vectors {
    /// Opens or creates the file at `path`. Everything after damage is truncated.
    pub(crate) fn open(path: &Path, fingerprint: &str, dimensions: usize) -> Result<Self> {
        let io = |it| Error::io(path, it);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let mut vectors = Self::new(path, file.map_err(io)?, fingerprint, dimensions);
        vectors.read().map_err(io)?;
        vectors.file.set_len(vectors.end).map_err(io)?;
        if vectors.end == 0 {
            vectors.file.write_all_at(MAGIC, 0).map_err(io)?;
            vectors.end = MAGIC.len() as u64;
        }
        Ok(vectors)
    }

    /// Reads the file of another worktree, if it exists.
    pub(crate) fn beside(path: &Path, fingerprint: &str, dimensions: usize) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut vectors = Self::new(path, file, fingerprint, dimensions);
        vectors.read().ok()?;
        Some(vectors)
    }

    /// Whether the file at `path` consists only of valid records.
    pub(crate) fn is_whole(path: &Path) -> io::Result<bool> {
        let mut vectors = Self::new(path, File::open(path)?, "", 0);
        vectors.read()?;
        Ok(vectors.end == vectors.file.metadata()?.len())
    }

    fn new(path: &Path, file: File, model: &str, dimensions: usize) -> Self {
        let (path, model) = (path.to_owned(), hash(model.as_bytes()));
        Self { path, file, model, dimensions, places: HashMap::new(), end: 0 }
    }

    /// Records the positions of this model's vectors; stops at the first invalid record.
    fn read(&mut self) -> io::Result<()> {
        let mut input = BufReader::new(&self.file);
        let mut magic = [0; 8];
        if input.read_exact(&mut magic).is_err() || magic != *MAGIC {
            return Ok(());
        }
        self.end = MAGIC.len() as u64;
        let mut record = Vec::with_capacity(HEAD_BYTES);
        loop {
            record.clear();
            record.extend([0; HEAD_BYTES]);
            if !is_read(&mut input, &mut record)? {
                return Ok(());
            }
            let dimensions = record.last_chunk::<4>().copied().map_or(0, u32::from_le_bytes);
            if dimensions as usize > DIMENSIONS_MAX {
                return Ok(());
            }
            record.resize(HEAD_BYTES + 2 * dimensions as usize + 4, 0);
            if !is_read(&mut input, &mut record[HEAD_BYTES..])? {
                return Ok(());
            }
            let Some((content, sum)) = record.split_last_chunk::<4>() else { return Ok(()) };
            if crc32c::crc32c(content) != u32::from_le_bytes(*sum) {
                return Ok(());
            }
            let (model, rest) = content.split_at(16);
            if model == self.model && dimensions as usize == self.dimensions {
                let text = rest.first_chunk().copied().unwrap_or_default();
                self.places.insert(text, self.end + HEAD_BYTES as u64);
            }
            self.end += record.len() as u64;
        }
    }

    pub(crate) fn get(&self, text: &Hash) -> Option<Vec<f32>> {
        let at = *self.places.get(text)?;
        let mut bytes = vec![0; 2 * self.dimensions];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        let halves = bytes.as_chunks::<2>().0.iter();
        Some(halves.map(|half| f16::from_le_bytes(*half).to_f32()).collect())
    }

    pub(crate) fn append<'a>(
        &mut self,
        vectors: impl Iterator<Item = (&'a Hash, &'a [f32])>,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        let mut places = Vec::new();
        for (text, vector) in vectors {
            let start = bytes.len();
            bytes.extend_from_slice(&self.model);
            bytes.extend_from_slice(text);
            bytes.extend((vector.len() as u32).to_le_bytes());
            bytes.extend(vector.iter().flat_map(|vector| f16::from_f32(*vector).to_le_bytes()));
            let sum = crc32c::crc32c(&bytes[start..]);
            bytes.extend(sum.to_le_bytes());
            places.push((*text, self.end + (start + HEAD_BYTES) as u64));
        }
        self.file.write_all_at(&bytes, self.end).map_err(|error| Error::io(&self.path, error))?;
        self.end += bytes.len() as u64;
        self.places.extend(places);
        Ok(())
    }

    /// Syncs the file.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let done = self.file.flush().and_then(|()| self.file.sync_data());
        done.map_err(|error| Error::io(&self.path, error))
    }
}

/// Fills a buffer; false at the end of the file.
fn is_read(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: u8) -> Hash {
        [number; 16]
    }

    #[test]
    fn vectors_are_read_back_by_their_model_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vectors");
        let mut vectors = Vectors::open(&path, "one", 2).unwrap();
        vectors.append([(&text(1), &[1.0, 0.5][..]), (&text(2), &[0.0, 1.0])].into_iter()).unwrap();
        drop(vectors);
        let vectors = Vectors::open(&path, "one", 2).unwrap();
        assert_eq!(vectors.get(&text(1)), Some(vec![1.0, 0.5]));
        assert_eq!(vectors.get(&text(3)), None);
        assert_eq!(Vectors::open(&path, "two", 2).unwrap().get(&text(1)), None);
        assert_eq!(Vectors::beside(&path, "one", 2).unwrap().get(&text(2)), Some(vec![0.0, 1.0]));
    }

    #[test]
    fn damage_costs_what_comes_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vectors");
        let mut vectors = Vectors::open(&path, "one", 2).unwrap();
        vectors.append([(&text(1), &[1.0, 0.5][..]), (&text(2), &[0.0, 1.0])].into_iter()).unwrap();
        drop(vectors);
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        let second = MAGIC.len() + HEAD_BYTES + 4 + 4;
        bytes[second + 20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let mut vectors = Vectors::open(&path, "one", 2).unwrap();
        assert!(vectors.get(&text(1)).is_some());
        assert_eq!(vectors.get(&text(2)), None);
        vectors.append([(&text(2), &[0.0, 1.0][..])].into_iter()).unwrap();
        drop(vectors);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        std::fs::write(&path, b"something else").unwrap();
        assert_eq!(Vectors::open(&path, "one", 2).unwrap().get(&text(1)), None);
    }
}
