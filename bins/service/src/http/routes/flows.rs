//! Flows: state, runs and control.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use waypost_api::{self as api, limits::LIST_LIMIT_DEFAULT};
use waypost_events::{Bus, Event, Query};
use waypost_flows::{Engine, Error, FlowName, RunId, Why};
use waypost_time::Timestamp;

use crate::app::App;
use crate::clock::now;
use crate::flows::Flows;
use crate::flows::files::load;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::reply::json;
use crate::http::wire;

/// The reason recorded when a request cancels a run.
const CANCELLED: &str = "cancelled by a request";
/// The default reason for a pause.
const PAUSED: &str = "paused by a request";
/// Events that a dry run of a replay examines.
const DRY_EVENTS_MAX: u64 = 10_000;
/// Events that it lists.
const DRY_EVENTS_SHOWN: usize = 100;

pub(super) async fn list(call: Call) -> Result<Response, Failure> {
    find_flows(&call.app, &call.caller, |found| json(StatusCode::OK, found)).await
}

/// The flows and their files; `show` makes the response of them.
pub(super) async fn find_flows<R: Send + 'static>(
    app: &Arc<App>,
    caller: &Caller,
    show: impl FnOnce(&api::Flows) -> R + Send + 'static,
) -> Result<R, Failure> {
    app.whole(caller)?;
    let shared = Arc::clone(app);
    app.reads.run(move || show(&listed(&shared.flows))).await
}

pub(super) async fn rescan(call: Call) -> Result<Response, Failure> {
    call.app.whole(&call.caller)?;
    let work = |call: &Call| {
        load(&call.app.flows);
        Ok(listed(&call.app.flows))
    };
    call.answer(|app| &app.writes, work).await
}

fn listed(flows: &Flows) -> api::Flows {
    let files = flows.file_status().iter().map(wire::flows::file).collect();
    let engine = flows.engine();
    let status = engine.status();
    let entries = engine.flows().iter().zip(&status);
    let listed = entries.map(|(entry, status)| api::FlowInfo {
        now_plain: flows.now_plain(entry),
        ..wire::flows::flow(entry, status)
    });
    let listed = listed.collect();
    let halted = flows.halt().map(|halt| halt.why().to_owned());
    api::Flows { flows: listed, files, halted }
}

pub(super) async fn runs(call: Call) -> Result<Response, Failure> {
    call.app.whole(&call.caller)?;
    let asked = api::parse_query_with(call.query(), check_runs)?;
    find_runs(&call.app, &call.caller, asked, |found| json(StatusCode::OK, found)).await
}

/// Checks the name of the flow in a request for runs.
pub(super) fn check_runs(asked: &api::RunsRequest, faults: &mut api::Faults) {
    if let Some(Err(why)) = asked.flow.as_deref().map(str::parse::<FlowName>) {
        faults.add("flow", why);
    }
}

/// The runs of a request; `show` makes the response of them.
pub(super) async fn find_runs<R: Send + 'static>(
    app: &Arc<App>,
    caller: &Caller,
    asked: api::RunsRequest,
    show: impl FnOnce(&Vec<api::Run>) -> R + Send + 'static,
) -> Result<R, Failure> {
    app.whole(caller)?;
    let invalid = |why: String| Failure::from(api::Problem::field("?flow", why));
    let flow: Option<FlowName> =
        asked.flow.as_deref().map(str::parse).transpose().map_err(invalid)?;
    let limit = usize::try_from(asked.limit.unwrap_or(LIST_LIMIT_DEFAULT)).unwrap_or(usize::MAX);
    let shared = Arc::clone(app);
    app.reads
        .run(move || {
            let engine = shared.flows.engine();
            let found = engine.runs(flow.as_ref()).into_iter();
            let runs = found.filter(|run| {
                asked.state.is_none_or(|state| wire::flows::stage(run.phase.stage()) == state)
            });
            let runs = runs.map(wire::flows::run);
            let runs: Vec<api::Run> = runs.take(limit).collect();
            drop(engine);
            show(&runs)
        })
        .await
}

pub(super) async fn run(call: Call) -> Result<Response, Failure> {
    find_run(&call.app, &call.caller, &call.name, |found| json(StatusCode::OK, found)).await
}

