//! Finds the project folder and resolves settings, each with its origin.
//!
//! The value of a setting comes from a flag, else from its `WAYPOST_*` variable, else from the
//! user's own `waypost/config.yaml`, else from the project's `.waypost/config.yaml`, else it is the
//! default. Flags and variables are passed in: this crate reads neither.
//!
//! The project's files are not trusted: the user's approvals of them are stored in the user's state
//! folder ([`Approvals`]), and so is the list of data folders that did not come from elsewhere
//! ([`claim_data`]).
//!
//! ```
//! use waypost_project::{Origin, Project, Settings, Sources};
//!
//! # fn main() -> waypost_project::Result<()> {
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! # std::fs::create_dir(folder.path().join(".git")).expect("a folder");
//! let project = Project::find(folder.path())?;
//! let environment = |name: &str| (name == "WAYPOST_LOG_LEVEL").then(|| "debug".into());
//! let settings = Settings::resolve(&Sources::new(&project, folder.path(), &environment))?;
//!
//! assert_eq!(settings.log.level, "debug");
//! assert_eq!(settings.origin("log.level"), Some(&Origin::Variable("WAYPOST_LOG_LEVEL".into())));
//! assert_eq!(settings.listen.to_string(), "127.0.0.1:4747");
//! # Ok(())
//! # }
//! ```

mod approvals;
mod cache;
mod config;
mod declared;
mod error;
mod identity;
mod key;
mod nearest;
mod private;
mod project;
mod reference;
mod settings;
mod shape;
mod state;
mod trusted;
mod value;

pub use approvals::{Approval, Approvals, ApprovalsStamp, sha256};
pub use cache::{Environment, models_dir, open_file, socket_path, state_dir, user_config_file};
pub use declared::{
    BrowserEngine, BrowserPictures, BrowserSettings, ClusterSettings, ContextSettings,
    EmbeddingSettings, EventSettings, LimitSettings, LogFormat, LogSettings, MeshSettings, Model,
    ModelSettings, RecallSettings, RerankSettings, SearchSettings, Settings, TlsSettings,
    WatchMode,
};
pub use error::{Error, InTheWay, PendingFile, PendingSetting, Result};
pub use identity::{
    Adopted, adopt_data, check_data, check_registry, claim_data, is_unfinished_id, project_id,
    remove_unfinished_restores, set_registry_aside,
};
pub use key::Origin;
pub use private::{Owners, Tightened, check_file, tighten, write_private};
pub use project::{Prepared, Project, create_data_dir};
pub use reference::reference;
pub use settings::{EVENT_PREFIX, Flag, RUN_VARIABLES, Row, Sources, needs_approval};
pub use shape::{check_shape, in_the_way};
pub use trusted::read_of_project;
pub use value::parse_time;

/// The exit status of a service whose store another process has open: `EX_TEMPFAIL` of `sysexits.h`.
pub const STATUS_IN_USE: u8 = 75;
