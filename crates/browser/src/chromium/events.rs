//! Applies Chromium's events to the state. Unknown events are ignored.

mod traffic;

use serde_json::{Value, json};

use super::launch::VIEW;
use super::pipe::{Event, Post};
use super::setup::{BINDING, WORLD, prepare};
use super::state::{Frame, State, TABS_MAX, Tab, remember};
use super::{Shared, shorten};
use crate::protocol::{Dialog, DialogAnswer, Download, TabId};

/// Applies an event. Returns the messages to send in response.
pub(super) fn heard(shared: &Shared, event: &Event<'_>) -> Vec<Post> {
    let Ok(params) = serde_json::from_str::<Value>(event.params.get()) else { return Vec::new() };
    let mut posts = Vec::new();
    {
        let mut state = shared.state.lock();
        let mut hearing = Hearing { shared, state: &mut state, params: &params, posts: &mut posts };
        hearing.take(event.method, event.session);
    }
    shared.news.notify_waiters();
    posts
}

struct Hearing<'a> {
    shared: &'a Shared,
    state: &'a mut State,
    params: &'a Value,
    posts: &'a mut Vec<Post>,
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

impl Hearing<'_> {
    fn take(&mut self, method: &str, session: Option<&str>) {
        match method {
            "Target.attachedToTarget" => self.attached(session),
            "Target.detachedFromTarget" => self.detached(),
            "Target.targetCrashed" => {
                if let Some(id) = self.state.tab_of_target(text(self.params, "targetId")) {
                    self.crashed(id);
                }
            }
            "Target.targetInfoChanged" => self.info_changed(),
            "Inspector.targetCrashed" => {
                let is_page = |tab: &Tab| tab.session.as_deref() == session;
                let found = self.state.tabs.iter().find(|tab| is_page(tab.1)).map(|tab| *tab.0);
                if let Some(id) = found {
                    self.crashed(id);
                }
            }
            "Browser.downloadWillBegin" => self.download(),
            "Page.javascriptDialogOpening" => self.dialog(session),
            "Runtime.executionContextCreated" => self.context_created(session),
            "Runtime.bindingCalled" => self.confessed(session),
            _ if method.starts_with("Page.") => self.page(method, session),
            _ if method.starts_with("Network.") => self.network(method, session),
            _ => self.runtime(method, session),
        }
    }

    fn attached(&mut self, parent: Option<&str>) {
        let info = &self.params["targetInfo"];
        let (session, target) = (text(self.params, "sessionId"), text(info, "targetId"));
        match text(info, "type") {
            "page" => {
                let opener = info["openerId"].as_str().map(str::to_owned);
                if opener.is_some() && self.state.tabs.len() >= TABS_MAX {
                    self.state.popups_refused += 1;
                    let params = json!({ "targetId": target });
                    self.posts.push(Post { session: None, method: "Target.closeTarget", params });
                    return;
                }
                let opened_by =
                    opener.as_deref().and_then(|opener| self.state.tab_of_target(opener));
                if let Some(tab) = opened_by.and_then(|by| self.state.tabs.get_mut(&by)) {
                    tab.counts.popups += 1;
                }
                self.state.add_tab(target, session, opener.is_some());
                self.posts.extend(prepare(session, Some(VIEW)));
            }
            "iframe" => {
                let Some(id) = parent.and_then(|parent| self.state.sessions.get(parent)).copied()
                else {
                    return;
                };
                self.state.sessions.insert(session.to_owned(), id);
                if let Some(tab) = self.state.tabs.get_mut(&id) {
                    let frame = tab.frames.entry(target.to_owned()).or_insert_with(|| Frame {
                        parent: Some(tab.main.clone()),
                        url: text(info, "url").to_owned(),
                        ..Frame::default()
                    });
                    session.clone_into(&mut frame.session);
                    frame.context = None;
                }
                self.posts.extend(prepare(session, None));
            }
            // Workers also make requests, which are announced as well.
            _ => {
                if let Some(id) = parent.and_then(|parent| self.state.sessions.get(parent)).copied()
                {
                    self.state.sessions.insert(session.to_owned(), id);
                }
                for method in ["Network.enable", "Runtime.runIfWaitingForDebugger"] {
                    let session = Some(session.to_owned());
                    self.posts.push(Post { session, method, params: json!({}) });
                }
            }
        }
    }

    fn detached(&mut self) {
        let session = text(self.params, "sessionId");
        self.shared.detach(session);
        let Some(id) = self.state.sessions.remove(session) else { return };
        let Some(tab) = self.state.tabs.get_mut(&id) else { return };
        if tab.session.as_deref() == Some(session) {
            // A page that closed itself or was closed.
            self.state.tabs.remove(&id);
            self.state.sessions.retain(|_, tab| *tab != id);
        } else {
            for frame in tab.frames.values_mut().filter(|value| value.session == session) {
                frame.context = None;
            }
        }
    }

    fn crashed(&mut self, id: TabId) {
        self.posts.extend(self.shared.give_up(self.state, id));
    }

    fn info_changed(&mut self) {
        let info = &self.params["targetInfo"];
        if let Some(id) = self.state.tab_of_target(text(info, "targetId"))
            && let Some(tab) = self.state.tabs.get_mut(&id)
        {
            tab.title = shorten(text(info, "title"), 500);
        }
    }

    fn download(&mut self) {
        let frame = text(self.params, "frameId");
        let note = Download {
            name: shorten(text(self.params, "suggestedFilename"), 200),
            url: shorten(text(self.params, "url"), 2048),
        };
        if let Some(tab) =
            self.state.tabs.values_mut().find(|value| value.frames.contains_key(frame))
        {
            tab.counts.downloads += 1;
            remember(&mut tab.downloads, note);
            tab.is_leaving = false;
        }
    }

    fn dialog(&mut self, session: Option<&str>) {
        let kind = text(self.params, "type").to_owned();
        let Some(tab) = self.state.of_session(session) else { return };
        let is_always = matches!(kind.as_str(), "alert" | "beforeunload");
        let accepted = is_always || tab.answer == DialogAnswer::Accept;
        let message = shorten(text(self.params, "message"), 500);
        tab.counts.dialogs += 1;
        remember(&mut tab.dialogs, Dialog { kind, message, accepted });
        let params = json!({ "accept": accepted, "promptText": self.params["defaultPrompt"] });
        let session = session.map(str::to_owned);
        self.posts.push(Post { session, method: "Page.handleJavaScriptDialog", params });
    }

    fn context_created(&mut self, session: Option<&str>) {
        let context = &self.params["context"];
        if text(context, "name") != WORLD {
            return;
        }
        self.state.last_document += 1;
        let document = self.state.last_document;
        let frame = text(&context["auxData"], "frameId");
        if let Some(tab) = self.state.of_session(session)
            && let Some(frame) = tab.frames.get_mut(frame)
        {
            session.unwrap_or_default().clone_into(&mut frame.session);
            frame.context = context["id"].as_i64().map(|number| (number, document));
        }
    }

    /// Handles a secret field's report of its content.
    fn confessed(&mut self, session: Option<&str>) {
        if text(self.params, "name") != BINDING {
            return;
        }
        let context = self.params["executionContextId"].as_i64().unwrap_or_default();
        let Ok(payload) = serde_json::from_str::<Value>(text(self.params, "payload")) else {
            return;
        };
        let field = format!("{}.{context}.{}", session.unwrap_or_default(), payload["field"]);
        self.shared.secrets.keep(&field, text(&payload, "value"));
        // What was logged at this step contains no more of the secret than was typed then. Later,
        // the same letters may be part of any word.
        let secrets = &self.shared.secrets;
        if let Some(tab) = self.state.of_session(session) {
            tab.mask_errors(&|text| secrets.mask(text));
        }
    }

    fn page(&mut self, method: &str, session: Option<&str>) {
        let frame = text(self.params, "frameId");
        let Some(tab) = self.state.of_session(session) else { return };
        let is_main = frame == tab.main;
        match method {
            "Page.frameAttached" => {
                let parent = text(self.params, "parentFrameId").to_owned();
                let attached = Frame {
                    parent: Some(parent),
                    session: session.unwrap_or_default().to_owned(),
                    ..Frame::default()
                };
                // A frame that moves to another process is attached there as well, and keeps its
                // place.
                tab.frames.entry(frame.to_owned()).or_insert(attached);
            }
            "Page.frameDetached" if text(self.params, "reason") != "swap" => {
                tab.remove_frame(frame);
            }
            "Page.frameNavigated" => self.frame_navigated(session),
            "Page.navigatedWithinDocument" => {
                let url = text(self.params, "url");
                if let Some(frame) = tab.frames.get_mut(frame) {
                    url.clone_into(&mut frame.url);
                }
                if is_main {
                    url.clone_into(&mut tab.url);
                    tab.counts.hops += 1;
                    tab.is_leaving = false;
                }
            }
            "Page.frameStartedLoading" if is_main => tab.counts.starts += 1,
            "Page.frameRequestedNavigation"
            | "Page.frameScheduledNavigation"
            | "Page.frameStartedNavigating"
                if is_main =>
            {
                tab.counts.starts += 1;
                tab.is_leaving = true;
            }
            "Page.frameStoppedLoading" if is_main => tab.is_leaving = false,
            "Page.fileChooserOpened" => tab.counts.choosers += 1,
            "Page.lifecycleEvent" if is_main && text(self.params, "loaderId") == tab.loader => {
                match text(self.params, "name") {
                    "DOMContentLoaded" => tab.is_ready = true,
                    "load" => (tab.is_ready, tab.is_loaded) = (true, true),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn frame_navigated(&mut self, session: Option<&str>) {
        let given = &self.params["frame"];
        let id = text(given, "id");
        let url = given["unreachableUrl"].as_str().unwrap_or_else(|| text(given, "url"));
        let url = format!("{url}{}", text(given, "urlFragment"));
        let Some(tab) = self.state.of_session(session) else { return };
        let parent = given["parentId"].as_str().map(str::to_owned);
        let is_main = parent.is_none() && tab.session.as_deref() == session;
        if is_main {
            let mut root = tab.frames.remove(&tab.main);
            tab.frames.clear();
            if let Some(mut frame) = root.take() {
                frame.url.clone_from(&url);
                tab.frames.insert(id.to_owned(), frame);
            }
            id.clone_into(&mut tab.main);
            tab.commit(text(given, "loaderId"), &url);
            if !may_show(&url) {
                let params = json!({ "url": "about:blank" });
                let session = session.map(str::to_owned);
                self.posts.push(Post { session, method: "Page.navigate", params });
            }
        } else if let Some(frame) = tab.frames.get_mut(id) {
            frame.url = url;
        }
    }
}

/// Whether a page may be at this address, whoever navigated it there.
fn may_show(url: &str) -> bool {
    ["http://", "https://", "about:blank", "chrome-error:"].iter().any(|it| url.starts_with(it))
}
