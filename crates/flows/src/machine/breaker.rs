//! Time: waits that are over, and the breaker of flows that run too often.

use waypost_time::Timestamp;

use super::decide::Case;
use super::{MINUTE, Machine, OPENINGS_MAX};
use crate::effect::{Effect, Notice, lineage_after};
use crate::record::Record;
use crate::{FlowName, Phase, RunId};

impl Machine {
    /// When [`wake`](Self::wake) has something to do next.
    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        let breakers = self.open.iter().filter_map(|open| self.flows.get(open));
        let closing = breakers.map(|breaker| breaker.last_created.saturating_add(MINUTE)).min();
        let timer = self.timers.first().map(|(at, _)| *at);
        timer.into_iter().chain(closing).min()
    }

    /// Handles what is due: ended debounce periods, retries, breakers that close.
    pub(crate) fn wake(&mut self, now: Timestamp) {
        while let Some((_, run)) = self.timers.first().filter(|(at, _)| *at <= now).cloned() {
            // Not recorded: that it is due follows from the time, also after a crash.
            let is_new = self.runs.get(&run).is_some_and(|run| run.quiet.is_some());
            self.set_phase(&run, &Phase::Queued);
            if is_new {
                self.make_room(&run, now);
            }
        }
        let is_quiet = |flow: &&FlowName| {
            self.flows
                .get(*flow)
                .is_some_and(|flow| flow.last_created.saturating_add(MINUTE) <= now)
        };
        let quiet: Vec<FlowName> = self.open.iter().filter(is_quiet).cloned().collect();
        for flow in quiet {
            self.record(Record::Closed { flow });
        }
        self.schedule(now);
    }

    /// Opens the breaker of a flow that runs too often, and pauses the flow if that happens too
    /// often.
    pub(super) fn watch_breaker(&mut self, case: &Case<'_>) {
        let flow = &case.entry.flow;
        let Some(state) = self.flows.get(&flow.name) else { return };
        if flow.breaker == 0 || state.open.is_some() || state.recent.len() <= flow.breaker as usize
        {
            return;
        }
        self.record(Record::Opened { flow: flow.name.clone(), at: case.now });
        let mut chain = case.event.lineage.flows.clone();
        chain.push(flow.name.as_str().to_owned());
        let why =
            format!("more than {} runs in a minute; chain: {}", flow.breaker, chain.join(" > "));
        self.throttled(case, "opened", &why);
        let often =
            self.flows.get(&flow.name).is_some_and(|flow| flow.openings.len() >= OPENINGS_MAX);
        if often {
            let why = format!("its breaker opened {OPENINGS_MAX} times within an hour");
            self.record(Record::Paused { flow: flow.name.clone(), why: why.clone() });
            self.throttled(case, "paused", &why);
        }
    }

    fn throttled(&mut self, case: &Case<'_>, what: &str, why: &str) {
        let flow = &case.entry.flow.name;
        let event = case.event.id.to_string();
        let values = [("flow", flow.as_str()), ("event", &event), ("why", why)];
        let id = RunId { flow: flow.clone(), event: case.event.id, replay: 0 };
        let key = format!("{}.{flow}.{event}.{what}", self.identity);
        let lineage = lineage_after(&id, case.event);
        self.effects.push(Effect::Announce(Notice::new("flow:throttled", &values, lineage, key)));
    }
}
