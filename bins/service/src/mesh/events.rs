//! The thread that publishes events of the mesh on the bus: tasks of peers and, if the settings say so,
//! what a person does in the browser. It takes no other events.
//!
//! A mesh that fails never stops the service: `GET /api/memory/status` reports the problem.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize as _;
use waypost_events::{Bus, Data, Draft, EventType, IdempotencyKey, InvalidType, Value};
use waypost_mesh::{Event, Far, Listener, Mesh, Pattern, Settings};
use waypost_project::MeshSettings;

use super::Membership;
use crate::clock::now;
use crate::error::chain;
use crate::wake::Wake;

/// The type of event by which a peer requests a task.
const TASK: &str = "mesh:task";
/// What a person does in a browser.
const HUMAN: &str = "human_*";
/// The longest single wait for an event; leaving the mesh ends it early.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// How many events were not published since the last check, and why the last one was not.
type Failed = Mutex<(u64, String)>;

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct MeshEvents {
    pub(crate) membership: Arc<Membership>,
    pub(crate) events: Arc<Bus>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) settings: MeshSettings,
}

impl MeshEvents {
    /// Joins the mesh and receives its events until the service leaves it. Nothing waits for this.
    pub(crate) fn run(&self) {
        let mut logged = None;
        loop {
            match self.join() {
                Ok(listeners) => return self.take_part(&listeners),
                Err(error) => {
                    let why = chain(&error);
                    if logged.as_ref() != Some(&why) {
                        tracing::warn!(error = why, "failed to join the mesh");
                    }
                    logged = Some(why);
                    self.membership.failed(remedy(&error));
                }
            }
            if !self.membership.rest() {
                return;
            }
        }
    }

    fn join(&self) -> waypost_mesh::Result<Vec<Listener>> {
        let settings = &self.settings;
        let far = Far::new(&settings.pairing_dir).with_listens(settings.listen);
        let mesh = Mesh::open(&Settings::new(&settings.folder, "service").with_far(far))?;
        let mut patterns = vec![TASK];
        patterns.extend(settings.human_events.then_some(HUMAN));
        let listeners = patterns
            .into_iter()
            .map(|pattern| Ok(mesh.listen(&Pattern::parse(pattern)?)))
            .collect::<waypost_mesh::Result<_>>()?;
        self.membership.joined(mesh);
        Ok(listeners)
    }

    /// Receives events until the service leaves the mesh, and checks at intervals for problems.
    fn take_part(&self, listeners: &[Listener]) {
        let failed = Arc::<Failed>::default();
        thread::scope(|scope| {
            for listener in listeners {
                scope.spawn(|| self.receive(listener, &failed));
            }
            let (mut lost, mut trouble, mut is_over) = (0, None, false);
            while !is_over {
                is_over = !self.membership.rest();
                let now = self.membership.trouble();
                if let Some(why) = now.as_ref().filter(|_| now != trouble) {
                    tracing::warn!(trouble = why, "joined the mesh only in part");
                }
                trouble = now;
                let now_lost = listeners.iter().map(Listener::dropped).sum();
                if now_lost > lost {
                    tracing::warn!(
                        events = now_lost - lost,
                        "lost events of peers that arrived too fast"
                    );
                    lost = now_lost;
                }
                let (events, error) = std::mem::take(&mut *failed.lock());
                if events > 0 {
                    tracing::warn!(events, error, "failed to publish events of peers");
                }
            }
        });
    }

    /// Receives events until the mesh is closed.
    fn receive(&self, listener: &Listener, failed: &Arc<Failed>) {
        while !listener.is_closed() {
            if let Some(event) = listener.next(WAIT_MAX) {
                self.publish(&event, failed);
            }
        }
    }

    /// Publishes an event of a peer, checked like any other. An event that
    /// arrives twice is published once.
    fn publish(&self, event: &Event, failed: &Arc<Failed>) {
        let failed = Arc::clone(failed);
        let about = format!("{} of {}", event.kind, event.from.origin);
        let count = move |error: String| {
            let mut failed = failed.lock();
            *failed = (failed.0 + 1, format!("{about}: {error}"));
        };
        let draft = match draft(event) {
            Ok(draft) => draft,
            Err(error) => return count(error),
        };
        let later = count.clone();
        let then = Box::new(move |done: waypost_events::Result<_>| {
            if let Err(error) = done {
                later(chain(&error));
            }
        });
        if let Err(error) = self.events.queue(draft, now(), then) {
            count(chain(&error));
        }
        self.wake.publishing();
    }
}

/// The problem for the status, without paths or other details of the machine.
fn remedy(error: &waypost_mesh::Error) -> &'static str {
    use waypost_mesh::Error;
    match error {
        Error::Exposed { .. } => "other users can access its folder; see the service's log",
        Error::PathTooLong { .. } => "the path of its folder is too long; set mesh.folder",
        Error::Damaged { .. } => "one of its files is damaged; see the service's log",
        Error::Newer { .. } => "a newer release wrote one of its files; see the service's log",
        _ => "joining failed; see the service's log",
    }
}

fn draft(event: &Event) -> Result<Draft, String> {
    let kind = match event.kind.as_str() {
        TASK => TASK.to_owned(),
        human => format!("browser:{human}"),
    };
    let kind: EventType = kind.parse().map_err(|error: InvalidType| error.to_string())?;
    if kind.is_reserved() {
        return Err(format!("the namespace {} is reserved for the service", kind.namespace()));
    }
    let said = event.body.as_object().into_iter().flatten().filter(|(name, _)| *name != "type");
    let mut flat = BTreeMap::new();
    for (name, value) in said {
        flatten(name.clone(), value, &mut flat)?;
    }
    let mut data = Data::default();
    for (name, value) in flat {
        data.insert(&name, value).map_err(|error| format!("{name:.64?}: {}", error.what))?;
    }
    // The origin is proved; the name is the peer's claim. Both are checked names.
    let source = format!("mesh:{}/{}", event.from.origin, event.from.says);
    let key = format!("mesh:{}:{}", event.from.origin, event.id);
    let key = key.parse::<IdempotencyKey>().expect("names and digits are a key");
    Ok(Draft::new(kind, data, source).with_key(key))
}

/// Event data is flat: `element.tag` becomes `element_tag`.
fn flatten(
    name: String,
    value: &serde_json::Value,
    data: &mut BTreeMap<String, Value>,
) -> Result<(), String> {
    if let Some(inner) = value.as_object() {
        // Browser events have one level; deeper values are not event data.
        for (key, value) in inner {
            let scalar =
                Value::deserialize(value).map_err(|_| not_flat(&format!("{name}/{key}")))?;
            data.insert(format!("{name}_{key}"), scalar);
        }
        return Ok(());
    }
    let scalar = Value::deserialize(value).map_err(|_| not_flat(&name))?;
    data.insert(name, scalar);
    Ok(())
}

fn not_flat(name: &str) -> String {
    format!("{name:.64?}: must be a string or a number")
}
