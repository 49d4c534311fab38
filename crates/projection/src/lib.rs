//! A projection of a log: a tree of keys and values that can be rebuilt from the log.
//!
//! sled is ordered and fast, and loses nothing when its process is killed. But a power cut or a
//! flipped bit can leave it unreadable or, worse, stale; it never releases space; and it panics on
//! damage. So it is never the only copy, and this crate contains the rules for using it:
//!
//! - While a tree is open, a marker contains the boot id. A tree that was open when the machine
//!   stopped is [`Unusable`]: set it aside, and rebuild it from the log.
//! - Every value has a checksum over its key and itself.
//! - Rows are buffered in memory until there are enough for a batch: what is lost with the process
//!   is replayed. So write the log position in the same batch as the rows that it covers.
//! - [`Tree::sync`] waits for the disk, which sled's own flush does not.
//! - [`Tree::rewrite`] releases space.
//!
//! ```
//! use std::ops::ControlFlow;
//! use waypost_projection::{Error, Options, Tree, boot_id};
//!
//! # fn main() -> Result<(), Error> {
//! # let dir = tempfile::tempdir().expect("a temporary folder");
//! # let dir = dir.path().join("state");
//! let options = Options::new(1).with_cache_bytes(16 << 20);
//! let tree = Tree::open(&dir, &options, &boot_id())?.expect("a new one is usable");
//! tree.write(vec![(b"a1".to_vec(), Some(b"one".to_vec())), (b"applied".to_vec(), Some(vec![1]))])?;
//! assert_eq!(tree.get(b"a1")?.as_deref(), Some(&b"one"[..]));
//!
//! let mut keys = Vec::new();
//! tree.scan(b"a", &mut |key, _| {
//!     keys.push(key.to_vec());
//!     Ok::<_, Error>(ControlFlow::Continue(()))
//! })?;
//! assert_eq!(keys, [&b"a1"[..], b"applied"]);
//! tree.close()
//! # }
//! ```

mod error;
pub mod files;
mod pending;
mod rewrite;
mod tree;
mod value;

pub use error::{Error, Result, Unusable};
pub use rewrite::{remove_leftovers, set_aside};
pub use tree::{Each, MARKED, Options, Tree, Write, boot_id, refuse_open};
