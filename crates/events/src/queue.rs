//! The queue of drafts: they come from many threads, and one of them publishes for all who wait.
//!
//! Who finds nobody at it leads: takes what waits, publishes it with one sync, answers everybody
//! and hands the lead to the next thread that waits. Drafts with a callback have no thread; they
//! are taken by whoever leads, and [`Bus::write_queued`](crate::Bus::write_queued) leads for them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

use parking_lot::Mutex;

use crate::keys::Keyed;
use crate::{Error, Event, Published, Refused, Result};

/// Drafts published at once, at most, unless one batch has more …
const GROUP_DRAFTS_MAX: usize = 4096;
/// … and bytes.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// A checked draft, as far as it can be made ready before its place is known.
#[derive(Debug)]
pub(crate) struct Ready {
    /// Its id is not known yet.
    pub(crate) event: Event,
    pub(crate) payload: Vec<u8>,
    pub(crate) keyed: Option<Keyed>,
}

/// The answers to one request, in its order.
pub(crate) type Answers = Result<Vec<std::result::Result<Published, Refused>>>;
/// Called with the answer to a draft by the thread that published it.
pub(crate) type Then = Box<dyn FnOnce(Result<Published>) + Send>;

/// Where the answers to a request go.
pub(crate) enum Reply {
    /// To a thread that waits.
    Slot(Waiter),
    /// To a callback, for a request of one draft.
    Then(Then),
}

/// Drafts that are published together.
pub(crate) struct Request {
    pub(crate) drafts: Vec<Ready>,
    pub(crate) reply: Reply,
}

/// What waits, and whether somebody leads.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    requests: VecDeque<Request>,
    is_led: bool,
}

/// A thread that waits. It is answered, whatever happens: also when the one who publishes for it
/// goes down.
pub(crate) struct Waiter(Arc<Slot>);

impl Waiter {
    pub(crate) fn answer(self, answers: Answers) {
        self.0.give(Turn::Done(answers));
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut turn = self.0.turn.lock();
        if !self.0.is_answered.swap(true, Ordering::AcqRel) {
            *turn = Turn::Done(Err(lost()));
            self.0.thread.unpark();
        }
    }
}

/// Where a waiting thread finds its answers.
pub(crate) struct Slot {
    is_answered: AtomicBool,
    turn: Mutex<Turn>,
    thread: Thread,
}

enum Turn {
    Wait,
    Lead,
    Done(Answers),
}

impl Slot {
    fn give(&self, turn: Turn) {
        if matches!(turn, Turn::Done(_)) {
            self.is_answered.store(true, Ordering::Release);
        }
        *self.turn.lock() = turn;
        self.thread.unpark();
    }

    fn wait(&self) -> Turn {
        loop {
            let turn = std::mem::replace(&mut *self.turn.lock(), Turn::Wait);
            if !matches!(turn, Turn::Wait) {
                return turn;
            }
            std::thread::park();
        }
    }
}

impl Queue {
    /// Queues a draft for whoever leads next.
    pub(crate) fn push(&self, ready: Ready, then: Then) {
        let request = Request { drafts: vec![ready], reply: Reply::Then(then) };
        self.waiting.lock().requests.push_back(request);
    }

    /// Queues drafts and waits for their answers; leads by `serve` when it is its turn.
    pub(crate) fn submit(&self, drafts: Vec<Ready>, serve: &dyn Fn(Vec<Request>)) -> Answers {
        let slot = Arc::new(Slot {
            is_answered: AtomicBool::new(false),
            turn: Mutex::new(Turn::Wait),
            thread: std::thread::current(),
        });
        let mut leads = {
            let mut waiting = self.waiting.lock();
            let reply = Reply::Slot(Waiter(Arc::clone(&slot)));
            waiting.requests.push_back(Request { drafts, reply });
            !std::mem::replace(&mut waiting.is_led, true)
        };
        loop {
            if leads {
                let lead = Lead { queue: self };
                serve(self.group());
                drop(lead);
            }
            match slot.wait() {
                Turn::Done(answers) => return answers,
                // It may have been given the lead before those in front of it were served.
                Turn::Lead => leads = true,
                Turn::Wait => leads = false,
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.lock().requests.is_empty()
    }

    /// What is published together.
    fn group(&self) -> Vec<Request> {
        let mut waiting = self.waiting.lock();
        let (mut drafts, mut bytes, mut count) = (0, 0, 0);
        for request in &waiting.requests {
            drafts += request.drafts.len();
            bytes += request.drafts.iter().map(|it| it.payload.len()).sum::<usize>();
            if count > 0 && (drafts > GROUP_DRAFTS_MAX || bytes > GROUP_BYTES_MAX) {
                break;
            }
            count += 1;
        }
        waiting.requests.drain(..count).collect()
    }
}

/// Hands the lead on, also when the leader goes down.
struct Lead<'a> {
    queue: &'a Queue,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut waiting = self.queue.waiting.lock();
        let next = waiting.requests.iter().find_map(|it| match &it.reply {
            Reply::Slot(waiter) => Some(Arc::clone(&waiter.0)),
            Reply::Then(_) => None,
        });
        match next {
            Some(slot) => slot.give(Turn::Lead),
            None => waiting.is_led = false,
        }
    }
}

pub(crate) fn lost() -> Error {
    Error::Unavailable("the publishing thread stopped".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_answered_when_its_request_is_dropped() {
        let queue = Queue::default();
        let answers = queue.submit(Vec::new(), &|group| drop(group));
        assert!(matches!(answers, Err(Error::Unavailable(_))));
        let answers = queue.submit(Vec::new(), &|group| {
            for request in group {
                if let Reply::Slot(waiter) = request.reply {
                    waiter.answer(Ok(Vec::new()));
                }
            }
        });
        assert!(answers.is_ok_and(|it| it.is_empty()));
        assert!(queue.is_empty());
    }
}
