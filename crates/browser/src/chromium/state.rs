//! What is known of Chromium's tabs, from its events.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde_json::Value;
use tokio::time::Instant;

use crate::Problem;
use crate::protocol::{Dialog, DialogAnswer, Download, TabId, TabInfo, no_tab};
use crate::scrub::scrub;

/// The maximum number of tabs that pages may have open; further popups are closed at once.
pub(super) const TABS_MAX: usize = 8;
/// Document names that a tab remembers.
const LOADERS_MAX: usize = 16;
/// Errors, dialogs and downloads that a tab remembers.
const NOTES_MAX: usize = 32;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) tabs: BTreeMap<TabId, Tab>,
    /// Maps sessions of pages, and of frames in separate processes, to their tab.
    pub(super) sessions: HashMap<String, TabId>,
    pub(super) last_tab: u64,
    pub(super) last_document: u64,
    /// Popups that were closed at once.
    pub(super) popups_refused: u64,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "what has happened comes in any order")]
pub(super) struct Tab {
    pub(super) target: String,
    /// `None` once its process is gone.
    pub(super) session: Option<String>,
    pub(super) main: String,
    pub(super) frames: HashMap<String, Frame>,
    pub(super) url: String,
    pub(super) title: String,
    pub(super) is_popup: bool,
    /// The document of the main frame; each document has its own loader.
    pub(super) loader: String,
    /// The last documents of the main frame, including the current one.
    pub(super) loaders: VecDeque<String>,
    pub(super) counts: Counts,
    /// Another document is loading.
    pub(super) is_leaving: bool,
    pub(super) is_ready: bool,
    pub(super) is_loaded: bool,
    /// It did not respond in time and may never do so.
    pub(super) is_silent: bool,
    pub(super) status: Option<(String, u16)>,
    pub(super) in_flight: HashSet<String>,
    pub(super) last_traffic: Option<Instant>,
    /// Its errors, each with the document that it is of.
    pub(super) errors: VecDeque<(String, Value)>,
    pub(super) dialogs: VecDeque<Dialog>,
    pub(super) downloads: VecDeque<Download>,
    pub(super) answer: DialogAnswer,
    /// The size that it is laid out for, once a person has viewed it, in CSS pixels.
    pub(super) view: Option<(u32, u32)>,
}

#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) parent: Option<String>,
    pub(super) session: String,
    pub(super) url: String,
    /// Our world in its document, and the document's number.
    pub(super) context: Option<(i64, u64)>,
}

/// How often something has happened in a tab.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// The main frame got a new document.
    pub(super) commits: u64,
    /// The main frame got a new address in the same document.
    pub(super) hops: u64,
    /// A load started.
    pub(super) starts: u64,
    pub(super) dialogs: u64,
    pub(super) downloads: u64,
    pub(super) popups: u64,
    pub(super) choosers: u64,
}

impl Counts {
    /// The main frame got a document or an address since then.
    pub(super) fn has_moved_since(self, before: Self) -> bool {
        self.commits > before.commits || self.hops > before.hops
    }
}

/// Remembers an entry, and forgets the oldest one if there are too many.
pub(super) fn remember<T>(entries: &mut VecDeque<T>, entry: T) {
    if entries.len() == NOTES_MAX {
        entries.pop_front();
    }
    entries.push_back(entry);
}

/// The newest entries, as far as they are remembered.
pub(super) fn newest<T: Clone>(entries: &VecDeque<T>, count: u64) -> Vec<T> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    entries.iter().skip(entries.len().saturating_sub(count)).cloned().collect()
}

