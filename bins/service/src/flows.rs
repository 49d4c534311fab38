//! Flows inside the service: the engine decides, and this part carries out its decisions.
//!
//! One thread (`runner`) gives the engine events and the results of actions. Each action runs on
//! its own thread (`actions`). Another thread reads the flow files when they change (`files`).

mod actions;
pub(crate) mod files;
pub(crate) mod grants;
pub(crate) mod guard;
pub(crate) mod halt;
mod post;
mod requests;
pub(crate) mod runner;
mod running;
pub(crate) mod tasks;

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context;
use parking_lot::Mutex;
use waypost_cluster::Part;
use waypost_events::{Bus, Subscription};
use waypost_flows::{Effect, Engine, Error, FileStatus, Files, Loader, Notice};
use waypost_project::Approvals;

use self::actions::{Actions, Place, end_orphan};
use self::grants::Grants;
use self::guard::Guard;
use self::halt::Halt;
use self::runner::{Inbox, Message};
use self::running::Running;
use crate::clock::now;
use crate::cluster::Cluster;
use crate::error::chain;
use crate::leadership::Leadership;
use crate::settings::{Approval, Options};
use crate::wake::Wake;

pub(crate) use self::tasks::Targets;

/// Length of the random name that distinguishes this project's idempotency keys.
const IDENTITY_CHARS: usize = 16;

/// The flows of the project.
#[derive(Debug)]
pub(crate) struct Flows {
    /// Never locked during a sync, a spawn or a folder walk.
    engine: Mutex<Engine>,
    files: Files,
    /// Held while the engine's decisions are written and carried out, in order. Locked before the
    /// engine.
    settling: Mutex<()>,
    /// Locked before the engine.
    loader: Arc<Mutex<Loader>>,
    /// As of the last load of the flow files, so that a request does not wait for the next load.
    file_status: Mutex<Arc<[FileStatus]>>,
    /// The user's approvals; `None` if everything counts as approved.
    approvals: Option<Approvals>,
    /// The approved contents as of the last load: files and hashes.
    approved: Mutex<BTreeSet<(String, String)>>,
    halt: Mutex<Option<Halt>>,
    inbox: Arc<Inbox>,
    running: Arc<Running>,
    pub(crate) grants: Arc<Grants>,
    actions: Arc<Actions>,
    events: Arc<Bus>,
    leadership: Leadership,
    wake: Arc<Wake>,
    _subscription: Subscription,
}

impl Flows {
    /// The journal and the output of programs, for a backup.
    pub(crate) fn snapshot(&self) -> Result<waypost_log::Snapshot, Error> {
        self.files.snapshot()
    }

    /// The engine's files.
    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    /// The digest of the flows in force.
    pub(crate) fn digest(&self) -> [u8; 32] {
        self.engine.lock().flows().digest()
    }

    /// The last record of the journal that is on disk.
    pub(crate) fn reached(&self) -> u64 {
        self.engine.lock().reached()
    }

    /// Opens the journal of an earlier process. Nothing runs before the runner does. `reached` is
    /// the last record that the journal is known to have had.
    pub(crate) fn open(
        options: &Options,
        reached: u64,
        url: String,
        targets: Targets,
        (cluster, leadership, wake): (Option<&Cluster>, &Leadership, &Arc<Wake>),
    ) -> anyhow::Result<Self> {
        let events = Arc::clone(&targets.events);
        let boot = boot();
        let mut engine_options = waypost_flows::Options::default()
            .with_identity(waypost_auth::random_text(IDENTITY_CHARS)?)
            .with_head(events.last())
            .with_last_event(events.last())
            .with_reached(reached)
            .with_boot(boot.clone());
        if let Some(cluster) = cluster {
            engine_options = engine_options
                .with_shared_journal(cluster.hub.part(Part::Flows))
                .with_machine(cluster.hub.machine().to_string());
        }
        let dir = options.data_dir.join("flows");
        let engine = Engine::open(&dir, engine_options, now())
            .context("failed to open the journal of flows")?;
        let approvals = match &options.approval {
            Approval::In(state) => Some(Approvals::new(&options.project, state)),
            Approval::Off => None,
            Approval::Nowhere => return Err(waypost_project::Error::NoState.into()),
        };
        let approved = match approvals.as_ref().map(Approvals::list) {
            Some(Ok(list)) => list.into_iter().map(|item| (item.file, item.sha256)).collect(),
            Some(Err(error)) => {
                tracing::warn!(error = chain(&error), "cannot use the approvals");
                BTreeSet::new()
            }
            None => BTreeSet::new(),
        };
        let of_files = approvals.clone().map(files::boxed);
        let loader = Loader::new(options.project.root(), &options.project.flows_dir(), of_files);
        let loader = Arc::new(Mutex::new(loader));
        let notified = Arc::clone(wake);
        let inbox = Arc::new(Inbox::new(wake));
        let actions = Actions {
            targets,
            loader: Arc::clone(&loader),
            inbox: Arc::clone(&inbox),
            running: Arc::default(),
            grants: Arc::default(),
            place: Place {
                project: options.project.root().to_owned(),
                programs: options.flows.programs_dir.clone(),
                environment: options.flows.environment.clone(),
                url,
                boot,
                umask: options.flows.umask,
            },
        };
        Ok(Self {
            files: engine.files(),
            engine: Mutex::new(engine),
            settling: Mutex::default(),
            loader,
            file_status: Mutex::new(Arc::default()),
            approvals,
            approved: Mutex::new(approved),
            halt: Mutex::default(),
            inbox,
            running: Arc::clone(&actions.running),
            grants: Arc::clone(&actions.grants),
            actions: Arc::new(actions),
            _subscription: events.subscribe(Box::new(move |_| notified.flowing())),
            events,
            leadership: leadership.clone(),
            wake: Arc::clone(wake),
        })
    }

