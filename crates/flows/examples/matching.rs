//! Measures how long evaluating events takes, with many flows.
//!
//! `cargo run --release -p waypost-flows --example matching -- [FLOWS] [EVENTS]`

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use waypost_events::{Data, Event, Lineage};
use waypost_flows::{Effect, Engine, FlowFile, FlowSet, Options, Outcome, Report, Timestamp};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let flows: usize = arguments.next().map_or(Ok(1000), |argument| argument.parse())?;
    let events: u64 = arguments.next().map_or(Ok(1_000_000), |argument| argument.parse())?;
    let file = FlowFile::new("flows.yaml", &file(flows)?)?;
    let mut out = std::io::stdout();

    // In memory, if the system supports it: the example measures evaluation, not the disk.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let mut engine = Engine::open(folder.path(), Options::default(), Timestamp::EPOCH)?;
    engine.install(FlowSet::new([&file]));
    engine.commit()?;

    let samples: Vec<Event> =
        (0..2000).map(|number| event(number, flows)).collect::<Result<_, _>>()?;
    let mut deciding = Duration::ZERO;
    let mut runs = 0_u64;
    for id in 1..=events {
        let mut event = samples[id as usize % samples.len()].clone();
        event.id = id;
        let begun = now();
        engine.offer(&event, Timestamp::EPOCH);
        deciding += begun.elapsed();
        if id % 256 == 0 || id == events {
            runs += finish(&mut engine)?;
        }
    }
    let each = deciding.as_secs_f64() * 1e6 / events as f64;
    writeln!(out, "{events} events, {flows} flows, {runs} runs: {each:.2} µs an event to decide")?;

    drop(engine);
    let bytes = bytes_of(&folder.path().join("log"))?;
    let begun = now();
    Engine::open(folder.path(), Options::default(), Timestamp::EPOCH)?;
    let took = begun.elapsed().as_secs_f64() * 1e3;
    writeln!(out, "opening again: {took:.0} ms, {} MiB of journal", bytes >> 20)?;
    Ok(())
}

/// A tenth of the flows match one type each, a tenth a prefix of it, the others a namespace, with a
/// condition.
fn file(flows: usize) -> Result<String, std::fmt::Error> {
    let mut text = "flows:\n".to_owned();
    for idx in 0..flows {
        let space = idx % 200;
        let trigger = match idx % 10 {
            0 => format!("{{ pattern: \"space{space}:name{idx}\" }}"),
            1 => format!("{{ pattern: \"space{space}:name{idx}*\" }}"),
            _ => format!(
                "{{ pattern: \"space{space}:*\", condition: \"data.n == {idx} && data.text.contains('needle')\" }}"
            ),
        };
        let actions = "[{ type: emit, event: \"a:b\" }]";
        writeln!(
            text,
            "  - {{ name: flow{idx}, breaker: 0, trigger: {trigger}, actions: {actions} }}"
        )?;
    }
    Ok(text)
}

fn event(idx: usize, flows: usize) -> Result<Event, Box<dyn Error>> {
    let mut data = Data::default();
    data.insert("n", idx as u64)?;
    data.insert("text", "some text of a usual length, with a needle in it")?;
    data.insert("agent", "scout")?;
    let kind = format!("space{}:name{}", idx % 200, idx % flows).parse()?;
    let lineage = Lineage::default();
    let source = "example".to_owned();
    Ok(Event { id: 0, kind, data, time: Timestamp::EPOCH, source, lineage, space: None })
}

/// Lets all started actions succeed, and returns the number of runs.
fn finish(engine: &mut Engine) -> Result<u64, waypost_flows::Error> {
    let mut runs = 0;
    loop {
        let effects = engine.commit()?;
        if effects.is_empty() {
            return Ok(runs);
        }
        for effect in effects {
            match effect {
                Effect::Start(attempt) => {
                    runs += 1;
                    engine.ended(
                        &attempt.id,
                        Report::new(Outcome::Succeeded, ""),
                        Timestamp::EPOCH,
                    );
                }
                Effect::Announce(notice) => notice.end.iter().for_each(|end| engine.announced(end)),
                _ => {}
            }
        }
    }
}

fn bytes_of(folder: &Path) -> std::io::Result<u64> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

#[expect(clippy::disallowed_methods, reason = "the example measures")]
fn now() -> Instant {
    Instant::now()
}