impl State {
    /// Adds a tab for a target and its session.
    pub(super) fn add_tab(&mut self, target: &str, session: &str, is_popup: bool) -> TabId {
        self.last_tab += 1;
        let id = TabId(self.last_tab);
        let frame = Frame {
            session: session.to_owned(),
            url: "about:blank".to_owned(),
            ..Frame::default()
        };
        let tab = Tab {
            target: target.to_owned(),
            session: Some(session.to_owned()),
            // A page's target and its main frame have the same name.
            main: target.to_owned(),
            frames: HashMap::from([(target.to_owned(), frame)]),
            url: "about:blank".to_owned(),
            is_popup,
            last_traffic: Some(Instant::now()),
            ..Tab::default()
        };
        self.tabs.insert(id, tab);
        self.sessions.insert(session.to_owned(), id);
        id
    }

    pub(super) fn tab(&self, id: TabId) -> Result<&Tab, Problem> {
        self.tabs.get(&id).ok_or_else(|| no_tab(id))
    }

    pub(super) fn tab_of_target(&self, target: &str) -> Option<TabId> {
        self.tabs.iter().find(|tab| tab.1.target == target).map(|tab| *tab.0)
    }

    pub(super) fn of_session(&mut self, session: Option<&str>) -> Option<&mut Tab> {
        let id = self.sessions.get(session?)?;
        self.tabs.get_mut(id)
    }

    /// Every tab has lost its process.
    pub(super) fn lose_all(&mut self) {
        self.sessions.clear();
        self.tabs.values_mut().for_each(Tab::lose);
    }

    /// Lets the tab take over from another one that was opened in its place.
    pub(super) fn replace(&mut self, old: TabId, new: TabId) {
        if let Some(mut tab) = self.tabs.remove(&new) {
            if let Some(before) = self.tabs.get(&old) {
                tab.url.clone_from(&before.url);
                tab.is_popup = before.is_popup;
            }
            for of in self.sessions.values_mut().filter(|value| **value == new) {
                *of = old;
            }
            self.tabs.insert(old, tab);
        }
    }

    pub(super) fn infos(&self) -> Vec<TabInfo> {
        let info = |(id, tab): (&TabId, &Tab)| TabInfo {
            tab: *id,
            url: tab.url.clone(),
            title: tab.title.clone(),
            popup: tab.is_popup,
            crashed: tab.session.is_none(),
        };
        self.tabs.iter().map(info).collect()
    }
}

impl Tab {
    /// Its process is gone, with all its documents.
    pub(super) fn lose(&mut self) {
        self.session = None;
        self.frames.retain(|id, _| *id == self.main);
        for frame in self.frames.values_mut() {
            frame.context = None;
        }
        self.in_flight.clear();
        self.is_leaving = false;
    }

    /// A new document is in the main frame.
    pub(super) fn commit(&mut self, loader: &str, url: &str) {
        loader.clone_into(&mut self.loader);
        self.loaders.push_back(loader.to_owned());
        if self.loaders.len() > LOADERS_MAX {
            self.loaders.pop_front();
        }
        url.clone_into(&mut self.url);
        self.title.clear();
        self.counts.commits += 1;
        self.is_leaving = false;
        self.is_ready = false;
        self.is_loaded = false;
        self.errors.retain(|error| error.0 == loader);
        self.dialogs.clear();
    }

    pub(super) fn add_error(&mut self, loader: &str, error: Value) {
        if !self.errors.iter().any(|other| other.1 == error) {
            remember(&mut self.errors, (loader.to_owned(), error));
        }
    }

    /// Masks secrets in the recorded errors for good.
    pub(super) fn mask_errors(&mut self, mask: &dyn Fn(&str) -> String) {
        self.errors.iter_mut().for_each(|error| scrub(&mut error.1, mask));
    }

    /// Removes a frame with the frames inside it.
    pub(super) fn remove_frame(&mut self, id: &str) {
        let mut gone = vec![id.to_owned()];
        while let Some(id) = gone.pop() {
            self.frames.remove(&id);
            let inside = self.frames.iter().filter(|frame| frame.1.parent.as_deref() == Some(&id));
            gone.extend(inside.map(|inside| inside.0.clone()));
        }
    }

    pub(super) fn status_of_page(&self) -> Option<u16> {
        self.status.as_ref().filter(|status| status.0 == self.loader).map(|status| status.1)
    }
}
