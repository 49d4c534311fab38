//! `cluster`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
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
pub(crate) struct ClusterJoinArgs {
    /// The URL of the PostgreSQL database
    #[arg(value_name = "URL")]
    pub(crate) database: String,
    /// The id of the store, if the database has several
    #[arg(long, value_name = "UUID")]
    pub(crate) store: Option<String>,
}

/// Leave the cluster and keep the store as one of this machine alone
///
/// The store keeps everything that this machine has applied, and tokens that other machines have revoked since are
/// revoked here, too. Changes that it makes from then on reach no other machine, and it can return only by joining
/// again, with an empty data folder. Stop the service first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl cluster leave --yes")]
pub(crate) struct ClusterLeaveArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Remove a machine that will not return from the list of machines
///
/// The machine must join again before it can follow the journal.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl cluster forget laptop-2")]
pub(crate) struct ClusterForgetArgs {
    /// The name or id of the machine
    pub(crate) machine: String,
    /// Forget it also if its service runs
    #[arg(long)]
    pub(crate) although_running: bool,
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
pub(crate) struct ClusterAcceptArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Continue although no loss was found
    #[arg(long)]
    pub(crate) although_complete: bool,
    /// Continue although another machine has reported a later position
    #[arg(long)]
    pub(crate) although_behind: bool,
}
