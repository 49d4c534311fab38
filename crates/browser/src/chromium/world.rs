//! Calls our scripts in a page.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::pipe::{Lost, Post};
use super::setup::{SCRIPT, WORLD};
use super::{Chromium, crashed};
use crate::protocol::TabId;
use crate::{Deadline, Problem, ProblemKind};

/// Calls one of our functions, if they exist. The result is returned as one string: Chromium takes
/// longer to traverse an object than a page takes to serialize it.
const CALL: &str = "(name, given) => globalThis.waypost
  ? Promise.resolve(waypost[name](...given)).then(waypost.told)
  : null";
/// Returns a node itself.
const NODE: &str = "(number) => waypost.nodeOf(number)";
/// How long a page may take to respond before its script is stopped.
const PATIENCE: Duration = Duration::from_secs(2);
/// A command with less time than this does not tell whether a page responds at all.
const QUICK: Duration = Duration::from_millis(500);
/// The pause between attempts while documents are being replaced.
const REST: Duration = Duration::from_millis(15);

/// A world to call in.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) session: String,
    pub(super) context: i64,
    /// The document's number.
    pub(super) document: u64,
}

impl Chromium {
    /// Our world in a frame.
    pub(super) async fn world(
        &self,
        tab: TabId,
        frame: &str,
        by: Deadline,
    ) -> Result<World, Problem> {
        let known = |shared: &super::Shared| {
            let state = shared.state.lock();
            let frame = state.tabs.get(&tab)?.frames.get(frame)?;
            let (context, document) = frame.context?;
            Some(World { session: frame.session.clone(), context, document })
        };
        if let Some(world) = known(&self.shared) {
            return Ok(world);
        }
        // Some documents start without our scripts: those that were never loaded from anywhere.
        let session = self.session_of(tab, frame)?;
        let params = json!({ "frameId": frame, "worldName": WORLD });
        match self.call(Some(&session), "Page.createIsolatedWorld", params, by).await {
            Ok(_) | Err(Lost::Refused(_)) => {}
            Err(lost) => return Err(Problem::from(lost)),
        }
        self.shared.until(by, |_| known(&self.shared)).await
    }

    fn session_of(&self, tab: TabId, frame: &str) -> Result<String, Problem> {
        let state = self.shared.state.lock();
        let known = state.tab(tab)?;
        let session = known.session.as_ref().ok_or_else(crashed)?;
        let frame = known.frames.get(frame).filter(|frame| !frame.session.is_empty());
        Ok(frame.map_or_else(|| session.clone(), |frame| frame.session.clone()))
    }

