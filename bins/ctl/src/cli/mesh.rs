//! Commands about the mesh.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::span;

#[derive(Debug, Subcommand)]
pub(crate) enum MeshCommand {
    Call(MeshCallArgs),
    /// List who is there, and what they serve
    #[command(after_help = "Example:\n  ctl mesh peers")]
    Peers,
    Listen(MeshListenArgs),
    Broadcast(MeshBroadcastArgs),
    Pair(MeshPairArgs),
    /// List the paired machines, and what each may do here
    #[command(after_help = "Example:\n  ctl mesh machines")]
    Machines,
    /// Show what a paired router is to be started with, as the list of machines is now
    ///
    /// A configuration file of `zenohd`, which names each machine: bring it to the router again when one is paired or
    /// revoked.
    #[command(after_help = "Example:\n  ctl mesh router meeting > zenohd.json5")]
    Router {
        /// The router's name
        name: String,
    },
    /// Take from a paired machine all that it may do
    ///
    /// Peers that are running notice within a second.
    #[command(after_help = "Example:\n  ctl mesh revoke laptop")]
    Revoke {
        /// The machine's name
        name: String,
    },
}

/// Call a command of a target and show its result
///
/// Exit status: 3 if the target says that what was named is not there, 4 if it may not be called, 5 if nobody serves
/// it.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl mesh call browser.relay navigate '{\"url\": \"https://example.org/\"}'"
)]
pub(crate) struct MeshCallArgs {
    /// Who is called, such as `browser.relay`
    pub(crate) target: String,
    /// What it is to do, such as `click`
    pub(crate) command: String,
    /// With what, as JSON; by default `null`
    pub(crate) argument: Option<String>,
    /// How long to wait for the result, at most 3 minutes
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = span::short)]
    pub(crate) timeout: Duration,
}

/// Show events of peers as they come
///
/// Old events are not kept, and one that comes faster than it is shown may be lost; how many were is said.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl mesh listen 'human_*'")]
pub(crate) struct MeshListenArgs {
    /// Only of this type, or of this source and type, as `SOURCE/TYPE`; `*` stands for anything
    #[arg(default_value = "*")]
    pub(crate) pattern: String,
    /// End after so many
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
}

/// Tell an event to whoever listens
///
/// A service that has joined makes an event of each `mesh:task`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl mesh broadcast mesh:task '{\"title\": \"Try the new parser\"}'"
)]
pub(crate) struct MeshBroadcastArgs {
    /// Its type, such as `mesh:task`
    pub(crate) kind: String,
    /// What there is to say, as a JSON object; by default nothing
    pub(crate) body: Option<String>,
    /// What it is about
    #[arg(long, value_name = "NAME", default_value = "ctl")]
    pub(crate) source: String,
}

/// Let another machine in, or change what it may do here
///
/// Makes a folder with a certificate and a key for it. Bring that folder to the other machine, in secret, as `pairing`
/// in its project's `data_dir`. The first pairing makes this machine's certificate authority.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl mesh pair laptop --to ./laptop --address home.lan:7461 --call 'browser.relay/*' --events"
)]
pub(crate) struct MeshPairArgs {
    /// The other machine's name
    pub(crate) name: String,
    /// The new folder with what the other machine needs
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: PathBuf,
    /// What it may call here, as `TARGET/COMMAND` or `TARGET/*`; may be repeated
    #[arg(long, value_name = "TARGET/COMMAND")]
    pub(crate) call: Vec<String>,
    /// Events go to it and come from it
    #[arg(long)]
    pub(crate) events: bool,
    /// It is a zenoh router, reached there: what it hands on counts as coming from the machine that it names
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) router: Option<String>,
    /// With the first pairing: where others reach this machine
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
    /// With the first pairing: this machine's name
    #[arg(long, value_name = "NAME", default_value = "home")]
    pub(crate) own_name: String,
}
