//! A person's actions on a page, performed one after the other while the terminal stays responsive.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::timeout;
use waypost_browser::{Act, Problem, Relay, View, clean_line};

use super::Happening;

/// How long to wait for the page after an action, so that its effect is visible.
const LOOK_TIME: Duration = Duration::from_secs(1);

/// Whether the text typed next may go elsewhere once an action is done.
pub(crate) fn moves_focus(act: &Act) -> bool {
    !matches!(act, Act::Type(_) | Act::Scroll(..))
}

/// Whether an action does not wait for earlier ones.
fn is_departure(act: &Act) -> bool {
    matches!(act, Act::Go(_) | Act::Step(_) | Act::Tab(_) | Act::Close)
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
            queue.front().and_then(|front| Some((front.0, join(&act, &front.1)?)))
        {
            (number, act) = (next, joined);
            queue.pop_front();
        }
        let is_looked_at = moves_focus(&act);
        let mut doing = std::pin::pin!(perform(&relay, act));
        let done = loop {
            tokio::select! {
                done = &mut doing => break Some(done),
                next = acts.recv() => match next {
                    None => return,
                    Some(next) if is_departure(&next.1) => {
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
    let sought = if let Act::Find(text, _) = &act { Some(clean_line(text)) } else { None };
    let done = relay.human(act).await?;
    Ok(sought.filter(|_| !done.found).map(|text| format!("{text} is not on the page")))
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
