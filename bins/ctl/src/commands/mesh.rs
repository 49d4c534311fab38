//! `mesh`: through the service, which is a peer; the commands about pairing edit its files.
//!
//! Text from peers is untrusted; the output escapes its control characters.

use serde_json::{Value, json};
use waypost_api::client::{Error, Heard};
use waypost_api::{MeshBroadcastRequest, MeshCallRequest, MeshEvent, MeshListenRequest, MeshPeer};
use waypost_mesh::{Allow, Machine, Pairing, Rights};

use super::text_or_stdin;
use crate::cli::{MeshBroadcastArgs, MeshCallArgs, MeshCommand, MeshListenArgs, MeshPairArgs};
use crate::exit;
use crate::failure::{Failure, Result};
use crate::output::{Look, Output};
use crate::program::Program;
use crate::span;

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
    let argument = argument.map_or(Ok(Value::Null), |it| json_of("the argument", &it))?;
    let timeout = u64::try_from(timeout.as_millis()).ok();
    let request = MeshCallRequest { target, command, argument, timeout };
    let called = program.client()?.call_mesh(&request).map_err(of_target)?;
    output.document(&called.result)?;
    Ok(())
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
    let peers = program.client()?.mesh_peers()?;
    if output.is_json() {
        output.document(&peers)?;
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
    output.table(&["peer", "where", "serves"], &rows)?;
    Ok(())
}

fn listen(program: &Program, args: MeshListenArgs, output: &mut Output) -> Result<()> {
    let mut left = args.limit;
    let request = MeshListenRequest { pattern: Some(args.pattern) };
    let mut failed = None;
    program.client()?.follow_mesh(&request, &mut |heard| {
        let shown = match heard {
            Heard::Event(event) => {
                left = left.map(|it| it - 1);
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
    output.flush()?;
    Ok(())
}

fn broadcast(program: &Program, args: MeshBroadcastArgs, output: &mut Output) -> Result<()> {
    let body = args.body.map(text_or_stdin).transpose()?;
    let event = body.map_or(Ok(json!({})), |it| json_of("the event", &it))?;
    let Value::Object(mut event) = event else {
        return Err(Failure::usage("the event's data must be a JSON object"));
    };
    if event.insert("type".to_owned(), args.kind.clone().into()).is_some() {
        return Err(Failure::usage("the data must not contain `type`"));
    }
    let request = MeshBroadcastRequest { source: args.source, event };
    let sent = program.client()?.broadcast_mesh(&request)?;
    if output.is_json() {
        output.document(&json!({ "id": sent.id, "type": args.kind }))?;
    } else {
        output.styled(&[(Look::Plain, "broadcast "), (Look::Bold, &args.kind)])?;
    }
    Ok(())
}

fn pair(program: &Program, args: MeshPairArgs, output: &mut Output) -> Result<()> {
    let MeshPairArgs { name, to, call, events, address, own_name } = args;
    let calls = call
        .iter()
        .map(|it| Allow::parse(it))
        .collect::<std::result::Result<Vec<_>, waypost_mesh::Error>>()?;
    program.check_data()?;
    let settings = program.settings()?;
    let (folder, now) = (&settings.mesh.pairing_dir, span::now());
    let mut pairing = match (Pairing::open(folder)?, address) {
        (Some(pairing), None) => pairing,
        (Some(pairing), Some(_)) => {
            let known = pairing.address().unwrap_or("none");
            return Err(Failure::usage(format!(
                "--address is only for the first pairing; this machine's address is {known}"
            )));
        }
        (None, Some(address)) => {
            program.claim_data()?;
            Pairing::found(folder, &own_name, &address, now)?
        }
        (None, None) => {
            return Err(Failure::usage("the first pairing needs this machine's address")
                .with_hint("--address HOST:PORT, such as home.lan:7461"));
        }
    };
    let rights = Rights::default().with_calls(calls).with_events(events);
    pairing.pair(&name, rights, &to, now)?;
    if output.is_json() {
        output.document(&json!({ "name": name, "folder": to, "address": pairing.address() }))?;
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
    let pairing = Pairing::open(&program.settings()?.mesh.pairing_dir)?;
    let machines = pairing.as_ref().map_or(&[][..], Pairing::machines);
    if output.is_json() {
        output.document(&machines)?;
        return Ok(());
    }
    if machines.is_empty() {
        output.note("no paired machines");
        return Ok(());
    }
    let rows: Vec<_> = machines.iter().map(machine_row).collect();
    output.table(&["machine", "events", "may call"], &rows)?;
    Ok(())
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
    let pairing = Pairing::open(&program.settings()?.mesh.pairing_dir)?;
    let missing = || {
        Failure::not_found(format!("no paired machine {name}"))
            .with_hint("`ctl mesh machines` lists them")
    };
    let mut pairing = pairing.ok_or_else(missing)?;
    if !pairing.revoke(name)? {
        return Err(missing());
    }
    if output.is_json() {
        output.document(&json!({ "name": name, "revoked": true }))?;
    } else {
        output.styled(&[(Look::Plain, "revoked "), (Look::Name, name)])?;
    }
    Ok(())
}

impl From<waypost_mesh::Error> for Failure {
    fn from(error: waypost_mesh::Error) -> Self {
        match &error {
            waypost_mesh::Error::Invalid(_) => Self::of(&error).with_code(exit::USAGE),
            waypost_mesh::Error::Exposed { .. } => Self::of(&error).with_code(exit::NOT_ALLOWED),
            _ => Self::of(&error),
        }
    }
}
