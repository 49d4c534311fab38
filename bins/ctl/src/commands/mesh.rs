//! `mesh`: through the service, which is a peer; the commands about pairing edit its files.
//!
//! Text from peers is untrusted; the output escapes its control characters.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use waypost_api::client::{Error, Heard};
use waypost_api::{
    MeshBroadcastRequest, MeshCallRequest, MeshEvent, MeshListenRequest, MeshPeer, routes,
};
use waypost_cli::exit;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;
use waypost_cli::span;
use waypost_mesh::{Allow, Machine, Pairing, Rights};

use super::text_or_stdin;

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
    target: String,
    /// The command, such as `click`
    command: String,
    /// The argument, as JSON [default: null]
    argument: Option<String>,
    /// How long to wait for the result, at most 3 minutes
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = span::short)]
    timeout: Duration,
}

/// Show events that peers broadcast
///
/// Events are not stored, and events that arrive faster than they are shown may be lost; the command reports how many.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl mesh listen 'human_*'")]
pub(crate) struct MeshListenArgs {
    /// Only events of this type, or of this source and type, as `SOURCE/TYPE`; `*` matches anything
    #[arg(default_value = "*")]
    pattern: String,
    /// Stop after this many events
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
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
    kind: String,
    /// The event's data, as a JSON object [default: empty]
    body: Option<String>,
    /// The event's source
    #[arg(long, value_name = "NAME", default_value = "ctl")]
    source: String,
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
    name: String,
    /// New folder for the other machine's certificate and key
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
    /// Permit the machine to call this, as `TARGET/COMMAND` or `TARGET/*`; may be repeated
    #[arg(long, value_name = "TARGET/COMMAND")]
    call: Vec<String>,
    /// Exchange events with the machine
    #[arg(long)]
    events: bool,
    /// For the first pairing: the address where other machines reach this one
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
    /// For the first pairing: this machine's name
    #[arg(long, value_name = "NAME", default_value = "home")]
    own_name: String,
}

pub(super) fn run(program: &Program, command: MeshCommand, output: &mut Output) -> Result<()> {
    match command {
        MeshCommand::Call(args) => call(program, args, output),
        MeshCommand::Peers => peers(program, output),
        MeshCommand::Listen(args) => listen(program, args, output),
        MeshCommand::Broadcast(args) => broadcast(program, args, output),
        MeshCommand::Pair(args) => pair(program, args, output),
        MeshCommand::Machines => machines(program, output),
        MeshCommand::Revoke { name } => revoke(program, &name, output),
    }
}

fn call(program: &Program, args: MeshCallArgs, output: &mut Output) -> Result<()> {
    let MeshCallArgs { target, command, argument, timeout } = args;
    let argument = argument.map(text_or_stdin).transpose()?;
    let argument =
        argument.map_or(Ok(Value::Null), |argument| json_of("the argument", &argument))?;
    let timeout = u64::try_from(timeout.as_millis()).ok();
    let request = MeshCallRequest { target, command, argument, timeout };
    let called = program.client()?.call(&routes::CALL_TARGET, &request).map_err(of_target)?;
    output.document(&called.result)
}

/// The failure of a call. A problem of the target says nothing about the arguments of the command.
fn of_target(error: Error) -> Failure {
    let is_of_target = matches!(&error, Error::Refused(problem)
        if problem.mesh_code().is_some() && problem.status == 422);
    let failure = Failure::from(error);
    if is_of_target { failure.with_code(exit::FAILED) } else { failure }
}

fn json_of(what: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("{what} is not JSON: {error}")))
}

fn peers(program: &Program, output: &mut Output) -> Result<()> {
    let peers = program.client()?.call(&routes::LIST_PEERS, ())?;
    if output.json(&peers)? {
        return Ok(());
    }
    if peers.is_empty() {
        output.note("no other peers");
        return Ok(());
    }
    let row = |peer: MeshPeer| {
        let targets = peer.targets.join(" ");
        vec![(Look::Name, peer.name), (Look::Plain, peer.origin), (Look::Plain, targets)]
    };
    let rows: Vec<_> = peers.into_iter().map(row).collect();
    output.table(&["peer", "where", "serves"], &rows)
}

fn listen(program: &Program, args: MeshListenArgs, output: &mut Output) -> Result<()> {
    let mut left = args.limit;
    let request = MeshListenRequest { pattern: Some(args.pattern) };
    let mut failed = None;
    program.client()?.follow_mesh(&request, &mut |heard| {
        let shown = match heard {
            Heard::Event(event) => {
                left = left.map(|left| left - 1);
                show(&event, output)
            }
            Heard::Lost(events) => {
                output.warn(&format!("lost {events} events that arrived too fast"));
                Ok(())
            }
        };
        failed = shown.err();
        Ok(failed.is_none() && left != Some(0))
    })?;
    match failed {
        Some(failure) => Err(failure),
        None if left == Some(0) => Ok(()),
        None => Err(Failure::new("the service left the mesh")),
    }
}

