//! The live events of a large store: frames, memory, and searches meanwhile.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use waypost_api::client::Client;
use waypost_api::{EventData, EventsRequest, PublishRequest, Scalar, routes};

use crate::chrome::{Chrome, Tab};
use crate::fill::fill;
use crate::frames::{self, Kept};
use crate::service::Service;
use crate::trace::{self, Tasks};
use crate::{progress, search};

/// What is measured.
#[derive(Debug)]
pub(crate) struct Options {
    /// Memories in the store.
    pub(crate) memories: usize,
    /// Events in the store.
    pub(crate) events: usize,
    /// Events that are published in a second.
    pub(crate) rate: usize,
    /// How long the live events are shown, in seconds.
    pub(crate) seconds: u64,
    /// The folder of the store, if it is kept.
    pub(crate) store: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { memories: 100_000, events: 1_000_000, rate: 200, seconds: 600, store: None }
    }
}

/// How long the frames of a view at rest are counted: those that the machine makes long.
const REST: Duration = Duration::from_secs(60);
/// Publishers; together they keep the rate.
const PUBLISHERS: u32 = 4;
/// What the page keeps is read at this interval.
const SAMPLE: Duration = Duration::from_secs(5);
/// Samples in a part of the run that has a trace and a line of its own.
const SAMPLES: u32 = 12;
/// Before frames count, so that the list has all of its rows.
const WARM_UP: Duration = Duration::from_secs(15);

/// A part of the run.
struct Part {
    /// The least of each sample: what is left after the collections that Chromium decides on.
    least: Kept,
    tasks: Tasks,
    /// The greatest age of the newest row, in milliseconds.
    delay: f64,
}

/// Measures, and returns lines of Markdown.
pub(crate) fn measure(options: &Options) -> Result<Vec<String>> {
    let temporary = tempfile::tempdir()?;
    let project = options.store.clone().unwrap_or_else(|| temporary.path().to_owned());
    progress("filling the store");
    let model = fill(&project, options.memories, options.events)?;
    progress("starting the service");
    let variables = [("WAYPOST_TRUST_PROJECT", "1"), ("WAYPOST_MODEL", model)];
    let service = Service::start(&project, &variables)?;
    let client = service.client()?;
    check(&client, options, model)?;

    let mut chrome = Chrome::start();
    let tab = service.open(&mut chrome)?;
    progress("searching");
    let quiet = search::times(&mut chrome, &tab, 11)?;
    let is_over = AtomicBool::new(false);
    let last = AtomicU64::new(0);
    let (parts, kept, counted, busy, rest) = thread::scope(|scope| -> Result<_> {
        let publishers: Vec<ScopedJoinHandle<'_, Result<u64>>> = (0..PUBLISHERS)
            .map(|number| {
                let client = service.client();
                let pace = Duration::from_secs(u64::from(PUBLISHERS)) / options.rate as u32;
                let (is_over, last) = (&is_over, &last);
                scope.spawn(move || publish(&client?, number, pace, is_over, last))
            })
            .collect();
        let began = Instant::now();
        let found = run(&mut chrome, &tab, options, &last);
        let busy = search::times(&mut chrome, &tab, 12);
        let rest = at_rest(&mut chrome, &tab);
        is_over.store(true, Ordering::Relaxed);
        let mut published = 0;
        for publisher in publishers {
            published += publisher.join().expect("no panic")?;
        }
        let rate = published as f64 / began.elapsed().as_secs_f64();
        ensure!(rate > 0.9 * options.rate as f64, "only {rate:.0} events a second were published");
        let (parts, kept, counted) = found?;
        Ok((parts, kept, counted, busy?, rest))
    })?;
    ensure!(chrome.complaints.is_empty(), "the page reported {:?}", chrome.complaints);
    let mut lines = vec![conditions(options, model)];
    lines.extend(table(&parts, &kept, [&counted, &rest], [&quiet, &busy]));
    Ok(lines)
}