    /// Calls one of our functions in a frame. If the document is replaced meanwhile, the new one is
    /// called; a script that does not end is stopped.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        tab: TabId,
        frame: &str,
        name: &str,
        given: Value,
        by: Deadline,
    ) -> Result<(T, World), Problem> {
        self.ask_of(tab, frame, None, (name, given), by).await
    }

    /// [`ask`](Self::ask), for one document only: in another one, the same number is another
    /// element.
    pub(super) async fn ask_of<T: DeserializeOwned>(
        &self,
        tab: TabId,
        frame: &str,
        document: Option<u64>,
        (name, given): (&str, Value),
        by: Deadline,
    ) -> Result<(T, World), Problem> {
        let mut was_stopped = false;
        let begun = Instant::now();
        let is_quick = || by.is_over() && begun.elapsed() < QUICK;
        loop {
            let world = self.world(tab, frame, by.within(PATIENCE)).await;
            let world = match world {
                Err(problem) if problem.kind == ProblemKind::Timeout && is_quick() => {
                    return Err(hurried(begun.elapsed()));
                }
                Err(problem) if problem.kind == ProblemKind::Timeout && !was_stopped => {
                    was_stopped = true;
                    self.stop_script(tab, frame);
                    continue;
                }
                Err(problem) if problem.kind == ProblemKind::Timeout => {
                    return Err(self.silent(tab));
                }
                other => other?,
            };
            if document.is_some_and(|document| document != world.document) {
                let detail = "ref: the page of this element no longer exists; `read` again";
                return Err(Problem::new(ProblemKind::StaleRef, detail));
            }
            let params = json!({
                "functionDeclaration": CALL,
                "executionContextId": world.context,
                "arguments": [{ "value": name }, { "value": given }],
                "returnByValue": true,
                "awaitPromise": true,
            });
            let patience = if was_stopped { by } else { by.within(PATIENCE) };
            let called =
                self.call(Some(&world.session), "Runtime.callFunctionOn", params, patience);
            match called.await {
                Ok(answer) if answer["exceptionDetails"].is_object() => {
                    let said = &answer["exceptionDetails"]["exception"]["description"];
                    let detail = format!("cannot read the page: {}", said.as_str().unwrap_or("?"));
                    return Err(Problem::new(ProblemKind::Unavailable, detail));
                }
                Ok(answer) => {
                    let Some(answer) = answer["result"]["value"].as_str() else {
                        self.install(&world, by).await?;
                        continue;
                    };
                    let read = serde_json::from_str(answer).map_err(|error| {
                        let detail = format!("unexpected result of {name} in the page: {error}");
                        Problem::new(ProblemKind::Unavailable, detail)
                    })?;
                    return Ok((read, world));
                }
                Err(Lost::Refused(_)) if !by.is_over() => {
                    self.forget(tab, frame, world.context);
                    tokio::time::sleep(REST).await;
                }
                Err(Lost::Late) if !was_stopped && !by.is_over() => {
                    was_stopped = true;
                    self.stop_script(tab, frame);
                }
                Err(Lost::Late) if is_quick() => return Err(hurried(begun.elapsed())),
                Err(Lost::Late) => return Err(self.silent(tab)),
                Err(lost) => return Err(Problem::from(lost)),
            }
        }
    }

    fn silent(&self, tab: TabId) -> Problem {
        if let Some(tab) = self.shared.state.lock().tabs.get_mut(&tab) {
            tab.is_silent = true;
        }
        let detail = "the page does not respond: one of its scripts does not end; navigate elsewhere, or \
                      reload";
        Problem::new(ProblemKind::Timeout, detail)
    }

    async fn install(&self, world: &World, by: Deadline) -> Result<(), Problem> {
        let params = json!({ "expression": SCRIPT, "contextId": world.context });
        let called = self.call(Some(&world.session), "Runtime.evaluate", params, by).await;
        match called {
            Ok(_) | Err(Lost::Refused(_)) => Ok(()),
            Err(lost) => Err(Problem::from(lost)),
        }
    }

    fn stop_script(&self, tab: TabId, frame: &str) {
        if let Ok(session) = self.session_of(tab, frame) {
            self.post(&Post {
                session: Some(session),
                method: "Runtime.terminateExecution",
                params: json!({}),
            });
        }
    }

    /// Removes a world that is gone, whether or not its end has been reported yet.
    fn forget(&self, tab: TabId, frame: &str, context: i64) {
        let mut state = self.shared.state.lock();
        let known = state.tabs.get_mut(&tab).and_then(|tab| tab.frames.get_mut(frame));
        if let Some(frame) =
            known.filter(|known| known.context.is_some_and(|other| other.0 == context))
        {
            frame.context = None;
        }
    }

    /// The frame that an element of a page contains.
    pub(super) async fn frame_in(
        &self,
        world: &World,
        number: u64,
        by: Deadline,
    ) -> Result<Option<String>, Problem> {
        let params = json!({
            "functionDeclaration": NODE,
            "executionContextId": world.context,
            "arguments": [{ "value": number }],
        });
        let session = Some(world.session.as_str());
        let node = self.call(session, "Runtime.callFunctionOn", params, by).await?;
        let Some(object) = node["result"]["objectId"].as_str() else { return Ok(None) };
        let params = json!({ "objectId": object, "depth": 0 });
        let described = self.call(session, "DOM.describeNode", params, by).await?;
        Ok(described["node"]["frameId"].as_str().map(str::to_owned))
    }
}

fn hurried(after: Duration) -> Problem {
    let detail = format!(
        "the page did not respond within the {} ms that were left; give the command more time with \
         `timeout`",
        after.as_millis()
    );
    Problem::new(ProblemKind::Timeout, detail)
}
