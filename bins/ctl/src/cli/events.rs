//! Commands about events.

use clap::{Args, Subcommand};

/// Publish an event
///
/// It is on disk when this returns.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl emit eval:scored --data agent=scout,delta=0.25,improved=true\n  ctl emit note:taken --set 'text=commas, and = signs as they are'"
)]
pub(crate) struct EmitArgs {
    /// What happened, as `namespace:name`
    pub(crate) name: String,
    /// What there is to say, as `key=value,key=value`; may be repeated
    ///
    /// A value that is a number is sent as one, unless it is quoted (`key="1"`). In quotes commas are part of the
    /// value; without, `\,`, `\=` and `\\` stand for themselves.
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub(crate) data: Vec<String>,
    /// One key and its value, with everything in it as it is; may be repeated
    ///
    /// For values that come from elsewhere: none can become a further key.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Publishing again with the same key publishes nothing new
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    List(EventsListArgs),
    Tail(EventsTailArgs),
}

/// List events, the oldest first
///
/// Without `--after` the newest.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl events list --pattern 'eval:*' --since 1h --limit 20")]
pub(crate) struct EventsListArgs {
    /// Only of this type; with a `*` at its end, of all types that begin so
    #[arg(long)]
    pub(crate) pattern: Option<String>,
    /// How many at most
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) limit: Option<u64>,
    /// Only those after this event, from the oldest of them on
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<u64>,
    /// Only those before this event
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<u64>,
    /// Only those published since: `1h`, `30d`, a day, or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
}

/// Show events as they come
///
/// A connection that breaks is made again, and no event is missed.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl events tail --pattern 'eval:*' --after 0")]
pub(crate) struct EventsTailArgs {
    /// Only of this type; with a `*` at its end, of all types that begin so
    #[arg(long)]
    pub(crate) pattern: Option<String>,
    /// Begin after this event, 0 for the first that is kept; by default with the next one
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<u64>,
    /// End after so many
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
}
