//! `emit`, `events`.

use std::time::Duration;

use waypost_api::client::{Client, Error, Stored, Told};
use waypost_api::{Event, EventData, EventsRequest, PublishRequest, Scalar, StreamRequest};

use crate::cli::{EmitArgs, EventsCommand, EventsListArgs, EventsTailArgs};
use crate::failure::{Failure, Result};
use crate::output::{Look, Output};
use crate::pairs;
use crate::program::Program;
use crate::span;

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
        take(pairs::split(text).map_err(|it| Failure::usage(format!("--data: {it}")))?)?;
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
    let did = match stored {
        Stored::New(_) => "published",
        Stored::Existing(_) => "already exists:",
    };
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
    let Ok(flows) = client.flows() else { return };
    for file in flows.files.iter().filter(|it| !it.pending.is_empty()) {
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
    let since = since.map(|it| span::past("--since", &it, span::now())).transpose()?;
    let request = EventsRequest { limit, pattern, after, before, since };
    let page = program.client()?.events(&request)?;
    if output.is_json() {
        output.document(&page.events)?;
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
                    left = left.map(|it| it - 1);
                    let shown = if output.is_json() {
                        output.line_of_json(&event).map_err(Failure::from)
                    } else {
                        show(&event, output)
                    };
                    shown.and_then(|()| Ok(output.flush()?))
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
    output.styled(&pieces)?;
    Ok(())
}
