//! The file that makes a data folder that of one machine of one cluster.

use std::path::{Path, PathBuf};

use waypost_journal::{Hash, MachineId, Position, StoreId};
use waypost_log::{Marked, Marker};

use crate::error::{Error, Result};
use crate::part::{PARTS, Part, Places};

const MARKER: Marker = Marker { name: "cluster-member", version: 1 };

/// A position of the journal, and the last record of each part there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base {
    /// The position.
    pub position: Position,
    /// The last record of each part up to there.
    pub places: Places,
}

/// What a machine knows of its cluster when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The URL of the database, which has no password.
    pub url: String,
    /// The store that the cluster shares.
    pub store: StoreId,
    /// This machine.
    pub machine: MachineId,
    /// The incarnation of the journal that this machine has copied.
    pub incarnation: u64,
    /// Where reading continues: all parts have this on disk.
    pub base: Base,
}

impl Base {
    /// The start of the journal of a store that has these records already.
    pub fn start(store: StoreId, places: Places) -> Self {
        Self { position: Position::start(store), places }
    }
}

/// 16 random bytes, for a new store or a new machine.
pub(crate) fn random() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|it| Error::Random(it.to_string()))?;
    Ok(bytes)
}

impl Member {
    /// The name of the file in the data folder.
    pub const FILE: &str = "cluster-member";

    /// The first machine of a new cluster, whose store has these records already.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn first(url: &str, places: Places) -> Result<Self> {
        let store = StoreId(random()?);
        Self::joining(url, 1, Base::start(store, places), store)
    }

    /// A new machine of a cluster, whose copy of the store has everything up to `base`.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn joining(url: &str, incarnation: u64, base: Base, store: StoreId) -> Result<Self> {
        Ok(Self { url: url.to_owned(), store, machine: MachineId(random()?), incarnation, base })
    }

    /// The file of a data folder.
    pub fn file(data: &Path) -> PathBuf {
        data.join(Self::FILE)
    }

    /// The file with a copy of the tokens that the machines shared at the base or later: a `tokens.json`
    /// that is older than the base lacks what no notice after the base repeats.
    pub fn tokens_copy(&self, data: &Path) -> PathBuf {
        data.join(format!("cluster-tokens-{}.json", self.machine))
    }

    /// Reads the file; `None` if the data folder belongs to no cluster.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Newer`] and [`Error::File`].
    pub fn read(data: &Path) -> Result<Option<Self>> {
        let path = Self::file(data);
        let damaged = |reason: &str| Error::Damaged { path: path.clone(), reason: reason.into() };
        match MARKER.read(&path)? {
            Marked::Absent => Ok(None),
            Marked::Newer(version) => Err(Error::Newer { path, version }),
            Marked::Damaged(_) => Err(damaged("its checksum or its form is wrong")),
            Marked::Text { text, .. } => {
                Self::parse(&text).map(Some).ok_or_else(|| damaged("a line is missing or invalid"))
            }
        }
    }

    /// Replaces the file; it is on disk when this returns.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, data: &Path) -> Result<()> {
        Ok(MARKER.write(&Self::file(data), &self.text())?)
    }

    /// Removes the file: the data folder belongs to no cluster any more.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn remove(data: &Path) -> Result<()> {
        Ok(Marker::remove(&Self::file(data))?)
    }

    /// The bytes of the file, for a copy of the data folder.
    pub fn bytes(&self) -> Vec<u8> {
        MARKER.bytes(&self.text())
    }

    fn text(&self) -> String {
        let Self { url, store, machine, incarnation, base } = self;
        let places = Part::ALL.into_iter().zip(base.places);
        let places: Vec<String> = places.map(|(part, place)| format!("{part} {place}")).collect();
        let places = places.join("\n");
        format!(
            "url {url}\nstore {store}\nmachine {machine}\nincarnation {incarnation}\nbase {} {}\n{places}\n",
            base.position.seq, base.position.hash
        )
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut line = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let url = line("url")?.to_owned();
        let store = StoreId(unhex(line("store")?)?);
        let machine = MachineId(unhex(line("machine")?)?);
        let incarnation = line("incarnation")?.parse().ok()?;
        let (seq, hash) = line("base")?.split_once(' ')?;
        let position = Position { seq: seq.parse().ok()?, hash: Hash(unhex(hash)?) };
        let mut places = [0; PARTS];
        for part in Part::ALL {
            places[part.index()] = line(part.name())?.parse().ok()?;
        }
        let base = Base { position, places };
        lines.next().is_none().then_some(Self { url, store, machine, incarnation, base })
    }
}

/// Hexadecimal digits, with hyphens as a uuid has them.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|it| *it != b'-')
        .map(|it| char::from(it).to_digit(16).map(|it| it as u8))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2).map(|it| it[0] << 4 | it[1]).collect::<Vec<u8>>();
    if digits.len() == 2 * N { pairs.try_into().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> Member {
        let mut member = Member::first("postgresql://a@b/c", [7, 0, u64::MAX, 1]).unwrap();
        member.base.position = Position { seq: 4711, hash: Hash([0xAB; 32]) };
        member
    }

    #[test]
    fn what_was_written_is_read_and_every_flipped_bit_is_damage() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Member::read(dir.path()).unwrap(), None);
        let member = member();
        member.write(dir.path()).unwrap();
        assert_eq!(Member::read(dir.path()).unwrap(), Some(member.clone()));
        let bytes = std::fs::read(Member::file(dir.path())).unwrap();
        assert_eq!(bytes, member.bytes());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(Member::file(dir.path()), &flipped).unwrap();
            assert!(matches!(Member::read(dir.path()), Err(Error::Damaged { .. })), "bit {bit}");
        }
        Member::remove(dir.path()).unwrap();
        assert_eq!(Member::read(dir.path()).unwrap(), None);
    }

    #[test]
    fn a_file_of_a_newer_release_is_newer_and_missing_lines_are_damage() {
        let dir = tempfile::tempdir().unwrap();
        let file = Member::file(dir.path());
        Marker { version: 2, ..MARKER }.write(&file, "anything\n").unwrap();
        assert!(matches!(Member::read(dir.path()), Err(Error::Newer { version: 2, .. })));
        let text = member().text();
        for cut in 0..text.lines().count() {
            let lines: Vec<&str> =
                text.lines().enumerate().filter(|it| it.0 != cut).map(|it| it.1).collect();
            MARKER.write(&file, &(lines.join("\n") + "\n")).unwrap();
            assert!(matches!(Member::read(dir.path()), Err(Error::Damaged { .. })), "line {cut}");
        }
    }
}
