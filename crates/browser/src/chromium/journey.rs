//! Navigates, and determines when a page has arrived.

use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

use super::pipe::{Lost, Post};
use super::state::{Counts, Tab, newest};
use super::{Chromium, late};
use crate::protocol::{Arrival, Done, Navigation, TabId};
use crate::{Deadline, Problem, ProblemKind};

/// How long to wait for an arrived page to load completely.
const LOAD_TIME: Duration = Duration::from_secs(8);
/// The part of the remaining time that is reserved for the response itself; at most a quarter of
/// it.
const ANSWER_TIME: Duration = Duration::from_millis(500);
/// The time limit for querying a page's title, and for a download to be reported.
const NEWS_TIME: Duration = Duration::from_secs(2);
/// A navigation that a click causes has begun by then, once the page has responded again.
const START_TIME: Duration = Duration::from_millis(120);

/// Attempts to open a page when the previous page replaces it again.
const TRIES_MAX: usize = 3;

/// The deadline for waiting for the page.
fn before_answer(by: Deadline) -> Deadline {
    let left = by.left();
    Deadline::after(left.saturating_sub(ANSWER_TIME.min(left / 4)))
}

impl Chromium {
    pub(crate) async fn go(
        &self,
        tab: TabId,
        journey: Navigation,
        by: Deadline,
    ) -> Result<Arrival, Problem> {
        match self.travel_once(tab, journey.clone(), by).await {
            // What ended one process may also have ended the spare one that was ready for the next
            // page.
            Err(problem) if problem.kind == ProblemKind::Crashed => {
                self.travel_once(tab, journey, by).await
            }
            done => done,
        }
    }

