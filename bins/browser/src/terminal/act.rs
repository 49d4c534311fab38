//! A person's actions on a page, performed one after the other while the terminal stays responsive.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::timeout;
use waypost_browser::{
    Direction, Key, Navigation, Problem, Reference, Relay, TabId, View, clean_line,
};

use super::Happening;
use crate::address;

/// How long to wait for the page after an action, so that its effect is visible.
const LOOK_TIME: Duration = Duration::from_secs(1);

/// An action of a person.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// Goes to the typed address.
    Go(String),
    /// Goes back or forward, or reloads.
    Step(Navigation),
    /// Clicks at a position in the view.
    Click(f64, f64),
    /// Types at the focus.
    Type(String),
    /// Presses a key.
    Press(Key),
    /// Scrolls by a share of the view.
    Scroll(Direction, f64),
    /// Finds the next or the previous occurrence of a text.
    Find(String, bool),
    /// Removes the focus.
    Unfocus,
    /// Chooses from the list at a position.
    Choose { place: (f64, f64), list: Reference, choice: String },
    /// Opens an empty tab.
    Open,
    /// Switches to another tab.
    Tab(TabId),
    /// Closes the current tab.
    Close,
}

impl Act {
    /// Whether the text typed next may go elsewhere once this is done.
    pub(crate) fn moves_focus(&self) -> bool {
        !matches!(self, Self::Type(_) | Self::Scroll(..))
    }

    /// Whether this action does not wait for earlier ones.
    fn is_departure(&self) -> bool {
        matches!(self, Self::Go(_) | Self::Step(_) | Self::Tab(_) | Self::Close)
    }
}

/// An action with its number; later ones have larger numbers.
pub(crate) type Numbered = (u64, Act);

/// Performs actions and reports when each is done, until no more can arrive.
pub(crate) async fn work(
    relay: Arc<Relay>,
    mut acts: UnboundedReceiver<Numbered>,
    view: watch::Receiver<View>,
    tell: Sender<Happening>,
) {
    let mut queue: VecDeque<Numbered> = VecDeque::new();
    loop {
        let first = match queue.pop_front() {
            Some(act) => Some(act),
            None => acts.recv().await,
        };
        let Some((mut number, mut act)) = first else { return };
        while let Ok(next) = acts.try_recv() {
            queue.push_back(next);
        }
        while let Some((next, joined)) =
            queue.front().and_then(|it| Some((it.0, join(&act, &it.1)?)))
        {
            (number, act) = (next, joined);
            queue.pop_front();
        }
        let is_looked_at = act.moves_focus();
        let mut doing = std::pin::pin!(perform(&relay, act));
        let done = loop {
            tokio::select! {
                done = &mut doing => break Some(done),
                next = acts.recv() => match next {
                    None => return,
                    Some(next) if next.1.is_departure() => {
                        queue.clear();
                        queue.push_back(next);
                        break None;
                    }
                    Some(next) => queue.push_back(next),
                },
            }
        };
        let Some(done) = done else { continue };
        if is_looked_at {
            let view = *view.borrow();
            if let Ok(Ok(Some(frame))) = timeout(LOOK_TIME, relay.frame(view, None)).await {
                tell.send(Happening::Frame(Box::new(frame))).unwrap_or_default();
            }
        }
        let told = |problem: Problem| relay.engine().mask(&clean_line(&problem.detail));
        let message = done.unwrap_or_else(|problem| Some(told(problem)));
        tell.send(Happening::Done(number, message)).unwrap_or_default();
    }
}

/// Two actions merged into one, if the result is the same.
fn join(act: &Act, next: &Act) -> Option<Act> {
    match (act, next) {
        (Act::Type(text), Act::Type(more)) => Some(Act::Type(format!("{text}{more}"))),
        (Act::Scroll(direction, share), Act::Scroll(other, more)) if direction == other => {
            Some(Act::Scroll(*direction, share + more))
        }
        _ => None,
    }
}

/// Performs an action. A returned message is for the person.
async fn perform(relay: &Relay, act: Act) -> Result<Option<String>, Problem> {
    match act {
        Act::Go(written) => drop(relay.human_navigate(&address::meant(&written)).await?),
        Act::Step(journey) => drop(relay.human_step(journey).await?),
        Act::Click(x, y) => drop(relay.human_click(x, y).await?),
        Act::Type(text) => drop(relay.human_type(&text).await?),
        Act::Press(key) => drop(relay.human_press(key).await?),
        Act::Scroll(direction, share) => drop(relay.human_scroll(direction, share).await?),
        Act::Find(text, backwards) => {
            if !relay.human_find(&text, backwards).await? {
                return Ok(Some(format!("{} is not on the page", clean_line(&text))));
            }
        }
        Act::Unfocus => drop(relay.human_unfocus().await?),
        Act::Choose { place, list, choice } => {
            drop(relay.human_select(place, list, &choice).await?);
        }
        Act::Open => drop(relay.human_open().await?),
        Act::Tab(tab) => relay.human_select_tab(tab).await?,
        Act::Close => relay.human_close().await?,
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use waypost_browser::Direction::{Down, Up};

    use super::{Act, join};

    #[test]
    fn only_what_is_the_same_is_done_at_once() {
        let typed = |text: &str| Act::Type(text.to_owned());
        assert_eq!(join(&typed("a"), &typed("b")), Some(typed("ab")));
        assert_eq!(
            join(&Act::Scroll(Down, 0.5), &Act::Scroll(Down, 0.5)),
            Some(Act::Scroll(Down, 1.0))
        );
        assert_eq!(join(&Act::Scroll(Down, 0.5), &Act::Scroll(Up, 0.5)), None);
        assert_eq!(join(&typed("a"), &Act::Click(1.0, 1.0)), None);
    }
}