fn check(client: &Client, options: &Options, model: &str) -> Result<()> {
    let status = client.call(&routes::MEMORY_STATUS, ())?;
    ensure!(
        status.memories as usize >= options.memories,
        "the store has {} memories",
        status.memories
    );
    let first = client.events(&EventsRequest {
        after: Some(0),
        limit: Some(1),
        ..EventsRequest::default()
    })?;
    let first = first.events.first().map(|event| event.id);
    ensure!(first == Some(1), "the service has dropped events before {first:?}");
    crate::wait::until(|| {
        let is_ready = model == "none"
            || client.metrics().is_ok_and(|metric| metric.contains("\nwaypost_model_ready 1"));
        if is_ready { Ok(()) } else { Err("the model is not in use") }
    });
    Ok(())
}

/// Publishes events at a pace until it is over; returns how many.
fn publish(
    client: &Client,
    number: u32,
    pace: Duration,
    is_over: &AtomicBool,
    last: &AtomicU64,
) -> Result<u64> {
    let began = Instant::now();
    let mut count = 0_u32;
    while !is_over.load(Ordering::Relaxed) {
        let text = |text: &str| Scalar::String(text.to_owned());
        let data = vec![
            ("branch".to_owned(), text("main")),
            ("commit".to_owned(), text("41f58f1c9f0a4f0e8ac1d4b1c1fd8a3d0a0c2a77")),
            ("worker".to_owned(), text(&format!("runner-{number}-{count}"))),
            ("result".to_owned(), text("passed after 3 attempts, 2 of them interrupted")),
        ];
        let event = PublishRequest { kind: "build:done".to_owned(), data: EventData(data) };
        let published = client.publish(&event, None)?.into_inner();
        last.fetch_max(published.event.id, Ordering::Relaxed);
        count += 1;
        thread::sleep((began + pace * count).saturating_duration_since(Instant::now()));
    }
    Ok(u64::from(count))
}

/// Shows the live events, and reads what the page keeps.
fn run(
    chrome: &mut Chrome,
    tab: &Tab,
    options: &Options,
    last: &AtomicU64,
) -> Result<(Vec<Part>, [Kept; 2], Value)> {
    chrome.value(tab, "location.hash = '#/events'");
    chrome.until(tab, "document.querySelector('.events > li')");
    chrome.call(Some(tab), "Performance.enable", &serde_json::json!({}));
    thread::sleep(WARM_UP);
    let process = frames::process(chrome)?;
    frames::collect(chrome, tab);
    let before = frames::kept(chrome, tab, process)?;
    frames::count(chrome, tab);
    let mut parts = Vec::new();
    let began = Instant::now();
    let mut samples = 0;
    while began.elapsed().as_secs() < options.seconds {
        trace::start(chrome);
        let mut part: Option<Part> = None;
        for _ in 0..SAMPLES {
            samples += 1;
            thread::sleep((began + SAMPLE * samples).saturating_duration_since(Instant::now()));
            let kept = frames::kept(chrome, tab, process)?;
            let delay = delay(chrome, tab)?;
            let so_far = part.get_or_insert(Part { least: kept, tasks: Tasks::default(), delay });
            so_far.least.heap = so_far.least.heap.min(kept.heap);
            so_far.least.nodes = so_far.least.nodes.min(kept.nodes);
            so_far.least.process = so_far.least.process.min(kept.process);
            so_far.delay = so_far.delay.max(delay);
        }
        let mut part = part.context("a sample")?;
        part.tasks = trace::end(chrome, process)?;
        progress(&format!("{} s: {:?} {:?}", began.elapsed().as_secs(), part.least, part.tasks));
        parts.push(part);
    }
    let counted = frames::counted(chrome, tab);
    // Every event is shown, in the order of their ids.
    let wanted = last.load(Ordering::Relaxed);
    chrome.until(
        tab,
        &format!("Number(document.querySelector('.events > li').dataset.id) >= {wanted}"),
    );
    let rows = "[...document.querySelectorAll('.events > li')].map(it => Number(it.dataset.id))";
    let in_order = format!("{rows}.every((it, at, all) => at === 0 || it === all[at - 1] - 1)");
    ensure!(chrome.value(tab, &in_order) == true, "events are missing or in the wrong order");
    frames::collect(chrome, tab);
    Ok((parts, [before, frames::kept(chrome, tab, process)?], counted))
}

