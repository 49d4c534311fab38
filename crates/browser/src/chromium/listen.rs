//! What listens for clicks: the page's scripts keep it to themselves, Chromium knows it.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
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
/// Makes nodes known to our scripts, by Chromium's numbers.
const HEAR: &str = "(numbers, ...nodes) => waypost.hear(numbers, ...nodes)";
/// What we hold of the page's meanwhile.
const GROUP: &str = "waypost-listeners";

/// What our scripts were told, by document.
#[derive(Debug, Default)]
pub(super) struct Heard(Mutex<BTreeMap<u64, BTreeSet<u64>>>);

impl Chromium {
    /// The numbers of what listens for clicks in a document; our scripts know the nodes by them.
    ///
    /// Without them a page can be read, so whatever is in the way, fewer are told.
    pub(super) async fn listening(&self, world: &World, by: Deadline) -> Vec<u64> {
        let nodes = self.listeners(world, by).await.unwrap_or_default();
        let told = self.heard.0.lock().get(&world.document).cloned().unwrap_or_default();
        let new: Vec<u64> = nodes.iter().filter(|it| !told.contains(it)).copied().collect();
        if !new.is_empty() && self.tell(world, &new, by).await.is_ok() {
            let mut heard = self.heard.0.lock();
            heard.entry(world.document).or_default().extend(new);
            while heard.len() > DOCUMENTS_MAX {
                heard.pop_first();
            }
        }
        nodes.into_iter().collect()
    }

    async fn listeners(&self, world: &World, by: Deadline) -> Result<BTreeSet<u64>, Lost> {
        let session = Some(world.session.as_str());
        let params =
            json!({ "functionDeclaration": DOCUMENT, "executionContextId": world.context });
        let document = self.call(session, "Runtime.callFunctionOn", params, by).await?;
        let object = &document["result"]["objectId"];
        // What other worlds hear is told only of what is inside, shadow roots included.
        let params = json!({ "objectId": object, "depth": -1, "pierce": true });
        let told = self.call(session, "DOMDebugger.getEventListeners", params, by).await?;
        self.post(&super::Post {
            session: Some(world.session.clone()),
            method: "Runtime.releaseObject",
            params: json!({ "objectId": object }),
        });
        let listeners = told["listeners"].as_array().into_iter().flatten();
        let clicked = listeners
            .filter(|it| it["type"].as_str().is_some_and(|it| CLICKS.contains(&it)))
            .filter_map(|it| it["backendNodeId"].as_u64());
        Ok(clicked.take(LISTENERS_MAX).collect())
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
        self.post(&super::Post {
            session: Some(world.session.clone()),
            method: "Runtime.releaseObjectGroup",
            params: json!({ "objectGroup": GROUP }),
        });
        Ok(())
    }
}
