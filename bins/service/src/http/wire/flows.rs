//! Conversions between the engine's types of flows and runs and the wire's.

use waypost_api::{self as api, Vocabulary};
use waypost_flows as flows;

use crate::flows::tasks::planned;

pub(crate) fn flow(entry: &flows::FlowEntry, status: &flows::FlowStatus) -> api::FlowInfo {
    let flow = &entry.flow;
    let count = |stage| status.stages.get(&stage).copied().unwrap_or_default();
    api::FlowInfo {
        name: flow.name.to_string(),
        file: entry.file.clone(),
        description: flow.description.clone(),
        enabled: flow.enabled,
        pattern: flow.trigger.pattern.to_string(),
        condition: flow.trigger.condition.as_ref().map(ToString::to_string),
        paused: status.paused.clone(),
        now_plain: Vec::new(),
        throttled_since: status.throttled_since,
        queued: count(flows::Stage::Queued),
        waiting: count(flows::Stage::Quiet) + count(flows::Stage::Retrying),
        running: count(flows::Stage::Running),
        oldest_waiting: status.oldest_waiting.as_ref().map(ToString::to_string),
        backfills: status
            .backfills
            .iter()
            .map(|backfill| api::EventRange { after: backfill.after, until: backfill.until })
            .collect(),
        ended: status
            .stages
            .iter()
            .filter(|(stage, _)| matches!(stage, flows::Stage::Ended(_)))
            .map(|(it, count)| (stage(*it).as_str().to_owned(), *count))
            .collect(),
        last_failure: status.last_failure.as_ref().map(|failure| api::FlowFailure {
            run: failure.run.to_string(),
            why: failure.why.clone(),
            at: failure.at,
        }),
    }
}

pub(crate) fn file(it: &flows::FileStatus) -> api::FlowFileInfo {
    let text = |hash: &Option<flows::ContentHash>| hash.as_ref().map(ToString::to_string);
    api::FlowFileInfo {
        name: it.name.clone(),
        in_force: text(&it.in_force),
        found: text(&it.found),
        problem: it.problem.as_ref().map(ToString::to_string),
        pending: match &it.problem {
            Some(flows::Problem::Unapproved(waiting)) => waiting.keys().cloned().collect(),
            _ => Vec::new(),
        },
    }
}

/// The flow file comes first.
pub(crate) fn texts(name: String, parts: Vec<(Vec<u8>, flows::Approvable)>) -> api::FlowFileTexts {
    const TEXT_BYTES_MAX: usize = 1 << 20;

    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut texts = api::FlowFileTexts {
        name,
        in_force: String::new(),
        found: String::new(),
        hash: String::new(),
        programs: Vec::new(),
    };
    for (idx, (before, part)) in parts.into_iter().enumerate() {
        if idx == 0 {
            texts.in_force = text(&before);
            texts.found = text(&part.content);
            texts.hash = part.hash.to_string();
            continue;
        }
        let is_short = part.content.len() <= TEXT_BYTES_MAX;
        let found = std::str::from_utf8(&part.content).ok().filter(|_| is_short);
        texts.programs.push(api::FlowProgram {
            file: part.file,
            hash: part.hash.to_string(),
            approved: String::from_utf8(before).unwrap_or_default(),
            found: found.map(str::to_owned),
        });
    }
    texts
}

pub(crate) fn run(it: &flows::Run) -> api::Run {
    let (why, ended_at, until) = match &it.phase {
        flows::Phase::Quiet { until } | flows::Phase::Retrying { until } => {
            (None, None, Some(*until))
        }
        flows::Phase::Queued | flows::Phase::Running { .. } => (None, None, None),
        flows::Phase::Ended { why, at, .. } => (Some(why.clone()), Some(*at), None),
    };
    api::Run {
        id: it.id.to_string(),
        flow: it.id.flow.to_string(),
        event: it.id.event,
        kind: it.kind.to_string(),
        state: stage(it.phase.stage()),
        why: why.or_else(|| it.cancelling.clone()).filter(|why| !why.is_empty()),
        created_at: it.created,
        ended_at,
        until,
        definition: it.definition.to_string(),
        tries: it.tries.iter().map(tried).collect(),
    }
}

fn tried(it: &flows::Try) -> api::RunTry {
    let outcome = match it.report.outcome {
        flows::Outcome::Succeeded => "succeeded",
        flows::Outcome::Failed => "failed",
        flows::Outcome::TimedOut => "timedout",
        flows::Outcome::Refused => "refused",
        flows::Outcome::Cancelled => "cancelled",
        flows::Outcome::Interrupted => "interrupted",
    };
    api::RunTry {
        action: u64::from(it.step) + 1,
        attempt: it.attempt.into(),
        at: it.at,
        outcome: outcome.to_owned(),
        detail: it.report.detail.clone(),
        took_ms: it.report.took_ms,
        leaked: it.report.leaked,
        stdout_bytes: it.report.stdout_bytes,
        stderr_bytes: it.report.stderr_bytes,
        stdout: None,
        stderr: None,
    }
}

/// The state of a run, as the metrics name it.
pub(crate) fn stage(stage: flows::Stage) -> api::RunState {
    match stage {
        flows::Stage::Quiet => api::RunState::Quiet,
        flows::Stage::Retrying => api::RunState::Retrying,
        flows::Stage::Queued => api::RunState::Queued,
        flows::Stage::Running => api::RunState::Running,
        flows::Stage::Ended(end) => state(end),
    }
}

pub(crate) fn state(end: flows::End) -> api::RunState {
    match end {
        flows::End::Succeeded => api::RunState::Succeeded,
        flows::End::Failed => api::RunState::Failed,
        flows::End::Dead => api::RunState::Dead,
        flows::End::Skipped => api::RunState::Skipped,
        flows::End::Cancelled => api::RunState::Cancelled,
    }
}

fn truth(it: flows::Truth) -> String {
    let text = match it {
        flows::Truth::True => "true",
        flows::Truth::False => "false",
        flows::Truth::Unknown => "unknown",
    };
    text.to_owned()
}

pub(crate) fn why(it: flows::Why, run: Option<api::Run>) -> api::FlowWhy {
    let finding = |finding: flows::Finding| api::FlowFinding {
        text: finding.text,
        truth: truth(finding.truth),
        because: finding.because,
    };
    api::FlowWhy {
        flow: it.flow.to_string(),
        wants: it.wants(),
        selects: it.selects,
        enabled: it.is_enabled,
        condition: it.truth.map(truth),
        findings: it.findings.into_iter().map(finding).collect(),
        stopped: it.stopped,
        missed: it.missed,
        run: run.map(Box::new),
    }
}

pub(crate) fn plan(it: flows::Plan) -> api::FlowTest {
    let actions = it.steps.into_iter().map(step).collect();
    api::FlowTest { why: why(it.why, None), failure: it.failure, actions }
}

fn step(it: flows::PlannedStep) -> api::PlannedAction {
    let planned = it.task.map_or_else(
        |unready| api::PlannedAction {
            problem: Some(unready.to_string()),
            ..api::PlannedAction::default()
        },
        planned,
    );
    api::PlannedAction { name: it.name, condition: it.condition.map(truth), ..planned }
}
