//! Closed shadow roots: page scripts cannot reach them, but the DOM domain can.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::Chromium;
use super::pipe::Lost;
use super::world::World;
use crate::{Deadline, Problem};

/// Returns the nodes themselves, in one object.
const NODES: &str = "(numbers) => numbers.map(waypost.nodeOf)";
/// Registers a root with our scripts.
const ADOPT: &str = "function (root) { waypost.adopt(this, root); }";
/// The group of page objects that we hold meanwhile.
const GROUP: &str = "waypost-hosts";

impl Chromium {
    /// Registers the closed shadow roots of these elements with our scripts. Returns false if none
    /// has one.
    ///
    /// Chromium is queried about all of them at once: one by one, the round trips would dominate.
    pub(super) async fn adopt(
        &self,
        world: &World,
        numbers: &[u64],
        by: Deadline,
    ) -> Result<bool, Problem> {
        if numbers.is_empty() {
            return Ok(false);
        }
        let mut has_found = false;
        for (host, root) in self.closed_roots(world, numbers, by).await? {
            let params = json!({
                "backendNodeId": root,
                "executionContextId": world.context,
                "objectGroup": GROUP,
            });
            let session = Some(world.session.as_str());
            let resolved = self.call(session, "DOM.resolveNode", params, by).await?;
            let params = json!({
                "functionDeclaration": ADOPT,
                "objectId": host,
                "arguments": [{ "objectId": resolved["object"]["objectId"] }],
            });
            self.call(session, "Runtime.callFunctionOn", params, by).await?;
            has_found = true;
        }
        self.release(world, GROUP);
        Ok(has_found)
    }

    /// The elements that have one, and their roots.
    async fn closed_roots(
        &self,
        world: &World,
        numbers: &[u64],
        by: Deadline,
    ) -> Result<Vec<(String, Value)>, Lost> {
        let session = Some(world.session.as_str());
        let params = json!({
            "functionDeclaration": NODES,
            "executionContextId": world.context,
            "arguments": [{ "value": numbers }],
            "objectGroup": GROUP,
        });
        let nodes = self.call(session, "Runtime.callFunctionOn", params, by).await?;
        let params = json!({ "objectId": nodes["result"]["objectId"], "ownProperties": true });
        let listed = self.call(session, "Runtime.getProperties", params, by).await?;
        let pipe = self.shared.pipe.lock().clone().ok_or(Lost::Gone)?;
        let mut asking = JoinSet::new();
        for entry in listed["result"].as_array().into_iter().flatten() {
            // Nodes that have disappeared meanwhile are null, and the length is not an object.
            let Some(host) = entry["value"]["objectId"].as_str().map(str::to_owned) else {
                continue;
            };
            let (pipe, session) = (pipe.clone(), world.session.clone());
            asking.spawn(async move {
                let params = json!({ "objectId": host, "depth": 0 });
                let told = pipe.call(Some(&session), "DOM.describeNode", params, by).await;
                told.map(|told| Some((host, closed_root(&told["node"])?)))
            });
        }
        let mut found = Vec::new();
        while let Some(told) = asking.join_next().await {
            match told {
                Ok(Ok(root)) => found.extend(root),
                // A node that is no longer in the document has no root.
                Ok(Err(Lost::Refused(_))) => {}
                Ok(Err(lost)) => return Err(lost),
                Err(_) => return Err(Lost::Gone),
            }
        }
        Ok(found)
    }
}

/// The closed root of a node as the DOM domain reports it.
fn closed_root(node: &Value) -> Option<Value> {
    let roots = node["shadowRoots"].as_array()?;
    let closed = roots.iter().find(|root| root["shadowRootType"] == "closed")?;
    Some(closed["backendNodeId"].clone())
}
