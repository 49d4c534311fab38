//! Which elements listen for clicks: the page's scripts do not reveal it, but Chromium knows it.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::Chromium;
use super::pipe::Lost;
use super::world::World;
use crate::Deadline;

/// The script events of a click, by mouse or by touch.
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
/// Nodes of a document that are reported to our scripts.
const LISTENERS_MAX: usize = 500;
/// Documents for which the reported nodes are remembered.
const DOCUMENTS_MAX: usize = 64;
const DOCUMENT: &str = "() => document";
const WINDOW: &str = "() => window";
/// Registers nodes with our scripts, by Chromium's numbers.
const HEAR: &str = "(numbers, ...nodes) => waypost.hear(numbers, ...nodes)";
/// The group of page objects that we hold meanwhile.
const GROUP: &str = "waypost-listeners";

/// The nodes that were reported to our scripts, by document.
#[derive(Debug, Default)]
pub(super) struct Heard(Mutex<BTreeMap<u64, BTreeSet<u64>>>);

/// What listens for clicks in a document.
#[derive(Debug, Default, Serialize)]
pub(super) struct Listening {
    /// The nodes by Chromium's numbers, by which our scripts know them.
    nodes: BTreeSet<u64>,
    /// The window itself listens, for everything in it.
    everywhere: bool,
}

impl Chromium {
    /// What listens for clicks in a document; also reports it to our scripts.
    ///
    /// A page can be read without it, so a failure only means that fewer nodes are reported.
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
        // For a document or window, Chromium reports only listeners that scripts of the querying
        // world added: so the query runs in the page's own world.
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
        self.release(world, GROUP);
        let (inside, window) = (inside?, window?);
        let nodes = clicked(&inside).filter_map(|clicked| clicked["backendNodeId"].as_u64());
        let everywhere = clicked(&window).next().is_some();
        Ok(Listening { nodes: nodes.take(LISTENERS_MAX).collect(), everywhere })
    }

    /// Releases the page objects that we held.
    pub(super) fn release(&self, world: &World, group: &str) {
        self.post(&super::Post {
            session: Some(world.session.clone()),
            method: "Runtime.releaseObjectGroup",
            params: json!({ "objectGroup": group }),
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
                told.map(|mut told| (node, told["object"]["objectId"].take()))
            });
        }
        let mut numbers: Vec<u64> = Vec::new();
        let mut arguments: Vec<Value> = vec![Value::Null];
        while let Some(told) = asking.join_next().await {
            // Nodes of other frames are reported there.
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
        self.release(world, GROUP);
        Ok(())
    }
}

/// The listeners in a response that handle clicks.
fn clicked(told: &Value) -> impl Iterator<Item = &Value> {
    let listeners = told["listeners"].as_array().into_iter().flatten();
    listeners
        .filter(|listener| listener["type"].as_str().is_some_and(|text| CLICKS.contains(&text)))
}
