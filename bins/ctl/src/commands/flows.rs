//! `flows`.

mod plan;

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use waypost_api::limits::LIMIT_MAX;
use waypost_api::{
    AllowRequest, FlowWhy, PauseRequest, Replay, ReplayRequest, Run, RunState, RunsRequest,
    Vocabulary, WhyRequest, routes,
};
use waypost_cli::failure::{Failure, Result};
use waypost_cli::maintenance::{FlowsAllowArgs, FlowsCheckArgs};
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;
use waypost_cli::review::{self, confirm};
use waypost_cli::show;
use waypost_cli::visible::exact;

use super::names;
use crate::start;

#[derive(Debug, Subcommand)]
pub(crate) enum FlowsCommand {
    /// List flows and flow files with their state
    #[command(after_help = "Example:\n  ctl flows list")]
    List,
    Check(FlowsCheckArgs),
    Test(plan::FlowsTestArgs),
    Runs(FlowsRunsArgs),
    /// Show a run with the output of its programs
    #[command(after_help = "Example:\n  ctl flows show auto-merge.12")]
    Show(RunArgs),
    /// Resume a failed run at the failed action
    #[command(after_help = "Example:\n  ctl flows retry auto-merge.12")]
    Retry(RunArgs),
    /// Cancel a waiting or running run
    #[command(after_help = "Example:\n  ctl flows cancel auto-merge.12")]
    Cancel(RunArgs),
    Replay(FlowsReplayArgs),
    /// Explain for each flow whether an event triggers it
    #[command(after_help = "Example:\n  ctl flows why 12")]
    Why(FlowsWhyArgs),
    Allow(FlowsAllowArgs),
    Pause(FlowsPauseArgs),
    /// Resume a paused flow
    #[command(after_help = "Example:\n  ctl flows resume auto-merge")]
    Resume(FlowArgs),
}

/// List runs, newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows runs --flow auto-merge --state failed")]
pub(crate) struct FlowsRunsArgs {
    /// Only runs of this flow
    #[arg(long)]
    flow: Option<String>,
    /// Only runs in this state
    #[arg(long, value_parser = names::<RunState>())]
    state: Option<RunState>,
    /// Maximum number of results
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Id of the run, as `flow.event`
    run: String,
}

#[derive(Debug, Args)]
pub(crate) struct FlowArgs {
    /// Name of the flow
    flow: String,
}

