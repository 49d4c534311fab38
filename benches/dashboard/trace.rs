//! The tasks of a page's main thread, by Chromium's tracing.

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::json;

use crate::chrome::{Chrome, PATIENCE};

/// The category with every task of a thread (`RunTask`), and no other category.
const CATEGORIES: [&str; 2] = ["-*", "disabled-by-default-devtools.timeline"];

/// The tasks of a main thread.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tasks {
    pub(crate) count: u64,
    /// The longest, in milliseconds by the clock: with the time in which the thread waited for a
    /// processor.
    pub(crate) longest_ms: f64,
    /// The one with the most processor time, in milliseconds.
    pub(crate) longest_cpu_ms: f64,
    /// Those of more than 50 ms by the clock.
    pub(crate) long: u64,
    /// Those of more than 50 ms of processor time.
    pub(crate) long_cpu: u64,
    /// The processor time of all, in milliseconds.
    pub(crate) cpu_ms: f64,
}

impl Tasks {
    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.longest_ms = self.longest_ms.max(other.longest_ms);
        self.longest_cpu_ms = self.longest_cpu_ms.max(other.longest_cpu_ms);
        self.long += other.long;
        self.long_cpu += other.long_cpu;
        self.cpu_ms += other.cpu_ms;
    }
}

/// Starts tracing in all processes.
pub(crate) fn start(chrome: &mut Chrome) {
    let config = json!({"recordMode": "recordUntilFull", "includedCategories": CATEGORIES});
    let asked = json!({"transferMode": "ReturnAsStream", "traceConfig": config});
    chrome.call(None, "Tracing.start", &asked);
}

/// Ends tracing: the tasks of the main thread of the process with this id.
pub(crate) fn end(chrome: &mut Chrome, process: u64) -> Result<Tasks> {
    chrome.call(None, "Tracing.end", &json!({}));
    let stream = loop {
        let event = chrome.from.recv_timeout(PATIENCE).context("Chromium ends its trace")?;
        if event["method"] == "Tracing.tracingComplete" {
            ensure!(event["params"]["dataLossOccurred"] != true, "the trace is incomplete");
            break event["params"]["stream"].clone();
        }
        chrome.hear(&event);
    };
    let mut text = String::new();
    loop {
        let part = chrome.call(None, "IO.read", &json!({"handle": stream, "size": 4 << 20}));
        ensure!(part["base64Encoded"] != true, "the trace is text");
        text.push_str(part["data"].as_str().unwrap_or_default());
        if part["eof"] == true {
            break;
        }
    }
    chrome.call(None, "IO.close", &json!({"handle": stream}));
    tasks(&text, process)
}

/// A trace, as far as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    trace_events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    name: String,
    pid: u64,
    tid: u64,
    /// Microseconds by the clock, and of processor time.
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    tdur: f64,
    #[serde(default)]
    args: Arguments,
}

#[derive(Deserialize, Default)]
struct Arguments {
    /// The name of a thread.
    name: Option<String>,
}

fn tasks(trace: &str, process: u64) -> Result<Tasks> {
    let trace: Trace = serde_json::from_str(trace).context("a trace")?;
    let of_process = || trace.trace_events.iter().filter(|event| event.pid == process);
    let main = of_process()
        .find(|process| {
            process.name == "thread_name" && process.args.name.as_deref() == Some("CrRendererMain")
        })
        .context("the trace has no main thread of the page")?;
    let mut found = Tasks::default();
    for task in of_process().filter(|process| process.name == "RunTask" && process.tid == main.tid)
    {
        let (took, cpu) = (task.dur / 1_000.0, task.tdur / 1_000.0);
        found.add(Tasks {
            count: 1,
            longest_ms: took,
            longest_cpu_ms: cpu,
            long: u64::from(took > 50.0),
            long_cpu: u64::from(cpu > 50.0),
            cpu_ms: cpu,
        });
    }
    ensure!(found.count > 0, "the trace has no tasks of the page");
    Ok(found)
}
