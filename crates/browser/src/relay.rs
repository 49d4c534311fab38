//! One page for a person and programs: all commands enter here, whatever the transport.

mod human;
mod watch;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, Notify, broadcast, watch as watch_channel};
use tokio::time::Instant;
use url::Url;

pub use self::human::Act;
use crate::command::{
    COMMAND_MS_DEFAULT, Command, JOURNEY_MS_DEFAULT, Reading, Request, TabsAction,
};
use crate::engine::Engine;
use crate::lease::Lease;
use crate::protocol::{Action, Arrival, Condition, Navigation, TabId, TabInfo, Target, no_tab};
use crate::scrub::scrub;
use crate::summary::{Around, Known, Mode, reach, show};
use crate::{Actor, AuthWatch, Deadline, Event, Holder, Policy, Problem, ProblemKind};
use crate::{clean, clean_line};

/// How many events are queued for a slow listener; beyond this the oldest are dropped.
const EVENTS_MAX: usize = 256;
/// The time limit for a person's actions, and for work that no command's own limit covers.
const COMMAND_TIME: Duration = Duration::from_millis(COMMAND_MS_DEFAULT);
/// The time limit for a person's navigation.
const JOURNEY_TIME: Duration = Duration::from_millis(JOURNEY_MS_DEFAULT);
/// The minimum time for opening the first tab, however little time a command gives.
const LEAST_TIME: Duration = Duration::from_secs(2);
/// The pause between checks of an awaited condition.
const LOOK: Duration = Duration::from_millis(30);
/// The maximum number of letters that describe a running command.
const DOING_MAX: usize = 60;
/// Readings that are kept; beyond this the oldest is forgotten.
const READINGS_MAX: usize = 64;
/// Screenshots are scaled down until they have at most this many bytes: the mesh carries responses
/// of up to 1 MiB.
const PICTURE_BYTES_MAX: usize = 1_000_000;
/// The smallest scale.
const SCALE_MIN: f64 = 0.1;

/// An engine that a person and programs share.
///
/// [`handle`](Self::handle) serves requests of programs, from the mesh or HTTP; the terminal calls
/// [`human`](Self::human). Programs that change something are served one at a time; a person takes
/// precedence over all of them.
#[derive(Debug)]
pub struct Relay {
    engine: Arc<Engine>,
    policy: Arc<Policy>,
    screenshots: AtomicBool,
    begun: Instant,
    state: Mutex<State>,
    /// Held while something is changed.
    writer: AsyncMutex<()>,
    /// Held while the first tab is opened.
    opening: AsyncMutex<()>,
    /// A person has taken the page.
    taken: Notify,
    /// Whether the first page has arrived, or was given up.
    has_begun: watch_channel::Sender<bool>,
    events: broadcast::Sender<Event>,
}

#[derive(Debug)]
struct State {
    current: Option<TabId>,
    lease: Lease,
    holder: Holder,
    /// What each reader read last of each tab, the oldest first.
    readings: VecDeque<(TabId, Option<String>, Known)>,
    auth: HashMap<TabId, AuthWatch>,
    urls: HashMap<TabId, String>,
    /// What programs are doing, in the order in which they started.
    doing: BTreeMap<u64, String>,
    last_doing: u64,
}