/// The frames of a view that does nothing, while events are published.
fn at_rest(chrome: &mut Chrome, tab: &Tab) -> Value {
    chrome.value(tab, "location.hash = '#/context'");
    chrome
        .until(tab, "document.querySelector('textarea') && !document.querySelector('[aria-busy]')");
    frames::count(chrome, tab);
    thread::sleep(REST);
    frames::counted(chrome, tab)
}

/// How old the newest event on the page is, in milliseconds.
fn delay(chrome: &mut Chrome, tab: &Tab) -> Result<f64> {
    let newest = "document.querySelector('.events > li time').dateTime";
    chrome.value(tab, &format!("Date.now() - Date.parse({newest})")).as_f64().context("a time")
}

fn conditions(options: &Options, model: &str) -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpu
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split(": ").nth(1));
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "{} memories, {} events, {} events a second for {} s, model {model}; {}, {} processors; load at the end {}\n",
        options.memories,
        options.events,
        options.rate,
        options.seconds,
        name.unwrap_or("unknown processor"),
        thread::available_parallelism().map_or(1, usize::from),
        load.split(' ').next().unwrap_or_default(),
    )
}

fn table(
    parts: &[Part],
    [before, after]: &[Kept; 2],
    [counted, rest]: [&Value; 2],
    [quiet, busy]: [&Vec<f64>; 2],
) -> Vec<String> {
    let mut tasks = Tasks::default();
    for part in parts {
        tasks.add(part.tasks);
    }
    let mib = |number: u64| format!("{:.1} MiB", number as f64 / f64::from(1 << 20));
    let number = |name: &str| counted[name].as_f64().unwrap_or_default();
    let frames = number("frames");
    let over = |of: fn(&Part) -> u64| parts.iter().map(of).map(mib).collect::<Vec<_>>().join(", ");
    let times = |it: &[f64]| {
        format!(
            "median {:.0} ms, slowest of {} {:.0} ms",
            it[it.len() / 2],
            it.len(),
            it[it.len() - 1]
        )
    };
    let of_rest = |name: &str| rest[name].as_f64().unwrap_or_default();
    let line = |what: &str, figure: String| format!("| {what} | {figure} |");
    vec![
        "| what | figure |".to_owned(),
        "|---|---|".to_owned(),
        line("longest frame", format!("{:.1} ms", number("longest"))),
        line("frames of more than 50 ms", format!("{:.0} of {frames:.0}", number("long"))),
        line(
            "frames of more than 25 ms",
            format!("{:.0} ({:.3} %)", number("missed"), 100.0 * number("missed") / frames),
        ),
        line(
            "frames of more than 50 ms of a view at rest",
            format!(
                "{:.0} of {:.0}, longest {:.1} ms",
                of_rest("long"),
                of_rest("frames"),
                of_rest("longest")
            ),
        ),
        line("tasks of the main thread", format!("{}", tasks.count)),
        line(
            "longest task by the clock",
            format!("{:.1} ms, {} of more than 50 ms", tasks.longest_ms, tasks.long),
        ),
        line(
            "longest task by processor time",
            format!("{:.1} ms, {} of more than 50 ms", tasks.longest_cpu_ms, tasks.long_cpu),
        ),
        line("processor time of all tasks", format!("{:.1} s", tasks.cpu_ms / 1_000.0)),
        line(
            "long tasks as the page sees them",
            format!(
                "{:.0}, longest {:.0} ms; long animation frames {:.0}, longest {:.0} ms, scripts in one {:.0} ms",
                number("tasks"),
                number("longestTask"),
                number("animations"),
                number("longestAnimation"),
                number("byPage")
            ),
        ),
        line(
            "age of the newest row, at most",
            format!("{:.0} ms", parts.iter().map(|it| it.delay).fold(0.0, f64::max)),
        ),
        line(
            "objects of scripts after a collection",
            format!("{} before, {} after", mib(before.heap), mib(after.heap)),
        ),
        line("nodes after a collection", format!("{} before, {} after", before.nodes, after.nodes)),
        line(
            "process of the page after a collection",
            format!("{} before, {} after", mib(before.process), mib(after.process)),
        ),
        line("objects of scripts, least of each minute", over(|it| it.least.heap)),
        line("process of the page, least of each minute", over(|it| it.least.process)),
        line("first search result", times(quiet)),
        line("first search result while events are published", times(busy)),
    ]
}