/// A run with its output; `show` makes the response of it.
pub(super) async fn find_run<R: Send + 'static>(
    app: &Arc<App>,
    caller: &Caller,
    id: &str,
    show: impl FnOnce(&api::Run) -> R + Send + 'static,
) -> Result<R, Failure> {
    app.whole(caller)?;
    let id = run_id(id)?;
    let shared = Arc::clone(app);
    app.reads
        .run(move || {
            let engine = shared.flows.engine();
            let run = engine.run(&id)?.clone();
            drop(engine);
            let folder = shared.flows.files().output_dir(&id);
            let mut shown = wire::flows::run(&run);
            for (shown, it) in shown.tries.iter_mut().zip(&run.tries) {
                [shown.stdout, shown.stderr] = Flows::output(&folder, it.step, it.attempt);
            }
            Ok(show(&shown))
        })
        .await?
}

pub(super) async fn retry(call: Call) -> Result<Response, Failure> {
    change_run(call, |engine, id, now| engine.retry(id, now).map(|()| true)).await
}

pub(super) async fn cancel(call: Call) -> Result<Response, Failure> {
    change_run(call, |engine, id, now| engine.cancel(id, CANCELLED, now)).await
}

async fn change_run(
    call: Call,
    change: impl FnOnce(&mut Engine, &RunId, Timestamp) -> Result<bool, Error> + Send + 'static,
) -> Result<Response, Failure> {
    call.app.whole(&call.caller)?;
    let id = run_id(&call.name)?;
    let work = move |call: &Call| {
        let changed = call.app.flows.change(|engine, now| {
            let done = change(engine, &id, now)?;
            Ok((done, wire::flows::run(engine.run(&id)?)))
        });
        let (done, run) = changed.map_err(|error| unchanged(&call.app, error))?;
        if !done {
            let detail = format!("run {id} has already ended");
            return Err(Failure::new(StatusCode::CONFLICT, detail).of(api::ProblemKind::RunEnded));
        }
        Ok(run)
    };
    call.answer(|app| &app.writes, work).await
}

pub(super) async fn why(call: Call) -> Result<Response, Failure> {
    call.app.whole(&call.caller)?;
    let asked: api::WhyRequest = call.parsed_query()?;
    find_why(&call.app, &call.caller, &asked, |found| json(StatusCode::OK, found)).await
}

/// Why each flow wants an event or not; `show` makes the response of it.
pub(super) async fn find_why<R: Send + 'static>(
    app: &Arc<App>,
    caller: &Caller,
    asked: &api::WhyRequest,
    show: impl FnOnce(&Vec<api::FlowWhy>) -> R + Send + 'static,
) -> Result<R, Failure> {
    let bus = app.whole(caller)?.bus;
    let id = asked.event;
    let shared = Arc::clone(app);
    app.reads
        .run(move || {
            let found = bus.get(id)?;
            let event = found.ok_or_else(|| Failure::not_found(format!("no event {id}")))?;
            let engine = shared.flows.engine();
            let shown = engine.why(&event).into_iter().map(|other| {
                let run = other.run.as_ref().and_then(|run| engine.run(run).ok());
                let run = run.map(wire::flows::run);
                wire::flows::why(other, run)
            });
            let shown: Vec<api::FlowWhy> = shown.collect();
            drop(engine);
            Ok(show(&shown))
        })
        .await?
}

pub(super) async fn test(call: Call) -> Result<Response, Failure> {
    let bus = call.app.whole(&call.caller)?.bus;
    let name = flow_name(&call.name)?;
    let work = move |call: &Call, asked: api::FlowTestRequest| {
        let (kind, data) = wire::event_parts(&asked.kind, asked.data, |_| Ok(()))?;
        let event = Event {
            // As if it were the next event.
            id: bus.last() + 1,
            kind,
            data,
            time: now(),
            source: call.caller.source(),
            lineage: call.caller.lineage(),
            space: None,
        };
        Ok(wire::flows::plan(call.app.flows.plan(&name, &event)?))
    };
    call.answer_body(|app| &app.reads, work).await
}

