//! Records the prompts and answers of a session, from where the last time ended.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use waypost_api::client::{Client, Error};
use waypost_api::limits::RECALL_TURNS_MAX;
use waypost_api::{Problem, RecallRefusal, RecallRole, RecallTurn, RecallTurnsRequest, routes};
use waypost_cli::Global;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::program::Program;
use waypost_recall::{Batch, Harness, Role, Transcript, Turn};
use waypost_time::Timestamp;

use super::input::Input;

/// Starts a process that records, and does not wait for it. It has a process group of its own, so
/// that it outlives the agent.
pub(super) fn in_background(
    global: &Global,
    event: &str,
    harness: Harness,
    input: &Input,
) -> Result<()> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::from(error).while_doing("cannot find this program"))?;
    let mut command = Command::new(program);
    for (flag, value) in [
        ("--project", global.project.as_ref().map(|project| project.as_os_str().to_owned())),
        ("--url", global.url.as_ref().map(Into::into)),
        ("--token-file", global.token_file.as_ref().map(|file| file.as_os_str().to_owned())),
        ("--ca", global.ca.as_ref().map(|ca| ca.as_os_str().to_owned())),
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
    let text = serde_json::to_vec(input).map_err(|error| Failure::of(&error))?;
    match child.stdin.take() {
        // A few paths and ids fit into the pipe: this does not wait.
        Some(mut pipe) => pipe.write_all(&text).map_err(cannot),
        None => Ok(()),
    }
}

/// Records what the transcript has since the last time. Turns that the service refuses for what
/// they contain are left out, and are the failure once the rest is recorded.
pub(super) fn now(program: &Program, harness: Harness, input: &Input) -> Result<()> {
    if !program.settings()?.recall.record {
        return Ok(());
    }
    let Some(path) = input.transcript() else { return Ok(()) };
    let session = input.session()?;
    let client = program.client()?;
    // A pipe would wait for a writer.
    if !path.metadata().map_err(|error| cannot_read(&path, error))?.is_file() {
        return Err(Failure::new(format!("{} is not a regular file", path.display())));
    }
    let from = offset(&client, session, harness)?;
    // Without their times, the service could not tell new turns from those of a session that it has
    // forgotten.
    let created =
        path.metadata().and_then(|metadata| metadata.created()).ok().filter(|_| from == 0);
    let began = created.map(Timestamp::from);
    let mut recording =
        Recording { client: &client, session, harness, path: &path, began, refused: None };
    let mut transcript = recording.open(from)?;
    loop {
        let batch = recording.next(&mut transcript, RECALL_TURNS_MAX)?;
        let has_more = batch.has_more;
        if batch.to != batch.from {
            recording.batch(batch)?;
        }
        if !has_more {
            return recording.refused.map_or(Ok(()), |refused| Err(refused.failure(&path)));
        }
    }
}

/// Turns that the service refused.
struct Refused {
    count: u64,
    /// Where the first one ends in the transcript, in bytes, and why it was refused.
    first: (u64, String),
}

impl Refused {
    fn failure(self, path: &Path) -> Failure {
        let (turns, (at, reason)) = (self.count, self.first);
        let turns = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
        let path = path.display();
        Failure::new(format!(
            "the service refused {turns} of {path}, the first before byte {at}: {reason}"
        ))
    }
}

/// A transcript on its way to the service.
struct Recording<'a> {
    client: &'a Client,
    session: &'a str,
    harness: Harness,
    path: &'a Path,
    /// When a transcript that is read for the first time was created.
    began: Option<Timestamp>,
    refused: Option<Refused>,
}

impl Recording<'_> {
    fn open(&self, from: u64) -> Result<Transcript<File>> {
        File::open(self.path)
            .and_then(|file| Transcript::open(self.harness, file, from))
            .map_err(|error| cannot_read(self.path, error))
    }

    fn next(&self, transcript: &mut Transcript<File>, turns_max: usize) -> Result<Batch> {
        let mut batch =
            transcript.next_batch(turns_max).map_err(|error| cannot_read(self.path, error))?;
        for turn in &mut batch.turns {
            turn.at = turn.at.or(self.began);
        }
        Ok(batch)
    }

    /// Records a batch; if the service refuses it for what it contains, each turn on its own.
    fn batch(&mut self, batch: Batch) -> Result<()> {
        let (from, to, mut is_restart) = (batch.from, batch.to, batch.is_restart);
        if self.send(&request(self.session, self.harness, batch))?.is_none() {
            return Ok(());
        }
        let mut transcript = self.open(from)?;
        let mut at = from;
        while at < to {
            let single = self.next(&mut transcript, 1)?;
            // The file became shorter in the meantime: the next call reads it again.
            if single.to == at {
                return Ok(());
            }
            at = single.to;
            let mut request = request(self.session, self.harness, single);
            // Until a request succeeds, the service has the position in the longer transcript.
            request.restart |= is_restart;
            if let Some(problem) = self.send(&request)? {
                // Without the turn, the position is raised and the next turns can follow.
                request.turns.clear();
                request.refused = Some(refusal(problem.status));
                if let Some(problem) = self.send(&request)? {
                    return Err(Error::Refused(problem).into());
                }
                let new = || Refused { count: 0, first: (at, problem.detail.clone()) };
                self.refused.get_or_insert_with(new).count += 1;
            }
            is_restart = false;
        }
        Ok(())
    }

    /// Sends turns. Returns why the service refused them if that is because of what they contain:
    /// the same request would fail for ever.
    fn send(&self, request: &RecallTurnsRequest) -> Result<Option<Box<Problem>>> {
        match self.client.call(&routes::RECORD_TURNS, request) {
            Ok(_) => Ok(None),
            Err(Error::Refused(problem)) if matches!(problem.status, 400 | 413 | 422) => {
                Ok(Some(problem))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn refusal(status: u16) -> RecallRefusal {
    match status {
        400 => RecallRefusal::Malformed,
        413 => RecallRefusal::TooLarge,
        _ => RecallRefusal::Invalid,
    }
}

fn cannot_read(path: &Path, error: io::Error) -> Failure {
    Failure::from(error).while_doing(format!("cannot read the transcript {}", path.display()))
}

/// How much of the session's transcript was recorded with this token: sessions of other spaces may
/// have the same name.
fn offset(client: &Client, session: &str, harness: Harness) -> Result<u64> {
    let nothing = request(session, harness, Batch::default());
    Ok(client.call(&routes::RECORD_TURNS, &nothing)?.offset)
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
        refused: None,
    }
}

fn turn(it: Turn) -> RecallTurn {
    let role = match it.role {
        Role::User => RecallRole::User,
        Role::Assistant => RecallRole::Assistant,
    };
    RecallTurn { role, text: it.text, at: it.at }
}
