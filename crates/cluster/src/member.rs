//! The file that makes a data folder that of one machine of one cluster.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use waypost_journal::{Hash, MachineId, Position, StoreId, random_id};
use waypost_log::{Marked, Marker};

use crate::error::{Error, Result};
use crate::part::{PARTS, Part, Places};

/// Version 1 has no tokens.
const MARKER: Marker = Marker { name: "cluster-member", version: 2 };
/// The largest file that is read: some 200,000 tokens.
const BYTES_MAX: u64 = 64 << 20;

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
    /// The tokens that the machines shared at the base or later, as lines whose meaning is not known
    /// here: no notice after the base repeats what a token file that is older than the base lacks.
    pub tokens: Arc<[String]>,
}

/// A member that is being created with a journal of its own: after an interruption, the creation can
/// continue instead of leaving a second journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The member.
    pub member: Member,
    /// The former store of the data folder, and the incarnation that closes it.
    pub closed: Option<(StoreId, u64)>,
    /// Other machines may have joined the new store: no other one may take its place.
    pub is_joinable: bool,
}

impl Base {
    /// The start of the journal of a store that has these records already.
    pub fn start(store: StoreId, places: Places) -> Self {
        Self { position: Position::start(store), places }
    }
}

impl Member {
    /// The name of the file in the data folder.
    pub const FILE: &str = "cluster-member";

    /// The first machine of a new cluster, whose store has these records already.
    ///
    /// # Errors
    /// [`Error::Journal`] if the system has no random numbers.
    pub fn first(url: &str, places: Places) -> Result<Self> {
        let store = StoreId(random_id()?);
        Self::joining(url, 1, Base::start(store, places), store)
    }

    /// The same with the tokens that the machines share.
    #[must_use]
    pub fn with_tokens(self, tokens: Vec<String>) -> Self {
        Self { tokens: tokens.into(), ..self }
    }

    /// A new machine of a cluster, whose copy of the store has everything up to `base`.
    ///
    /// # Errors
    /// [`Error::Journal`] if the system has no random numbers.
    pub fn joining(url: &str, incarnation: u64, base: Base, store: StoreId) -> Result<Self> {
        let (machine, tokens) = (MachineId(random_id()?), Arc::default());
        Ok(Self { url: url.to_owned(), store, machine, incarnation, base, tokens })
    }

    /// Whether this member begins the journal of a store that has these records already.
    pub fn is_before(&self, places: Places) -> bool {
        self.base == Base::start(self.store, places)
    }

    /// The file of a data folder.
    pub fn file(data: &Path) -> PathBuf {
        data.join(Self::FILE)
    }

    /// Reads the file; `None` if the data folder belongs to no cluster.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Newer`] and [`Error::File`].
    pub fn read(data: &Path) -> Result<Option<Self>> {
        read(MARKER, Self::file(data), Self::parse)
    }

