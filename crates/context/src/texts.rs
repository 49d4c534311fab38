//! Texts on disk: the chunks of all files, in one append-only file.
//!
//! Appended bytes never change: a reader with a position reads without a lock, and gets the text
//! for which the position was issued, or none. The snapshot of the index names the file and its
//! valid length; anything appended after the last save is truncated at opening. Space of dead texts
//! is reclaimed by copying the live ones to a new file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::files::sync_dir;
use crate::{Chunk, Error, Result};

const MAGIC: &[u8; 8] = b"wp-txt2\n";
/// A file name is this and its generation.
const NAME: &str = "texts-";
/// Less waste than this is not worth a copy.
const WASTE_MIN: u64 = 4 << 20;

/// The hash that identifies a file's content.
pub(crate) type Hash = [u8; 16];

/// The position of a chunk's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextAt {
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
}

/// Identifies a text file, and its valid length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) generation: u64,
    pub(crate) end: u64,
}

/// The texts of all files.
#[derive(Debug)]
pub(crate) struct Texts {
    path: PathBuf,
    file: File,
    generation: u64,
    end: AtomicU64,
}

impl Texts {
    /// Opens the file that a snapshot names, or returns why it cannot be used.
    pub(crate) fn open(dir: &Path, mark: Mark) -> std::result::Result<Self, String> {
        let path = dir.join(format!("{NAME}{}", mark.generation));
        let open = || {
            let file = OpenOptions::new().read(true).write(true).open(&path)?;
            let mut magic = [0; MAGIC.len()];
            file.read_exact_at(&mut magic, 0)?;
            let is_whole = magic == *MAGIC && file.metadata()?.len() >= mark.end;
            if is_whole {
                file.set_len(mark.end)?;
            }
            Ok::<_, io::Error>(is_whole.then_some(file))
        };
        match open() {
            Ok(Some(file)) => {
                let (generation, end) = (mark.generation, AtomicU64::new(mark.end));
                Ok(Self { path, file, generation, end })
            }
            Ok(None) => Err("its text file is truncated".to_owned()),
            Err(error) => Err(format!("cannot read its texts: {error}")),
        }
    }

    /// Creates a new file; existing ones stay.
    pub(crate) fn create(dir: &Path) -> Result<Self> {
        let newest = generations(dir)?.into_iter().map(|generation| generation.0).max();
        let generation = newest.map_or(1, |newest| newest.saturating_add(1));
        let path = dir.join(format!("{NAME}{generation}"));
        let make = || {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(true).open(&path)?;
            file.write_all_at(MAGIC, 0)?;
            Ok(file)
        };
        let file = make().map_err(|error| Error::io(&path, error))?;
        sync_dir(dir)?;
        Ok(Self { path, file, generation, end: AtomicU64::new(MAGIC.len() as u64) })
    }

    /// Removes all other text files.
    pub(crate) fn remove_others(&self, dir: &Path) -> Result<()> {
        for (generation, path) in generations(dir)? {
            if generation != self.generation {
                fs::remove_file(&path).map_err(|error| Error::io(path, error))?;
            }
        }
        Ok(())
    }

    /// The mark for a snapshot.
    pub(crate) fn mark(&self) -> Mark {
        Mark { generation: self.generation, end: self.end.load(Ordering::Acquire) }
    }

    /// Appends the chunks of a file; `hash` is the hash of its content.
    pub(crate) fn append(&self, hash: &Hash, chunks: &[Chunk]) -> Result<Vec<TextAt>> {
        let mut out = Vec::new();
        let mut places = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let content = postcard::to_extend(chunk, Vec::new()).expect("a chunk can be written");
            places.push(TextAt { offset: out.len() as u64, bytes: content.len() as u32 + 4 });
            out.extend(checksum(hash, &content).to_le_bytes());
            out.extend(content);
        }
        let base = self.end.fetch_add(out.len() as u64, Ordering::AcqRel);
        self.file.write_all_at(&out, base).map_err(|error| Error::io(&self.path, error))?;
        for place in &mut places {
            place.offset += base;
        }
        Ok(places)
    }

    /// The chunk at a position, if it belongs to the file with this hash.
    pub(crate) fn read(&self, hash: &Hash, at: TextAt) -> Option<Chunk> {
        let bytes = self.bytes(at).ok()?;
        let (sum, content) = bytes.split_first_chunk::<4>()?;
        if checksum(hash, content) != u32::from_le_bytes(*sum) {
            return None;
        }
        postcard::from_bytes(content).ok()
    }

    fn bytes(&self, at: TextAt) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; at.bytes as usize];
        self.file.read_exact_at(&mut bytes, at.offset)?;
        Ok(bytes)
    }

    /// Whether most of the file is dead, given `live` bytes of live texts.
    pub(crate) fn is_wasteful(&self, live: u64) -> bool {
        let waste = self.mark().end.saturating_sub(live);
        waste > live && waste > WASTE_MIN
    }

    /// Copies the texts at these positions to a new file and returns their new positions. An
    /// unreadable text gets no position: it is read from the project when requested.
    pub(crate) fn copy(&self, dir: &Path, places: &[TextAt]) -> Result<(Self, Vec<TextAt>)> {
        let copy = Self::create(dir)?;
        let failed = |it| Error::io(&copy.path, it);
        let mut end = copy.mark().end;
        let mut moved = Vec::with_capacity(places.len());
        let mut out = BufWriter::new(&copy.file);
        out.seek(SeekFrom::Start(end)).map_err(failed)?;
        for &at in places {
            let Ok(bytes) = self.bytes(at) else {
                moved.push(TextAt::default());
                continue;
            };
            out.write_all(&bytes).map_err(failed)?;
            moved.push(TextAt { offset: end, bytes: at.bytes });
            end += u64::from(at.bytes);
        }
        out.flush().map_err(failed)?;
        drop(out);
        copy.end.store(end, Ordering::Release);
        Ok((copy, moved))
    }

    /// Syncs the file.
    pub(crate) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| Error::io(&self.path, error))
    }
}

