//! Doing an action, on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use waypost_flows::{
    Attempt, Captured, GRACE, Kind, NewMemory, Orphan, Outcome, Problem, Program, Report, Stop,
    Task, end_orphans, run_program,
};

use super::desk::file_name;
use super::inbox::{Inbox, Message};
use super::post::post;
use crate::app::App;
use crate::clock::{event_time, now};
use crate::error::chain;
use crate::memory::publisher::About;

/// Begins an action. What comes of it is told to the runner.
pub(super) fn start(app: &Arc<App>, attempt: Attempt, output: PathBuf) {
    let (going, inbox) = (Arc::clone(&app.flows.going), Arc::clone(&app.flows.inbox));
    let id = attempt.id.clone();
    let stop = match Stop::new() {
        Ok(stop) => Arc::new(stop),
        Err(error) => return inbox.put(Message::Ended(id, failed(error.to_string()))),
    };
    going.begin(&id, &attempt.idempotency_key, &stop);
    let shared = Arc::clone(app);
    let (ending, told, failed_id) = (Arc::clone(&going), Arc::clone(&inbox), id.clone());
    let work = move || {
        let report = catch_unwind(AssertUnwindSafe(|| act(&shared, &attempt, &stop, &output)))
            .unwrap_or_else(|_| failed("doing it panicked".to_owned()));
        // Whoever waits for the last action may take the parts apart.
        drop(shared);
        ending.ended(&attempt.id);
        told.put(Message::Ended(attempt.id, report));
    };
    let thread = std::thread::Builder::new().name(format!("flow {}", id.run.flow)).spawn(work);
    if let Err(error) = thread {
        going.ended(&failed_id);
        inbox.put(Message::Ended(failed_id, failed(format!("there is no thread for it: {error}"))));
    }
}

/// Ends what an earlier process left of an action.
pub(super) fn end_orphan(inbox: &Arc<Inbox>, orphan: Orphan) {
    let told = Arc::clone(inbox);
    let run = orphan.run.clone();
    let work = move || {
        end_orphans(&orphan, GRACE);
        told.put(Message::OrphanEnded(orphan.run));
    };
    let thread = std::thread::Builder::new().name("flow orphan".to_owned()).spawn(work);
    if let Err(error) = thread {
        // It is looked for again at the next start.
        tracing::error!(%run, %error, "there is no thread to end what is left of a run");
    }
}

fn act(app: &App, attempt: &Attempt, stop: &Stop, output: &Path) -> Report {
    let begun = Instant::now();
    let mut report = match app.flows.grants.give(attempt) {
        Err(error) => failed(chain(&error)),
        Ok(given) => {
            let secret = |name: &str| app.flows.place.secret(name);
            if let Err(problem) = approved(app, attempt) {
                return Report::new(Outcome::Refused, problem);
            }
            match attempt.task(&app.flows.place.surroundings(&given.token, &secret)) {
                Err(unready) => unready.into(),
                Ok(Task::Run(program)) => return run(app, attempt, &program, stop, output),
                Ok(Task::Publish { kind, data }) => {
                    match app.events.publish(attempt.draft(kind, data), event_time()) {
                        Ok(published) => done(format!("event {}", published.event.id)),
                        Err(error) => failed(chain(&error)),
                    }
                }
                Ok(Task::AddMemory(memory)) => {
                    match app.store.add(draft(app, attempt, memory), now()) {
                        Ok(added) => {
                            app.model.embed_soon();
                            done(format!("memory {}", added.memory().id))
                        }
                        Err(error) => failed(chain(&error)),
                    }
                }
                Ok(Task::Post(it)) => post(&it, event_time() / 1000),
                Ok(other) => {
                    Report::new(Outcome::Refused, format!("the service cannot do {other:?}"))
                }
            }
        }
    };
    report.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    report
}

/// The journal of runs is in the project's folder: what it has of a flow may have come with the files,
/// or its approval may have been revoked. A program may have changed since its flow was put in force,
/// or since its run was created.
fn approved(app: &App, attempt: &Attempt) -> Result<(), String> {
    let mut loader = app.flows.loader();
    let (file, hash) = (attempt.file(), attempt.hash());
    loader.check_definition(file, hash).map_err(|it| match it {
        Problem::Unapproved(_) => format!(
            "the flow file {} with SHA-256 {hash} is not approved; look at it, approve it with `ctl allow`, and run it again",
            file.escape_debug()
        ),
        it => it.to_string(),
    })?;
    if !matches!(attempt.action().kind, Kind::Command(_) | Kind::Exec { .. }) {
        return Ok(());
    }
    loader.check_programs(attempt.flow(), attempt.action()).map_err(|it| match it {
        it @ Problem::Unapproved(_) => format!("a program of the flow {it}"),
        it => it.to_string(),
    })
}

fn run(app: &App, attempt: &Attempt, program: &Program, stop: &Stop, output: &Path) -> Report {
    let flows = &app.flows;
    let spawned = |leader: waypost_flows::Leader| {
        flows.going.spawned(&attempt.id, leader.clone());
        flows.inbox.put(Message::Spawned(attempt.id.clone(), leader));
    };
    let work = || run_program(program, &flows.place.boot, stop, spawned);
    let finished = match flows.place.umask {
        Some(umask) => umask.lift(work),
        None => work(),
    };
    let save = |captured: &Captured, stream: &str| {
        let name = file_name(attempt.id.step, attempt.id.attempt, stream);
        if let Err(error) = captured.save(&output.join(name)) {
            tracing::warn!(run = %attempt.id.run, %error, "what a program wrote was not saved");
        }
    };
    save(&finished.stdout, "out");
    save(&finished.stderr, "err");
    finished.report
}

fn draft(app: &App, attempt: &Attempt, it: NewMemory) -> waypost_memory::Draft {
    waypost_memory::Draft {
        content: it.content,
        title: it.title,
        kind: it.kind,
        tags: it.tags,
        space: it.space,
        note: app.publisher.note(&attempt.lineage, About::Memory),
        ..waypost_memory::Draft::default()
    }
}

fn done(detail: String) -> Report {
    Report::new(Outcome::Succeeded, detail)
}

fn failed(detail: String) -> Report {
    Report::new(Outcome::Failed, detail)
}