fn show(event: &MeshEvent, output: &mut Output) -> Result<()> {
    if output.is_json() {
        output.line_of_json(event)?;
    } else {
        let mut said = event.event.clone();
        if let Some(said) = said.as_object_mut() {
            said.remove("type");
        }
        let (from, said) = (format!(" {}/{} ", event.origin, event.from), format!(" {said}"));
        output.styled(&[
            (Look::Name, &event.source),
            (Look::Dim, &from),
            (Look::Bold, &event.kind),
            (Look::Plain, &said),
        ])?;
    }
    output.flush()
}

fn broadcast(program: &Program, args: MeshBroadcastArgs, output: &mut Output) -> Result<()> {
    let body = args.body.map(text_or_stdin).transpose()?;
    let event = body.map_or(Ok(json!({})), |body| json_of("the event", &body))?;
    let Value::Object(mut event) = event else {
        return Err(Failure::usage("the event's data must be a JSON object"));
    };
    if event.insert("type".to_owned(), args.kind.clone().into()).is_some() {
        return Err(Failure::usage("the data must not contain `type`"));
    }
    let request = MeshBroadcastRequest { source: args.source, event };
    let sent = program.client()?.call(&routes::BROADCAST_EVENT, &request)?;
    if output.is_json() {
        output.document(&json!({ "id": sent.id, "type": args.kind }))?;
    } else {
        output.styled(&[(Look::Plain, "broadcast "), (Look::Bold, &args.kind)])?;
    }
    Ok(())
}

fn pair(program: &Program, args: MeshPairArgs, output: &mut Output) -> Result<()> {
    let MeshPairArgs { name, to, call, events, address, own_name } = args;
    let calls = call.iter().map(|text| Allow::parse(text).map_err(|error| failed(&error)));
    let calls = calls.collect::<Result<Vec<_>>>()?;
    program.check_data()?;
    let now = span::now();
    let mut pairing = match (pairing(program)?, address) {
        (Some(pairing), None) => pairing,
        (Some(pairing), Some(_)) => {
            let known = pairing.address().unwrap_or("none");
            return Err(Failure::usage(format!(
                "--address is only for the first pairing; this machine's address is {known}"
            )));
        }
        (None, Some(address)) => {
            program.claim_data()?;
            let folder = &program.settings()?.mesh.pairing_dir;
            Pairing::found(folder, &own_name, &address, now).map_err(|error| failed(&error))?
        }
        (None, None) => {
            return Err(Failure::usage("the first pairing needs this machine's address")
                .with_hint("--address HOST:PORT, such as home.lan:7461"));
        }
    };
    let rights = Rights::default().with_calls(calls).with_events(events);
    pairing.pair(&name, rights, &to, now).map_err(|error| failed(&error))?;
    if output.json(&json!({ "name": name, "folder": to, "address": pairing.address() }))? {
        return Ok(());
    }
    let to = to.display().to_string();
    output.styled(&[
        (Look::Plain, "paired "),
        (Look::Name, &name),
        (Look::Plain, "; its files are in "),
        (Look::Bold, &to),
    ])?;
    output.note("the folder contains a private key: copy it over a secure channel, as `pairing` in that project's data_dir, and delete it here");
    Ok(())
}

fn machines(program: &Program, output: &mut Output) -> Result<()> {
    let pairing = pairing(program)?;
    let machines = pairing.as_ref().map_or(&[][..], Pairing::machines);
    if output.json(&machines)? {
        return Ok(());
    }
    if machines.is_empty() {
        output.note("no paired machines");
        return Ok(());
    }
    let rows: Vec<_> = machines.iter().map(machine_row).collect();
    output.table(&["machine", "events", "may call"], &rows)
}

fn machine_row(machine: &Machine) -> Vec<(Look, String)> {
    let (events, calls) = if machine.revoked {
        ("", (Look::Bad, "revoked".to_owned()))
    } else {
        let calls: Vec<_> = machine.calls.iter().map(ToString::to_string).collect();
        (if machine.events { "yes" } else { "no" }, (Look::Plain, calls.join(" ")))
    };
    vec![(Look::Name, machine.name.clone()), (Look::Plain, events.to_owned()), calls]
}

fn revoke(program: &Program, name: &str, output: &mut Output) -> Result<()> {
    let pairing = pairing(program)?;
    let missing = || {
        Failure::not_found(format!("no paired machine {name}"))
            .with_hint("`ctl mesh machines` lists them")
    };
    let mut pairing = pairing.ok_or_else(missing)?;
    if !pairing.revoke(name).map_err(|error| failed(&error))? {
        return Err(missing());
    }
    if output.is_json() {
        output.document(&json!({ "name": name, "revoked": true }))?;
    } else {
        output.styled(&[(Look::Plain, "revoked "), (Look::Name, name)])?;
    }
    Ok(())
}

fn failed(error: &waypost_mesh::Error) -> Failure {
    match error {
        waypost_mesh::Error::Invalid(_) => Failure::of(error).with_code(exit::USAGE),
        waypost_mesh::Error::Exposed { .. } => Failure::of(error).with_code(exit::NOT_ALLOWED),
        _ => Failure::of(error),
    }
}

/// The pairing of this machine, if there is one.
fn pairing(program: &Program) -> Result<Option<Pairing>> {
    Pairing::open(&program.settings()?.mesh.pairing_dir).map_err(|error| failed(&error))
}
