//! Why a flow runs or does not run for an event, and what it would do.

use waypost_events::Event;

use crate::machine::guarded;
use crate::task::{ActionContext, Call, Unready, unready};
use crate::{Engine, Finding, Flow, FlowName, RunId, Task, Truth};

/// How a flow evaluates an event.
#[derive(Debug, Clone)]
pub struct Why {
    /// The flow.
    pub flow: FlowName,
    /// Whether its pattern matches the event's type. If not, the other fields are meaningless.
    pub selects: bool,
    /// Whether it is enabled.
    pub is_enabled: bool,
    /// The result of its condition; nothing for a flow without one.
    pub truth: Option<Truth>,
    /// The result of each comparison of the condition, in the order written.
    pub findings: Vec<Finding>,
    /// Why the event starts no run of this flow although its condition may hold: its data does not
    /// have the declared types, or the chain of runs that led to it may not continue with this
    /// flow.
    pub stopped: Option<String>,
    /// Why there is no run although the flow would run for the event.
    pub missed: Option<String>,
    /// The run for this event, if it exists; it records the result.
    pub run: Option<RunId>,
}

impl Why {
    /// Evaluates an event for a flow.
    pub fn of(flow: &Flow, event: &Event) -> Self {
        let condition = flow.trigger.condition.as_ref();
        Self {
            flow: flow.name.clone(),
            selects: flow.trigger.pattern.matches(&event.kind),
            is_enabled: flow.enabled,
            truth: condition.map(|condition| condition.holds(event)),
            findings: condition.map(|condition| condition.explain(event)).unwrap_or_default(),
            stopped: mistyped(flow, event).or_else(|| guarded(flow, event)),
            missed: None,
            run: None,
        }
    }

    /// Whether the flow would run for the event. A rate limit or a full queue can still skip the
    /// run.
    pub fn wants(&self) -> bool {
        let holds = self.truth.is_none_or(|truth| truth == Truth::True);
        self.selects && self.is_enabled && holds && self.stopped.is_none()
    }
}

/// How the event's data differs from the flow's declaration.
fn mistyped(flow: &Flow, event: &Event) -> Option<String> {
    let wrong: Vec<String> = flow.trigger.data.mismatches(&event.data).collect();
    (!wrong.is_empty()).then(|| {
        format!("the event's data does not match the declared types: {}", wrong.join("; "))
    })
}

/// What a flow would do for an event.
#[derive(Debug)]
pub struct Plan {
    /// Whether it would run at all.
    pub why: Why,
    /// Why the run would fail before its first action.
    pub failure: Option<String>,
    /// Its actions, in order.
    pub steps: Vec<PlannedStep>,
}

/// What an action would do.
#[derive(Debug)]
pub struct PlannedStep {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The result of its `if`; nothing for an action without one. The action is skipped unless it
    /// holds.
    pub condition: Option<Truth>,
    /// What it would do: for a program, its arguments, variables and folder.
    pub task: Result<Task, Unready>,
}

/// What a flow would do for an event. Nothing is executed: pass `***` as the secrets.
pub fn plan(flow: &Flow, event: &Event, around: &ActionContext<'_>) -> Plan {
    let why = Why::of(flow, event);
    let failure = if why.wants() { unready(flow, event) } else { None };
    let run = RunId { flow: flow.name.clone(), event: event.id, replay: 0 }.to_string();
    let steps = flow.actions.iter().enumerate().map(|(step, action)| {
        let key = format!("test.{run}.{step}");
        let call = Call { flow, action, event, run: &run, attempt: 1, key: &key };
        PlannedStep {
            name: action.name.clone(),
            condition: action.condition.as_ref().map(|condition| condition.holds(event)),
            task: call.task(around),
        }
    });
    Plan { why, failure, steps: steps.collect() }
}

impl Engine {
    /// How each flow in force evaluates an event, in the order of the files.
    pub fn why(&self, event: &Event) -> Vec<Why> {
        let flows = self.flows().iter().map(|entry| {
            let mut why = Why::of(&entry.flow, event);
            let id = RunId { flow: entry.flow.name.clone(), event: event.id, replay: 0 };
            why.run = self.run(&id).ok().map(|run| run.id.clone());
            if why.wants() && why.run.is_none() {
                why.missed = Some(self.missed(&entry.flow, event.id));
            }
            why
        });
        flows.collect()
    }
}
