//! The service as a peer of the mesh: tasks of peers, and if that is wanted what a human does in the
//! browser, become events on the bus. Nothing else does.
//!
//! Whatever the mesh does, the service goes on: `GET /api/memory/status` says what is wrong with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use waypost_api as api;
use waypost_events::{Draft, IdempotencyKey};
use waypost_mesh::{Event, Far, Listener, Mesh, Pattern, Settings};
use waypost_project::MeshSettings;

use crate::app::App;
use crate::clock::event_time;
use crate::error::chain;
use crate::http::failure::Failure;
use crate::http::wire;

/// The type of event that a peer orders something by.
const TASK: &str = "mesh:task";
/// What a human does in a browser.
const HUMAN: &str = "human_*";
/// How often it is looked whether something is wrong, and how soon it is tried again to join.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long a thread waits for an event before it waits anew: that the mesh is left wakes it, too.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// How the service stands with the mesh.
#[derive(Debug)]
pub(crate) struct Board {
    is_wanted: bool,
    standing: Mutex<Standing>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Standing {
    joined: Option<Mesh>,
    failed: Option<&'static str>,
    /// Whether the service stops.
    is_over: bool,
}

impl Board {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { is_wanted, standing: Mutex::default(), left: Condvar::new() }
    }

    /// Leaves the mesh, or does not join it any more.
    pub(crate) fn leave(&self) {
        let mut standing = self.standing.lock();
        standing.is_over = true;
        let joined = standing.joined.take();
        drop(standing);
        self.left.notify_all();
        // Who waits for its events is told.
        drop(joined);
    }

    /// Waits a while; false if the mesh is to be left.
    fn rest(&self) -> bool {
        let mut standing = self.standing.lock();
        if !standing.is_over {
            self.left.wait_for(&mut standing, LOOK_EVERY);
        }
        !standing.is_over
    }

    /// For the status; `None` where no mesh is wanted.
    pub(crate) fn status(&self) -> Option<api::MeshStatus> {
        if !self.is_wanted {
            return None;
        }
        let standing = self.standing.lock();
        let problem = match &standing.joined {
            Some(mesh) => {
                mesh.trouble().map(|_| "it is joined in part; the service's log says why")
            }
            None => standing.failed,
        };
        let joined = standing.joined.is_some();
        Some(api::MeshStatus { joined, problem: problem.map(str::to_owned) })
    }
}

/// Joins on a thread of its own, so that nothing waits for it.
pub(crate) fn start(app: &Arc<App>, settings: &MeshSettings) -> std::io::Result<JoinHandle<()>> {
    let (app, settings) = (Arc::clone(app), settings.clone());
    thread::Builder::new().name("mesh events".into()).spawn(move || run(&app, &settings))
}

fn run(app: &App, settings: &MeshSettings) {
    let mut logged = None;
    loop {
        match join(app, settings) {
            Ok(listeners) => return take_part(app, &listeners),
            Err(error) => {
                let why = chain(&error);
                if logged.as_ref() != Some(&why) {
                    tracing::warn!(error = why, "the mesh could not be joined");
                }
                logged = Some(why);
                app.mesh.standing.lock().failed = Some(told(&error));
            }
        }
        if !app.mesh.rest() {
            return;
        }
    }
}

/// What the status says: no path and nothing else of the machine.
fn told(error: &waypost_mesh::Error) -> &'static str {
    use waypost_mesh::Error;
    match error {
        Error::Exposed { .. } => "others could use its folder; the service's log says what to do",
        Error::PathTooLong { .. } => "the path of its folder is too long; set mesh.folder",
        Error::Refused { .. } => "the peers that are there do not accept its credentials",
        Error::Damaged { .. } => "a file of it is damaged; the service's log says which",
        _ => "it cannot be joined; the service's log says why",
    }
}

