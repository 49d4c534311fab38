//! One page for a person and programs: all commands enter here, whatever the transport.

mod begin;
mod human;
mod picture;
mod readings;
mod screen;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, Notify, broadcast, watch as watch_channel};
use tokio::time::Instant;
use url::Url;

use self::readings::Readings;
use crate::command::{
    COMMAND_MS_DEFAULT, Command, JOURNEY_MS_DEFAULT, Outcome, Reading, Request, TabsAction,
};
use crate::engine::{Action, Condition, Done, Engine, Navigation, TabId, Target};
use crate::lease::Lease;
use crate::scrub::Scrub as _;
use crate::summary::{Around, Known, Mode, Summary, reach, show};
use crate::{Actor, AuthWatch, Deadline, Event, Holder, Policy, Problem, ProblemKind, clean};

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

/// The settings of a [`Relay`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RelaySettings {
    /// Programs may take screenshots of the page.
    pub screenshots: bool,
    /// How long after a person's last action the agents get the page back.
    pub quiet: Duration,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self { screenshots: false, quiet: Duration::from_secs(3) }
    }
}

impl RelaySettings {
    /// Sets whether programs may take screenshots of the page.
    #[must_use]
    pub fn with_screenshots(self, screenshots: bool) -> Self {
        Self { screenshots, ..self }
    }

    /// Sets how long after a person's last action the agents get the page back.
    #[must_use]
    pub fn with_quiet(self, quiet: Duration) -> Self {
        Self { quiet, ..self }
    }
}

/// An engine that a person and programs share.
///
/// [`handle`](Self::handle) serves requests of programs, from the mesh or HTTP; the terminal calls
/// the `human_*` methods. Programs that change something are served one at a time; a person takes
/// precedence over all of them.
#[derive(Debug)]
pub struct Relay {
    engine: Arc<dyn Engine>,
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
    readings: Readings,
    auth: HashMap<TabId, AuthWatch>,
    urls: HashMap<TabId, String>,
    /// What programs are doing, in the order in which they started.
    doing: BTreeMap<u64, String>,
    last_doing: u64,
}

