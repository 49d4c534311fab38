//! The person at the terminal: actions, and what is shown of the page.

use super::{COMMAND_TIME, JOURNEY_TIME, Relay, human_in_control};
use crate::protocol::{
    Action, Dialog, Direction, Done, Download, Element, Navigation, Reference, TabId, Target,
};
use crate::{Actor, Deadline, Event, Frame, Holder, Key, PictureKey, Pixels, Problem, Seen, View};

/// An action of a person.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Goes to an address, even where agents may not go.
    Go(String),
    /// Goes back or forward, or reloads.
    Step(Navigation),
    /// Clicks at a position in the view, in CSS pixels. The clicked element is reported as
    /// `human_click`.
    Click(f64, f64),
    /// Types at the focus. `human_input` reports that something was typed, but not the text.
    Type(String),
    /// Presses a key.
    Press(Key),
    /// Scrolls by a share of the view.
    Scroll(Direction, f64),
    /// Selects the next or (`true`) the previous occurrence of a text; [`Done::found`] tells
    /// whether there is one.
    Find(String, bool),
    /// Removes the focus from the focused element.
    Unfocus,
    /// Chooses from the list at a position in the view, by value or label. `human_input` reports
    /// the list, but not the choice.
    Choose {
        /// The position.
        place: (f64, f64),
        /// The list.
        list: Reference,
        /// The value or label.
        choice: String,
    },
    /// Opens an empty tab, and switches to it.
    Open,
    /// Switches to another tab.
    Tab(TabId),
    /// Closes the current tab.
    Close,
}

impl Relay {
    /// Performs an action of the person, who takes the page from the programs.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn human(&self, act: Act) -> Result<Done, Problem> {
        self.take(false);
        let is_journey = matches!(act, Act::Go(_) | Act::Step(_));
        let by = Deadline::after(if is_journey { JOURNEY_TIME } else { COMMAND_TIME });
        if let Act::Open | Act::Tab(_) = act {
            let tab = match act {
                Act::Tab(tab) => self.tab(Some(tab), by).await?,
                _ => self.engine.open(by).await?,
            };
            self.state.lock().current = Some(tab);
            return Ok(Done::default());
        }
        let tab = self.tab(None, by).await?;
        let mut target = None;
        let action = match act {
            Act::Go(url) => {
                let url = self.policy.url(&url, None, Actor::Human)?;
                return self.human_go(tab, Navigation::To(url), by).await;
            }
            Act::Step(journey) => return self.human_go(tab, journey, by).await,
            Act::Close => {
                self.engine.close(tab, by).await?;
                self.forget(tab);
                return Ok(Done::default());
            }
            Act::Click(x, y) => {
                let event = |element| Event::HumanClick { element };
                self.report(tab, Some((x, y)), event, by).await?;
                Action::ClickAt { x, y }
            }
            Act::Type(text) => {
                self.report_input(tab, None, by).await?;
                Action::Insert(text)
            }
            Act::Press(key) => {
                self.report_input(tab, None, by).await?;
                Action::Press(key)
            }
            Act::Choose { place, list, choice } => {
                self.report_input(tab, Some(place), by).await?;
                target = Some(Target::Ref(list));
                Action::Select(vec![choice])
            }
            Act::Scroll(direction, share) => Action::Scroll { direction, share },
            Act::Find(text, backwards) => Action::Find { text, backwards },
            Act::Unfocus | Act::Open | Act::Tab(_) => Action::Unfocus,
        };
        let turn = by.of(self.writer.lock()).await.map_err(|_| human_in_control())?;
        let done = self.engine.act(tab, target, action, by).await;
        drop(turn);
        self.note_addresses(Holder::Human);
        done.inspect(|done| self.note_surprises(done))
    }

    async fn human_go(
        &self,
        tab: TabId,
        journey: Navigation,
        by: Deadline,
    ) -> Result<Done, Problem> {
        let turn = by.of(self.writer.lock()).await.map_err(|_| human_in_control())?;
        let arrival = self.engine.go(tab, journey, by).await;
        drop(turn);
        self.note_addresses(Holder::Human);
        arrival.map(|_| Done::default())
    }

    async fn report_input(
        &self,
        tab: TabId,
        place: Option<(f64, f64)>,
        by: Deadline,
    ) -> Result<(), Problem> {
        self.report(tab, place, |element| Event::HumanInput { element }, by).await
    }

    /// Reports what the person uses: the element at a position, or the one with the focus. It is
    /// cleaned, and without anything that was typed.
    async fn report(
        &self,
        tab: TabId,
        place: Option<(f64, f64)>,
        event: fn(Element) -> Event,
        by: Deadline,
    ) -> Result<(), Problem> {
        let Some(hit) = self.engine.hit(tab, place, by).await? else { return Ok(()) };
        self.take(hit.secret);
        self.publish(event(Element {
            tag: self.tidy_line(&hit.element.tag),
            class: self.tidy_line(&hit.element.class),
            text: self.tidy_line(&hit.element.text).chars().take(60).collect(),
            selector: hit.element.selector.map(|selector| self.tidy_line(&selector)),
        }));
        Ok(())
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

    /// Reports dialogs and downloads that an action caused.
    pub(super) fn note_surprises(&self, done: &Done) {
        for Dialog { kind, message, accepted } in done.dialogs.iter().cloned() {
            let dialog = Dialog { kind, message: self.tidy(&message), accepted };
            self.publish(Event::Dialog { dialog });
        }
        for Download { name, url } in &done.downloads {
            let download = Download { name: self.tidy(name), url: self.tidy(url) };
            self.publish(Event::Download { download });
        }
    }

    /// The current tab as a person sees it; `None` if it is still the frame that was seen. Waits
    /// for a change for at most half a second.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn frame(&self, view: View, seen: Option<Seen>) -> Result<Option<Frame>, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.engine.frame(tab, view, seen, by).await
    }

    /// The content of pictures of a frame of the current tab, with this many colours per cell; for
    /// the person who sees the page, whether or not programs may take screenshots. Pictures that
    /// have changed since are left out.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn pictures(
        &self,
        seen: Seen,
        wanted: &[PictureKey],
        dots: (u16, u16),
    ) -> Result<Vec<Pixels>, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.engine.pictures(tab, seen, (wanted, dots), by).await
    }
}
