//! What listens for clicks: the page's scripts keep it to themselves, Chromium knows it.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::Chromium;
use super::pipe::Lost;
use super::world::World;
use crate::Deadline;

/// What a click, by mouse or by touch, is to scripts.
const CLICKS: &[&str] = &[
    "click",
    "dblclick",
    "mousedown",
    "mouseup",
    "pointerdown",
    "pointerup",
    "touchstart",
    "touchend",
];
/// Nodes of a document that are told to our scripts.
const LISTENERS_MAX: usize = 500;
/// Documents of which it is remembered what was told.
const DOCUMENTS_MAX: usize = 64;
const DOCUMENT: &str = "() => document";
const WINDOW: &str = "() => window";
/// Makes nodes known to our scripts, by Chromium's numbers.
const HEAR: &str = "(numbers, ...nodes) => waypost.hear(numbers, ...nodes)";
/// What we hold of the page's meanwhile.
const GROUP: &str = "waypost-listeners";

/// What our scripts were told, by document.
#[derive(Debug, Default)]
pub(super) struct Heard(Mutex<BTreeMap<u64, BTreeSet<u64>>>);

/// What listens for clicks in a document.
#[derive(Debug, Default, Serialize)]
pub(super) struct Listening {
    /// By Chromium's numbers, by which our scripts know the nodes.
    nodes: BTreeSet<u64>,
    /// The window listens, for all that is in it.
    everywhere: bool,
}

impl Chromium {
    /// What listens for clicks in a document; our scripts are told of it.
    ///
    /// Without it a page can be read, so whatever is in the way, less is told.
    pub(super) async fn listening(&self, world: &World, by: Deadline) -> Listening {
        let listening = self.listeners(world, by).await.unwrap_or_default();
        let told = self.heard.0.lock().get(&world.document).cloned().unwrap_or_default();
        let new: Vec<u64> = listening.nodes.difference(&told).copied().collect();
        if !new.is_empty() && self.tell(world, &new, by).await.is_ok() {
            let mut heard = self.heard.0.lock();
            heard.entry(world.document).or_default().extend(new);
            while heard.len() > DOCUMENTS_MAX {
                heard.pop_first();
            }
        }
        listening
    }

    async fn listeners(&self, world: &World, by: Deadline) -> Result<Listening, Lost> {
        let session = Some(world.session.as_str());
        let ask = async |method: &str, mut params: Value| {
            params["objectGroup"] = GROUP.into();
            self.call(session, method, params, by).await
        };
        // Of a document itself, and of a window, only those are told that were put there by scripts of
        // the world that it is asked for by: so it is asked for by the page's own.
        let params =
            json!({ "functionDeclaration": DOCUMENT, "executionContextId": world.context });
        let ours = ask("Runtime.callFunctionOn", params).await?;
        let params = json!({ "objectId": ours["result"]["objectId"], "depth": 0 });
        let described = self.call(session, "DOM.describeNode", params, by).await?;
        let params = json!({ "backendNodeId": described["node"]["backendNodeId"] });
        let document = ask("DOM.resolveNode", params).await?["object"]["objectId"].take();
        let params = json!({ "functionDeclaration": WINDOW, "objectId": document });
        let window = ask("Runtime.callFunctionOn", params).await?["result"]["objectId"].take();
        let of = async |params: Value| {
            self.call(session, "DOMDebugger.getEventListeners", params, by).await
        };
        let (inside, window) = tokio::join!(
            of(json!({ "objectId": document, "depth": -1, "pierce": true })),
            of(json!({ "objectId": window })),
        );
        self.release(world);
        let (inside, window) = (inside?, window?);
        let nodes = clicked(&inside).filter_map(|it| it["backendNodeId"].as_u64());
        let everywhere = clicked(&window).next().is_some();
        Ok(Listening { nodes: nodes.take(LISTENERS_MAX).collect(), everywhere })
    }

    /// Lets go of what we held of the page's.
    fn release(&self, world: &World) {
        self.post(&super::Post {
            session: Some(world.session.clone()),
            method: "Runtime.releaseObjectGroup",
            params: json!({ "objectGroup": GROUP }),
        });
    }

    async fn tell(&self, world: &World, nodes: &[u64], by: Deadline) -> Result<(), Lost> {
        let session = Some(world.session.as_str());
        let pipe = self.shared.pipe.lock().clone().ok_or(Lost::Gone)?;
        let mut asking = JoinSet::new();
        for node in nodes.iter().copied() {
            let (pipe, session) = (pipe.clone(), world.session.clone());
            let params = json!({
                "backendNodeId": node,
                "executionContextId": world.context,
                "objectGroup": GROUP,
            });
            asking.spawn(async move {
                let told = pipe.call(Some(&session), "DOM.resolveNode", params, by).await;
                told.map(|mut it| (node, it["object"]["objectId"].take()))
            });
        }
        let mut numbers: Vec<u64> = Vec::new();
        let mut arguments: Vec<Value> = vec![Value::Null];
        while let Some(told) = asking.join_next().await {
            // Those of other frames are told there.
            if let Ok(Ok((node, object))) = told {
                numbers.push(node);
                arguments.push(json!({ "objectId": object }));
            }
        }
        arguments[0] = json!({ "value": numbers });
        let params = json!({
            "functionDeclaration": HEAR,
            "executionContextId": world.context,
            "arguments": arguments,
        });
        self.call(session, "Runtime.callFunctionOn", params, by).await?;
        self.release(world);
        Ok(())
    }
}

/// The listeners of an answer that hear clicks.
fn clicked(told: &Value) -> impl Iterator<Item = &Value> {
    let listeners = told["listeners"].as_array().into_iter().flatten();
    listeners.filter(|it| it["type"].as_str().is_some_and(|it| CLICKS.contains(&it)))
}