/// Run a flow for past events
///
/// Evaluates the events again with the current definition of the flow. Shows how many events would trigger it, and asks
/// for confirmation.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl flows replay training-capture --after 100 --dry-run\n  ctl flows replay training-capture --after 100 --yes"
)]
pub(crate) struct FlowsReplayArgs {
    /// Name of the flow
    flow: String,
    /// Only events after this one [default: all stored events]
    #[arg(long, value_name = "ID")]
    after: Option<u64>,
    /// Up to and including this event [default: the newest]
    #[arg(long, value_name = "ID")]
    until: Option<u64>,
    /// Only show how many events would trigger the flow
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FlowsWhyArgs {
    /// Id of the event
    event: u64,
}

/// Pause a flow; new runs wait
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows pause auto-merge --why 'the host is down'")]
pub(crate) struct FlowsPauseArgs {
    /// Name of the flow
    flow: String,
    /// Reason, shown by `ctl flows list`
    #[arg(long)]
    why: Option<String>,
}

pub(super) fn run(program: &Program, command: FlowsCommand, output: &mut Output) -> Result<()> {
    match command {
        FlowsCommand::List => list(program, output),
        FlowsCommand::Allow(args) if program.names_address() => allow(program, &args, output),
        FlowsCommand::Check(_) | FlowsCommand::Allow(_) => start::become_service(),
        FlowsCommand::Test(args) => plan::test(program, &args, output),
        FlowsCommand::Runs(args) => runs(program, args, output),
        FlowsCommand::Show(args) => {
            show(&program.client()?.call(&routes::GET_RUN.at(&args.run), ())?, output)
        }
        FlowsCommand::Retry(args) => {
            report_state(&program.client()?.call(&routes::RETRY_RUN.at(&args.run), ())?, output)
        }
        FlowsCommand::Cancel(args) => {
            report_state(&program.client()?.call(&routes::CANCEL_RUN.at(&args.run), ())?, output)
        }
        FlowsCommand::Replay(args) => replay(program, &args, output),
        FlowsCommand::Why(args) => {
            let all =
                program.client()?.call(&routes::WHY_FLOWS, WhyRequest { event: args.event })?;
            why(&all, output)?;
            for it in all.iter().filter(|item| item.missed.is_some()) {
                let (flow, event) = (&it.flow, args.event);
                let after = event.saturating_sub(1);
                output.note(&format!("`ctl flows replay {flow} --after {after} --until {event}` runs it for this event"));
            }
            Ok(())
        }
        FlowsCommand::Pause(args) => {
            let request = PauseRequest { why: args.why };
            let flow = program.client()?.call(&routes::PAUSE_FLOW.at(&args.flow), &request)?;
            output.answer(&flow, &format!("paused {}", flow.name))
        }
        FlowsCommand::Resume(args) => {
            let flow = program.client()?.call(&routes::RESUME_FLOW.at(&args.flow), ())?;
            output.answer(&flow, &format!("resumed {}", flow.name))
        }
    }
}

fn list(program: &Program, output: &mut Output) -> Result<()> {
    let found = program.client()?.call(&routes::LIST_FLOWS, ())?;
    if output.json(&found)? {
        return Ok(());
    }
    if let Some(halted) = &found.halted {
        output.warn(halted);
    }
    let rows: Vec<_> = found
        .flows
        .iter()
        .map(|flow| {
            let (look, state) = match flow {
                _ if !flow.enabled => (Look::Dim, "off".to_owned()),
                _ if flow.paused.is_some() => (Look::Warn, "paused".to_owned()),
                _ if flow.throttled_since.is_some() => (Look::Warn, "throttled".to_owned()),
                _ if flow.running + flow.queued + flow.waiting == 0 => {
                    (Look::Plain, "ready".to_owned())
                }
                _ => {
                    let waiting = flow.queued + flow.waiting;
                    (Look::Plain, format!("{} running, {waiting} waiting", flow.running))
                }
            };
            vec![
                (Look::Name, flow.name.clone()),
                (look, state),
                (Look::Plain, flow.pattern.clone()),
                (Look::Dim, flow.file.clone()),
                (Look::Plain, flow.condition.clone().unwrap_or_default()),
            ]
        })
        .collect();
    if rows.is_empty() {
        output.note("no flows in .waypost/flows/*.yaml");
    } else {
        output.table(&["FLOW", "STATE", "PATTERN", "FILE", "CONDITION"], &rows)?;
    }
    for flow in found.flows.iter().filter(|flow| !flow.now_plain.is_empty()) {
        let keys: Vec<String> = flow.now_plain.iter().map(|key| format!("data.{key}")).collect();
        output.warn(&format!(
            "{}, approved by an earlier release: {} must now be plain (letters, digits, _ . / : @ % + -), and a run with another value fails; for free text, use exec or \"$WAYPOST_EVENT_DATA_key\"",
            flow.name,
            keys.join(", ")
        ));
    }
    for file in &found.files {
        if let Some(problem) = &file.problem {
            let kept =
                if file.in_force.is_some() { "an earlier version is active" } else { "not active" };
            let hint = if file.pending.is_empty() {
                ""
            } else {
                "; review and approve it with `ctl allow`"
            };
            output.warn(&format!("{} ({kept}): {problem}{hint}", file.name));
        }
    }
    Ok(())
}

fn runs(program: &Program, args: FlowsRunsArgs, output: &mut Output) -> Result<()> {
    let FlowsRunsArgs { flow, state, limit } = args;
    let runs = program.client()?.call(&routes::LIST_RUNS, RunsRequest { flow, state, limit })?;
    if output.json(&runs)? {
        return Ok(());
    }
    if runs.is_empty() {
        output.note("no runs");
        return Ok(());
    }
    let rows: Vec<_> = runs
        .iter()
        .map(|run| {
            vec![
                (Look::Name, run.id.clone()),
                (look(run.state), run.state.as_str().to_owned()),
                (Look::Plain, run.kind.clone()),
                (Look::Dim, run.created_at.to_string()),
                (Look::Dim, run.tries.len().to_string()),
                (Look::Plain, run.why.clone().unwrap_or_default()),
            ]
        })
        .collect();
    output.table(&["RUN", "STATE", "EVENT", "CREATED", "TRIES", "WHY"], &rows)
}

fn look(state: RunState) -> Look {
    match state {
        RunState::Failed | RunState::Dead => Look::Bad,
        RunState::Cancelled | RunState::Skipped => Look::Warn,
        RunState::Succeeded => Look::Bold,
        _ => Look::Plain,
    }
}

fn report_state(run: &Run, output: &mut Output) -> Result<()> {
    output.answer(run, &format!("{} is {}", run.id, run.state.as_str()))
}

fn show(run: &Run, output: &mut Output) -> Result<()> {
    if output.json(run)? {
        return Ok(());
    }
    let why = run.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    output.styled(&[
        (Look::Name, &run.id),
        (Look::Plain, " "),
        (look(run.state), run.state.as_str()),
        (Look::Plain, &why),
    ])?;
    let event = format!("for {} #{}, created {}", run.kind, run.event, run.created_at);
    output.styled(&[(Look::Dim, &event)])?;
    for tried in &run.tries {
        let head = format!("action {}, attempt {}: ", tried.action, tried.attempt);
        let rest = format!(", {} ms, ended {}", tried.took_ms, tried.at);
        output.styled(&[(Look::Bold, &head), (Look::Plain, &tried.detail), (Look::Dim, &rest)])?;
        for (name, text) in [("stdout", &tried.stdout), ("stderr", &tried.stderr)] {
            if let Some(text) = text {
                output.styled(&[(Look::Dim, name)])?;
                output.text(text)?;
            }
        }
    }
    Ok(())
}

fn replay(program: &Program, args: &FlowsReplayArgs, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    let asked = ReplayRequest { after: args.after, until: args.until, dry_run: true };
    if args.dry_run {
        return replayed(&client.call(&routes::REPLAY_FLOW.at(&args.flow), &asked)?, output);
    }
    let mut request = ReplayRequest { dry_run: false, ..asked.clone() };
    if !args.yes {
        let planned = client.call(&routes::REPLAY_FLOW.at(&args.flow), &asked)?;
        if planned.wanted == 0 {
            return replayed(&planned, output);
        }
        output.note(&planned_line(&planned));
        if !confirm("replay?", output)? {
            return Err(Failure::new(format!("{} was not replayed", args.flow)));
        }
        // Only the events that were shown: newer ones are excluded.
        (request.after, request.until) = (Some(planned.range.after), Some(planned.range.until));
    }
    replayed(&client.call(&routes::REPLAY_FLOW.at(&args.flow), &request)?, output)
}

fn planned_line(planned: &Replay) -> String {
    let (after, until) = (planned.range.after, planned.range.until);
    let events = show::count(planned.wanted, "event", "events");
    format!("{} would run for {events} after #{after} up to #{until}", planned.flow)
}

fn replayed(done: &Replay, output: &mut Output) -> Result<()> {
    let line = match done.replay {
        None => planned_line(done),
        Some(number) => {
            let (after, until) = (done.range.after, done.range.until);
            let events = show::count(done.wanted, "event", "events");
            format!("replay {number} of {} for {events} after #{after} up to #{until}", done.flow)
        }
    };
    output.answer(done, &line)
}

fn why(all: &[FlowWhy], output: &mut Output) -> Result<()> {
    if output.json(&all)? {
        return Ok(());
    }
    for it in all {
        explain(it, output)?;
    }
    if all.is_empty() {
        output.note("no active flows");
    }
    Ok(())
}

/// How a flow evaluates an event: a line, and one for each comparison.
fn explain(it: &FlowWhy, output: &mut Output) -> Result<()> {
    let verdict = match (&it.run, &it.stopped) {
        (Some(run), _) => format!("  yes: run {} is {}", run.id, run.state.as_str()),
        (None, _) if !it.selects => "  no: the pattern does not match".to_owned(),
        (None, _) if !it.enabled => "  no: the flow is disabled".to_owned(),
        (None, Some(stopped)) => format!("  no: {stopped}"),
        (None, None) if it.wants => match &it.missed {
            Some(missed) => format!("  yes, but there is no run: {missed}"),
            None => "  yes".to_owned(),
        },
        (None, None) => "  no: the condition is false".to_owned(),
    };
    output.styled(&[(Look::Name, &it.flow), (Look::Plain, &verdict)])?;
    for finding in it.findings.iter().filter(|_| it.selects) {
        let truth = format!("    {:7} ", finding.truth);
        let because = format!("  ({})", finding.because);
        output.styled(&[
            (Look::Bold, &truth),
            (Look::Plain, &finding.text),
            (Look::Dim, &because),
        ])?;
    }
    Ok(())
}

/// Approves a flow file on this machine, or on the service whose address is given.
/// Lets the service at the address record the approval.
fn allow(program: &Program, args: &FlowsAllowArgs, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    let texts = client.call(&routes::GET_FLOW_FILE.at(&args.file), ())?;
    if !output.is_json() {
        review::show_difference(texts.in_force.as_bytes(), texts.found.as_bytes(), output)?;
        for program in &texts.programs {
            let about = format!("  program, SHA-256 {}", program.hash);
            output.styled(&[(Look::Name, &exact(program.file.as_bytes())), (Look::Dim, &about)])?;
            match &program.found {
                Some(found) => {
                    let approved = program.approved.as_bytes();
                    review::show_difference(approved, found.as_bytes(), output)?;
                }
                None => output.styled(&[(Look::Warn, "  not text, or too long to show")])?,
            }
        }
        output.flush()?;
    }
    // By the hashes of the shown contents: a file that has changed since is rejected.
    let programs: BTreeMap<String, String> =
        texts.programs.iter().map(|program| (program.file.clone(), program.hash.clone())).collect();
    if !args.sha256.is_empty() {
        let missing = std::iter::once(&texts.hash)
            .chain(programs.values())
            .find(|hash| !args.sha256.iter().any(|sha256| sha256.eq_ignore_ascii_case(hash)));
        if let Some(hash) = missing {
            let why = format!("the SHA-256 {hash} was not among those given; nothing was approved");
            return Err(Failure::new(why));
        }
        let known = std::iter::once(&texts.hash).chain(programs.values());
        review::refuse_unknown(&args.sha256, known.map(String::as_str))?;
    } else if let Some(unseen) = texts.programs.iter().find(|program| program.found.is_none()) {
        let why = format!("{} was not shown; nothing was approved", exact(unseen.file.as_bytes()));
        return Err(Failure::new(why).with_hint(review::READ_FIRST));
    } else if !args.yes && !review::is_wanted(&format!("approve {} as shown?", args.file), output)?
    {
        return Err(Failure::new(format!("{} was not approved", args.file)));
    }
    let request = AllowRequest { hash: texts.hash, programs };
    let file = client.call(&routes::ALLOW_FLOW_FILE.at(&args.file), &request)?;
    let line = match &file.problem {
        None => format!("approved {}; it is active", file.name),
        Some(problem) => format!("approved {}; it is not active: {problem}", file.name),
    };
    output.answer(&file, &line)
}
