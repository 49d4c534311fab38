//! The engine that is always available: pages without scripts, with their links and forms.

mod act;
mod extract;
mod fetch;
mod flow;
mod frame;
mod input;
mod page;
mod parse;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use scraper::ElementRef;
use tokio::sync::Notify;
use url::Url;

use self::act::locate;
use self::fetch::{Asked, Fetcher};
use self::frame::Look;
use self::page::{Page, all_text_of, text_of};
use crate::protocol::{
    Arrival, Condition, Download, ElementState, Evidence, Navigation, ReadScope, TabId, TabInfo,
    no_tab,
};
use crate::proxy::Proxy;
use crate::secret::{DigestKey, Secrets};
use crate::summary::Extract;
use crate::{Deadline, Policy, Problem, ProblemKind};

/// The number of pages in a tab's history.
const HISTORY_MAX: usize = 50;

/// Shows pages as their servers send them. It rejects what needs scripts or a layout.
#[derive(Debug)]
pub struct Plain {
    fetcher: Arc<Fetcher>,
    state: Mutex<State>,
    secrets: Secrets,
    key: DigestKey,
    /// The look of a tab has changed.
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    tabs: BTreeMap<TabId, Tab>,
    last_tab: u64,
    last_document: u64,
}

#[derive(Debug, Default)]
struct Tab {
    history: Vec<Page>,
    /// The index of the shown page.
    at: usize,
    downloads: Vec<Download>,
    look: Look,
}

impl Tab {
    fn page(&self) -> Option<&Page> {
        self.history.get(self.at)
    }
}

impl Plain {
    /// Starts the engine on the caller's tokio runtime. Every page obeys the policy.
    ///
    /// # Errors
    /// [`ProblemKind::Unavailable`] if the system provides no port or no random bytes.
    pub async fn start(policy: Arc<Policy>) -> Result<Self, Problem> {
        let proxy = Proxy::start(policy.clone()).await?;
        let key = DigestKey::random()?;
        let fetcher = Arc::new(Fetcher::new(proxy, policy));
        let (state, secrets, news) = (Mutex::default(), Secrets::default(), Notify::new());
        Ok(Self { fetcher, state, secrets, key, news })
    }

    pub(crate) fn mask(&self, text: &str) -> String {
        self.secrets.mask(text)
    }

    pub(crate) fn tabs(&self) -> Vec<TabInfo> {
        let state = self.state.lock();
        let info = |(tab, known): (&TabId, &Tab)| TabInfo {
            tab: *tab,
            url: known.page().map_or_else(|| "about:blank".to_owned(), |page| page.url.to_string()),
            title: known.page().map(|page| page.title.clone()).unwrap_or_default(),
            popup: false,
            crashed: false,
        };
        state.tabs.iter().map(info).collect()
    }

    pub(crate) fn open(&self) -> TabId {
        let mut state = self.state.lock();
        state.last_tab += 1;
        let tab = TabId(state.last_tab);
        state.tabs.insert(tab, Tab::default());
        tab
    }

    pub(crate) fn close(&self, tab: TabId) -> Result<(), Problem> {
        self.state.lock().tabs.remove(&tab).map(drop).ok_or_else(|| no_tab(tab))
    }

