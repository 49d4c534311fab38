//! The engine that runs scripts: an installed Chromium, driven over two pipes.

mod act;
mod events;
mod frame;
mod human;
mod journey;
mod launch;
mod listen;
mod locate;
mod picture;
mod pipe;
mod profile;
mod read;
mod setup;
mod shadow;
mod state;
mod world;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, Notify};

pub use self::launch::{ChromiumSettings, find_chromium};
use self::launch::{Process, start};
use self::pipe::{Lost, Pipe, Post};
use self::state::State;
use crate::protocol::{TabId, TabInfo};
use crate::proxy::{Proxy, Ways};
use crate::secret::{DigestKey, Secrets};
use crate::{Deadline, Policy, Problem, ProblemKind};

/// A Chromium that does not respond within this time after its start counts as unavailable.
const START_TIME: Duration = Duration::from_secs(60);
/// How long it may take to write its profile on shutdown.
const END_TIME: Duration = Duration::from_secs(5);

/// Chromium, with all its tabs. If its process dies, the next journey starts another one.
#[derive(Debug)]
pub struct Chromium {
    shared: Arc<Shared>,
    proxy: Proxy,
    running: AsyncMutex<Option<Process>>,
    /// What our scripts know about listeners.
    heard: listen::Heard,
    /// The key for digests of cookies.
    key: DigestKey,
}

/// What the engine and the reader of its events share.
#[derive(Debug)]
struct Shared {
    settings: ChromiumSettings,
    state: Mutex<State>,
    /// The state has changed.
    news: Notify,
    ways: Arc<Ways>,
    secrets: Secrets,
    pipe: Mutex<Option<Arc<Pipe>>>,
}

impl Shared {
    fn detach(&self, session: &str) {
        if let Some(pipe) = &*self.pipe.lock() {
            pipe.detach(session);
        }
    }

    /// Marks a tab's process as gone or as to be ended. Returns the message to send to Chromium.
    fn give_up(&self, state: &mut State, id: TabId) -> Option<Post> {
        state.sessions.retain(|_, tab| *tab != id);
        let tab = state.tabs.get_mut(&id)?;
        if let Some(session) = tab.session.clone() {
            self.detach(&session);
        }
        tab.lose();
        let params = json!({ "targetId": tab.target });
        Some(Post { session: None, method: "Target.closeTarget", params })
    }

    /// Waits until `look` finds something in the state.
    async fn until<T>(
        &self,
        by: Deadline,
        look: impl Fn(&Self) -> Option<T>,
    ) -> Result<T, Problem> {
        let come = async {
            loop {
                let mut news = std::pin::pin!(self.news.notified());
                news.as_mut().enable();
                if let Some(found) = look(self) {
                    return found;
                }
                news.await;
            }
        };
        by.of(come).await.map_err(|_| late())
    }
}

impl Chromium {
    /// Starts Chromium. All its pages obey the policy.
    ///
    /// Its tasks run on the caller's tokio runtime, and one thread waits for its process.
    ///
    /// # Errors
    /// [`ProblemKind::Unavailable`] if the program does not exist or does not start.
    pub async fn start(settings: ChromiumSettings, policy: Arc<Policy>) -> Result<Self, Problem> {
        let proxy = Proxy::start(policy).await?;
        let key = DigestKey::random()?;
        let shared = Arc::new(Shared {
            settings,
            state: Mutex::default(),
            news: Notify::new(),
            ways: proxy.ways().clone(),
            secrets: Secrets::default(),
            pipe: Mutex::default(),
        });
        let chromium = Self {
            shared,
            proxy,
            running: AsyncMutex::default(),
            heard: listen::Heard::default(),
            key,
        };
        chromium.ensure().await?;
        Ok(chromium)
    }

    /// Starts Chromium again if it is gone.
    async fn ensure(&self) -> Result<(), Problem> {
        let mut running = self.running.lock().await;
        if running.is_some() && self.shared.pipe.lock().as_ref().is_some_and(|pipe| !pipe.is_gone())
        {
            return Ok(());
        }
        *running = None;
        let (process, ends) = start(&self.shared.settings, self.proxy.address()).await?;
        let (hearing, ending) = (self.shared.clone(), self.shared.clone());
        let pipe = Pipe::open(
            ends,
            move |event| events::heard(&hearing, event),
            move || {
                ending.state.lock().lose_all();
                ending.news.notify_waiters();
            },
        );
        let pipe = pipe.map_err(|error| {
            Problem::new(
                ProblemKind::Unavailable,
                format!("cannot create a pipe to Chromium: {error}"),
            )
        })?;
        *self.shared.pipe.lock() = Some(pipe);
        let by = Deadline::after(START_TIME);
        if let Err(lost) = self.set_up(by).await {
            process.kill();
            if let Some(ended) = process.ended() {
                // Nothing of it remains, even if the program ends because of this.
                Deadline::after(END_TIME).of(ended).await.unwrap_or(Ok(())).unwrap_or_default();
            }
            let program = self.shared.settings.program.display();
            let detail = format!("{program} does not respond like Chromium: {lost:?}");
            return Err(Problem::new(ProblemKind::Unavailable, detail));
        }
        *running = Some(process);
        Ok(())
    }

