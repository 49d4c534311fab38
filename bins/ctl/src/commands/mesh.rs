//! `mesh`: joins the mesh as a peer, and leaves it at the end.
//!
//! Text from peers is untrusted; the output escapes its control characters.

use std::time::Duration;

use serde_json::{Value, json};
use waypost_mesh::{
    Allow, CallError, Event, Far, Listener, Machine, Mesh, Pairing, Pattern, Peer, Rights, Settings,
};

use super::text_or_stdin;
use crate::cli::{MeshBroadcastArgs, MeshCallArgs, MeshCommand, MeshListenArgs, MeshPairArgs};
use crate::exit;
use crate::failure::{Failure, Result};
use crate::output::{Look, Output};
use crate::program::Program;
use crate::span;

/// How long to wait for an event before checking whether any were lost.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// How long a new listener may need to discover the sender before the sender leaves.
const LEAVE_AFTER: Duration = Duration::from_millis(100);

pub(super) fn run(program: &Program, command: MeshCommand, output: &mut Output) -> Result<()> {
    match command {
        MeshCommand::Call(args) => call(program, args, output),
        MeshCommand::Peers => peers(program, output),
        MeshCommand::Listen(args) => listen(program, &args, output),
        MeshCommand::Broadcast(args) => broadcast(program, args, output),
        MeshCommand::Pair(args) => pair(program, args, output),
        MeshCommand::Machines => machines(program, output),
        MeshCommand::Revoke { name } => revoke(program, &name, output),
    }
}

fn join(program: &Program, output: &mut Output) -> Result<Mesh> {
    program.check_data()?;
    let mesh = &program.settings()?.mesh;
    let far = Far::new(&mesh.pairing_dir);
    let mesh = Mesh::open(&Settings::new(&mesh.folder, "ctl").with_far(far))?;
    if let Some(trouble) = mesh.trouble() {
        output.warn(&trouble);
    }
    Ok(mesh)
}

fn call(program: &Program, args: MeshCallArgs, output: &mut Output) -> Result<()> {
    let MeshCallArgs { target, command, argument, timeout } = args;
    let argument = argument.map(text_or_stdin).transpose()?;
    let argument = argument.map_or(Ok(Value::Null), |it| json_of("the argument", &it))?;
    let result = join(program, output)?.call(&target, &command, &argument, timeout)?;
    output.document(&result)?;
    Ok(())
}

fn json_of(what: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("{what} is not JSON: {error}")))
}

fn peers(program: &Program, output: &mut Output) -> Result<()> {
    let mut peers = join(program, output)?.peers();
    // It would name only itself.
    peers.retain(|it| !it.is_self);
    if output.is_json() {
        let peers: Vec<_> = peers.iter().map(peer_json).collect();
        output.document(&peers)?;
        return Ok(());
    }
    if peers.is_empty() {
        output.note("no other peers");
        return Ok(());
    }
    let rows: Vec<_> = peers
        .into_iter()
        .map(|it| {
            vec![
                (Look::Name, it.name),
                (Look::Plain, it.origin.to_string()),
                (Look::Plain, it.targets.join(" ")),
            ]
        })
        .collect();
    output.table(&["peer", "where", "serves"], &rows)?;
    Ok(())
}

fn peer_json(peer: &Peer) -> Value {
    json!({
        "name": peer.name,
        "id": peer.id,
        "origin": peer.origin.to_string(),
        "targets": peer.targets,
    })
}

fn listen(program: &Program, args: &MeshListenArgs, output: &mut Output) -> Result<()> {
    let pattern = Pattern::parse(&args.pattern)?;
    let mesh = join(program, output)?;
    let listener = mesh.listen(&pattern);
    let (mut left, mut lost) = (args.limit, 0);
    while left != Some(0) {
        if let Some(event) = listener.next(CHECK_EVERY) {
            if output.is_json() {
                output.line_of_json(&event_json(&event))?;
            } else {
                show(&event, output)?;
            }
            output.flush()?;
            left = left.map(|it| it - 1);
        }
        lost = warn_lost(&listener, lost, output);
        if listener.is_closed() {
            return Err(Failure::new("the mesh closed"));
        }
    }
    Ok(())
}

fn warn_lost(listener: &Listener, before: u64, output: &mut Output) -> u64 {
    let lost = listener.dropped();
    if lost > before {
        output.warn(&format!("lost {} events that arrived too fast", lost - before));
    }
    lost
}

fn event_json(event: &Event) -> Value {
    json!({
        "id": event.id,
        "source": event.source,
        "type": event.kind,
        "origin": event.from.origin.to_string(),
        "from": event.from.says,
        "at": event.at.as_millis(),
        "event": event.body,
    })
}

fn show(event: &Event, output: &mut Output) -> Result<()> {
    let mut said = event.body.clone();
    if let Some(said) = said.as_object_mut() {
        said.remove("type");
    }
    let (from, said) = (format!(" {}/{} ", event.from.origin, event.from.says), format!(" {said}"));
    output.styled(&[
        (Look::Name, &event.source),
        (Look::Dim, &from),
        (Look::Bold, &event.kind),
        (Look::Plain, &said),
    ])?;
    Ok(())
}

fn broadcast(program: &Program, args: MeshBroadcastArgs, output: &mut Output) -> Result<()> {
    let body = args.body.map(text_or_stdin).transpose()?;
    let mut event = body.map_or(Ok(json!({})), |it| json_of("the event", &it))?;
    let Some(said) = event.as_object_mut() else {
        return Err(Failure::usage("the event's data must be a JSON object"));
    };
    if said.insert("type".to_owned(), args.kind.clone().into()).is_some() {
        return Err(Failure::usage("the data must not contain `type`"));
    }
    let mesh = join(program, output)?;
    let id = mesh.broadcast(&args.source, &event)?;
    // The event is still being sent when this returns; leaving at once could overtake it.
    std::thread::sleep(LEAVE_AFTER);
    if output.is_json() {
        output.document(&json!({ "id": id, "type": args.kind }))?;
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
            waypost_mesh::Error::PathTooLong { .. } => {
                Self::of(&error).with_hint("the setting mesh.folder sets the folder")
            }
            _ => Self::of(&error),
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let failure = Self::of(&error);
        match &error {
            CallError::BadName(_) | CallError::TooLarge { .. } => failure.with_code(exit::USAGE),
            CallError::Denied(_) => failure.with_code(exit::NOT_ALLOWED),
            CallError::Offline(_) => failure
                .with_code(exit::NOT_REACHABLE)
                .with_hint("`ctl mesh peers` lists peers and the targets they serve"),
            CallError::Failed(problem) => match problem.status {
                401 | 403 => failure.with_code(exit::NOT_ALLOWED),
                404 => failure.with_code(exit::NOT_FOUND),
                _ => failure,
            },
            _ => failure,
        }
    }
}
