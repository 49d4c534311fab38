//! Actions of the person at the terminal.

use super::{COMMAND_TIME, JOURNEY_TIME, Relay, human_in_control};
use crate::engine::{
    Action, Arrival, Direction, Done, Element, Hit, Navigation, Reference, TabId, Target,
};
use crate::scrub::Scrub as _;
use crate::{Actor, Deadline, Event, Holder, Key, Problem, clean, clean_line};

impl Relay {
    /// Navigates for the person, even where agents may not go.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_navigate(&self, url: &str) -> Result<Arrival, Problem> {
        self.take(false);
        let by = Deadline::after(JOURNEY_TIME);
        let tab = self.tab(None, by).await?;
        let url = self.policy.url(url, None, Actor::Human)?;
        self.human_go(tab, Navigation::To(url), by).await
    }

    /// Goes back or forward, or reloads.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_step(&self, journey: Navigation) -> Result<Arrival, Problem> {
        self.take(false);
        let by = Deadline::after(JOURNEY_TIME);
        let tab = self.tab(None, by).await?;
        self.human_go(tab, journey, by).await
    }

    async fn human_go(
        &self,
        tab: TabId,
        journey: Navigation,
        by: Deadline,
    ) -> Result<Arrival, Problem> {
        let turn = by.of(self.writer.lock()).await.map_err(|_| human_in_control())?;
        let arrival = self.engine.go(tab, journey, by).await;
        drop(turn);
        self.note_addresses(Holder::Human);
        arrival
    }

    /// Clicks at a position in the view, in CSS pixels. The clicked element is reported as
    /// `human_click`.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_click(&self, x: f64, y: f64) -> Result<Done, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.take(false);
        let hit = self.engine.hit(tab, Some((x, y)), by).await?;
        if let Some(hit) = &hit {
            self.take(hit.secret);
            self.publish(Event::HumanClick { element: self.shown(hit) });
        }
        self.human_act(tab, Action::ClickAt { x, y }, by).await
    }

    /// Types at the focus. `human_input` reports that something was typed, but not the text.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_type(&self, text: &str) -> Result<Done, Problem> {
        self.human_input(Action::Insert(text.to_owned())).await
    }

    /// Presses a key.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_press(&self, key: Key) -> Result<Done, Problem> {
        self.human_input(Action::Press(key)).await
    }

    async fn human_input(&self, action: Action) -> Result<Done, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.take(false);
        let focused = self.engine.hit(tab, None, by).await?;
        if let Some(hit) = &focused {
            self.take(hit.secret);
            self.publish(Event::HumanInput { element: self.shown(hit) });
        }
        self.human_act(tab, action, by).await
    }

    /// Scrolls by a share of the view.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_scroll(&self, direction: Direction, share: f64) -> Result<Done, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.take(false);
        self.human_act(tab, Action::Scroll { direction, share }, by).await
    }

    /// Selects the next or the previous occurrence of a text, and returns whether there is one.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_find(&self, text: &str, backwards: bool) -> Result<bool, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.take(false);
        let action = Action::Find { text: text.to_owned(), backwards };
        let done = self.human_act(tab, action, by).await?;
        Ok(done.found)
    }

    /// Removes the focus from the focused element.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_unfocus(&self) -> Result<Done, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.take(false);
        self.human_act(tab, Action::Unfocus, by).await
    }

    /// Chooses from the list at a position in the view, by value or label. `human_input` reports
    /// the list, but not the choice.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_select(
        &self,
        place: (f64, f64),
        list: Reference,
        choice: &str,
    ) -> Result<Done, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.take(false);
        if let Some(hit) = self.engine.hit(tab, Some(place), by).await? {
            self.publish(Event::HumanInput { element: self.shown(&hit) });
        }
        let action = Action::Select(vec![choice.to_owned()]);
        self.human_act_on(tab, Some(Target::Ref(list)), action, by).await
    }

    /// Opens an empty tab, and switches to it.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_open(&self) -> Result<TabId, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        self.take(false);
        let tab = self.engine.open(by).await?;
        self.state.lock().current = Some(tab);
        Ok(tab)
    }

    /// Switches to another tab.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_select_tab(&self, tab: TabId) -> Result<(), Problem> {
        self.take(false);
        self.tab(Some(tab), Deadline::after(COMMAND_TIME)).await?;
        self.state.lock().current = Some(tab);
        Ok(())
    }

    /// Closes the current tab.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_close(&self) -> Result<(), Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.take(false);
        self.engine.close(tab, by).await?;
        self.forget(tab);
        Ok(())
    }

    async fn human_act(&self, tab: TabId, action: Action, by: Deadline) -> Result<Done, Problem> {
        self.human_act_on(tab, None, action, by).await
    }

    async fn human_act_on(
        &self,
        tab: TabId,
        target: Option<Target>,
        action: Action,
        by: Deadline,
    ) -> Result<Done, Problem> {
        let turn = by.of(self.writer.lock()).await.map_err(|_| human_in_control())?;
        let done = self.engine.act(tab, target, action, by).await;
        drop(turn);
        self.note_addresses(Holder::Human);
        if let Ok(done) = &done {
            self.note_surprises(done);
        }
        done
    }

    /// Keeps the page for the person until [`hand_back`](Self::hand_back).
    pub fn pause(&self) {
        self.state.lock().lease.pause();
        self.taken.notify_waiters();
        self.note_holder();
    }

    /// Returns the page to the agents.
    pub fn hand_back(&self) {
        self.state.lock().lease.hand_back();
        self.note_holder();
    }

    /// Who controls the page now.
    #[must_use]
    pub fn holder(&self) -> Holder {
        self.state.lock().lease.holder(self.now())
    }

    /// The person acts: from now on programs do not.
    fn take(&self, is_login: bool) {
        let now = self.now();
        self.state.lock().lease.human_acted(now, is_login);
        self.taken.notify_waiters();
        self.note_holder();
    }

    /// An element for an event: cleaned, and without anything that was typed.
    fn shown(&self, hit: &Hit) -> Element {
        let tidy = |text: &str| self.engine.mask(&clean_line(text));
        Element {
            tag: tidy(&hit.element.tag),
            class: tidy(&hit.element.class),
            text: tidy(&hit.element.text).chars().take(60).collect(),
            selector: hit.element.selector.as_deref().map(tidy),
        }
    }

    /// Reports dialogs and downloads that an action caused.
    pub(super) fn note_surprises(&self, done: &Done) {
        let tidy = |text: &str| self.engine.mask(&clean(text));
        for mut dialog in done.dialogs.iter().cloned() {
            dialog.scrub(&tidy);
            self.publish(Event::Dialog { dialog });
        }
        for mut download in done.downloads.iter().cloned() {
            download.scrub(&tidy);
            self.publish(Event::Download { download });
        }
    }
}
