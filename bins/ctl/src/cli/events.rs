//! Commands about events.

use clap::{Args, Subcommand};
use waypost_api::limits::LIMIT_MAX;

/// Publish an event
///
/// The event is on disk when the command returns.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl emit eval:scored --data agent=scout,delta=0.25,improved=true\n  ctl emit note:taken --set 'text=commas, and = signs as they are'"
)]
pub(crate) struct EmitArgs {
    /// The event's type, as `namespace:name`
    pub(crate) name: String,
    /// The event's data, as `key=value,key=value`; may be repeated
    ///
    /// A value is sent as a number only if that number is written exactly so (`7`, `-0.25`; not `1.10`, `007`,
    /// `3e8`) and not quoted (`key="7"`). Commas inside quotes belong to the value; outside, escape them: `\,`,
    /// `\=`, `\\`.
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub(crate) data: Vec<String>,
    /// One key and its value, with any commas and quotes in it; may be repeated
    ///
    /// For values from other programs: none can add a further key. A value is a number or a text as in `--data`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Idempotency key: publishing again with the same key returns the first event
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    List(EventsListArgs),
    Tail(EventsTailArgs),
}

/// List events, oldest first
///
/// Without `--after`, lists the newest events.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl events list --pattern 'eval:*' --since 1h --limit 20")]
pub(crate) struct EventsListArgs {
    /// Only events of this type; a trailing `*` matches all types with that prefix
    #[arg(long)]
    pub(crate) pattern: Option<String>,
    /// Maximum number of results
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    pub(crate) limit: Option<u64>,
    /// Only events after this one, starting with the oldest
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<u64>,
    /// Only events before this one
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<u64>,
    /// Only events published since this time: `1h` ago, `30d` ago, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
}

/// Show events as they arrive
///
/// Reconnects after a lost connection, and misses no event.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl events tail --pattern 'eval:*' --after 0")]
pub(crate) struct EventsTailArgs {
    /// Only events of this type; a trailing `*` matches all types with that prefix
    #[arg(long)]
    pub(crate) pattern: Option<String>,
    /// Start after this event; 0 starts with the oldest [default: only new events]
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<u64>,
    /// Stop after this many events
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
}
