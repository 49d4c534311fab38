//! Reads objects, within limits.

use std::cell::Cell;

use gix_hash::{Kind, ObjectId, oid};
use gix_object::Data;
use gix_odb::store::init::{Options, Slots};

use super::place::{Place, refused};
use crate::{Error, Result};

/// The largest commit or tree that is read: a folder of 600,000 files.
const OBJECT_BYTES_MAX: usize = 32 << 20;
/// The most objects that one call reads: about ten times what ordinary histories need.
const OBJECTS_MAX: u64 = 400_000;

/// The objects of a repository. Every read is counted, and checks for cancellation.
pub(super) struct Objects<'a> {
    odb: gix_odb::Handle,
    left: Cell<u64>,
    cancelled: Cell<bool>,
    cancel: &'a dyn Fn() -> bool,
}

impl<'a> Objects<'a> {
    pub(super) fn open(place: &Place, cancel: &'a dyn Fn() -> bool) -> Result<Self> {
        let folder = place.objects()?;
        let options = Options {
            slots: Slots::default(),
            use_multi_pack_index: true,
            alloc_limit_bytes: Some(OBJECT_BYTES_MAX),
            // Only alternates are relative to it, and there are none.
            current_dir: Some(folder.clone()),
            ..Options::default()
        };
        let mut odb = match gix_odb::at_opts(&folder, Kind::Sha1, [], options) {
            Ok(it) => it,
            Err(it) if it.raw_os_error().is_some() => return Err(Error::io(folder, it)),
            Err(_) => return refused(&folder, "its object packs are damaged"),
        };
        // Objects missing in a shallow or partial clone stay missing.
        odb.refresh_never();
        Ok(Self { odb, left: Cell::new(OBJECTS_MAX), cancelled: Cell::new(false), cancel })
    }

    /// A commit; nothing if it is missing, damaged, too large or beyond the limits.
    pub(super) fn commit<'b>(&self, id: &oid, buffer: &'b mut Vec<u8>) -> Option<Commit<'b>> {
        let data = gix_object::Find::try_find(self, id, buffer).ok()??;
        let commit = gix_object::CommitRef::from_bytes(
            (data.kind == gix_object::Kind::Commit).then_some(data.data)?,
            Kind::Sha1,
        )
        .ok()?;
        let time = commit.committer().ok()?.seconds();
        Some(Commit {
            tree: commit.tree(),
            parents: commit.parents().collect(),
            // The range of a calendar.
            time: time.clamp(0, 253_402_300_799),
            message: commit.message,
        })
    }

    /// Returns an error if the caller cancelled.
    pub(super) fn check(&self) -> Result<()> {
        if self.cancelled.get() || (self.cancel)() {
            return Err(Error::Cancelled);
        }
        Ok(())
    }

    /// Whether the limit of objects is reached.
    pub(super) fn spent(&self) -> bool {
        self.left.get() == 0
    }
}

/// The contents of a commit.
pub(super) struct Commit<'a> {
    pub(super) tree: ObjectId,
    pub(super) parents: Vec<ObjectId>,
    pub(super) time: i64,
    pub(super) message: &'a gix_object::bstr::BStr,
}

impl gix_object::Find for Objects<'_> {
    fn try_find<'b>(
        &self,
        id: &oid,
        buffer: &'b mut Vec<u8>,
    ) -> gix_error::Result<Option<Data<'b>>> {
        if (self.cancel)() {
            self.cancelled.set(true);
        }
        if self.cancelled.get() || self.spent() {
            return Ok(None);
        }
        self.left.set(self.left.get() - 1);
        self.odb.try_find(id, buffer)
    }
}
