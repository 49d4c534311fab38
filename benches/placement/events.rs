//! What happens when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Microseconds since the start of the run.
pub(crate) type Time = u64;

pub(crate) const SECOND: Time = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    SessionBegins,
    Request {
        store: usize,
        until: Time,
    },
    /// A request whose first owner did not answer goes to the next one.
    Retry {
        store: usize,
        arrived: Time,
    },
    Loaded {
        machine: usize,
        store: usize,
    },
    /// Machines are lost or added.
    Change,
    /// The router stops sending requests to lost machines.
    Noticed,
    /// Stores that have one copy left get another one.
    Replaced,
    Copied {
        job: usize,
    },
    Rebuilt {
        job: usize,
    },
}

/// Events in the order of their times, and of their scheduling within one time.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<(Time, u64, Event)>>,
    scheduled: u64,
}

impl Events {
    pub(crate) fn push(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.heap.push(Reverse((at, self.scheduled, event)));
    }

    /// The next event, if it is not after a time.
    pub(crate) fn pop_until(&mut self, end: Time) -> Option<(Time, Event)> {
        self.heap.peek().filter(|heap| heap.0.0 <= end)?;
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

pub(crate) fn micros(seconds: f64) -> Time {
    (seconds * SECOND as f64).round() as Time
}

#[cfg(test)]
mod tests {
    use super::{Event, Events};

    #[test]
    fn events_come_by_time_and_then_by_scheduling() {
        let mut events = Events::default();
        for (at, event) in [(2, Event::Noticed), (1, Event::Replaced), (1, Event::Change)] {
            events.push(at, event);
        }
        let order: Vec<_> = std::iter::from_fn(|| events.pop_until(1)).collect();
        assert_eq!(order, [(1, Event::Replaced), (1, Event::Change)]);
        assert_eq!(events.pop_until(2), Some((2, Event::Noticed)));
    }
}
