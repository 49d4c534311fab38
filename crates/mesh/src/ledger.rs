//! The calls already made: a request that arrives again within its deadline is not executed again.
//!
//! The time is an argument, so every case is a plain test.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use waypost_time::Timestamp;

use crate::limits::{CALLS_REMEMBERED_MAX, CLOCK_SKEW_MAX, RESULTS_REMEMBERED_BYTES_MAX};

/// The calls of one target that may still arrive again. `W` waits for a response.
#[derive(Debug)]
pub(crate) struct Ledger<W> {
    calls: HashMap<Id, State<W>>,
    /// In order of arrival, with the time after which the id may be forgotten.
    order: VecDeque<(Timestamp, Id)>,
    /// The ids whose results are stored, oldest first.
    kept: VecDeque<Id>,
    kept_bytes: usize,
}

/// The caller (as the transport reports it) and the id that it chose: a caller cannot use up
/// another's ids.
pub(crate) type Id = (String, String);

#[derive(Debug)]
enum State<W> {
    Running(Vec<W>),
    Done(Bytes),
    /// Executed, and its result was too large to store.
    Forgotten,
}

/// What to do with a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen<W> {
    /// It is new: execute it, then call [`Ledger::finish`].
    New(W),
    /// It is running; this one is answered together with the first.
    Waits,
    /// It was executed; this was the response.
    Done(W, Bytes),
    /// It was executed, and the response is no longer stored.
    Forgotten(W),
    /// There is no room to remember another one.
    Full(W),
}

impl<W> Ledger<W> {
    pub(crate) fn new() -> Self {
        Self { calls: HashMap::new(), order: VecDeque::new(), kept: VecDeque::new(), kept_bytes: 0 }
    }

    /// Records a request and when it expires.
    pub(crate) fn begin(
        &mut self,
        id: &Id,
        expires: Timestamp,
        now: Timestamp,
        waiting: W,
    ) -> Seen<W> {
        self.forget(now);
        let is_full = self.calls.len() >= CALLS_REMEMBERED_MAX;
        match self.calls.get_mut(id) {
            Some(State::Running(waiters)) => {
                waiters.push(waiting);
                return Seen::Waits;
            }
            Some(State::Done(answer)) => return Seen::Done(waiting, answer.clone()),
            Some(State::Forgotten) => return Seen::Forgotten(waiting),
            None if is_full => return Seen::Full(waiting),
            None => {}
        }
        self.calls.insert(id.clone(), State::Running(Vec::new()));
        let until = expires.saturating_add(2 * CLOCK_SKEW_MAX);
        self.order.push_back((until, id.clone()));
        Seen::New(waiting)
    }

    /// Records a response and returns the others that waited for it.
    pub(crate) fn finish(&mut self, id: &Id, answer: &Bytes) -> Vec<W> {
        let Some(state) = self.calls.get_mut(id) else { return Vec::new() };
        let before = std::mem::replace(state, State::Done(answer.clone()));
        self.kept.push_back(id.clone());
        self.kept_bytes += answer.len();
        let too_many = |it: &Self| {
            it.kept_bytes > RESULTS_REMEMBERED_BYTES_MAX || it.kept.len() > CALLS_REMEMBERED_MAX
        };
        while too_many(self) {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.drop_result(&oldest);
        }
        match before {
            State::Running(waiters) => waiters,
            State::Done(_) | State::Forgotten => Vec::new(),
        }
    }

    /// Removes a request that was not executed after all.
    pub(crate) fn withdraw(&mut self, id: &Id) {
        self.calls.remove(id);
        self.order.retain(|(_, it)| it != id);
    }

    fn drop_result(&mut self, id: &Id) {
        if let Some(state @ State::Done(_)) = self.calls.get_mut(id)
            && let State::Done(answer) = std::mem::replace(state, State::Forgotten)
        {
            self.kept_bytes -= answer.len();
        }
    }

    /// Ids are forgotten in order of arrival, so a short deadline may wait for a longer one before
    /// it; an id is never forgotten early. Running calls are kept, whatever their deadline.
    fn forget(&mut self, now: Timestamp) {
        while let Some((until, id)) = self.order.front() {
            if *until >= now || matches!(self.calls.get(id), Some(State::Running(_))) {
                return;
            }
            let Some((_, id)) = self.order.pop_front() else { return };
            self.drop_result(&id);
            // Its entry in `kept` is removed with the others, in order.
            self.calls.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn id(text: &str) -> Id {
        ("local".into(), text.into())
    }

    fn answer(bytes: usize) -> Bytes {
        vec![7; bytes].into()
    }

    #[test]
    fn a_request_is_done_once_and_everybody_hears_the_answer() {
        let mut ledger = Ledger::new();
        assert_eq!(ledger.begin(&id("a"), Timestamp::MAX, NOW, 1), Seen::New(1));
        assert_eq!(ledger.begin(&id("a"), Timestamp::MAX, NOW, 2), Seen::Waits);
        assert_eq!(ledger.finish(&id("a"), &answer(3)), vec![2]);
        assert_eq!(ledger.begin(&id("a"), Timestamp::MAX, NOW, 3), Seen::Done(3, answer(3)));
    }

    #[test]
    fn two_callers_may_choose_the_same_id() {
        let mut ledger = Ledger::new();
        assert_eq!(ledger.begin(&id("a"), NOW, NOW, 1), Seen::New(1));
        let other = ("laptop".into(), "a".into());
        assert_eq!(ledger.begin(&other, NOW, NOW, 2), Seen::New(2));
    }

    #[test]
    fn an_id_is_remembered_until_no_clock_could_take_it_for_new() {
        let mut ledger = Ledger::new();
        let end = NOW.saturating_add(2 * CLOCK_SKEW_MAX);
        let later = end.saturating_add(Duration::from_millis(1));
        assert_eq!(ledger.begin(&id("a"), NOW, NOW, 1), Seen::New(1));
        ledger.finish(&id("a"), &answer(1));
        assert_eq!(ledger.begin(&id("a"), NOW, end, 2), Seen::Done(2, answer(1)));
        assert_eq!(ledger.begin(&id("a"), NOW, later, 3), Seen::New(3));
    }

    #[test]
    fn results_go_before_ids_and_the_last_id_is_refused() {
        let mut ledger = Ledger::new();
        let half = RESULTS_REMEMBERED_BYTES_MAX / 2 + 1;
        for name in ["a", "b"] {
            assert_eq!(ledger.begin(&id(name), NOW, NOW, 0), Seen::New(0));
            ledger.finish(&id(name), &answer(half));
        }
        assert_eq!(ledger.begin(&id("a"), NOW, NOW, 1), Seen::Forgotten(1));
        assert!(matches!(ledger.begin(&id("b"), NOW, NOW, 1), Seen::Done(..)));
        for n in 2..CALLS_REMEMBERED_MAX {
            assert_eq!(ledger.begin(&id(&n.to_string()), NOW, NOW, n), Seen::New(n));
        }
        assert_eq!(ledger.begin(&id("one more"), NOW, NOW, 5), Seen::Full(5));
        ledger.withdraw(&id("2"));
        assert_eq!(ledger.begin(&id("one more"), NOW, NOW, 5), Seen::New(5));
    }

    #[test]
    fn what_runs_is_not_forgotten_whatever_its_deadline() {
        let mut ledger = Ledger::new();
        assert_eq!(ledger.begin(&id("a"), NOW, NOW, 1), Seen::New(1));
        assert_eq!(ledger.begin(&id("a"), NOW, Timestamp::MAX, 2), Seen::Waits);
    }
}
