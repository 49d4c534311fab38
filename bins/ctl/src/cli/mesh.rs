//! Commands about the mesh.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::span;

#[derive(Debug, Subcommand)]
pub(crate) enum MeshCommand {
    Call(MeshCallArgs),
    /// List peers and the targets they serve
    #[command(after_help = "Example:\n  ctl mesh peers")]
    Peers,
    Listen(MeshListenArgs),
    Broadcast(MeshBroadcastArgs),
    Pair(MeshPairArgs),
    /// List paired machines and their permissions
    #[command(after_help = "Example:\n  ctl mesh machines")]
    Machines,
    /// Revoke all permissions of a paired machine
    ///
    /// Running peers apply this within a second.
    #[command(after_help = "Example:\n  ctl mesh revoke laptop")]
    Revoke {
        /// The machine's name
        name: String,
    },
}

/// Call a command of a target and show its result
///
/// Exit status: 3 if the target reports that something does not exist, 4 if the call is not permitted, 5 if no peer
/// serves the target.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl mesh call browser.relay navigate '{\"url\": \"https://example.org/\"}'"
)]
pub(crate) struct MeshCallArgs {
    /// The target, such as `browser.relay`
    pub(crate) target: String,
    /// The command, such as `click`
    pub(crate) command: String,
    /// The argument, as JSON [default: null]
    pub(crate) argument: Option<String>,
    /// How long to wait for the result, at most 3 minutes
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = span::short)]
    pub(crate) timeout: Duration,
}

/// Show events that peers broadcast
///
/// Events are not stored, and events that arrive faster than they are shown may be lost; the command reports how many.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl mesh listen 'human_*'")]
pub(crate) struct MeshListenArgs {
    /// Only events of this type, or of this source and type, as `SOURCE/TYPE`; `*` matches anything
    #[arg(default_value = "*")]
    pub(crate) pattern: String,
    /// Stop after this many events
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
}

/// Broadcast an event to all listeners
///
/// A service that has joined the mesh publishes each `mesh:task` on its event bus.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl mesh broadcast mesh:task '{\"title\": \"Try the new parser\"}'"
)]
pub(crate) struct MeshBroadcastArgs {
    /// The event's type, such as `mesh:task`
    pub(crate) kind: String,
    /// The event's data, as a JSON object [default: empty]
    pub(crate) body: Option<String>,
    /// The event's source
    #[arg(long, value_name = "NAME", default_value = "ctl")]
    pub(crate) source: String,
}

/// Pair another machine, or change its permissions
///
/// Creates a folder with a certificate and a private key for the other machine. Copy it there over a secure channel, as
/// `pairing` in the `data_dir` of its project. The first pairing creates this machine's certificate authority.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl mesh pair laptop --to ./laptop --address home.lan:7461 --call 'browser.relay/*' --events"
)]
pub(crate) struct MeshPairArgs {
    /// The other machine's name
    pub(crate) name: String,
    /// New folder for the other machine's certificate and key
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: PathBuf,
    /// Permit the machine to call this, as `TARGET/COMMAND` or `TARGET/*`; may be repeated
    #[arg(long, value_name = "TARGET/COMMAND")]
    pub(crate) call: Vec<String>,
    /// Exchange events with the machine
    #[arg(long)]
    pub(crate) events: bool,
    /// For the first pairing: the address where other machines reach this one
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
    /// For the first pairing: this machine's name
    #[arg(long, value_name = "NAME", default_value = "home")]
    pub(crate) own_name: String,
}
