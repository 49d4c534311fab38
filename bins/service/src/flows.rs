//! Flows inside the service: the engine decides, and here is done what it decided.
//!
//! One thread (`runner`) gives the engine events and what came of actions. Each action is done on a
//! thread of its own (`attempt`). A third one looks after the files (`files`).

mod approvals;
mod attempt;
mod desk;
mod files;
mod going;
mod grants;
mod halt;
mod inbox;
mod post;
mod runner;

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use waypost_events::{Bus, Subscription};
use waypost_flows::{Effect, Engine, Error, Loader, Notice, Surroundings};
use waypost_project::Approvals;

use self::going::Going;
use self::inbox::{Inbox, Message};
use crate::app::App;
use crate::clock::event_time;
use crate::error::chain;
use crate::settings::{Approval, Options};
use crate::umask::Umask;
use crate::wake::Wake;

pub(crate) use self::files::start as start_files;
pub(crate) use self::grants::{Grant, Grants};
pub(crate) use self::halt::Halt;
pub(crate) use self::runner::run;

/// Characters of the name that tells this project's idempotency keys from others'.
const IDENTITY_CHARS: usize = 16;

/// The flows of the project.
#[derive(Debug)]
pub(crate) struct Flows {
    engine: Mutex<Engine>,
    /// Locked before the engine.
    loader: Mutex<Loader>,
    /// What the user has approved; nothing where everything is taken as approved.
    approvals: Option<Approvals>,
    halt: Mutex<Option<Halt>>,
    inbox: Arc<Inbox>,
    going: Arc<Going>,
    pub(crate) grants: Grants,
    place: Place,
    _subscription: Subscription,
}

/// Where actions are done.
#[derive(Debug)]
struct Place {
    project: PathBuf,
    files: PathBuf,
    programs: PathBuf,
    environment: Vec<(String, String)>,
    url: String,
    boot: String,
    umask: Option<Umask>,
}

impl Flows {
    /// The journal and what programs wrote, for a backup.
    pub(crate) fn snapshot(&self) -> Result<waypost_log::Snapshot, Error> {
        self.engine.lock().snapshot()
    }

    /// Takes up what an earlier process left. Nothing is done before the runner runs.
    pub(crate) fn open(
        options: &Options,
        events: &Bus,
        url: String,
        wake: &Arc<Wake>,
    ) -> anyhow::Result<Self> {
        let boot = boot();
        let engine_options = waypost_flows::Options {
            identity: waypost_auth::random_text(IDENTITY_CHARS)?,
            head: events.last(),
            last_event: Some(events.last()),
            boot: boot.clone(),
            ..waypost_flows::Options::default()
        };
        let dir = options.data_dir.join("flows");
        let engine = Engine::open(&dir, engine_options, event_time()).map_err(|it| {
            let remedy = match &it {
                Error::Damaged { .. } | Error::EventsLost { .. } => crate::error::REPAIR,
                _ => "",
            };
            anyhow::Error::new(it).context(format!("the runs of flows could not be opened{remedy}"))
        })?;
        let approvals = match &options.approval {
            Approval::In(state) => Some(Approvals::new(&options.project, state)),
            Approval::Off => None,
            Approval::Nowhere => return Err(waypost_project::Error::NoState.into()),
        };
        let files = options.project.flows_dir();
        let of_files = approvals.clone().map(approvals::boxed);
        let loader = Loader::new(options.project.root(), &files, of_files);
        let told = Arc::clone(wake);
        Ok(Self {
            engine: Mutex::new(engine),
            loader: Mutex::new(loader),
            approvals,
            halt: Mutex::default(),
            inbox: Arc::new(Inbox::new(wake)),
            going: Arc::default(),
            grants: Grants::default(),
            place: Place {
                project: options.project.root().to_owned(),
                files,
                programs: options.flows.programs_dir.clone(),
                environment: options.flows.environment.clone(),
                url,
                boot,
                umask: options.flows.umask,
            },
            _subscription: events.subscribe(Box::new(move |_| told.flowing())),
        })
    }

    /// Forgets what is too old, now and then.
    pub(crate) fn maintain(&self, app: &Arc<App>) -> Result<(), Error> {
        let mut engine = self.engine.lock();
        engine.maintain(event_time())?;
        self.settle(app, &mut engine)
    }

    /// Brings to disk what the engine decided, and has it done.
    fn settle(&self, app: &Arc<App>, engine: &mut Engine) -> Result<(), Error> {
        for effect in engine.commit()? {
            match effect {
                Effect::Start(attempt) => {
                    let output = engine.output_dir(&attempt.id.run);
                    attempt::start(app, attempt, output);
                }
                Effect::Stop(attempt) => self.going.stop(&attempt),
                Effect::EndOrphan(orphan) => attempt::end_orphan(&self.inbox, orphan),
                Effect::Announce(notice) => self.announce(app, notice),
                Effect::RemoveOutput(run) => remove_output(&engine.output_dir(&run)),
                other => tracing::error!(?other, "the engine wants what the service cannot do"),
            }
        }
        Ok(())
    }

    /// Publishes an event about flows, without waiting for it.
    fn announce(&self, app: &App, notice: Notice) {
        let end = notice.end.clone();
        if let Some(end) = end.as_ref().filter(|_| notice.kind.as_str() != "flow:succeeded") {
            tracing::info!(run = %end.run, "a run of a flow failed");
        }
        let inbox = Arc::clone(&self.inbox);
        let published = Box::new(move |done: waypost_events::Result<_>| match (done, end) {
            // One with its key is there: it was said before.
            (Ok(_) | Err(waypost_events::Error::KeyReused { .. }), Some(end)) => {
                inbox.put(Message::Announced(end));
            }
            (Ok(_), None) => {}
            (Err(error), _) => {
                tracing::warn!(error = chain(&error), "an event about a flow was not published");
            }
        });
        if let Err(error) = app.events.queue(notice.draft(), event_time(), published) {
            tracing::error!(error = chain(&error), "an event about a flow is none");
        }
        app.wake.publishing();
    }
}

impl Place {
    fn surroundings<'a>(
        &'a self,
        token: &'a str,
        secret: &'a dyn Fn(&str) -> Option<String>,
    ) -> Surroundings<'a> {
        Surroundings {
            project: &self.project,
            programs: &self.programs,
            inherited: &self.environment,
            url: &self.url,
            token,
            secret,
            grace: waypost_flows::GRACE,
        }
    }

    /// A secret is the variable of its name in the service's own environment.
    fn secret(&self, name: &str) -> Option<String> {
        self.environment.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone())
    }
}

fn remove_output(folder: &std::path::Path) {
    if let Err(error) = std::fs::remove_dir_all(folder)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the output of a run that is forgotten could not be removed");
    }
}

/// Names this boot of the machine; empty where the system does not say, and then a process of an
/// earlier one is told apart by its start alone.
fn boot() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}