impl Relay {
    /// A relay for an engine whose pages obey this policy.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, policy: Arc<Policy>, settings: &RelaySettings) -> Self {
        let quiet = u64::try_from(settings.quiet.as_millis()).unwrap_or(u64::MAX);
        Self {
            engine,
            policy,
            screenshots: AtomicBool::new(settings.screenshots),
            begun: Instant::now(),
            state: Mutex::new(State {
                current: None,
                lease: Lease::new(quiet),
                holder: Holder::Agent,
                readings: Readings::default(),
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
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// All events from now on. A receiver that is too slow misses the oldest, and learns how many.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Allows or forbids programs to take screenshots of pages.
    pub fn allow_screenshots(&self, allowed: bool) {
        self.screenshots.store(allowed, Ordering::Relaxed);
    }

    /// Executes a program's command. Neither the outcome nor the problem contains anything that was
    /// typed into a secret field, or terminal control characters.
    ///
    /// # Errors
    /// Why it failed; [`ProblemKind`] lists the kinds.
    pub async fn handle(&self, request: Request) -> Result<Outcome, Problem> {
        let doing = self.note_doing(&request.command);
        let done = self.obey(request).await;
        drop(doing);
        let tidy = |text: &str| self.engine.mask(&clean(text));
        match done {
            Ok(mut outcome) => {
                outcome.scrub(&tidy);
                Ok(outcome)
            }
            Err(problem) => Err(Problem { detail: tidy(&problem.detail), ..problem }),
        }
    }

    async fn obey(&self, request: Request) -> Result<Outcome, Problem> {
        request.check()?;
        let Request { command, tab, wait } = request;
        let by = Deadline::after(wait);
        if let Command::Tabs(action) = command {
            return self.tabs(action, by).await;
        }
        self.begun(by).await?;
        let tab = self.tab(tab, by.later_of(LEAST_TIME)).await?;
        match command {
            Command::Navigate(url) => {
                let here = self.engine.url(tab).and_then(|it| Url::parse(&it).ok());
                let base = here.filter(|it| !it.cannot_be_a_base());
                let url = self.policy.url(&url, base.as_ref(), Actor::Agent)?;
                self.go(tab, Navigation::To(url), by).await
            }
            Command::Go(Navigation::To(url)) => {
                let url = self.policy.url(url.as_str(), None, Actor::Agent)?;
                self.go(tab, Navigation::To(url), by).await
            }
            Command::Go(journey) => self.go(tab, journey, by).await,
            Command::Read(reading) => {
                self.read(tab, reading, by).await.map(|it| Outcome::Read(Box::new(it)))
            }
            Command::Act(target, action) => {
                self.act(tab, target, action, by).await.map(|it| Outcome::Acted(Box::new(it)))
            }
            Command::Wait(condition) => self.wait(tab, condition, wait, by).await,
            Command::Screenshot => self.screenshot(tab, by).await,
            Command::Tabs(action) => self.tabs(action, by).await,
        }
    }

    /// The requested tab; the current one if none is given. The first tab is opened when it is
    /// needed.
    async fn tab(&self, asked: Option<TabId>, by: Deadline) -> Result<TabId, Problem> {
        let tabs = self.engine.tabs();
        if let Some(asked) = asked {
            let is_there = tabs.iter().any(|it| it.tab == asked);
            let detail = format!("tab: no tab {asked}; `tabs` lists them");
            return is_there.then_some(asked).ok_or(Problem::new(ProblemKind::NotFound, detail));
        }
        let current = self.state.lock().current;
        let current = current.filter(|it| tabs.iter().any(|tab| tab.tab == *it));
        let tab = match current.or_else(|| tabs.last().map(|it| it.tab)) {
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

    async fn go(&self, tab: TabId, journey: Navigation, by: Deadline) -> Result<Outcome, Problem> {
        let arrival = self.write(by, self.engine.go(tab, journey, by)).await?;
        self.note_addresses(Holder::Agent);
        Ok(Outcome::Arrived { tab, arrival })
    }

    async fn act(
        &self,
        tab: TabId,
        target: Option<Target>,
        action: Action,
        by: Deadline,
    ) -> Result<Done, Problem> {
        let done = self.write(by, self.engine.act(tab, target, action, by)).await?;
        self.note_addresses(Holder::Agent);
        self.note_surprises(&done);
        Ok(done)
    }

    async fn read(&self, tab: TabId, reading: Reading, by: Deadline) -> Result<Summary, Problem> {
        let Reading { mode, tokens, scope, viewport, reader } = reading;
        let is_part = scope.is_some() || viewport;
        let before = self.state.lock().readings.last(tab, reader.as_ref()).cloned();
        let mut wanted = reach(mode, tokens, scope, viewport);
        if mode == Mode::Diff {
            wanted.known = before.as_ref().map(Known::references).unwrap_or_default();
        }
        let extract = self.engine.read(tab, wanted, by).await?;
        self.look(tab, by).await?;
        let auth = self.auth(tab);
        let around = Around {
            mode,
            tokens,
            tab,
            capabilities: self.engine.capabilities(),
            auth,
            mask: &|text| self.engine.mask(text),
            before: before.as_ref(),
            is_brief: reader.is_some(),
        };
        let (summary, known) = show(extract, around);
        // A part of a page, or a page without its text, is not a basis for a comparison.
        if !is_part && matches!(mode, Mode::Full | Mode::Diff) {
            self.state.lock().readings.note(tab, reader, known);
        }
        Ok(summary)
    }

    async fn wait(
        &self,
        tab: TabId,
        condition: Condition,
        wait: Duration,
        by: Deadline,
    ) -> Result<Outcome, Problem> {
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
            match self.engine.holds(tab, condition.clone(), patience).await {
                Ok(true) if !is_secret => {
                    let url = self.engine.url(tab);
                    return Ok(Outcome::Held { waited: begun.elapsed(), url });
                }
                // A page that is navigating does not respond for a moment.
                Err(problem) if problem.kind != ProblemKind::Timeout => return Err(problem),
                _ => {}
            }
            if by.is_over() {
                let what = match &condition {
                    Condition::Element(selector, state) => {
                        format!("`{selector}` {:?}", state.as_str())
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

    async fn tabs(&self, action: TabsAction, by: Deadline) -> Result<Outcome, Problem> {
        match action {
            TabsAction::List => {}
            TabsAction::Open => {
                let opened = self.write(by, self.engine.open(by)).await?;
                self.state.lock().current = Some(opened);
            }
            TabsAction::Select(tab) => {
                let selected = self.tab(Some(tab), by).await?;
                self.write(by, async {
                    self.state.lock().current = Some(selected);
                    Ok(())
                })
                .await?;
            }
            TabsAction::Close(tab) => {
                self.write(by, self.engine.close(tab, by)).await?;
                self.forget(tab);
            }
        }
        let tabs = self.engine.tabs();
        let current = self.state.lock().current.filter(|it| tabs.iter().any(|tab| tab.tab == *it));
        Ok(Outcome::Tabs { tabs, current })
    }

    /// Forgets what was known of a closed tab.
    fn forget(&self, tab: TabId) {
        let mut state = self.state.lock();
        state.readings.forget(tab);
        state.auth.remove(&tab);
        state.urls.remove(&tab);
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

fn human_in_control() -> Problem {
    let detail = "a person controls the page; try again when they hand it back";
    Problem::new(ProblemKind::HumanInControl, detail)
}
