//! Actions of flows, each on its own thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use waypost_flows::{
    ActionContext, Attempt, Captured, GRACE, Loader, Orphan, Outcome, Problem, Program, Report,
    Stop, end_orphans, run_program,
};

use super::grants::Grants;
use super::runner::{Inbox, Message};
use super::running::Running;
use super::tasks::Targets;
use crate::error::chain;
use crate::umask::Umask;

/// What actions need.
#[derive(Debug)]
pub(super) struct Actions {
    pub(super) targets: Targets,
    pub(super) loader: Arc<Mutex<Loader>>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) running: Arc<Running>,
    pub(super) grants: Arc<Grants>,
    pub(super) place: Place,
}

impl Actions {
    /// Starts an action. Its result goes to the runner's inbox.
    pub(super) fn start(self: &Arc<Self>, attempt: Attempt, output: PathBuf) {
        let (running, inbox) = (Arc::clone(&self.running), Arc::clone(&self.inbox));
        let id = attempt.id.clone();
        let stop = match Stop::new() {
            Ok(stop) => Arc::new(stop),
            Err(error) => return inbox.put(Message::Ended(id, failed(error.to_string()))),
        };
        running.begin(&id, &attempt.idempotency_key, &stop);
        let shared = Arc::clone(self);
        let (ending, notified, failed_id) = (Arc::clone(&running), Arc::clone(&inbox), id.clone());
        let work = move || {
            let report = catch_unwind(AssertUnwindSafe(|| shared.act(&attempt, &stop, &output)))
                .unwrap_or_else(|_| failed("the action panicked".to_owned()));
            // A caller that waits for the last action may then take the parts apart.
            drop(shared);
            ending.ended(&attempt.id);
            notified.put(Message::Ended(attempt.id, report));
        };
        let thread = std::thread::Builder::new().name(format!("flow {}", id.run.flow)).spawn(work);
        if let Err(error) = thread {
            running.ended(&failed_id);
            inbox.put(Message::Ended(
                failed_id,
                failed(format!("failed to start a thread for it: {error}")),
            ));
        }
    }

    fn act(&self, attempt: &Attempt, stop: &Stop, output: &Path) -> Report {
        let given = match self.grants.give(attempt) {
            Ok(given) => given,
            Err(error) => return failed(chain(&error)),
        };
        if let Err(problem) = self.approved(attempt) {
            return Report::new(Outcome::Refused, problem);
        }
        let secret = |name: &str| self.place.secret(name);
        let task = match attempt.task(&self.place.context(&given.token, &secret)) {
            Ok(task) => task,
            Err(unready) => return unready.into(),
        };
        self.targets.perform(task, attempt, |program| self.run(attempt, program, stop, output))
    }

    /// The journal of runs is in the project's folder: its definition of a flow may have come with
    /// the project's files, or its approval may have been revoked. A program may have changed since
    /// its flow came into force or its run was created.
    fn approved(&self, attempt: &Attempt) -> Result<(), String> {
        let mut loader = self.loader.lock();
        let (file, hash) = (attempt.file(), attempt.hash());
        loader.check_definition(file, hash).map_err(|error| match error {
            Problem::Unapproved(_) => format!(
                "the flow file {} with SHA-256 {hash} is not approved; review it, approve it with `ctl allow`, and retry the run",
                file.escape_debug()
            ),
            error => error.to_string(),
        })?;
        loader.check_programs(attempt.flow(), attempt.action()).map_err(|error| match error {
            Problem::Unapproved(waiting) => {
                let files: Vec<_> = waiting.keys().map(|key| key.escape_debug().to_string()).collect();
                format!(
                    "the flow runs {}, whose content is not approved; review it, approve it with `ctl allow`, and retry the run",
                    files.join(", ")
                )
            }
            error => error.to_string(),
        })
    }

    fn run(&self, attempt: &Attempt, program: &Program, stop: &Stop, output: &Path) -> Report {
        let spawned = |leader: waypost_flows::Leader| {
            self.running.spawned(&attempt.id, leader.clone());
            self.inbox.put(Message::Spawned(attempt.id.clone(), leader));
        };
        let work = || run_program(program, &self.place.boot, stop, spawned);
        let finished = match self.place.umask {
            Some(umask) => umask.lift(work),
            None => work(),
        };
        let save = |captured: &Captured, stream: &str| {
            let name = file_name(attempt.id.step, attempt.id.attempt, stream);
            if let Err(error) = captured.save(&output.join(name)) {
                tracing::warn!(run = %attempt.id.run, %error, "failed to save the output of a program");
            }
        };
        save(&finished.stdout, "out");
        save(&finished.stderr, "err");
        finished.report
    }
}

/// Ends the processes that an earlier service left running for an action.
pub(super) fn end_orphan(inbox: &Arc<Inbox>, orphan: Orphan) {
    let notified = Arc::clone(inbox);
    let run = orphan.run.clone();
    let work = move || {
        end_orphans(&orphan, GRACE);
        notified.put(Message::OrphanEnded(orphan.run));
    };
    let thread = std::thread::Builder::new().name("flow orphan".to_owned()).spawn(work);
    if let Err(error) = thread {
        // The next start looks for it again.
        tracing::error!(%run, %error, "failed to start a thread to stop the leftovers of a run");
    }
}

pub(super) fn failed(detail: String) -> Report {
    Report::new(Outcome::Failed, detail)
}

/// The file with an attempt's output, in the run's folder.
pub(super) fn file_name(step: u16, attempt: u32, stream: &str) -> String {
    format!("{step}.{attempt}.{stream}")
}

/// The environment in which actions run.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) project: PathBuf,
    pub(super) programs: PathBuf,
    pub(super) environment: Vec<(String, String)>,
    pub(super) url: String,
    pub(super) boot: String,
    pub(super) umask: Option<Umask>,
}

impl Place {
    pub(super) fn context<'a>(
        &'a self,
        token: &'a str,
        secret: &'a dyn Fn(&str) -> Option<String>,
    ) -> ActionContext<'a> {
        ActionContext {
            project: &self.project,
            programs: &self.programs,
            inherited: &self.environment,
            url: &self.url,
            token,
            secret,
            grace: GRACE,
        }
    }

    /// A secret is the variable of its name in the service's own environment.
    pub(super) fn secret(&self, name: &str) -> Option<String> {
        self.environment.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone())
    }
}
