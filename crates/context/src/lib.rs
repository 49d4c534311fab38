//! Project context for a task: one query over its journals, knowledge documents and code headers.
//!
//! Journals record what happened, knowledge documents what is decided and how things are done, code
//! headers (doc comments and signatures) what exists. All three are ranked in one list; a
//! [`TaskType`] shifts the weights and excludes nothing.
//!
//! ```
//! use waypost_context::{Context, Options, Query, TaskType, Timestamp};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (project, data) = (folder.path().join("project"), folder.path().join("data"));
//! # std::fs::create_dir(&project)?;
//! # std::fs::write(project.join("cart.py"), "def add(line):\n    \"\"\"Adds a line to the cart.\"\"\"\n")?;
//! let context = Context::open(&project, &data, Options::default())?;
//! let now = Timestamp::from_secs(1_780_000_000);
//! context.scan(now, &|| false)?;
//!
//! let answer = context.query(&Query::new("a line in the cart").with_task(TaskType::Code), now)?;
//! let item = &answer.items[0];
//! assert_eq!((item.path.as_str(), item.line), ("cart.py", 1));
//! assert!(item.content.contains("def add(line)"));
//! context.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! # How the pieces fit
//!
//! 1. [`walk`] lists the files of the project; [`read`] and [`Extractor`] split them into chunks,
//!    with secrets removed before anything else reads a text.
//! 2. [`Context::scan`] and [`Context::update`] insert words and facts in memory and texts on disk,
//!    one whole file at a time.
//! 3. [`Context::query`] ranks by the words of bodies, headers, paths and past commits, by how
//!    often and recently files change, and by vectors if there is a model; then it checks the file
//!    of every item, so no answer contains text that is deleted, ignored or changed.
//!
//! The library starts no threads except those of a scan ([`Options::threads`]) and of a [`Watch`],
//! reads nothing outside the project, and takes the time as an argument.

mod error;
mod kind;
mod options;

mod discover;
mod extract;

mod history;
mod watch;

mod files;
mod text;

mod index;
mod prepare;
mod snapshot;
mod texts;
mod vectors;

mod answer;
mod query;
mod rank;
mod status;

mod context;
mod doctor;

pub use answer::{Answer, Item, Reason};
pub use context::{Cancel, Context};
pub use discover::{
    Class, Discovery, Found, Language, Limits, Prior, Root, Rules, SAMPLES_MAX, Skip, Stat, Walk,
    walk,
};
pub use doctor::verify;
pub use error::{Error, Result};
pub use extract::{Chunk, Extract, Extractor, Parser, Standing, read};
pub use history::{
    Commit, History, Present, Redact, Tracked, changed, head_files, main_worktree, tracked_below,
};
pub use kind::{Kind, Source, TaskType, Unknown};
pub use options::{EmbedFn, Embedder, Options};
pub use query::{ITEMS_MAX, Query};
pub use rank::{Weights, check_glob};
pub use status::{EmbedProgress, ScanReport, Status};
pub use watch::{Changes, How, Mode, Watch, Why};
pub use waypost_time::Timestamp;
