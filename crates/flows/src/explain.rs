//! Why a flow runs for an event or does not, and what it would do.

use waypost_events::Event;

use crate::machine::guarded;
use crate::task::{Call, Surroundings, Task, Unready};
use crate::{Engine, Facts, Finding, Flow, FlowName, RunId, Truth};

/// What a flow makes of an event.
#[derive(Debug, Clone)]
pub struct Why {
    /// The flow.
    pub flow: FlowName,
    /// Whether its pattern selects the event's type. Where it does not, the rest says nothing.
    pub selects: bool,
    /// Whether it is on.
    pub is_enabled: bool,
    /// What its condition comes to; nothing for a flow without one.
    pub truth: Option<Truth>,
    /// What each comparison of the condition comes to, in the order written.
    pub findings: Vec<Finding>,
    /// Why the event starts no run of this flow although its condition may hold: its data does not
    /// have the declared types, or the chain of runs that led to it may not go on with this flow.
    pub stopped: Option<String>,
    /// The run for this event, if there is one: it says what came of it.
    pub run: Option<RunId>,
}

impl Why {
    /// What a flow makes of an event.
    pub fn of(flow: &Flow, event: &Event) -> Self {
        let facts = Facts::from(event);
        let condition = flow.trigger.condition.as_ref();
        Self {
            flow: flow.name.clone(),
            selects: flow.trigger.pattern.matches(&event.kind),
            is_enabled: flow.enabled,
            truth: condition.map(|it| it.holds(&facts)),
            findings: condition.map(|it| it.explain(&facts)).unwrap_or_default(),
            stopped: mistyped(flow, event).or_else(|| guarded(flow, event)),
            run: None,
        }
    }

    /// Whether the flow wants a run for the event. A rate limit or a full queue can still skip it.
    pub fn wants(&self) -> bool {
        let holds = self.truth.is_none_or(|it| it == Truth::True);
        self.selects && self.is_enabled && holds && self.stopped.is_none()
    }
}

/// What the event's data lacks of what the flow declares.
fn mistyped(flow: &Flow, event: &Event) -> Option<String> {
    let wrong: Vec<String> = flow
        .trigger
        .data
        .mismatches(&event.data)
        .map(|it| format!("{it}, not {}", it.kind))
        .collect();
    (!wrong.is_empty())
        .then(|| format!("the event's data does not have the declared types: {}", wrong.join("; ")))
}

/// What a flow would do for an event.
#[derive(Debug)]
pub struct Plan {
    /// Whether it would run at all.
    pub why: Why,
    /// Its actions, in order.
    pub steps: Vec<PlannedStep>,
}

/// What an action would do.
#[derive(Debug)]
pub struct PlannedStep {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// What its `if` comes to; nothing for an action without one. It is left out unless that holds.
    pub condition: Option<Truth>,
    /// What would be done: for a program, its arguments, variables and folder.
    pub task: Result<Task, Unready>,
}

/// What a flow would do for an event. Nothing is done: give the secrets as `***`.
pub fn plan(flow: &Flow, event: &Event, around: &Surroundings<'_>) -> Plan {
    let why = Why::of(flow, event);
    let run = RunId { flow: flow.name.clone(), event: event.id, replay: 0 }.to_string();
    let steps = flow.actions.iter().enumerate().map(|(step, action)| {
        let key = format!("test.{run}.{step}");
        let call = Call { flow, action, event, run: &run, attempt: 1, key: &key };
        PlannedStep {
            name: action.name.clone(),
            condition: action.condition.as_ref().map(|it| it.holds(&Facts::from(event))),
            task: call.task(around),
        }
    });
    Plan { why, steps: steps.collect() }
}

impl Engine {
    /// What each flow in force makes of an event, in the order of the files.
    pub fn why(&self, event: &Event) -> Vec<Why> {
        let flows = self.flows().iter().map(|entry| {
            let id = RunId { flow: entry.flow.name.clone(), event: event.id, replay: 0 };
            Why { run: self.run(&id).ok().map(|it| it.id.clone()), ..Why::of(&entry.flow, event) }
        });
        flows.collect()
    }
}