    /// Runs a function on the page of a tab.
    fn with_page<T>(
        &self,
        tab: TabId,
        ask: impl FnOnce(&Page) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let page = {
            let state = self.state.lock();
            let known = state.tabs.get(&tab).ok_or_else(|| no_tab(tab))?;
            known.page().cloned()
        };
        let page = page.ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, "the tab is empty; navigate somewhere first")
        })?;
        ask(&page)
    }

    async fn load(
        &self,
        tab: TabId,
        asked: Asked,
        again: bool,
        by: Deadline,
    ) -> Result<Arrival, Problem> {
        self.fetcher.forget_refusals();
        let fetcher = self.fetcher.clone();
        let work = tokio::task::spawn_blocking(move || fetcher.fetch(&asked, by));
        let late = || Problem::new(ProblemKind::Timeout, "the server did not respond in time");
        let fetched = by.of(work).await.map_err(|_| late())?;
        let fetched = fetched
            .map_err(|error| Problem::new(ProblemKind::Unavailable, error.to_string()))??;
        {
            let mut state = self.state.lock();
            state.last_document += 1;
            let document = state.last_document;
            let known = state.tabs.get_mut(&tab).ok_or_else(|| no_tab(tab))?;
            if let Some(name) = fetched.file {
                let url = fetched.url.to_string();
                known.downloads.push(Download { name, url });
            } else {
                let page = Page::new(fetched.url, fetched.status, fetched.body, document);
                if again && known.at < known.history.len() {
                    let at = known.at;
                    known.history[at] = page;
                } else {
                    known.history.truncate(known.at + 1);
                    known.history.push(page);
                    if known.history.len() > HISTORY_MAX {
                        known.history.remove(0);
                    }
                    known.at = known.history.len() - 1;
                }
                known.look.begin();
            }
        }
        self.news.notify_waiters();
        self.arrival(tab)
    }

    fn arrival(&self, tab: TabId) -> Result<Arrival, Problem> {
        let state = self.state.lock();
        let known = state.tabs.get(&tab).ok_or_else(|| no_tab(tab))?;
        let Some(page) = known.page() else {
            let url = "about:blank".to_owned();
            return Ok(Arrival { url, title: String::new(), status: None, loading: false });
        };
        let (url, title) = (page.url.to_string(), page.title.clone());
        Ok(Arrival { url, title, status: page.status, loading: false })
    }

    pub(crate) async fn go(
        &self,
        tab: TabId,
        journey: Navigation,
        by: Deadline,
    ) -> Result<Arrival, Problem> {
        match journey {
            Navigation::To(url) => self.load(tab, Asked { url, form: None }, false, by).await,
            Navigation::Reload => {
                let url: Url = self.with_page(tab, |page| Ok(page.url.clone()))?;
                self.load(tab, Asked { url, form: None }, true, by).await
            }
            Navigation::Back | Navigation::Forward => {
                {
                    let mut state = self.state.lock();
                    let known = state.tabs.get_mut(&tab).ok_or_else(|| no_tab(tab))?;
                    let to = match journey {
                        Navigation::Back => known.at.checked_sub(1),
                        _ => Some(known.at + 1).filter(|it| *it < known.history.len()),
                    };
                    known.at = to.ok_or_else(|| {
                        let detail = "the tab's history has no such page";
                        Problem::new(ProblemKind::NotFound, detail)
                    })?;
                    known.look.begin();
                }
                self.news.notify_waiters();
                self.arrival(tab)
            }
        }
    }

    pub(crate) fn evidence(&self, tab: TabId) -> Result<Evidence, Problem> {
        let state = self.state.lock();
        let known = state.tabs.get(&tab).ok_or_else(|| no_tab(tab))?;
        let Some(page) = known.page() else { return Ok(Evidence::default()) };
        let open = page.open();
        let fields = open
            .select("input[type=password]")
            .into_iter()
            .filter(|select| open.is_shown(*select))
            .count();
        let leaves = |reference: &ElementRef<'_>| {
            let text = text_of(*reference).to_lowercase().replace(' ', "");
            ["logout", "signout", "logoff", "abmelden"].contains(&text.as_str())
        };
        let jar = self.fetcher.jar.lock();
        let cookies = jar.matches(&page.url);
        let guarded = cookies.iter().filter(|cookie| cookie.http_only() == Some(true)).count();
        let mut values: Vec<String> =
            cookies.iter().map(|cookie| format!("{}\0{}", cookie.name(), cookie.value())).collect();
        values.sort_unstable();
        Ok(Evidence {
            origin: page.url.origin().ascii_serialization(),
            ready: true,
            document: page.document,
            password_fields: fields as u64,
            logout: open.select("a, button").iter().any(leaves),
            cookies: self.key.digest(&values),
            guarded_cookies: guarded as u64,
            secret_focused: false,
            secret_revealed: false,
        })
    }

    pub(crate) fn holds(&self, tab: TabId, condition: &Condition) -> Result<bool, Problem> {
        self.with_page(tab, |page| {
            let open = page.open();
            Ok(match condition {
                Condition::NetworkIdle => true,
                Condition::Url(part) => page.url.as_str().contains(part.as_str()),
                Condition::Text(text) => {
                    all_text_of(open.html.root_element()).contains(text.as_str())
                }
                Condition::Element(selector, state) => match (open.find(selector), state) {
                    (Ok(_), ElementState::Attached) => true,
                    (Ok((it, _)), ElementState::Visible) => open.is_shown(it),
                    (Ok((it, _)), ElementState::Hidden) => !open.is_shown(it),
                    (Err(problem), state) if problem.kind == ProblemKind::NotFound => {
                        *state == ElementState::Hidden
                    }
                    (Err(problem), _) => return Err(problem),
                },
            })
        })
    }

    pub(crate) fn read(&self, tab: TabId, reach: &ReadScope) -> Result<Extract, Problem> {
        let downloads = self.state.lock().tabs.get(&tab).map(|tab| tab.downloads.clone());
        self.with_page(tab, |page| {
            let open = page.open();
            let scope = match &reach.scope {
                Some(target) => Some(locate(&open, target)?.0),
                None => None,
            };
            let mut extract = open.extract(scope, reach);
            extract.downloads = downloads.unwrap_or_default();
            Ok(extract)
        })
    }
}
