//! What the person at the terminal does.

use serde_json::Value;

use super::{COMMAND_TIME, JOURNEY_TIME, Relay, human_in_control};
use crate::engine::{
    Action, Arrival, Direction, Done, Element, Hit, Journey, Reference, TabId, Target,
};
use crate::{Deadline, Event, Holder, Key, Problem, Who, clean_line};

impl Relay {
    /// Goes where the person wants to, also where agents may not.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_navigate(&self, url: &str) -> Result<Arrival, Problem> {
        self.take(false);
        let by = Deadline::after(JOURNEY_TIME);
        let tab = self.tab(None, by).await?;
        let url = self.policy.url(url, None, Who::Human)?;
        self.human_go(tab, Journey::To(url), by).await
    }

    /// Goes back, forward, or here again.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_step(&self, journey: Journey) -> Result<Arrival, Problem> {
        self.take(false);
        let by = Deadline::after(JOURNEY_TIME);
        let tab = self.tab(None, by).await?;
        self.human_go(tab, journey, by).await
    }

    async fn human_go(
        &self,
        tab: TabId,
        journey: Journey,
        by: Deadline,
    ) -> Result<Arrival, Problem> {
        let turn = by.of(self.writer.lock()).await.map_err(|_| human_in_control())?;
        let arrival = self.engine.go(tab, journey, by).await;
        drop(turn);
        self.note_addresses(Holder::Human);
        arrival
    }

    /// Clicks at a place of the view, in CSS pixels. What is there is told as `human_click`.
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

    /// Types where the focus is. That something was typed is told as `human_input`, what is not.
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

    /// Scrolls by a part of the view.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_scroll(&self, direction: Direction, share: f64) -> Result<Done, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.take(false);
        self.human_act(tab, Action::Scroll { direction, share }, by).await
    }

    /// Selects the next place of a text, or the one before, and says whether there is one.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_find(&self, text: &str, backwards: bool) -> Result<bool, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.take(false);
        let action = Action::Find { text: text.to_owned(), backwards };
        let done = self.human_act(tab, action, by).await?;
        Ok(done.get("found") == Some(&Value::Bool(true)))
    }

    /// Takes the focus away from what has it.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human_unfocus(&self) -> Result<Done, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.take(false);
        self.human_act(tab, Action::Unfocus, by).await
    }

    /// Chooses from the list at a place of the view, by value or label. The list is told as
    /// `human_input`, the choice is not.
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

    /// Opens an empty tab, and goes to it.
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

    /// Goes to another tab.
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

    /// Keeps the page until [`hand_back`](Self::hand_back).
    pub fn pause(&self) {
        self.state.lock().lease.pause();
        self.taken.notify_waiters();
        self.note_holder();
    }

    /// Gives the page to the agents again.
    pub fn hand_back(&self) {
        self.state.lock().lease.hand_back();
        self.note_holder();
    }

    /// Who has the page now.
    #[must_use]
    pub fn holder(&self) -> Holder {
        self.state.lock().lease.holder(self.now())
    }

    /// The person does something: from now on nobody else does.
    fn take(&self, is_login: bool) {
        let now = self.now();
        self.state.lock().lease.human_acted(now, is_login);
        self.taken.notify_waiters();
        self.note_holder();
    }

    /// An element for an event: clean, and without anything that was typed.
    fn shown(&self, hit: &Hit) -> Element {
        let tidy = |text: &str| self.engine.mask(&clean_line(text));
        Element {
            tag: tidy(&hit.element.tag),
            class: tidy(&hit.element.class),
            text: tidy(&hit.element.text).chars().take(60).collect(),
            selector: tidy(&hit.element.selector),
        }
    }

    /// Tells of dialogs and downloads that came of something.
    pub(super) fn note_surprises(&self, done: &Done) {
        let notes = |name: &str| -> Vec<Value> {
            let notes = done.get(name).and_then(Value::as_array);
            notes.into_iter().flatten().map(|it| self.tidied(it.clone())).collect()
        };
        for dialog in notes("dialogs") {
            self.publish(Event::Dialog { dialog });
        }
        for download in notes("downloads") {
            self.publish(Event::Download { download });
        }
    }
}
