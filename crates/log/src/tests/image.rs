//! What a disk may hold after a crash: a small model of a file system that promises only what
//! `fdatasync` of files and `fsync` of folders promise.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::Random;
use crate::disk::{Gate, Op};

/// A change as recorded, or what the test noted beside it.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Create(String),
    Write(String, u64, Vec<u8>),
    SetLen(String, u64),
    Sync(String),
    Rename(String, String),
    Remove(String),
    SyncFolder,
    /// These sequences have been answered.
    Answered(Range<u64>),
    /// A removal of sequences, up to this one, has begun; and is done.
    Removing(u64),
    Removed(u64),
}

/// Records what a log does.
#[derive(Debug, Clone, Default)]
pub(super) struct Recorder(Arc<Mutex<Vec<Event>>>);

impl Recorder {
    pub(super) fn note(&self, event: Event) {
        self.0.lock().expect("no recorder panics").push(event);
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.0.lock().expect("no recorder panics").clone()
    }

    pub(super) fn gate(&self) -> Gate {
        let recorder = self.clone();
        Arc::new(move |op| {
            recorder.note(match *op {
                Op::Create { file } => Event::Create(file.to_owned()),
                Op::Write { file, offset, bytes } => {
                    Event::Write(file.to_owned(), offset, bytes.to_vec())
                }
                Op::SetLen { file, len } => Event::SetLen(file.to_owned(), len),
                Op::Sync { file } => Event::Sync(file.to_owned()),
                Op::Rename { from, to } => Event::Rename(from.to_owned(), to.to_owned()),
                Op::Remove { file } => Event::Remove(file.to_owned()),
                Op::SyncFolder => Event::SyncFolder,
            });
            Ok(())
        })
    }
}

#[derive(Debug, Clone)]
enum Change {
    Write(u64, Vec<u8>),
    SetLen(u64),
}

#[derive(Debug, Clone, Default)]
struct Inode {
    synced: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
enum FolderChange {
    Link(String, usize),
    Rename(String, String, usize),
    Unlink(String),
}

/// A file system in the middle of its work.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    inodes: Vec<Inode>,
    now: BTreeMap<String, usize>,
    synced: BTreeMap<String, usize>,
    pending: Vec<FolderChange>,
}

/// Files by name.
pub(super) type Image = BTreeMap<String, Vec<u8>>;

