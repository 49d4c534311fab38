//! From publishing an event to the first statement of the program that a flow starts for it.
//!
//! Needs the program `service` of a release build, `rustc` for the program that is started, and
//! `redis-server` for the peer.

mod peer;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::Options;
use crate::process::{Service, redis, service_binary};
use crate::rig::{Report, Samples, progress};

const EVENTS: usize = 1_000;
/// Events a second.
const RATES: [usize; 2] = [100, 300];
/// Not counted: the first ones find no thread and nothing in the caches.
const WARM_UP: usize = 50;
const LOAD_BYTES: u64 = 4 << 30;
/// Longer than any program takes to be there.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    report.table(
        "Flows",
        "Time from just before an event's request is sent to the first statement of the program \
         that a flow runs for it, statically linked, by the system clock.\n\
         Events are sent at even intervals, whether or not earlier ones are done.\n\
         The event and its run are on disk before the program starts.\n\
         The comparison is XADD to a Redis that syncs always, and a thread of the bench that \
         reads the stream by XREAD and starts the program.",
    );
    let binary = match service_binary() {
        Ok(binary) => binary,
        Err(missing) => {
            report.close(&missing);
            return Ok(());
        }
    };
    let folder = std::env::current_exe()?.parent().context("no folder")?.to_path_buf();
    let folder = tempfile::tempdir_in(folder)?;
    let mark = Mark::new(folder.path())?;
    let peers = match redis(&folder.path().join("redis"))? {
        Some(program) => {
            let peer = peer::start(program.address, &mark)?;
            let samples = RATES.map(|rate| measure(&mark, rate, |it| peer.publish(it)));
            samples.into_iter().collect::<Result<Vec<_>>>()?
        }
        None => Vec::new(),
    };
    let loads: &[u64] = if options.small { &[0] } else { &[0, LOAD_BYTES] };
    for &load in loads {
        let project = folder.path().join(format!("project-{load}"));
        mark.install(&project)?;
        let (service, what) = if load == 0 {
            (Service::start(&binary, &project, "none")?, String::new())
        } else {
            let what = format!(", {} GiB resident", load >> 30);
            (Service::start_laden(&project, load)?, what)
        };
        let mut client = Client::new(&service)?;
        for (at, rate) in RATES.into_iter().enumerate() {
            let samples = measure(&mark, rate, |it| client.publish(it))?;
            let peer = peers.get(at);
            report.row(
                &format!("publish → program runs, {rate} events/s{what}"),
                "p50 ≤ 1 ms, p99 ≤ 5 ms",
                &samples.to_string(),
                &peer.map_or_else(
                    || "redis-server is missing".to_owned(),
                    |peer| format!("Redis {peer}"),
                ),
                peer.map(|peer| samples.p50() / peer.p50()),
                samples.p50() <= 1e-3 && samples.p99() <= 5e-3,
            );
        }
    }
    report.close("");
    Ok(())
}

/// Publishes events evenly, and waits for what they start.
fn measure(
    mark: &Mark,
    rate: usize,
    mut publish: impl FnMut(usize) -> Result<()>,
) -> Result<Samples> {
    let (mut sent, mut samples) = (HashMap::new(), Samples::default());
    let begun = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        let reading = scope.spawn(|| mark.read(WARM_UP + EVENTS));
        let mut publish_all = || {
            for number in 0..WARM_UP + EVENTS {
                let due = Duration::from_secs_f64(number as f64 / rate as f64);
                std::thread::sleep(due.saturating_sub(begun.elapsed()));
                sent.insert(number, nanoseconds());
                publish(number)?;
            }
            anyhow::Ok(())
        };
        publish_all().inspect_err(|_| mark.end())?;
        let marks = reading.join().map_err(|_| anyhow::anyhow!("reading panicked"))??;
        for (number, at) in marks.into_iter().filter(|mark| mark.0 >= WARM_UP) {
            let from = sent.get(&number).with_context(|| format!("no event {number}"))?;
            samples.add(at.saturating_sub(*from) as f64 * 1e-9);
        }
        Ok(())
    })?;
    progress(format_args!("{rate} events/s: {samples}"));
    Ok(samples)
}

fn nanoseconds() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// The program that is started, and the pipe that it writes into.
struct Mark {
    program: PathBuf,
    pipe: PathBuf,
    /// Held open for both, so that nobody waits for another to open it.
    file: File,
}

impl Mark {
    fn new(folder: &Path) -> Result<Self> {
        let (source, program, pipe) =
            (folder.join("mark.rs"), folder.join("mark"), folder.join("marks"));
        fs::write(&source, include_str!("flows/mark.rs"))?;
        let mut compile = Command::new("rustc");
        compile.args(["--edition=2024", "-Copt-level=2", "-Cpanic=abort"]);
        compile.args(["-Ctarget-feature=+crt-static", "-o"]).arg(&program).arg(&source);
        let done = compile.output().context("rustc")?;
        ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        let file = OpenOptions::new().read(true).write(true).open(&pipe)?;
        Ok(Self { program, pipe, file })
    }

    /// A flow that starts it for each event.
    fn install(&self, project: &Path) -> Result<()> {
        let flows = project.join(".waypost/flows");
        fs::create_dir_all(&flows)?;
        let (program, pipe) = (self.program.display(), self.pipe.display());
        let text = format!(
            "flows:\n  - name: mark\n    trigger: {{pattern: \"bench:mark\"}}\n    breaker: 0\n    \
             concurrency: {{limit: 64}}\n    actions:\n      - type: exec\n        \
             exec: [\"{program}\", \"{pipe}\", \"{{{{data.number}}}}\"]\n"
        );
        Ok(fs::write(flows.join("mark.yaml"), text)?)
    }

    /// Ends [`read`](Self::read) before its time.
    fn end(&self) {
        (&self.file).write_all(b"end\n").unwrap_or_default();
    }

    /// What so many programs wrote: the event's number, and when the program began.
    fn read(&self, count: usize) -> Result<Vec<(usize, u128)>> {
        let mut lines = BufReader::new(&self.file).lines();
        let mut marks = Vec::with_capacity(count);
        while marks.len() < count {
            let line = lines.next().context("the pipe ended")??;
            let (number, at) = line.split_once(' ').context("half a line")?;
            marks.push((number.parse()?, at.parse()?));
        }
        Ok(marks)
    }
}

/// One connection to the service.
struct Client<'a> {
    service: &'a Service,
    stream: TcpStream,
}

impl<'a> Client<'a> {
    fn new(service: &'a Service) -> Result<Self> {
        Ok(Self { service, stream: connect(service.program.address)? })
    }

    fn publish(&mut self, number: usize) -> Result<()> {
        let body = format!("{{\"type\":\"bench:mark\",\"data\":{{\"number\":{number}}}}}");
        self.stream.write_all(&self.service.request("POST", "/api/events", &body))?;
        let mut answer = [0; 4096];
        let length = receive(&mut self.stream, &mut answer)?;
        // Head and body are one write of the service's.
        if !answer[..length].starts_with(b"HTTP/1.1 201") {
            bail!("the service answered {}", String::from_utf8_lossy(&answer[..length]));
        }
        Ok(())
    }
}

/// Reads once, whatever signals come: each program that ends sends one.
fn receive(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) => bail!("the connection was closed"),
            done => return Ok(done?),
        }
    }
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}
