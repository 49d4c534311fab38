//! Collects the values of gauges from the parts.

use std::collections::BTreeMap;

use waypost_api::{RunState, Vocabulary};

use crate::app::App;
use crate::http::wire;
use crate::metrics::{ClusterGauges, EventGauges};

impl ClusterGauges {
    /// The values of a member of a cluster.
    pub(crate) fn of(app: &App) -> Option<Self> {
        let cluster = app.cluster.as_ref()?;
        Some(Self {
            applied: cluster.applied(),
            end: cluster.hub.end(),
            leads: app.leadership.leads(),
            contact_seconds: cluster.hub.contact().age.as_secs(),
        })
    }
}

impl EventGauges {
    pub(crate) fn of(app: &App) -> Self {
        let bus = &app.events;
        let last = bus.last();
        let engine = app.flows.engine();
        let stages = engine.stages().iter();
        let runs: BTreeMap<&str, u64> =
            stages.map(|(stage, count)| (wire::flows::stage(*stage).as_str(), *count)).collect();
        let ended = engine.ends().iter();
        let ended: BTreeMap<&str, u64> =
            ended.map(|(end, count)| (wire::flows::state(*end).as_str(), *count)).collect();
        let count = |counts: &BTreeMap<&str, u64>, state: RunState| {
            (state.as_str(), counts.get(state.as_str()).copied().unwrap_or(0))
        };
        let ends = [RunState::Succeeded, RunState::Failed, RunState::Skipped, RunState::Cancelled];
        Self {
            kept: (last + 1).saturating_sub(bus.first()),
            last,
            bytes: bus.bytes(),
            fault: bus.fault().is_some(),
            decided: engine.cursor(),
            flows: engine.flows().len() as u64,
            halted: app.flows.halt().is_some(),
            runs: RunState::ALL.iter().map(|it| count(&runs, *it)).collect(),
            ended: ends.iter().map(|it| count(&ended, *it)).collect(),
        }
    }
}
