//! The browser as a peer of the mesh: programs call `browser.relay`, and listeners receive its
//! events.

use std::sync::{Arc, Weak};

use anyhow::Context;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use waypost_api::BROWSER_TARGET;
use waypost_browser::Event;
use waypost_mesh::{Call, Far, Mesh, Problem, Serving, Settings};
use waypost_project::MeshSettings;

use crate::relay::Commands;
use crate::run::News;

/// A peer that has joined.
#[derive(Debug)]
pub(crate) struct Peer {
    mesh: Arc<Mesh>,
    serving: Serving,
    telling: JoinHandle<()>,
}

impl Peer {
    /// Joins, and serves the commands. Blocks; must not be called on a runtime thread.
    pub(crate) fn join(
        settings: &MeshSettings,
        runtime: &Handle,
        commands: Commands,
        events: Receiver<Event>,
        news: News,
    ) -> anyhow::Result<Self> {
        let far = Far::new(&settings.pairing_dir).with_listens(settings.listen);
        let joining = Settings::new(&settings.folder, "browser").with_far(far);
        let mesh = Mesh::open(&joining).context("failed to join the mesh (--no-mesh skips it)")?;
        let mesh = Arc::new(mesh);
        let waits = runtime.clone();
        let serving = mesh
            .serve(BROWSER_TARGET, move |call| waits.block_on(answer(&commands, call)))
            .context("cannot serve programs; pass --no-mesh to start a second browser")?;
        if let Some(trouble) = mesh.trouble() {
            news.tell(format!("the mesh is joined in part: {trouble}"));
        }
        let telling = runtime.spawn(tell(events, Arc::downgrade(&mesh), news));
        Ok(Self { mesh, serving, telling })
    }

    /// Leaves. Blocks; must not be called on a runtime thread.
    pub(crate) fn leave(self) {
        let Self { mesh, serving, telling } = self;
        drop(serving);
        telling.abort();
        drop(mesh);
    }
}

async fn answer(commands: &Commands, call: Call) -> Result<Value, Problem> {
    // Some callers send the arguments as a string that contains the JSON.
    let arguments = match call.argument {
        Value::String(text) => serde_json::from_str(&text).map_err(|error| {
            Problem::new(422, "invalid", format!("the arguments are no JSON: {error}"))
        })?,
        other => other,
    };
    let done = tokio::time::timeout(call.wait, commands.give(&call.command, arguments)).await;
    let done = done.map_err(|_| {
        Problem::new(408, "timeout", "it was not done while the caller waited for it")
    })?;
    done.map_err(|error| Problem::new(error.kind.status(), error.kind.as_str(), error.detail))
}

/// Broadcasts events in order.
async fn tell(mut events: Receiver<Event>, mesh: Weak<Mesh>, news: News) {
    loop {
        let event = match events.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(lost)) => {
                news.tell(format!("{lost} events were too fast for the mesh and were dropped"));
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        let Some(mesh) = mesh.upgrade() else { return };
        let told =
            tokio::task::spawn_blocking(move || mesh.broadcast(BROWSER_TARGET, &json!(event)));
        match told.await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                let error = anyhow::Error::from(error);
                news.tell(format!("failed to broadcast an event: {error:#}"));
            }
            Err(_) => return,
        }
    }
}