impl Relay {
    /// A relay for an engine whose pages obey this policy.
    #[must_use]
    pub fn new(engine: Arc<Engine>, policy: Arc<Policy>) -> Self {
        Self {
            engine,
            policy,
            screenshots: AtomicBool::new(false),
            begun: Instant::now(),
            state: Mutex::new(State {
                current: None,
                lease: Lease::default(),
                holder: Holder::Agent,
                readings: VecDeque::new(),
                auth: HashMap::new(),
                urls: HashMap::new(),
                doing: BTreeMap::new(),
                last_doing: 0,
            }),
            writer: AsyncMutex::default(),
            opening: AsyncMutex::default(),
            taken: Notify::new(),
            has_begun: watch_channel::Sender::new(true),
            events: broadcast::channel(EVENTS_MAX).0,
        }
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// All events from now on. A receiver that is too slow misses the oldest, and learns how many.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Allows or forbids programs to take screenshots of pages. At first, they may not.
    pub fn allow_screenshots(&self, allowed: bool) {
        self.screenshots.store(allowed, Ordering::Relaxed);
    }

    /// Executes a program's command, given by name and arguments. Neither the answer nor the problem
    /// contains anything that was typed into a secret field, or terminal control characters.
    ///
    /// # Errors
    /// Why it failed; [`ProblemKind`] lists the kinds.
    pub async fn handle(&self, command: &str, arguments: Value) -> Result<Value, Problem> {
        let doing = self.note_doing(command, &arguments);
        let done = match Request::parse(command, arguments) {
            Ok(request) => self.obey(request).await,
            Err(problem) => Err(problem),
        };
        drop(doing);
        done.map_err(|problem| Problem { detail: self.tidy(&problem.detail), ..problem })
    }

    async fn obey(&self, request: Request) -> Result<Value, Problem> {
        let Request { command, tab, wait } = request;
        let by = Deadline::after(wait);
        if let Command::Tabs(action) = command {
            return self.change_tabs(action, tab, by).await.map(|tab| self.scrubbed(tab));
        }
        self.begun(by).await?;
        let tab = self.tab(tab, by.later_of(LEAST_TIME)).await?;
        let answer = match command {
            Command::Navigate(url) => {
                let here = self.engine.url(tab).and_then(|url| Url::parse(&url).ok());
                let base = here.filter(|here| !here.cannot_be_a_base());
                let url = self.policy.url(&url, base.as_ref(), Actor::Agent)?;
                self.go(tab, Navigation::To(url), by).await?
            }
            Command::Go(journey) => self.go(tab, journey, by).await?,
            Command::Act(target, action) => self.act(tab, target, action, by).await?,
            Command::Wait(condition) => self.wait(tab, condition, wait, by).await?,
            // A summary is scrubbed before it is fitted into its budget; a picture has no text.
            Command::Read(reading) => return self.read(tab, reading, by).await,
            Command::Screenshot => return self.screenshot(tab, by).await,
            Command::Tabs(_) => Value::Null,
        };
        Ok(self.scrubbed(answer))
    }

    fn scrubbed(&self, mut answer: Value) -> Value {
        scrub(&mut answer, &|text| self.tidy(text));
        answer
    }

    /// A text as others may see it.
    fn tidy(&self, text: &str) -> String {
        self.engine.mask(&clean(text))
    }

    /// A text as others may see it, on one line.
    fn tidy_line(&self, text: &str) -> String {
        self.engine.mask(&clean_line(text))
    }

    /// The requested tab; the current one if none is given. The first tab is opened when it is
    /// needed.
    async fn tab(&self, asked: Option<TabId>, by: Deadline) -> Result<TabId, Problem> {
        let tabs = self.engine.tabs();
        if let Some(asked) = asked {
            let is_there = tabs.iter().any(|tab| tab.tab == asked);
            return is_there.then_some(asked).ok_or_else(|| no_tab(asked));
        }
        let current = self.state.lock().current;
        let current = current.filter(|current| tabs.iter().any(|tab| tab.tab == *current));
        let tab = match current.or_else(|| tabs.last().map(|tab| tab.tab)) {
            Some(tab) => tab,
            None => self.first_tab(by).await?,
        };
        self.state.lock().current = Some(tab);
        Ok(tab)
    }

    /// The first tab, which is opened only once for all callers that need it.
    async fn first_tab(&self, by: Deadline) -> Result<TabId, Problem> {
        let late = |_| Problem::new(ProblemKind::Timeout, "the first tab is still being opened");
        let turn = by.of(self.opening.lock()).await.map_err(late)?;
        let opened = match self.engine.tabs().last() {
            Some(it) => Ok(it.tab),
            None => self.engine.open(by).await,
        };
        drop(turn);
        opened
    }

    /// Changes the page, unless a person controls it or takes it meanwhile.
    async fn write<T>(
        &self,
        by: Deadline,
        work: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let mut taken = std::pin::pin!(self.taken.notified());
        taken.as_mut().enable();
        if self.holder() == Holder::Human {
            return Err(human_in_control());
        }
        let turn = by
            .of(self.writer.lock())
            .await
            .map_err(|_| Problem::new(ProblemKind::Timeout, "another command is still running"))?;
        let done = tokio::select! {
            biased;
            () = taken => Err(human_in_control()),
            done = work => done,
        };
        drop(turn);
        done
    }

    async fn go(&self, tab: TabId, journey: Navigation, by: Deadline) -> Result<Value, Problem> {
        let arrival = self.write(by, self.engine.go(tab, journey, by)).await?;
        self.note_addresses(Holder::Agent);
        let mut answer = json!(arrival);
        answer["tab"] = json!(tab);
        Ok(answer)
    }

    async fn act(
        &self,
        tab: TabId,
        target: Option<Target>,
        action: Action,
        by: Deadline,
    ) -> Result<Value, Problem> {
        let done = self.write(by, self.engine.act(tab, target, action, by)).await?;
        self.note_addresses(Holder::Agent);
        self.note_surprises(&done);
        Ok(json!(done))
    }

    async fn read(&self, tab: TabId, reading: Reading, by: Deadline) -> Result<Value, Problem> {
        let Reading { mode, tokens, scope, viewport, reader } = reading;
        let is_part = scope.is_some() || viewport;
        let before = {
            let state = self.state.lock();
            let last =
                state.readings.iter().find(|reading| reading.0 == tab && reading.1 == reader);
            last.map(|last| last.2.clone())
        };
        let mut wanted = reach(mode, tokens, scope, viewport);
        if mode == Mode::Diff {
            wanted.known = before.as_ref().map(Known::references).unwrap_or_default();
        }
        let extract = self.engine.read(tab, wanted, by).await?;
        self.look(tab, by).await?;
        let around = Around {
            mode,
            tokens,
            tab,
            engine: self.engine.name(),
            auth: self.auth(tab),
            mask: &|text| self.engine.mask(text),
            before: before.as_ref(),
            is_brief: reader.is_some(),
        };
        let (summary, known) = show(extract, &around);
        // A part of a page, or a page without its text, is not a basis for a comparison.
        if !is_part && matches!(mode, Mode::Full | Mode::Diff) {
            let mut state = self.state.lock();
            state.readings.retain(|reading| reading.0 != tab || reading.1 != reader);
            if state.readings.len() >= READINGS_MAX {
                state.readings.pop_front();
            }
            state.readings.push_back((tab, reader, known));
        }
        Ok(summary)
    }

    async fn screenshot(&self, tab: TabId, by: Deadline) -> Result<Value, Problem> {
        let forbidden = |detail: &str| Problem::new(ProblemKind::Forbidden, detail);
        if !self.screenshots.load(Ordering::Relaxed) {
            return Err(forbidden(
                "screenshots are not allowed; `read` returns the content of the page",
            ));
        }
        let seen = self.engine.evidence(tab, by).await?;
        if seen.secret_focused || seen.secret_revealed {
            return Err(forbidden(
                "no screenshot is taken while a secret field has the focus or shows its content",
            ));
        }
        let mut scale = 1.0;
        let mut data = self.engine.screenshot(tab, scale, by).await?;
        while data.len() > PICTURE_BYTES_MAX && scale > SCALE_MIN {
            // The bytes of a screenshot grow with its area, or a little less.
            let share = (PICTURE_BYTES_MAX as f64 / data.len() as f64).sqrt();
            scale = (scale * share * 0.95).max(SCALE_MIN);
            data = self.engine.screenshot(tab, scale, by).await?;
        }
        Ok(json!({ "mediaType": "image/png", "scale": scale, "data": data }))
    }

    async fn wait(
        &self,
        tab: TabId,
        condition: Condition,
        wait: Duration,
        by: Deadline,
    ) -> Result<Value, Problem> {
        let begun = Instant::now();
        // A text that would be masked for the caller never matches: guessing a secret reveals
        // nothing.
        let is_secret = match &condition {
            Condition::Text(text) | Condition::Url(text) => self.engine.mask(text) != *text,
            Condition::Element(..) | Condition::NetworkIdle => false,
        };
        loop {
            // The last check may exceed the time slightly.
            let patience = Deadline::after(by.left().max(Duration::from_secs(2)));
            match self.engine.holds(tab, &condition, patience).await {
                Ok(true) if !is_secret => {
                    let waited = begun.elapsed().as_millis() as u64;
                    return Ok(json!({ "waited": waited, "url": self.engine.url(tab) }));
                }
                // A page that is navigating does not respond for a moment.
                Err(problem) if problem.kind != ProblemKind::Timeout => return Err(problem),
                _ => {}
            }
            if by.is_over() {
                let what = match &condition {
                    Condition::Element(selector, state) => {
                        format!("`{selector}` {}", json!(state))
                    }
                    Condition::Text(text) => format!("the text {text:?}"),
                    Condition::Url(part) => format!("an address with {part:?}"),
                    Condition::NetworkIdle => "an idle network".to_owned(),
                };
                let detail = format!("waited {} ms in vain for {what}", wait.as_millis());
                return Err(Problem::new(ProblemKind::Timeout, detail));
            }
            tokio::time::sleep(LOOK.min(by.left())).await;
        }
    }

    async fn change_tabs(
        &self,
        action: TabsAction,
        tab: Option<TabId>,
        by: Deadline,
    ) -> Result<Value, Problem> {
        match (action, tab) {
            (TabsAction::Open, _) => {
                let opened = self.write(by, self.engine.open(by)).await?;
                self.state.lock().current = Some(opened);
            }
            (TabsAction::Select, Some(tab)) => {
                let selected = self.tab(Some(tab), by).await?;
                self.write(by, async {
                    self.state.lock().current = Some(selected);
                    Ok(())
                })
                .await?;
            }
            (TabsAction::Close, Some(tab)) => {
                self.write(by, self.engine.close(tab, by)).await?;
                self.forget(tab);
            }
            _ => {}
        }
        let tabs = self.engine.tabs();
        let current =
            self.state.lock().current.filter(|current| tabs.iter().any(|tab| tab.tab == *current));
        Ok(json!({ "tabs": tabs, "current": current }))
    }

    /// Forgets what was known of a closed tab.
    fn forget(&self, tab: TabId) {
        let mut state = self.state.lock();
        state.readings.retain(|reading| reading.0 != tab);
        state.auth.remove(&tab);
        state.urls.remove(&tab);
    }

    /// Navigates to the page that the program was started with, even where agents may not go. It
    /// does not count as a person's input: a command that arrives meanwhile waits for the page, as
    /// long as it has time, and is then executed.
    ///
    /// Commands wait from this call on; the navigation starts when the future is polled.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub fn begin(
        self: &Arc<Self>,
        url: &str,
    ) -> impl Future<Output = Result<Arrival, Problem>> + Send + 'static {
        self.has_begun.send_replace(false);
        let (beginning, url) = (Beginning(Arc::clone(self)), url.to_owned());
        async move {
            let relay = &beginning.0;
            let url = relay.policy.url(&url, None, Actor::Human)?;
            let by = Deadline::after(JOURNEY_TIME);
            let tab = relay.tab(None, by).await?;
            let late = |_| Problem::new(ProblemKind::Timeout, "a person controls the page");
            let turn = by.of(relay.writer.lock()).await.map_err(late)?;
            let arrival = relay.engine.go(tab, Navigation::To(url), by).await;
            drop(turn);
            relay.note_addresses(relay.holder());
            arrival
        }
    }

    /// Waits until the first page has arrived.
    async fn begun(&self, by: Deadline) -> Result<(), Problem> {
        let mut has_begun = self.has_begun.subscribe();
        let waited = by.of(has_begun.wait_for(|begun| *begun)).await;
        waited.map(drop).map_err(|_| {
            Problem::new(ProblemKind::Timeout, "the first page has not loaded yet; try again")
        })
    }

    /// All tabs, oldest first, and the current one. They contain nothing that was typed into a
    /// secret field, and no terminal control characters.
    #[must_use]
    pub fn shown_tabs(&self) -> (Vec<TabInfo>, Option<TabId>) {
        let mut tabs = self.engine.tabs();
        for tab in &mut tabs {
            tab.url = self.tidy_line(&tab.url);
            tab.title = self.tidy_line(&tab.title);
        }
        let current = self.state.lock().current;
        let current = current.filter(|current| tabs.iter().any(|tab| tab.tab == *current));
        let current = current.or_else(|| tabs.last().map(|tab| tab.tab));
        (tabs, current)
    }

    /// What programs are doing: the name and the object of the newest command that is still
    /// running.
    #[must_use]
    pub fn doing(&self) -> Option<String> {
        self.state.lock().doing.last_key_value().map(|value| value.1.clone())
    }

    /// Notes a command with its object. Of a typed text, only the field is shown.
    fn note_doing(&self, command: &str, arguments: &Value) -> Doing<'_> {
        let members = ["action", "url", "selector", "ref", "key", "direction"];
        let object = members.iter().find_map(|name| arguments[name].as_str()).unwrap_or_default();
        let text = self.tidy_line(&format!("{command} {object}")).chars().take(DOING_MAX).collect();
        let mut state = self.state.lock();
        state.last_doing += 1;
        let number = state.last_doing;
        state.doing.insert(number, text);
        Doing { relay: self, number }
    }

    /// Milliseconds since the relay was created.
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn publish(&self, event: Event) {
        // An error only means that there are no listeners.
        drop(self.events.send(event));
    }
}

/// Admits commands when it is dropped, however the navigation ended.
struct Beginning(Arc<Relay>);

impl Drop for Beginning {
    fn drop(&mut self) {
        self.0.has_begun.send_replace(true);
    }
}

/// A running command, until it is dropped.
struct Doing<'a> {
    relay: &'a Relay,
    number: u64,
}

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        self.relay.state.lock().doing.remove(&self.number);
    }
}

fn human_in_control() -> Problem {
    let detail = "a person controls the page; try again when they hand it back";
    Problem::new(ProblemKind::HumanInControl, detail)
}