impl Disk {
    /// A disk on which an image has long been synced.
    pub(super) fn holding(image: &Image) -> Self {
        let mut disk = Self::default();
        for (name, bytes) in image {
            disk.now.insert(name.clone(), disk.inodes.len());
            disk.inodes.push(Inode { synced: bytes.clone(), pending: Vec::new() });
        }
        disk.synced = disk.now.clone();
        disk
    }

    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Create(name) => {
                if let Some(&inode) = self.now.get(name) {
                    self.inodes[inode].pending.push(Change::SetLen(0));
                } else {
                    let inode = self.inodes.len();
                    self.inodes.push(Inode::default());
                    self.now.insert(name.clone(), inode);
                    self.pending.push(FolderChange::Link(name.clone(), inode));
                }
            }
            Event::Write(name, offset, bytes) => {
                self.inode(name).pending.push(Change::Write(*offset, bytes.clone()));
            }
            Event::SetLen(name, len) => self.inode(name).pending.push(Change::SetLen(*len)),
            Event::Sync(name) => {
                let inode = self.inode(name);
                inode.synced = applied(&inode.synced, &inode.pending);
                inode.pending.clear();
            }
            Event::Rename(from, to) => {
                let inode = self.now.remove(from).expect("only existing files are renamed");
                self.now.insert(to.clone(), inode);
                self.pending.push(FolderChange::Rename(from.clone(), to.clone(), inode));
            }
            Event::Remove(name) => {
                self.now.remove(name).expect("only existing files are removed");
                self.pending.push(FolderChange::Unlink(name.clone()));
            }
            Event::SyncFolder => {
                self.synced = self.now.clone();
                self.pending.clear();
            }
            Event::Answered(_) | Event::Removing(_) | Event::Removed(_) => {}
        }
    }

    fn inode(&mut self, name: &str) -> &mut Inode {
        let inode = self.now[name];
        &mut self.inodes[inode]
    }

    /// After `kill -9`: the kernel has everything.
    pub(super) fn killed(&self) -> Image {
        let content = |inode: &usize| {
            let inode = &self.inodes[*inode];
            applied(&inode.synced, &inode.pending)
        };
        self.now.iter().map(|(name, inode)| (name.clone(), content(inode))).collect()
    }

    /// After a power cut that lost everything which was not synced.
    pub(super) fn lost(&self) -> Image {
        let content = |inode: &usize| self.inodes[*inode].synced.clone();
        self.synced.iter().map(|(name, inode)| (name.clone(), content(inode))).collect()
    }

    /// After a power cut that kept, by chance, some folder changes, and of each block any version
    /// since its last sync; sometimes a block is torn.
    pub(super) fn cut(&self, random: &mut Random, block: usize) -> Image {
        let mut names = self.synced.clone();
        let kept = random.below(self.pending.len() + 1);
        let in_order = random.below(2) == 0;
        for (at, change) in self.pending.iter().enumerate() {
            if if in_order { at >= kept } else { random.below(2) == 0 } {
                continue;
            }
            match change {
                FolderChange::Link(name, inode) => {
                    names.insert(name.clone(), *inode);
                }
                FolderChange::Rename(from, to, inode) => {
                    names.remove(from);
                    names.insert(to.clone(), *inode);
                }
                FolderChange::Unlink(name) => {
                    names.remove(name);
                }
            }
        }
        let content = |inode: usize, random: &mut Random| {
            let inode = &self.inodes[inode];
            let mut choose = |versions: usize| random.below(versions);
            mixed(inode, block, &mut choose)
        };
        names.into_iter().map(|(name, inode)| (name, content(inode, random))).collect()
    }

    /// Every mixture of lost and kept blocks of the file `name`, if it has at most twelve dirty
    /// ones; everything else as after `kill -9`.
    pub(super) fn every_cut(&self, name: &str, block: usize) -> Vec<Image> {
        let inode = &self.inodes[self.now[name]];
        let new = applied(&inode.synced, &inode.pending);
        let blocks: Vec<usize> = (0..new.len().div_ceil(block))
            .filter(|number| {
                block_of(&inode.synced, *number, block) != block_of(&new, *number, block)
            })
            .collect();
        assert!(blocks.len() <= 12, "{} dirty blocks", blocks.len());
        let mixtures = 0..1_u32 << blocks.len();
        let image = |kept: u32| {
            let mut content = new.clone();
            for (bit, at) in blocks.iter().enumerate().filter(|pair| kept & (1 << pair.0) == 0) {
                let range = at * block..((at + 1) * block).min(new.len());
                let old = block_of(&inode.synced, *at, block);
                let mut old = old.to_vec();
                old.resize(range.len(), 0);
                content[range].copy_from_slice(&old);
                assert!(bit < 12);
            }
            let mut image = self.killed();
            image.insert(name.to_owned(), content);
            image
        };
        mixtures.map(image).collect()
    }
}

fn block_of(bytes: &[u8], at: usize, block: usize) -> &[u8] {
    let start = (at * block).min(bytes.len());
    &bytes[start..(start + block).min(bytes.len())]
}

fn applied(synced: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = synced.to_vec();
    for change in changes {
        match change {
            Change::Write(offset, written) => {
                let end = *offset as usize + written.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*offset as usize..end].copy_from_slice(written);
            }
            Change::SetLen(len) => bytes.resize(*len as usize, 0),
        }
    }
    bytes
}

/// Each block as of any moment since the sync; `choose` picks the moments.
fn mixed(inode: &Inode, block: usize, choose: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
    let moments = inode.pending.len() + 1;
    let versions: Vec<Vec<u8>> =
        (0..moments).map(|number| applied(&inode.synced, &inode.pending[..number])).collect();
    let len = versions[choose(moments)].len();
    let mut bytes = vec![0; len];
    for at in 0..len.div_ceil(block) {
        let version = block_of(&versions[choose(moments)], at, block);
        let start = at * block;
        let take = version.len().min(len - start);
        bytes[start..start + take].copy_from_slice(&version[..take]);
        // One block in eight is torn between two versions at any byte.
        if choose(8) == 0 {
            let other = block_of(&versions[choose(moments)], at, block);
            let take = choose(block + 1).min(other.len()).min(len - start);
            bytes[start..start + take].copy_from_slice(&other[..take]);
        }
    }
    bytes
}

/// Puts an image into an empty folder.
pub(super) fn write(image: &Image, dir: &Path) {
    for (name, bytes) in image {
        std::fs::write(dir.join(name), bytes).expect("the folder is writable");
    }
}
