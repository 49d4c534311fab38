//! Records the prompts and answers of a session, from where the last time ended.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use waypost_api::client::{Client, Error};
use waypost_api::limits::RECALL_TURNS_MAX;
use waypost_api::{RecallRole, RecallTurn, RecallTurnsRequest};
use waypost_recall::{Batch, Harness, Role, Transcript, Turn};

use super::input::Input;
use crate::cli::Global;
use crate::failure::{Failure, Result};
use crate::program::Program;

/// Starts a process that records, and does not wait for it. It has a process group of its own, so
/// that it outlives the agent.
pub(super) fn in_background(
    global: &Global,
    event: &str,
    harness: Harness,
    input: &Input,
) -> Result<()> {
    let program = std::env::current_exe()
        .map_err(|it| Failure::from(it).while_doing("cannot find this program"))?;
    let mut command = Command::new(program);
    for (flag, value) in [
        ("--project", global.project.as_ref().map(|it| it.as_os_str().to_owned())),
        ("--url", global.url.as_ref().map(Into::into)),
        ("--token-file", global.token_file.as_ref().map(|it| it.as_os_str().to_owned())),
        ("--ca", global.ca.as_ref().map(|it| it.as_os_str().to_owned())),
    ] {
        if let Some(value) = value {
            command.arg(flag).arg(value);
        }
    }
    if global.trust_project {
        command.arg("--trust-project");
    }
    command.args(["hook", event, "--foreground", "--harness", harness.as_str()]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let cannot = |it| Failure::from(it).while_doing("cannot record in the background");
    let mut child = command.spawn().map_err(cannot)?;
    let text = serde_json::to_vec(input).map_err(|it| Failure::of(&it))?;
    match child.stdin.take() {
        // A few paths and ids fit into the pipe: this does not wait.
        Some(mut pipe) => pipe.write_all(&text).map_err(cannot),
        None => Ok(()),
    }
}

/// Records what the transcript has since the last time.
pub(super) fn now(program: &Program, harness: Harness, input: &Input) -> Result<()> {
    if !program.settings()?.recall.record {
        return Ok(());
    }
    let Some(path) = input.transcript() else { return Ok(()) };
    let session = input.session()?;
    let client = program.client()?;
    let cannot = |it| {
        Failure::from(it).while_doing(format!("cannot read the transcript {}", path.display()))
    };
    // A pipe would wait for a writer.
    if !path.metadata().map_err(cannot)?.is_file() {
        return Err(Failure::new(format!("{} is not a regular file", path.display())));
    }
    let file = File::open(&path).map_err(cannot)?;
    let from = offset(&client, session)?;
    let mut transcript = Transcript::open(harness, file, from).map_err(cannot)?;
    loop {
        let batch = transcript.next_batch(RECALL_TURNS_MAX).map_err(cannot)?;
        let has_more = batch.has_more;
        if batch.to != batch.from {
            client.record_turns(&request(session, harness, batch))?;
        }
        if !has_more {
            return Ok(());
        }
    }
}

/// How much of the session's transcript was recorded.
fn offset(client: &Client, session: &str) -> Result<u64> {
    match client.recall_session(session) {
        Ok(found) => Ok(found.offset),
        Err(Error::Refused(problem)) if problem.status == 404 => Ok(0),
        Err(error) => Err(error.into()),
    }
}

fn request(session: &str, harness: Harness, batch: Batch) -> RecallTurnsRequest {
    RecallTurnsRequest {
        session: session.to_owned(),
        harness: harness.as_str().to_owned(),
        space: None,
        turns: batch.turns.into_iter().map(turn).collect(),
        from: batch.from,
        to: batch.to,
        restart: batch.is_restart,
    }
}

fn turn(it: Turn) -> RecallTurn {
    let role = match it.role {
        Role::User => RecallRole::User,
        Role::Assistant => RecallRole::Assistant,
    };
    RecallTurn { role, text: it.text, at: it.at }
}
