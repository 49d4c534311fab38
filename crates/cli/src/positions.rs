//! The positions of clusters that earlier commands of this user have seen, so that a command reads what an earlier one
//! wrote, whichever machine it asks.

use std::cell::RefCell;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use waypost_api::JournalPosition;
use waypost_project::write_private;

/// A position is remembered for this long: machines that are further behind have a problem that waiting does not solve.
const REMEMBERED_SECONDS: u64 = 600;
/// How many stores are remembered.
const STORES_MAX: usize = 16;
/// The file is smaller than this.
const BYTES_MAX: u64 = 4096;

/// The file `positions` in the user's state folder: lines `SECONDS STORE:INCARNATION:SEQUENCE`, the latest first.
#[derive(Debug)]
pub(crate) struct Positions {
    file: PathBuf,
    known: RefCell<Vec<(u64, JournalPosition)>>,
}

impl Positions {
    /// Reads the file. What is not understood, or old, is ignored: it is only about the last minutes.
    pub(crate) fn read(state: &Path) -> Self {
        let file = state.join("positions");
        let now = seconds();
        let is_recent = |at: u64| at <= now && now - at <= REMEMBERED_SECONDS;
        let line = |line: &str| {
            let (at, position) = line.split_once(' ')?;
            let at = at.parse().ok().filter(|value| is_recent(*value))?;
            Some((at, position.parse().ok()?))
        };
        let is_plain = file
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() < BYTES_MAX);
        let text =
            if is_plain { fs::read_to_string(&file).unwrap_or_default() } else { String::new() };
        Self { known: RefCell::new(text.lines().filter_map(line).take(STORES_MAX).collect()), file }
    }

    pub(crate) fn known(&self) -> Vec<JournalPosition> {
        self.known.borrow().iter().map(|known| known.1.clone()).collect()
    }

    /// Writes the file with a position that a response had, unless an earlier one was further. If that fails, a later
    /// command may read less.
    pub(crate) fn note(&self, position: JournalPosition) {
        let mut known = self.known.borrow_mut();
        if known.iter().any(|known| known.1.store == position.store && !position.replaces(&known.1))
        {
            return;
        }
        known.retain(|known| known.1.store != position.store);
        known.insert(0, (seconds(), position));
        known.truncate(STORES_MAX);
        let lines: Vec<String> =
            known.iter().map(|(at, position)| format!("{at} {position}\n")).collect();
        let lines = lines.concat();
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        if DirBuilder::new().recursive(true).mode(0o700).create(folder).is_ok() {
            drop(write_private(&self.file, lines.as_bytes()));
        }
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
