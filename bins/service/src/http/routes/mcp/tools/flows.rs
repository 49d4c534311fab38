//! `flows`.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use waypost_api::{
    Check, Faults, FlowWhy, Flows, Run, RunState, RunsRequest, Scope, TokenGrants, Vocabulary,
    WhyRequest,
};

use super::{Description, Tool, action, only, reads};
use crate::http::routes::flows::{check_runs, find_flows, find_run, find_runs, find_why};
use crate::http::routes::mcp::arguments;
use crate::http::routes::mcp::asker::Asker;
use crate::http::routes::mcp::outcome::{Answer, Failure};
use crate::http::routes::mcp::text::{
    Entries, NOTICE, RESULT_TOKENS, count, fenced, head, line, plain, tokens,
};

/// Runs if a call does not say how many, and at most.
const LIMITS: (u64, u64) = (8, 50);
/// Characters of a reason that are shown.
const REASON_CHARS: usize = 240;
/// Tokens left for the first line and the note.
const FRAME_TOKENS: usize = 100;

pub(super) static TOOL: Tool = Tool {
    name: "flows",
    scopes: &[Scope::FlowsRead],
    is_in_spaces: false,
    describe,
    call: |asker, schema, given| Box::pin(call(asker, schema, given)),
};

fn describe(_: &TokenGrants) -> Description {
    let states: Vec<&str> = RunState::ALL.iter().map(|it| it.as_str()).collect();
    Description {
        text: "Use when an automation (flow) should have run or failed: lists flows, their runs (with run: one run and its output), or why each flow did or did not run for an event.",
        annotations: reads(),
        schema: json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["list", "runs", "why"]},
                "flow": {"type": "string"},
                "state": {"type": "string", "enum": states},
                "run": {"type": "string", "description": "id"},
                "limit": {"type": "integer", "description": "1-50, default 8"},
                "event": {"type": "integer", "description": "id, for why"},
            },
            "required": ["action"],
        }),
    }
}

async fn call(
    asker: &Asker,
    schema: &JsonObject,
    mut given: JsonObject,
) -> Result<Answer, Failure> {
    let Asker { app, caller, .. } = asker;
    let answer = match action(schema, &mut given)?.as_str() {
        "why" => {
            let asked: WhyRequest = arguments::read(&only(schema, &["event"], &["event"]), given)?;
            find_why(app, caller, &asked, |found| listed(found, "flow", "flows", "why", why))
                .await?
        }
        "runs" if given.get("run").is_some_and(|given| !given.is_null()) => {
            let asked: OneRun = arguments::read(&only(schema, &["run"], &["run"]), given)?;
            find_run(app, caller, &asked.run, output).await?
        }
        "runs" => {
            let schema = only(schema, &["flow", "state", "limit", "run"], &[]);
            let mut asked: RunsRequest = arguments::read_with(&schema, given, check_runs)?;
            asked.limit = Some(arguments::limit(asked.limit, LIMITS, &schema)?);
            find_runs(app, caller, asked, |found| listed(found, "run", "runs", "runs", run)).await?
        }
        _ => {
            arguments::read::<Nothing>(&only(schema, &[], &[]), given)?;
            find_flows(app, caller, all).await?
        }
    };
    Ok(answer)
}

/// No arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Check for Nothing {
    fn check(&self, _faults: &mut Faults) {}
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneRun {
    run: String,
}

impl Check for OneRun {
    fn check(&self, faults: &mut Faults) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if self.run.is_empty() || self.run.len() > 200 || !self.run.chars().all(is_part) {
            faults.add("run", "must be the id of a run, such as `deploy.12`");
        }
    }
}

/// One line and one item for each element, as many as fit.
fn listed<T>(
    found: &[T],
    one: &str,
    many: &str,
    name: &str,
    show: fn(&T) -> (String, Value),
) -> Answer {
    let mut shown = Entries::new(RESULT_TOKENS);
    let missing = found.iter().skip_while(|element| {
        let (said, item) = show(element);
        shown.add(said, item)
    });
    let missing = missing.count();
    let text = if found.is_empty() {
        format!("No {many}.")
    } else {
        let lines = fenced(many, &shown.lines.join("\n"));
        format!("{}. {NOTICE}\n{lines}", count(found.len(), one, many))
    };
    let mut structured = json!({ "notice": NOTICE });
    structured[name] = Value::Array(shown.items);
    let note = (missing > 0).then(|| format!("{} did not fit.", count(missing, one, many)));
    Answer { text, structured }.with_notes(note.as_slice())
}

fn run(it: &Run) -> (String, Value) {
    let why = it.why.as_deref().map(|why| line(why, REASON_CHARS));
    let said = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let text = format!("{} {} {} {}{said}", it.id, it.state.as_str(), it.created_at, it.kind);
    let item = json!({
        "id": it.id, "flow": it.flow, "event": it.event, "type": it.kind,
        "state": it.state, "createdAt": it.created_at, "endedAt": it.ended_at, "why": why,
    });
    (text, item)
}