    /// Tells a newly started Chromium which events to report.
    async fn set_up(&self, by: Deadline) -> Result<(), Lost> {
        // Chromium's own surfaces are pages as well.
        let kinds = json!([
            { "type": "browser", "exclude": true },
            { "type": "tab", "exclude": true },
            { "type": "browser_ui", "exclude": true },
            {},
        ]);
        let attach = json!({
            "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": kinds,
        });
        let deny = json!({ "behavior": "deny", "eventsEnabled": true });
        for (method, params) in [
            ("Browser.getVersion", json!({})),
            ("Target.setAutoAttach", attach),
            ("Target.setDiscoverTargets", json!({ "discover": true })),
            ("Browser.setDownloadBehavior", deny),
        ] {
            self.call(None, method, params, by).await?;
        }
        Ok(())
    }

    async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
        by: Deadline,
    ) -> Result<Value, Lost> {
        let pipe = self.shared.pipe.lock().clone().ok_or(Lost::Gone)?;
        pipe.call(session, method, params, by).await
    }

    fn post(&self, post: &Post) {
        if let Some(pipe) = &*self.shared.pipe.lock() {
            pipe.post(post);
        }
    }

    /// The session of a tab's page.
    fn session(&self, tab: TabId) -> Result<String, Problem> {
        let state = self.shared.state.lock();
        state.tab(tab)?.session.clone().ok_or_else(crashed)
    }

    pub(crate) async fn open(&self, by: Deadline) -> Result<TabId, Problem> {
        self.ensure().await?;
        let params = json!({ "url": "about:blank" });
        let created = self.call(None, "Target.createTarget", params, by).await?;
        let target = created["targetId"].as_str().unwrap_or_default().to_owned();
        let opened =
            self.shared.until(by, |shared| shared.state.lock().tab_of_target(&target)).await?;
        // Earlier commands to the page are processed first: otherwise a journey that began before
        // them would go unnoticed.
        let session = self.session(opened)?;
        let params = json!({ "expression": "0" });
        self.call(Some(&session), "Runtime.evaluate", params, by).await?;
        Ok(opened)
    }

    pub(crate) async fn close(&self, tab: TabId, by: Deadline) -> Result<(), Problem> {
        let target = {
            let mut state = self.shared.state.lock();
            let known = state.tab(tab)?;
            let target = known.target.clone();
            if known.session.is_none() {
                state.tabs.remove(&tab);
                return Ok(());
            }
            target
        };
        let params = json!({ "targetId": target });
        self.call(None, "Target.closeTarget", params, by).await?;
        self.shared
            .until(by, |shared| (!shared.state.lock().tabs.contains_key(&tab)).then_some(()))
            .await
    }

    pub(crate) async fn end(&self, by: Deadline) -> Result<(), Problem> {
        let Some(process) = self.running.lock().await.take() else { return Ok(()) };
        let Some(ended) = process.ended() else { return Ok(()) };
        // It writes its cookies before it exits; if it does not exit, it is killed.
        let asked = self.call(None, "Browser.close", json!({}), by.within(END_TIME)).await;
        let mut ended = std::pin::pin!(ended);
        let is_gone = asked.is_ok() && by.within(END_TIME).of(ended.as_mut()).await.is_ok();
        if !is_gone {
            process.kill();
            by.within(END_TIME).of(ended).await.map_err(|_| late())?.unwrap_or_default();
        }
        Ok(())
    }

    pub(crate) fn tabs(&self) -> Vec<TabInfo> {
        self.shared.state.lock().infos()
    }

    pub(crate) fn mask(&self, text: &str) -> String {
        self.shared.secrets.mask(text)
    }
}

impl From<Lost> for Problem {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Late => late(),
            Lost::Detached => crashed(),
            Lost::Gone => {
                let detail = "Chromium has exited; navigate or reload to restart it";
                Self::new(ProblemKind::Crashed, detail)
            }
            Lost::Refused(why) => {
                Self::new(ProblemKind::Unavailable, format!("Chromium returned an error: {why}"))
            }
        }
    }
}

fn late() -> Problem {
    Problem::new(ProblemKind::Timeout, "the page did not respond in time")
}

fn crashed() -> Problem {
    let detail = "the page's process has crashed; navigate or reload to restart it";
    Problem::new(ProblemKind::Crashed, detail)
}

/// The first letters of a text that a page chose.
fn shorten(text: &str, letters: usize) -> String {
    text.chars().take(letters).collect()
}