/// The text files in a folder.
fn generations(dir: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|error| Error::io(dir, error))? {
        let entry = entry.map_err(|error| Error::io(dir, error))?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|text| text.strip_prefix(NAME)?.parse().ok());
        found.extend(number.map(|number| (number, entry.path())));
    }
    Ok(found)
}

fn checksum(hash: &Hash, content: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(hash), content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    const HASH: Hash = [7; 16];

    fn chunk(content: &str) -> Chunk {
        Chunk {
            kind: Kind::Function,
            title: "a.rs::f".to_owned(),
            name: "f".to_owned(),
            line: 1,
            end_line: 3,
            content: content.to_owned(),
            signature: 0..content.len() as u32,
            date: Some(crate::Timestamp::from_secs(-5)),
        }
    }

    #[test]
    fn a_place_has_what_was_put_there_or_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let texts = Texts::create(dir.path()).unwrap();
        let places = texts.append(&HASH, &[chunk("one"), chunk("two")]).unwrap();
        assert_eq!(texts.read(&HASH, places[1]), Some(chunk("two")));
        assert_eq!(texts.read(&[8; 16], places[1]), None, "of another content");
        let within = TextAt { offset: places[0].offset + 1, ..places[0] };
        assert_eq!(texts.read(&HASH, within), None);
        let beyond = TextAt { offset: texts.mark().end, bytes: 20 };
        assert_eq!(texts.read(&HASH, beyond), None);
        texts.file.write_all_at(b"!", places[0].offset + 9).unwrap();
        assert_eq!(texts.read(&HASH, places[0]), None, "it is damaged");
    }

    #[test]
    fn what_came_after_the_mark_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let texts = Texts::create(dir.path()).unwrap();
        let kept = texts.append(&HASH, &[chunk("kept")]).unwrap()[0];
        let mark = texts.mark();
        let late = texts.append(&HASH, &[chunk("late")]).unwrap()[0];
        drop(texts);
        let texts = Texts::open(dir.path(), mark).unwrap();
        assert_eq!(texts.read(&HASH, kept), Some(chunk("kept")));
        assert_eq!(texts.read(&HASH, late), None);
        assert_eq!(texts.append(&HASH, &[chunk("next")]).unwrap()[0].offset, late.offset);
        let longer = Mark { end: 1 << 20, ..mark };
        assert!(Texts::open(dir.path(), longer).unwrap_err().contains("truncated"));
        let other = Mark { generation: 9, ..mark };
        assert!(Texts::open(dir.path(), other).unwrap_err().contains("cannot read its texts"));
    }

    #[test]
    fn a_copy_has_what_is_wanted_and_takes_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let texts = Texts::create(dir.path()).unwrap();
        let long = chunk(&"long ".repeat(1 << 20));
        let places = texts.append(&HASH, &[chunk("one"), long, chunk("two")]).unwrap();
        let live = [places[2], places[0]];
        assert!(texts.is_wasteful(live.iter().map(|it| u64::from(it.bytes)).sum()));
        let gone = TextAt { offset: texts.mark().end, bytes: 1 };
        let wanted = [live[0], live[1], gone];
        let (copy, moved) = texts.copy(dir.path(), &wanted).unwrap();
        assert_eq!(copy.read(&HASH, moved[0]), Some(chunk("two")));
        assert_eq!(copy.read(&HASH, moved[1]), Some(chunk("one")));
        assert_eq!(copy.read(&HASH, moved[2]), None);
        copy.remove_others(dir.path()).unwrap();
        assert_eq!(generations(dir.path()).unwrap().len(), 1);
        assert_eq!(texts.read(&HASH, places[0]), Some(chunk("one")), "a reader may still have it");
        let mark = copy.mark();
        assert_eq!(
            Texts::open(dir.path(), mark).unwrap().read(&HASH, moved[0]),
            Some(chunk("two"))
        );
    }
}