pub(super) async fn replay(call: Call) -> Result<Response, Failure> {
    let bus = call.app.whole(&call.caller)?.bus;
    let name = flow_name(&call.name)?;
    let work = move |call: &Call, asked: api::ReplayRequest| {
        let kept_after = bus.first().saturating_sub(1);
        let after = asked.after.unwrap_or(0).max(kept_after);
        let until = asked.until.unwrap_or(u64::MAX).min(bus.last());
        let (wanted, events) = wanted(&call.app, &bus, (&name, after, until))?;
        let mut replay = None;
        if !asked.dry_run && after < until {
            let order = |engine: &mut Engine, _| engine.replay(&name, after, until);
            let ordered = call.app.flows.change(order);
            replay = Some(u64::from(ordered.map_err(|error| unchanged(&call.app, error))?));
        }
        let range = api::EventRange { after, until };
        Ok(api::Replay { flow: name.to_string(), range, wanted, events, replay })
    };
    call.answer_body(|app| &app.writes, work).await
}

/// The events in a range that trigger a flow: their number, and the first ones.
fn wanted(
    app: &App,
    bus: &Bus,
    (name, after, until): (&FlowName, u64, u64),
) -> Result<(u64, Vec<u64>), Failure> {
    let engine = app.flows.engine();
    let flow = Arc::clone(&engine.flow(name)?.flow);
    drop(engine);
    let (mut count, mut shown, mut examined, mut cursor) = (0, Vec::new(), 0, after);
    while cursor < until && examined < DRY_EVENTS_MAX {
        let mut query = Query::default()
            .with_pattern(flow.trigger.pattern.clone())
            .with_after(cursor)
            .with_limit(waypost_events::LIMIT_MAX);
        query.before = until.checked_add(1);
        let page = bus.read(&query)?;
        cursor = page.next_after;
        examined += page.events.len() as u64;
        for event in page.events.iter().filter(|event| Why::of(&flow, event).wants()) {
            count += 1;
            if shown.len() < DRY_EVENTS_SHOWN {
                shown.push(event.id);
            }
        }
    }
    Ok((count, shown))
}

pub(super) async fn pause(mut call: Call) -> Result<Response, Failure> {
    call.app.whole(&call.caller)?;
    let asked: api::PauseRequest = api::parse_optional_body(&call.body().await?.bytes)?;
    let why = asked.why.unwrap_or_else(|| PAUSED.to_owned());
    change_flow(call, move |engine, name, _| engine.pause(name, &why)).await
}

pub(super) async fn resume(call: Call) -> Result<Response, Failure> {
    change_flow(call, |engine, name, now| engine.resume(name, now)).await
}

async fn change_flow(
    call: Call,
    change: impl FnOnce(&mut Engine, &FlowName, Timestamp) -> Result<(), Error> + Send + 'static,
) -> Result<Response, Failure> {
    call.app.whole(&call.caller)?;
    let name = flow_name(&call.name)?;
    let work = move |call: &Call| {
        let changed = call.app.flows.change(|engine, now| {
            change(engine, &name, now)?;
            let entry = engine.flow(&name)?;
            let status = engine.status().into_iter().find(|status| status.name == name);
            Ok(wire::flows::flow(entry, &status.ok_or(Error::UnknownFlow(name))?))
        });
        changed.map_err(|error| unchanged(&call.app, error))
    };
    call.answer(|app| &app.writes, work).await
}

pub(super) async fn file(call: Call) -> Result<Response, Failure> {
    call.app.whole(&call.caller)?;
    let work = |call: &Call| {
        let parts = call.app.flows.loader().compare(&call.name)?;
        Ok(wire::flows::texts(call.name.clone(), parts))
    };
    call.answer(|app| &app.reads, work).await
}

pub(super) async fn allow(call: Call) -> Result<Response, Failure> {
    call.app.whole(&call.caller)?;
    let work = |call: &Call, asked: api::AllowRequest| {
        let allowed = call.app.flows.allow(&call.name, &asked)?;
        let gone = || Failure::not_found(format!("{} no longer exists", call.name));
        Ok(wire::flows::file(&allowed.ok_or_else(gone)?))
    };
    call.answer_body(|app| &app.writes, work).await
}

fn flow_name(text: &str) -> Result<FlowName, Failure> {
    text.parse().map_err(|text: String| Failure::not_found(text))
}

fn run_id(text: &str) -> Result<RunId, Failure> {
    text.parse().map_err(|text: String| Failure::not_found(text))
}

/// The failure of a change, with the name of the machine that can make it.
fn unchanged(app: &App, error: Error) -> Failure {
    match (&error, &app.cluster) {
        (Error::NotLeading, Some(cluster)) => Failure::no_cluster(&cluster.hub.not_leading()),
        _ => error.into(),
    }
}