fn join(app: &App, settings: &MeshSettings) -> waypost_mesh::Result<Vec<Listener>> {
    let far = Far { folder: settings.pairing_dir.clone(), listens: settings.listen };
    let mesh = Mesh::open(&Settings::new(&settings.folder, "service").with_far(far))?;
    let mut patterns = vec![TASK];
    patterns.extend(settings.human_events.then_some(HUMAN));
    let listeners = patterns
        .into_iter()
        .map(|pattern| mesh.listen(&Pattern::parse(pattern)?))
        .collect::<waypost_mesh::Result<_>>()?;
    let mut standing = app.mesh.standing.lock();
    if !standing.is_over {
        standing.joined = Some(mesh);
        tracing::info!("the mesh is joined");
    }
    Ok(listeners)
}

/// Takes events until the mesh is left, and looks now and then whether something is wrong.
fn take_part(app: &App, listeners: &[Listener]) {
    thread::scope(|scope| {
        for listener in listeners {
            scope.spawn(|| hear(app, listener));
        }
        let (mut lost, mut trouble) = (0, None);
        while app.mesh.rest() {
            let now = app.mesh.standing.lock().joined.as_ref().and_then(Mesh::trouble);
            if let Some(why) = now.as_ref().filter(|_| now != trouble) {
                tracing::warn!(trouble = why, "the mesh is joined in part");
            }
            trouble = now;
            let now_lost = listeners.iter().map(Listener::dropped).sum();
            if now_lost > lost {
                tracing::warn!(events = now_lost - lost, "events of peers came too fast");
                lost = now_lost;
            }
        }
    });
}

/// Takes events until the mesh is closed.
fn hear(app: &App, listener: &Listener) {
    while !listener.is_closed() {
        if let Some(event) = listener.next(WAIT_MAX) {
            publish(app, &event);
        }
    }
}

/// Puts an event of a peer on the bus, checked as any other; what is none is logged. The same event
/// is published once, however often it comes.
fn publish(app: &App, event: &Event) {
    let failed = |error: String| {
        tracing::warn!(
            kind = event.kind,
            origin = %event.from.origin,
            error,
            "what a peer broadcast is not on the bus"
        );
    };
    let draft = match draft(event) {
        Ok(draft) => draft,
        Err(failure) => return failed(failure.problem.detail),
    };
    let then = Box::new(|done: waypost_events::Result<_>| {
        if let Err(error) = done {
            tracing::warn!(error = chain(&error), "what a peer broadcast is not on the bus");
        }
    });
    if let Err(error) = app.events.queue(draft, event_time(), then) {
        failed(chain(&error));
    }
    app.wake.publishing();
}

fn draft(event: &Event) -> Result<Draft, Failure> {
    let kind = match event.kind.as_str() {
        TASK => TASK.to_owned(),
        human => format!("browser:{human}"),
    };
    let said = event.body.as_object().into_iter().flatten().filter(|(name, _)| *name != "type");
    let mut data = BTreeMap::new();
    for (name, value) in said {
        flatten(name.clone(), value, &mut data)?;
    }
    let data = api::EventData(data.into_iter().collect());
    // The origin is proved, the name is the peer's word; both are checked names.
    let source = format!("mesh:{}/{}", event.from.origin, event.from.says);
    let mut draft = wire::event_draft(api::PublishRequest { kind, data }, source)?;
    let key = format!("mesh:{}:{}", event.from.origin, event.id);
    draft.key = Some(key.parse::<IdempotencyKey>().expect("names and digits are a key"));
    Ok(draft)
}

/// Data has no levels: `element.tag` becomes `element_tag`.
fn flatten(
    name: String,
    value: &serde_json::Value,
    data: &mut BTreeMap<String, api::Scalar>,
) -> Result<(), Failure> {
    if let Some(inner) = value.as_object() {
        // One level, as events of browsers have it; deeper is no data.
        for (key, value) in inner {
            let scalar = serde_json::from_value(value.clone())
                .map_err(|_| not_flat(&format!("{name}/{key}")))?;
            data.insert(format!("{name}_{key}"), scalar);
        }
        return Ok(());
    }
    let scalar = serde_json::from_value(value.clone()).map_err(|_| not_flat(&name))?;
    data.insert(name, scalar);
    Ok(())
}

fn not_flat(name: &str) -> Failure {
    api::Problem::field(format!("/{name}"), "must be a text or a number".to_owned()).into()
}
