//! How soon the other machines have what one has acknowledged.

use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::Value;

use crate::Options;
use crate::http::Http;
use crate::machine::Machine;
use crate::process::progress;
use crate::report::Report;
use crate::samples::Samples;
use crate::text::Random;

/// Changes in a second, of all machines together.
const RATE: u32 = 200;
/// Threads that make them, each at home on one machine.
const WRITERS: u32 = 12;

/// Times in seconds.
#[derive(Debug, Default)]
struct Times {
    /// From the request that adds to its acknowledgement.
    added: Samples,
    /// From the acknowledgement until another machine has found it.
    found: Samples,
    /// From the request that adds until another machine has found it.
    whole: Samples,
    /// A read on the machine that has it.
    read: Samples,
}

impl Times {
    fn append(&mut self, other: Self) {
        self.added.append(other.added);
        self.found.append(other.found);
        self.whole.append(other.whole);
        self.read.append(other.read);
    }
}

/// Adds on all machines, and reads each memory on both others with the position of its response.
pub(crate) fn measure(
    machines: &[&Machine],
    options: &Options,
    random: &mut Random,
    report: &mut Report,
) -> Result<()> {
    progress("200 changes a second that other machines read");
    let mut times = Times::default();
    let mut tails = Samples::default();
    for _ in 0..options.rounds {
        let randoms: Vec<Random> = (0..WRITERS).map(|_| random.fork()).collect();
        let round = thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .zip(randoms)
                .map(|(number, random)| {
                    scope.spawn(move || write(machines, number, options.time, random))
                })
                .collect();
            let mut round = Times::default();
            for writer in writers {
                round.append(writer.join().ok().context("a writer panicked")??);
            }
            anyhow::Ok(round)
        })?;
        tails.add(round.found.quantile(0.99) * 1e3);
        times.append(round);
    }
    let rate = times.added.len() as f64 / (options.time.as_secs_f64() * options.rounds as f64);
    let (p50, p99) = (times.found.median() * 1e3, times.found.quantile(0.99) * 1e3);
    report.row(
        &format!(
            "a change is found on another machine, at {rate:.0} changes/s, after its acknowledgement"
        ),
        "p50 ≤ 5 ms, p99 ≤ 50 ms",
        [
            &format!("{}; p99 of rounds {}", times.found, tails.rounds(1)),
            &format!("a read where it is: {}", times.read),
            "",
        ],
        Some(p50 <= 5.0 && p99 <= 50.0),
    )?;
    report.row(
        "the same, after the request that adds it",
        "",
        [&times.whole.to_string(), &format!("its acknowledgement: {}", times.added), ""],
        None,
    )
}

fn write(machines: &[&Machine], number: u32, time: Duration, mut random: Random) -> Result<Times> {
    let mut times = Times::default();
    let home = number as usize % machines.len();
    let mut own = machines[home].connect()?;
    let others = machines.iter().enumerate().filter(|pair| pair.0 != home);
    let mut others = others.map(|other| other.1.connect()).collect::<Result<Vec<_>>>()?;
    let (begun, period) = (Instant::now(), Duration::from_secs(1) * WRITERS / RATE);
    let mut due = begun + Duration::from_secs(1) / RATE * number;
    while due < begun + time {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        due += period;
        let body = random.memory();
        let asked = Instant::now();
        let answer = own.ask("POST", "/api/memory/add", &body)?.ok()?;
        let acknowledged = Instant::now();
        times.added.add((acknowledged - asked).as_secs_f64());
        let position = answer.position.context("no position")?;
        let start = answer.body.find('{').unwrap_or(0);
        let added: Value = serde_json::from_str(&answer.body[start..])?;
        let id = added["id"].as_u64().context("no id")?;
        let path = format!("/api/memory/{id}");
        for other in &mut others {
            other.send("GET", &path, Some(&position), "")?;
        }
        for at in answers(&mut others)? {
            times.found.add((at - acknowledged).as_secs_f64());
            times.whole.add((at - asked).as_secs_f64());
        }
        let asked = Instant::now();
        own.ask("GET", &path, "")?.ok()?;
        times.read.add(asked.elapsed().as_secs_f64());
    }
    Ok(times)
}

/// When each connection had its answer.
fn answers(connections: &mut [Http]) -> Result<Vec<Instant>> {
    let mut found = vec![None; connections.len()];
    while found.iter().any(Option::is_none) {
        let waiting: Vec<usize> =
            (0..found.len()).filter(|number| found[*number].is_none()).collect();
        let ready: Vec<bool> = {
            let fd = |number: &usize| {
                PollFd::from_borrowed_fd(connections[*number].stream.as_fd(), PollFlags::IN)
            };
            let mut fds: Vec<_> = waiting.iter().map(fd).collect();
            poll(&mut fds, None)?;
            fds.iter().map(|fd| !fd.revents().is_empty()).collect()
        };
        for (at, _) in waiting.into_iter().zip(ready).filter(|pair| pair.1) {
            connections[at].receive()?.ok()?;
            found[at] = Some(Instant::now());
        }
    }
    Ok(found.into_iter().flatten().collect())
}
