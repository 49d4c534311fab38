//! `emit`, `events`.

use std::time::Duration;

use clap::{Args, Subcommand};
use waypost_api::client::{Client, Error, Stored, Told};
use waypost_api::limits::LIMIT_MAX;
use waypost_api::{Event, EventData, EventsRequest, PublishRequest, Scalar, StreamRequest, routes};
use waypost_cli::failure::{Failure, Result};
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;
use waypost_cli::span;

use crate::pairs;

/// Publish an event
///
/// The event is on disk when the command returns.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl emit eval:scored --data agent=scout,delta=0.25,improved=true\n  ctl emit note:taken --set 'text=commas, and = signs as they are'"
)]
pub(crate) struct EmitArgs {
    /// The event's type, as `namespace:name`
    name: String,
    /// The event's data, as `key=value,key=value`; may be repeated
    ///
    /// A value is sent as a number only if that number is written exactly so (`7`, `-0.25`; not `1.10`, `007`,
    /// `3e8`) and not quoted (`key="7"`). Commas inside quotes belong to the value; outside, escape them: `\,`,
    /// `\=`, `\\`.
    #[arg(long, value_name = "KEY=VALUE,...")]
    data: Vec<String>,
    /// One key and its value, with any commas and quotes in it; may be repeated
    ///
    /// For values from other programs: none can add a further key. A value is a number or a text as in `--data`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Idempotency key: publishing again with the same key returns the first event
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
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
    pattern: Option<String>,
    /// Maximum number of results
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    limit: Option<u64>,
    /// Only events after this one, starting with the oldest
    #[arg(long, value_name = "ID")]
    after: Option<u64>,
    /// Only events before this one
    #[arg(long, value_name = "ID")]
    before: Option<u64>,
    /// Only events published since this time: `1h` ago, `30d` ago, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
}