fn why(it: &FlowWhy) -> (String, Value) {
    let mut reasons = Vec::new();
    if let Some(run) = &it.run {
        reasons.push(format!("run {} {}", run.id, run.state.as_str()));
    } else if !it.enabled {
        reasons.push("it is paused or disabled".to_owned());
    } else if !it.selects {
        reasons.push("its pattern does not match".to_owned());
    }
    reasons.extend(it.condition.as_ref().map(|condition| format!("condition {condition}")));
    reasons.extend(it.findings.iter().map(|finding| {
        line(&format!("{} is {}: {}", finding.text, finding.truth, finding.because), REASON_CHARS)
    }));
    reasons.extend(it.stopped.iter().chain(&it.missed).map(|stopped| line(stopped, REASON_CHARS)));
    let wants = if it.wants { "wants it" } else { "does not want it" };
    let text = line(&format!("{} {wants}: {}", it.flow, reasons.join("; ")), 1200);
    let item =
        json!({ "flow": it.flow, "wants": it.wants, "enabled": it.enabled, "reasons": reasons });
    (text, item)
}

/// The flows, and the files that are not in force.
fn all(found: &Flows) -> Answer {
    let entries: Vec<(String, Value)> = found
        .flows
        .iter()
        .map(|flow| {
            let state = match &flow.paused {
                _ if !flow.enabled => "disabled".to_owned(),
                Some(why) => format!("paused ({})", line(why, REASON_CHARS)),
                None => "enabled".to_owned(),
            };
            let about = flow.description.as_deref().map(|description| line(description, REASON_CHARS));
            let failure = flow.last_failure.as_ref().map(|failure| format!("last failure {}: {}", failure.run, line(&failure.why, REASON_CHARS)));
            let mut said = format!("{} {state} on {}", flow.name, flow.pattern);
            for part in about.iter().chain(&failure) {
                said.push_str("; ");
                said.push_str(part);
            }
            let item = json!({
                "name": flow.name, "state": state, "pattern": flow.pattern,
                "description": about, "lastFailure": failure,
            });
            (line(&said, 1200), item)
        })
        .chain(found.files.iter().filter_map(|file| {
            let problem = file.problem.as_ref()?;
            let said = line(&format!("file {}: {problem}", file.name), REASON_CHARS);
            let item = json!({ "file": file.name, "problem": line(problem, REASON_CHARS), "pending": file.pending });
            Some((said, item))
        }))
        .collect();
    let mut answer = listed(&entries, "flow or file", "flows and files", "flows", |it| it.clone());
    if let Some(why) = &found.halted {
        let why = line(why, REASON_CHARS);
        answer.text = format!("Flows have stopped: {why}\n{}", answer.text);
        answer.structured["halted"] = json!(why);
    }
    answer
}

/// A run with the end of its programs' output, which says why it failed.
fn output(found: &Run) -> Answer {
    let (summary, mut item) = run(found);
    let mut left = RESULT_TOKENS.saturating_sub(FRAME_TOKENS + tokens(&summary));
    let (mut blocks, mut tries) = (Vec::new(), Vec::new());
    for it in found.tries.iter().rev() {
        let said = line(
            &format!("action {} attempt {} {}: {}", it.action, it.attempt, it.outcome, it.detail),
            REASON_CHARS,
        );
        let mut shown = json!({ "action": it.action, "attempt": it.attempt, "outcome": it.outcome, "detail": line(&it.detail, REASON_CHARS) });
        let Some(rest) = left.checked_sub(tokens(&said) + 8) else { break };
        left = rest;
        let mut parts = vec![fenced("attempt", &said)];
        for (name, stream) in [("stderr", &it.stderr), ("stdout", &it.stdout)] {
            let Some(stream) = stream.as_deref().filter(|stream| !stream.trim().is_empty()) else {
                continue;
            };
            let stream = plain(stream.trim_end());
            let end = tail(&stream, left.saturating_sub(12) / 2);
            if end.is_empty() {
                continue;
            }
            shown[name] = json!(end);
            let block = fenced(name, end);
            left = left.saturating_sub(tokens(&block) + 1);
            parts.push(block);
        }
        tries.push(shown);
        blocks.push(parts.join("\n"));
    }
    item["tries"] = Value::Array(tries);
    item["notice"] = json!(NOTICE);
    let text = format!(
        "1 run, its last attempt first. {NOTICE}\n{}\n{}",
        fenced("run", &summary),
        blocks.join("\n")
    );
    Answer { text, structured: item }
}

/// The longest end of a text that fits into that many tokens.
fn tail(text: &str, tokens_max: usize) -> &str {
    let reversed: String = text.chars().rev().collect();
    let bytes = head(&reversed, tokens_max).len();
    &text[text.len() - bytes..]
}