    /// Replaces the file; it is on disk when this returns.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, data: &Path) -> Result<()> {
        Ok(MARKER.write(&Self::file(data), &self.text())?)
    }

    /// Makes the data folder that of this member, whose creation has [begun](Begun).
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn complete(&self, data: &Path) -> Result<()> {
        self.write(data)?;
        Begun::remove(data)
    }

    /// Removes the files: the data folder belongs to no cluster any more.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn remove(data: &Path) -> Result<()> {
        Begun::remove(data)?;
        Ok(Marker::remove(&Self::file(data))?)
    }

    /// The bytes of the file, for a copy of the data folder.
    pub fn bytes(&self) -> Vec<u8> {
        MARKER.bytes(&self.text())
    }

    fn text(&self) -> String {
        let Self { url, store, machine, incarnation, base, tokens } = self;
        let places = Part::ALL.into_iter().zip(base.places);
        let places: Vec<String> = places.map(|(part, place)| format!("{part} {place}")).collect();
        let places = places.join("\n");
        let mut text = format!(
            "url {url}\nstore {store}\nmachine {machine}\nincarnation {incarnation}\nbase {} {}\n{places}\ntokens {}\n",
            base.position.seq,
            base.position.hash,
            tokens.len()
        );
        for line in &**tokens {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    fn parse(version: u32, text: &str) -> Option<Self> {
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
        let count = if version == 1 { 0 } else { line("tokens")?.parse().ok()? };
        let tokens: Arc<[String]> = lines.map(str::to_owned).collect();
        let member = Self { url, store, machine, incarnation, base, tokens };
        (member.tokens.len() == count).then_some(member)
    }
}

impl Begun {
    /// The name of the file in the data folder.
    pub const FILE: &str = "cluster-begun";
    const MARKER: Marker = Marker { name: "cluster-begun", version: 1 };

    /// The creation that has begun and is not [complete](Member::complete).
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Newer`] and [`Error::File`]. A damaged file of the member is none.
    pub fn read(data: &Path) -> Result<Option<Self>> {
        let begun = read(Self::MARKER, data.join(Self::FILE), |_, text| Self::parse(text))?;
        let Some(begun) = begun else { return Ok(None) };
        // An interruption between the two writes of `complete`.
        let store = match Member::read(data) {
            Err(Error::Damaged { .. }) => None,
            member => member?.map(|member| member.store),
        };
        Ok(Some(begun).filter(|begun| Some(begun.member.store) != store))
    }

    /// Whether other machines may have joined a store that was begun in this data folder: also if its
    /// file cannot be read.
    pub fn may_have_others(data: &Path) -> bool {
        Self::read(data).map_or(true, |begun| begun.is_some_and(|begun| begun.is_joinable))
    }

    /// Writes the file; it is on disk when this returns.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, data: &Path) -> Result<()> {
        let former = match self.closed {
            Some((store, incarnation)) => format!("closed {store} {incarnation}\n"),
            None => "closed none\n".to_owned(),
        };
        let text = format!("{former}joinable {}\n{}", self.is_joinable, self.member.text());
        Ok(Self::MARKER.write(&data.join(Self::FILE), &text)?)
    }

    fn remove(data: &Path) -> Result<()> {
        Ok(Marker::remove(&data.join(Self::FILE))?)
    }

    fn parse(text: &str) -> Option<Self> {
        let (first, rest) = text.split_once('\n')?;
        let closed = match first.strip_prefix("closed ")?.split_once(' ') {
            Some((store, incarnation)) => Some((StoreId(unhex(store)?), incarnation.parse().ok()?)),
            None => None,
        };
        let (joinable, rest) = rest.split_once('\n')?;
        let is_joinable = joinable.strip_prefix("joinable ")?.parse().ok()?;
        Some(Self { member: Member::parse(MARKER.version, rest)?, closed, is_joinable })
    }
}

/// What a file says; `None` if there is none.
fn read<T>(
    marker: Marker,
    path: PathBuf,
    parse: impl FnOnce(u32, &str) -> Option<T>,
) -> Result<Option<T>> {
    let reason = match marker.read_up_to(&path, BYTES_MAX)? {
        Marked::Absent => return Ok(None),
        Marked::Newer(version) => return Err(Error::Newer { path, version }),
        Marked::Damaged(_) => "its checksum or its form is wrong",
        Marked::Text { version, text } => match parse(version, &text) {
            Some(found) => return Ok(Some(found)),
            None => "a line is missing or invalid",
        },
    };
    Err(Error::Damaged { path, reason: reason.into() })
}

/// Hexadecimal digits, with hyphens as a uuid has them.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| *byte != b'-')
        .map(|byte| char::from(byte).to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2).map(|chunk| chunk[0] << 4 | chunk[1]).collect::<Vec<u8>>();
    if digits.len() == 2 * N { pairs.try_into().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> Member {
        let mut member = Member::first("postgresql://a@b/c", [7, 0, u64::MAX, 1]).unwrap();
        member.base.position = Position { seq: 4711, hash: Hash([0xAB; 32]) };
        member.with_tokens(vec!["one".to_owned(), "two".to_owned()])
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
    fn a_member_that_was_begun_is_known_until_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path();
        let former = member();
        former.write(data).unwrap();
        assert_eq!(Begun::read(data).unwrap(), None);
        let next = Member::first("postgresql://a@b/c", [7, 0, 0, 1]).unwrap();
        for closed in [None, Some((former.store, 2))] {
            let begun = Begun { member: next.clone(), closed, is_joinable: closed.is_some() };
            begun.write(data).unwrap();
            assert_eq!(Begun::read(data).unwrap(), Some(begun));
        }
        assert_eq!(Member::read(data).unwrap(), Some(former));
        // As after a crash in the middle of `complete`.
        next.write(data).unwrap();
        assert_eq!(Begun::read(data).unwrap(), None);
        next.complete(data).unwrap();
        assert!(!data.join(Begun::FILE).exists());
        std::fs::write(data.join(Begun::FILE), "damaged").unwrap();
        assert!(matches!(Begun::read(data), Err(Error::Damaged { .. })));
        Member::remove(data).unwrap();
        assert!(!data.join(Begun::FILE).exists());
    }

    #[test]
    fn a_file_of_a_newer_release_is_newer_and_missing_lines_are_damage() {
        let dir = tempfile::tempdir().unwrap();
        let file = Member::file(dir.path());
        Marker { version: 3, ..MARKER }.write(&file, "anything\n").unwrap();
        assert!(matches!(Member::read(dir.path()), Err(Error::Newer { version: 3, .. })));
        let text = member().text();
        for cut in 0..text.lines().count() {
            let lines: Vec<&str> =
                text.lines().enumerate().filter(|pair| pair.0 != cut).map(|pair| pair.1).collect();
            MARKER.write(&file, &(lines.join("\n") + "\n")).unwrap();
            assert!(matches!(Member::read(dir.path()), Err(Error::Damaged { .. })), "line {cut}");
        }
    }

    #[test]
    fn a_file_of_the_first_version_has_no_tokens() {
        let dir = tempfile::tempdir().unwrap();
        let member = member().with_tokens(Vec::new());
        let text = member.text();
        let first = Marker { version: 1, ..MARKER };
        first.write(&Member::file(dir.path()), text.strip_suffix("tokens 0\n").unwrap()).unwrap();
        assert_eq!(Member::read(dir.path()).unwrap(), Some(member));
    }
}