    async fn travel_once(
        &self,
        tab: TabId,
        journey: Navigation,
        by: Deadline,
    ) -> Result<Arrival, Problem> {
        self.ensure().await?;
        self.shared.ways.forget_refusals();
        let journey = self.revive(tab, journey, by).await?;
        let session = self.session(tab)?;
        let (before, from) = {
            let state = self.shared.state.lock();
            let known = state.tab(tab)?;
            (known.counts, known.url.clone())
        };
        match &journey {
            Navigation::To(url) => {
                let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
                    let params = json!({ "url": "about:blank" });
                    self.call(Some(&session), "Page.navigate", params, by).await?;
                    self.arrive(tab, &session, |it| it.counts.commits > before.commits, by).await?;
                    return self.arrival(tab, by).await;
                };
                self.shared.ways.announce(host, port);
                for _ in 0..TRIES_MAX {
                    let params = json!({ "url": url.as_str(), "transitionType": "typed" });
                    let asked = self.call(Some(&session), "Page.navigate", params, by).await;
                    let answer = match asked {
                        Ok(answer) => answer,
                        Err(lost) => return Err(self.stop(&session, lost)),
                    };
                    if let Some(error) = answer["errorText"].as_str() {
                        return self.failed(tab, (url, error), before, by).await;
                    }
                    let Some(loader) = answer["loaderId"].as_str() else { break };
                    // A page that reloads itself constantly commits documents, too: only ours
                    // counts.
                    let come = |tab: &Tab| tab.loaders.iter().any(|other| other == loader);
                    self.arrive(tab, &session, come, by).await?;
                    if !self.is_pulled_back(tab, loader, (&from, before), by).await {
                        break;
                    }
                }
            }
            Navigation::Reload => {
                self.call(Some(&session), "Page.reload", json!({}), by).await?;
                self.arrive(tab, &session, |it| it.counts.commits > before.commits, by).await?;
            }
            Navigation::Back | Navigation::Forward => {
                self.step(&session, &journey, by).await?;
                let come = |tab: &Tab| tab.counts.has_moved_since(before);
                self.arrive(tab, &session, come, by).await?;
            }
        }
        self.arrival(tab, by).await
    }

    /// Whether the previous page replaced the one that had arrived: a page that reloads itself
    /// constantly may have requested that while the other was loading.
    async fn is_pulled_back(
        &self,
        tab: TabId,
        loader: &str,
        (from, before): (&str, Counts),
        by: Deadline,
    ) -> bool {
        let look = |is_so: &dyn Fn(&Tab) -> bool| {
            self.shared.state.lock().tabs.get(&tab).is_some_and(is_so)
        };
        let is_ours = |tab: &Tab| tab.loader == loader;
        // Only this journey has begun.
        if look(&|it| is_ours(it) && it.counts.starts <= before.starts + 1) {
            return false;
        }
        self.until_tab(tab, by.within(2 * START_TIME), |it| !is_ours(it) && it.is_ready).await;
        look(&|it| !is_ours(it) && it.url == from)
    }

    /// Waits until a tab is as wanted or gone; returns whether it was in time.
    async fn until_tab(&self, tab: TabId, by: Deadline, is_so: impl Fn(&Tab) -> bool) -> bool {
        let look = |shared: &super::Shared| {
            shared.state.lock().tabs.get(&tab).is_none_or(&is_so).then_some(())
        };
        self.shared.until(by, look).await.is_ok()
    }

    async fn step(&self, session: &str, journey: &Navigation, by: Deadline) -> Result<(), Problem> {
        let history = self.call(Some(session), "Page.getNavigationHistory", json!({}), by).await?;
        let at = history["currentIndex"].as_u64().unwrap_or_default();
        let (to, where_to) = match journey {
            Navigation::Back => (at.checked_sub(1), "before"),
            _ => (at.checked_add(1), "after"),
        };
        let to = to.and_then(|to| usize::try_from(to).ok());
        let entry = to.and_then(|to| history["entries"].get(to));
        // Each tab starts empty; that is not a navigation.
        let begins = |value: &Value| {
            value["url"] == "about:blank" && value["transitionType"] == "auto_toplevel"
        };
        let entry = entry.filter(|entry| !begins(entry)).ok_or_else(|| {
            let detail = format!("the tab's history has no page {where_to} this one");
            Problem::new(ProblemKind::NotFound, detail)
        })?;
        let params = json!({ "entryId": entry["id"] });
        self.call(Some(session), "Page.navigateToHistoryEntry", params, by).await?;
        Ok(())
    }

    /// Queries an unresponsive page once more. If it still does not respond, it is abandoned
    /// together with its process.
    async fn leave_silent(&self, tab: TabId, by: Deadline) {
        let session = {
            let mut state = self.shared.state.lock();
            let known = state.tabs.get_mut(&tab);
            known.and_then(|known| {
                known.session.clone().filter(|_| std::mem::take(&mut known.is_silent))
            })
        };
        let Some(session) = session else { return };
        let params = json!({ "expression": "0" });
        let by = by.within(NEWS_TIME);
        if let Err(Lost::Late) = self.call(Some(&session), "Runtime.evaluate", params, by).await {
            let post = self.shared.give_up(&mut self.shared.state.lock(), tab);
            if let Some(post) = post {
                self.post(&post);
            }
        }
    }

    /// Gives a tab whose process ended a new process. A reload then goes to the previous address.
    async fn revive(
        &self,
        tab: TabId,
        journey: Navigation,
        by: Deadline,
    ) -> Result<Navigation, Problem> {
        self.leave_silent(tab, by).await;
        let url = {
            let state = self.shared.state.lock();
            let known = state.tab(tab)?;
            if known.session.is_some() {
                return Ok(journey);
            }
            known.url.clone()
        };
        let opened = self.open(by).await?;
        self.shared.state.lock().replace(tab, opened);
        match journey {
            Navigation::To(_) => Ok(journey),
            _ => Url::parse(&url).map(Navigation::To).map_err(|_| super::crashed()),
        }
    }

    /// Waits until the page is there, then for a limited time until it has loaded completely.
    async fn arrive(
        &self,
        tab: TabId,
        session: &str,
        has_come: impl Fn(&Tab) -> bool,
        by: Deadline,
    ) -> Result<(), Problem> {
        let is_lost = |tab: &Tab| tab.session.is_none();
        let by = before_answer(by);
        if !self.until_tab(tab, by, |it| is_lost(it) || has_come(it)).await {
            return Err(self.stop(session, Lost::Late));
        }
        // A page that never stops loading is still a page.
        let is_loaded = |tab: &Tab| is_lost(tab) || (has_come(tab) && tab.is_loaded);
        self.until_tab(tab, by.within(LOAD_TIME), is_loaded).await;
        self.session(tab).map(drop)
    }

    fn stop(&self, session: &str, lost: Lost) -> Problem {
        if lost != Lost::Late {
            return Problem::from(lost);
        }
        let session = Some(session.to_owned());
        if let Some(tab) = self.shared.state.lock().of_session(session.as_deref()) {
            tab.is_silent = true;
        }
        self.post(&Post { session, method: "Page.stopLoading", params: json!({}) });
        Problem::new(ProblemKind::Timeout, "the server did not respond in time")
    }

    async fn failed(
        &self,
        tab: TabId,
        (url, error): (&Url, &str),
        before: Counts,
        by: Deadline,
    ) -> Result<Arrival, Problem> {
        // A download is reported shortly after the journey to it was cancelled. The previous page
        // stays; the download is reported with it.
        let is_told = |tab: &Tab| tab.counts.downloads > before.downloads;
        if error == "net::ERR_ABORTED" && self.until_tab(tab, by.within(NEWS_TIME), is_told).await {
            return self.arrival(tab, by).await;
        }
        if let Some(problem) = self.refusal(url) {
            return Err(problem);
        }
        let detail = format!("{url}: {error}");
        Err(Problem::new(ProblemKind::Unreachable, detail))
    }

    fn refusal(&self, url: &Url) -> Option<Problem> {
        self.shared.ways.refusal(url.host_str()?, url.port_or_known_default()?)
    }

    /// The current address of a tab. A page that the proxy returned in place of a rejected one does
    /// not count.
    async fn arrival(&self, tab: TabId, by: Deadline) -> Result<Arrival, Problem> {
        let frame = self.main_frame(tab)?;
        // If scripts of a page do not end, its title cannot be queried.
        let title = self.ask::<String>(tab, &frame, "title", json!([]), by.within(NEWS_TIME)).await;
        let title = title.map(|title| title.0).unwrap_or_default();
        let state = self.shared.state.lock();
        let known = state.tab(tab)?;
        let status = known.status_of_page();
        let url = Url::parse(&known.url).ok();
        if matches!(status, Some(403 | 502))
            && let Some(problem) = url.as_ref().and_then(|url| self.refusal(url))
        {
            return Err(problem);
        }
        Ok(Arrival { url: known.url.clone(), title, status, loading: !known.is_loaded })
    }

    /// Waits for what an action caused, and adds it to what was done.
    pub(super) async fn settle(
        &self,
        tab: TabId,
        before: Counts,
        mut done: Done,
        by: Deadline,
    ) -> Result<Done, Problem> {
        let moved = |tab: &Tab| tab.counts.has_moved_since(before);
        let is_lost = |tab: &Tab| tab.session.is_none();
        // Once the page responds again, everything that the input caused has been reported.
        if let Ok(session) = self.session(tab) {
            let params = json!({ "expression": "0" });
            drop(self.call(Some(&session), "Runtime.evaluate", params, by.within(NEWS_TIME)).await);
        }
        let begun = |tab: &Tab| tab.counts.starts > before.starts || moved(tab) || is_lost(tab);
        if self.until_tab(tab, by.within(START_TIME), begun).await {
            let is_there = |tab: &Tab| is_lost(tab) || (tab.is_ready && !tab.is_leaving);
            let by = before_answer(by);
            // What has not arrived by then is reported as loading.
            self.until_tab(tab, by.within(LOAD_TIME), is_there).await;
            // What began and did not arrive may be a download, which is reported shortly
            // afterwards.
            let is_told = |tab: &Tab| moved(tab) || tab.counts.downloads > before.downloads;
            self.until_tab(tab, by.within(NEWS_TIME / 4), is_told).await;
        }
        let state = self.shared.state.lock();
        let Some(known) = state.tabs.get(&tab) else {
            return Ok(Done { closed: true, ..done });
        };
        if known.session.is_none() {
            return Err(super::crashed());
        }
        done.url = Some(known.url.clone());
        done.navigated = Some(moved(known));
        done.loading = !known.is_ready;
        let counts = known.counts;
        done.dialogs = newest(&known.dialogs, counts.dialogs - before.dialogs);
        done.dialogs.truncate(8);
        done.downloads = newest(&known.downloads, counts.downloads - before.downloads);
        done.popups = counts.popups - before.popups;
        done.file_choosers = counts.choosers - before.choosers;
        Ok(done)
    }

    pub(super) fn is_idle(&self, tab: TabId, quiet: Duration) -> Result<bool, Problem> {
        let state = self.shared.state.lock();
        let known = state.tab(tab)?;
        Ok(known.in_flight.is_empty()
            && known.last_traffic.is_none_or(|traffic| traffic.elapsed() >= quiet))
    }

    pub(super) fn check_time(by: Deadline) -> Result<(), Problem> {
        if by.is_over() { Err(late()) } else { Ok(()) }
    }
}