/// Show events as they arrive
///
/// Reconnects after a lost connection, and misses no event.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl events tail --pattern 'eval:*' --after 0")]
pub(crate) struct EventsTailArgs {
    /// Only events of this type; a trailing `*` matches all types with that prefix
    #[arg(long)]
    pattern: Option<String>,
    /// Start after this event; 0 starts with the oldest [default: only new events]
    #[arg(long, value_name = "ID")]
    after: Option<u64>,
    /// Stop after this many events
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

/// How long to wait before reconnecting.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);

/// The data from `--data` and `--set` together.
pub(super) fn data(texts: &[String], literals: &[String]) -> Result<EventData> {
    let mut data: Vec<(String, Scalar)> = Vec::new();
    let mut take = |pairs: Vec<(String, Scalar)>| {
        for (key, value) in pairs {
            if data.iter().any(|(there, _)| *there == key) {
                return Err(Failure::usage(format!("duplicate key {key:?}")));
            }
            data.push((key, value));
        }
        Ok(())
    };
    for text in texts {
        take(pairs::split(text).map_err(|error| Failure::usage(format!("--data: {error}")))?)?;
    }
    for text in literals {
        take(vec![pairs::whole(text).map_err(|it| Failure::usage(format!("--set: {it}")))?])?;
    }
    Ok(EventData(data))
}

pub(super) fn emit(program: &Program, args: &EmitArgs, output: &mut Output) -> Result<()> {
    let data = data(&args.data, &args.set)?;
    let request = PublishRequest { kind: args.name.clone(), data };
    let client = program.client()?;
    let stored = client.publish(&request, args.idempotency_key.as_deref())?;
    let is_new = matches!(stored, Stored::New(_));
    let did = if is_new { "published" } else { "already exists:" };
    let published = stored.into_inner();
    if output.is_json() {
        output.document(&published)?;
        warn_pending(&client, output);
        return Ok(());
    }
    let id = format!(" #{} ", published.event.id);
    output.styled(&[(Look::Plain, did), (Look::Name, &id), (Look::Bold, &published.event.kind)])?;
    warn_pending(&client, output);
    Ok(())
}

/// Names the flows that do not run for the event because they are pending approval. Says nothing in
/// a flow's program, which nobody watches, and for a token that may not read flows.
fn warn_pending(client: &Client, output: &mut Output) {
    if std::env::var_os("WAYPOST_RUN_ID").is_some() {
        return;
    }
    let Ok(flows) = client.call(&routes::LIST_FLOWS, ()) else { return };
    for file in flows.files.iter().filter(|file| !file.pending.is_empty()) {
        let waiting = file.pending.join(", ");
        let (are, them) = if file.pending.len() == 1 { ("is", "it") } else { ("are", "them") };
        output.warn(&format!(
            "flows of {} do not run until {waiting} {are} approved: review {them} with `ctl allow`",
            file.name
        ));
    }
}

pub(super) fn events(program: &Program, command: EventsCommand, output: &mut Output) -> Result<()> {
    match command {
        EventsCommand::List(args) => list(program, args, output),
        EventsCommand::Tail(args) => tail(&program.client()?, args, output),
    }
}

fn list(program: &Program, args: EventsListArgs, output: &mut Output) -> Result<()> {
    let EventsListArgs { pattern, limit, after, before, since } = args;
    let since = since.map(|since| span::past("--since", &since, span::now())).transpose()?;
    let request = EventsRequest { limit, pattern, after, before, since };
    let page = program.client()?.events(&request)?;
    if output.json(&page.events)? {
        return Ok(());
    }
    if page.events.is_empty() {
        output.note("no events");
    }
    for event in &page.events {
        show(event, output)?;
    }
    Ok(())
}

fn tail(client: &Client, args: EventsTailArgs, output: &mut Output) -> Result<()> {
    let mut left = args.limit;
    let pattern = args.pattern;
    // Where to resume after a disconnect; known from the start, so that no event is missed.
    let mut after = match args.after {
        Some(it) => it,
        None => {
            client.events(&EventsRequest { limit: Some(1), ..EventsRequest::default() })?.next_after
        }
    };
    loop {
        let request = StreamRequest { pattern: pattern.clone(), after: Some(after) };
        let mut failed = None;
        let ended = client.follow_events(&request, &mut |told| {
            let shown = match told {
                Told::Event(event) => {
                    after = event.id;
                    left = left.map(|left| left - 1);
                    let shown = if output.is_json() {
                        output.line_of_json(&event)
                    } else {
                        show(&event, output)
                    };
                    shown.and_then(|()| output.flush())
                }
                Told::Reset { first } => {
                    after = first.saturating_sub(1);
                    output.warn(&format!("events before #{first} have been dropped"));
                    Ok(())
                }
            };
            failed = shown.err();
            Ok(failed.is_none() && left != Some(0))
        });
        if let Some(failure) = failed {
            return Err(failure);
        }
        match ended {
            Ok(()) if left == Some(0) => return Ok(()),
            Ok(())
            | Err(
                Error::NotReachable { .. }
                | Error::NoAnswer { .. }
                | Error::Closed { .. }
                | Error::BrokenOff { .. },
            ) => {}
            Err(error) => return Err(error.into()),
        }
        output.warn("lost the connection; reconnecting");
        std::thread::sleep(RECONNECT_AFTER);
    }
}

fn show(event: &Event, output: &mut Output) -> Result<()> {
    let id = format!("#{}", event.id);
    let time = format!("  {}  ", event.time);
    let mut pieces = vec![
        (Look::Name, id.as_str()),
        (Look::Dim, time.as_str()),
        (Look::Bold, event.kind.as_str()),
    ];
    let values: Vec<String> = event.data.0.iter().map(|(key, it)| pairs::shown(key, it)).collect();
    for value in &values {
        pieces.push((Look::Plain, " "));
        pieces.push((Look::Plain, value));
    }
    output.styled(&pieces)
}
