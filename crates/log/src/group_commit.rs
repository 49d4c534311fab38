//! Group commit: threads queue requests, and one of them, the leader, serves a group for all.
//!
//! A thread that submits a request while no thread leads becomes the leader. It takes a group from
//! the front of the queue, serves it (for a log: one write and one sync), answers every request
//! in it, and hands the lead to the next waiting thread. The queue starts no threads.
//!
//! ```
//! use waypost_log::group_commit::{Lead, Queue};
//!
//! let queue: Queue<u32, u32> = Queue::default();
//! let double = |lead: &Lead<'_, u32, u32>| {
//!     for pending in lead.take(|_| true) {
//!         pending.reply.answer(2 * pending.request);
//!     }
//! };
//! let (answers, answered) = std::sync::mpsc::channel();
//! queue.submit_later(20, move |answer| drop(answers.send(answer)));
//! assert_eq!(queue.submit(21, &double), Some(42));
//! assert_eq!(answered.recv(), Ok(40), "the same leader served both");
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::thread::Thread;

use parking_lot::Mutex;

/// Requests that wait for a leader.
pub struct Queue<Request, Answer>(Mutex<Waiting<Request, Answer>>);

struct Waiting<Request, Answer> {
    requests: VecDeque<Pending<Request, Answer>>,
    is_led: bool,
}

/// A request that a leader has taken, and where its answer goes.
#[derive(Debug)]
pub struct Pending<Request, Answer> {
    /// What was submitted.
    pub request: Request,
    /// Where the answer goes.
    pub reply: Reply<Answer>,
}

/// Where the answer to a request goes. Dropping it tells a waiting thread that the answer is lost;
/// a callback is dropped uncalled.
pub struct Reply<Answer>(Option<Target<Answer>>);

enum Target<Answer> {
    Thread(Arc<Slot<Answer>>),
    Callback(Box<dyn FnOnce(Answer) + Send>),
}

/// The lead of a queue, which one thread holds at a time.
#[derive(Debug)]
pub struct Lead<'a, Request, Answer>(&'a Queue<Request, Answer>);

/// Where a waiting thread finds its turn.
struct Slot<Answer> {
    turn: Mutex<Turn<Answer>>,
    thread: Thread,
}

enum Turn<Answer> {
    Wait,
    Lead,
    /// `None` if the request was dropped without an answer.
    Done(Option<Answer>),
}

impl<Request, Answer> Queue<Request, Answer> {
    /// Submits a request and waits for its answer. When it is this thread's turn to lead, it calls
    /// `serve`, which [takes](Lead::take) a group and answers it.
    ///
    /// Every request that was submitted earlier has been answered or dropped when this returns, so
    /// an empty request waits for those of [`submit_later`](Self::submit_later).
    ///
    /// Returns `None` if the request was dropped without an answer, because its leader panicked
    /// for example.
    pub fn submit(
        &self,
        request: Request,
        serve: &dyn Fn(&Lead<'_, Request, Answer>),
    ) -> Option<Answer> {
        let slot = Arc::new(Slot { turn: Mutex::new(Turn::Wait), thread: std::thread::current() });
        {
            let mut waiting = self.0.lock();
            let reply = Reply(Some(Target::Thread(Arc::clone(&slot))));
            waiting.requests.push_back(Pending { request, reply });
            if !std::mem::replace(&mut waiting.is_led, true) {
                slot.give(Turn::Lead);
            }
        }
        loop {
            match slot.wait() {
                Turn::Done(answer) => return answer,
                // More than once, if the requests in front of this one fill a group. Dropping the
                // lead hands it on.
                Turn::Lead | Turn::Wait => serve(&Lead(self)),
            }
        }
    }

    /// Queues a request and returns at once. The leader that serves the request calls `then` with
    /// the answer. Some thread must call [`submit`](Self::submit) afterwards.
    pub fn submit_later(&self, request: Request, then: impl FnOnce(Answer) + Send + 'static) {
        let reply = Reply(Some(Target::Callback(Box::new(then))));
        self.0.lock().requests.push_back(Pending { request, reply });
    }
}

impl<Request, Answer> Lead<'_, Request, Answer> {
    /// Takes a group from the front of the queue: the first request, and those behind it up to the
    /// first that `fits` rejects. `fits` is called with every request in order, with the first
    /// one, too.
    pub fn take(&self, mut fits: impl FnMut(&Request) -> bool) -> Vec<Pending<Request, Answer>> {
        let mut waiting = self.0.0.lock();
        let mut count = 0;
        while let Some(next) = waiting.requests.get(count) {
            if !fits(&next.request) && count > 0 {
                break;
            }
            count += 1;
        }
        waiting.requests.drain(..count).collect()
    }
}

impl<Request, Answer> Drop for Lead<'_, Request, Answer> {
    fn drop(&mut self) {
        let mut waiting = self.0.0.lock();
        if std::thread::panicking() {
            // This thread will neither lead again nor read an answer.
            let this = std::thread::current().id();
            waiting
                .requests
                .retain(|request| request.slot().is_none_or(|slot| slot.thread.id() != this));
        }
        match waiting.requests.iter().find_map(Pending::slot) {
            Some(next) => next.give(Turn::Lead),
            None => waiting.is_led = false,
        }
    }
}

impl<Request, Answer> Pending<Request, Answer> {
    /// The slot of the thread that waits for the answer, if one does.
    fn slot(&self) -> Option<&Arc<Slot<Answer>>> {
        match &self.reply.0 {
            Some(Target::Thread(slot)) => Some(slot),
            _ => None,
        }
    }
}

impl<Answer> Reply<Answer> {
    /// Gives the answer to the thread or the callback that waits for it.
    pub fn answer(mut self, answer: Answer) {
        match self.0.take() {
            Some(Target::Thread(slot)) => slot.give(Turn::Done(Some(answer))),
            Some(Target::Callback(then)) => then(answer),
            None => {}
        }
    }
}

impl<Answer> Drop for Reply<Answer> {
    fn drop(&mut self) {
        if let Some(Target::Thread(slot)) = self.0.take() {
            slot.give(Turn::Done(None));
        }
    }
}

impl<Answer> Slot<Answer> {
    fn give(&self, turn: Turn<Answer>) {
        *self.turn.lock() = turn;
        self.thread.unpark();
    }

    /// Waits for a turn that is not [`Turn::Wait`].
    fn wait(&self) -> Turn<Answer> {
        loop {
            let turn = std::mem::replace(&mut *self.turn.lock(), Turn::Wait);
            if !matches!(turn, Turn::Wait) {
                return turn;
            }
            std::thread::park();
        }
    }
}

impl<Request, Answer> Default for Queue<Request, Answer> {
    fn default() -> Self {
        Self(Mutex::new(Waiting { requests: VecDeque::new(), is_led: false }))
    }
}

impl<Request, Answer> fmt::Debug for Queue<Request, Answer> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.0.lock();
        f.debug_struct("Queue")
            .field("requests", &waiting.requests.len())
            .field("is_led", &waiting.is_led)
            .finish()
    }
}

impl<Answer> fmt::Debug for Reply<Answer> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}