    /// Waits until no action runs, at the stop of the service.
    pub(crate) fn wait_until_ended(&self) {
        self.running.end_all();
    }

    /// Lets a guard end the programs of flows when the lease ends.
    pub(crate) fn watch_with(&self, guard: Arc<Guard>) {
        self.running.watch_with(guard);
    }

    /// Applies what the machine that runs the flows has decided.
    pub(crate) fn follow(&self) -> Result<(), Error> {
        loop {
            let page = self.files.page()?;
            if page.is_empty() || self.engine.lock().take_page(&page)? == 0 {
                return Ok(());
            }
        }
    }

    /// Begins or ends deciding, as the lease says; returns whether this machine decides.
    fn take_role(&self) -> Result<bool, Error> {
        let leads = self.leadership.leads();
        if self.engine.lock().decides() == leads {
            return Ok(leads);
        }
        // Programs of an earlier lease must have ended, whether the lease or a write was lost.
        self.running.end_all();
        drop(self.inbox.take());
        if leads {
            let mut engine = self.engine.lock();
            engine.set_head(self.events.last());
            engine.lead(now())?;
            drop(engine);
            tracing::info!("flows run on this machine");
        } else {
            self.engine.lock().step_down();
            tracing::info!("flows do not run on this machine any more");
        }
        Ok(leads)
    }

    /// Removes old history at intervals.
    pub(crate) fn maintain(&self) -> Result<(), Error> {
        if !self.engine.lock().decides() {
            return self.remove_unknown_outputs();
        }
        self.engine.lock().forget(now());
        // The engine must not decide anything between the write and the compaction.
        let compaction = self.settle_then(|engine| engine.compaction(now()))?;
        if let Some(mut compaction) = compaction {
            compaction.run()?;
            self.engine.lock().compacted(&compaction);
        }
        Ok(())
    }

    /// Removes the output of runs that the machine that decides has forgotten.
    fn remove_unknown_outputs(&self) -> Result<(), Error> {
        for run in self.engine.lock().unknown_outputs()? {
            remove_output(&self.files.output_dir(&run));
        }
        Ok(())
    }

    /// Writes the engine's decisions to disk and starts their effects, without locking the engine
    /// meanwhile.
    fn settle(&self) -> Result<(), Error> {
        self.settle_then(|_| ())
    }

    /// Also calls `ask` at a moment when every decision of the engine is on disk.
    fn settle_then<T>(&self, ask: impl FnOnce(&mut Engine) -> T) -> Result<T, Error> {
        let _in_order = self.settling.lock();
        let mut commit = self.engine.lock().begin_commit();
        let written = commit.write();
        let (effects, answer) = {
            let mut engine = self.engine.lock();
            (engine.end_commit(commit), ask(&mut engine))
        };
        written?;
        for effect in effects {
            match effect {
                Effect::Start(attempt) => {
                    let output = self.files.output_dir(&attempt.id.run);
                    self.actions.start(attempt, output);
                }
                Effect::Stop(attempt) => self.running.stop(&attempt),
                Effect::EndOrphan(orphan) => end_orphan(&self.inbox, orphan),
                Effect::Announce(notice) => self.announce(notice),
                Effect::RemoveOutput(run) => remove_output(&self.files.output_dir(&run)),
                other => tracing::error!(?other, "unsupported flow effect"),
            }
        }
        Ok(answer)
    }

    /// Publishes an event about flows without waiting for it.
    fn announce(&self, notice: Notice) {
        let end = notice.end.clone();
        if let Some(end) = end.as_ref().filter(|_| notice.kind.as_str() != "flow:succeeded") {
            tracing::info!(run = %end.run, "a flow run failed");
        }
        let inbox = Arc::clone(&self.inbox);
        let published = Box::new(move |done: waypost_events::Result<_>| match (done, end) {
            // An event with its key exists: it was published before.
            (Ok(_) | Err(waypost_events::Error::KeyReused { .. }), Some(end)) => {
                inbox.put(Message::Announced(end));
            }
            (Ok(_), None) => {}
            (Err(error), _) => {
                tracing::warn!(error = chain(&error), "failed to publish a flow event");
            }
        });
        if let Err(error) = self.events.queue(notice.draft(), now(), published) {
            tracing::error!(error = chain(&error), "created an invalid flow event");
        }
        self.wake.publishing();
    }
}

fn remove_output(folder: &std::path::Path) {
    if let Err(error) = std::fs::remove_dir_all(folder)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "failed to remove the output of an old run");
    }
}

/// The id of this boot of the machine; empty if the system does not provide one: then only its
/// start time identifies a process of an earlier boot.
fn boot() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}
