//! Many who listen to events by HTTP while events come evenly: whether each gets each, and what it
//! costs.
//!
//! Needs the program `service` of a release build.

mod stream;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::event::epoll;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::stream::Stream;
use crate::Options;
use crate::process::{Service, service_binary};
use crate::rig::{Report, count, duration, resident_bytes, thread_seconds};

/// Listeners, and events a second.
const LOADS: [(usize, u64); 4] = [(100, 1_000), (1_000, 100), (1_000, 500), (1_000, 1_000)];
const SECONDS: u64 = 15;
/// Connections that publish; each has one event under way.
const PUBLISHERS: u64 = 16;
/// Nothing more comes when nothing came for so long.
const QUIET: Duration = Duration::from_secs(5);
/// So late is late enough to say that they fall behind.
const BEHIND: Duration = Duration::from_secs(1);
const RECEIVED_MAX: usize = 256 << 10;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    report.table(
        "Listeners",
        "The service's event stream (SSE).\n\
         One thread of the bench reads all streams and checks each event's id; other threads \
         publish at even intervals.\n\
         *Lost* counts events that were missing, duplicated or out of order.\n\
         The listeners keep up with the publishers if the last event reaches the last of them \
         within a second.\n\
         Resident memory is the service's.",
    );
    let binary = match service_binary() {
        Ok(binary) => binary,
        Err(missing) => {
            report.close(&missing);
            return Ok(());
        }
    };
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    let folder = std::env::current_exe()?.parent().context("no folder")?.to_path_buf();
    let folder = tempfile::tempdir_in(folder)?;
    for (listeners, rate) in LOADS {
        if options.small && listeners as u64 * rate > 100_000 {
            continue;
        }
        let project = folder.path().join(format!("{listeners}-{rate}"));
        let heard = listen(&binary, &project, listeners, rate)?;
        let wanted = (listeners, rate) == (1_000, 1_000);
        let is_whole = heard.lost == 0 && heard.published >= 0.99 * rate as f64;
        let holds = is_whole && heard.late < BEHIND;
        report.row(
            &format!("{} listeners, {} events/s", count(listeners as f64), count(rate as f64)),
            if wanted { "none lost, memory flat" } else { "" },
            &format!(
                "{} deliveries/s, {} lost, the last {} late; the service {} of processor time a delivery; \
                 resident {} MB before, {} MB at half, {} MB after",
                count(heard.rate),
                count(heard.lost as f64),
                duration(heard.late.as_secs_f64()),
                duration(heard.server_seconds / heard.deliveries as f64),
                heard.resident[0] / 1_000_000,
                heard.resident[1] / 1_000_000,
                heard.resident[2] / 1_000_000,
            ),
            &format!("published {}/s; the reader was busy for {:.0} %", count(heard.published), heard.busy * 100.0),
            None,
            if wanted { holds.into() } else { crate::rig::Verdict::Open },
        );
    }
    report.close("");
    Ok(())
}

/// What came of listening.
struct Heard {
    deliveries: u64,
    lost: u64,
    /// Deliveries a second, until the last one.
    rate: f64,
    /// Events a second.
    published: f64,
    /// From the last event's answer to its last delivery.
    late: Duration,
    server_seconds: f64,
    /// The share of its time that the reading thread was busy.
    busy: f64,
    resident: [u64; 3],
}

fn listen(binary: &Path, project: &Path, listeners: usize, rate: u64) -> Result<Heard> {
    let service = Service::start(binary, project, "none")?;
    let streams = (0..listeners).map(|_| Stream::open(&service)).collect::<Result<Vec<_>>>()?;
    let resident = || resident_bytes(service.program.pid()).context("no process");
    let (before, events) = (resident()?, rate * SECONDS);
    let (begun, server) = (Instant::now(), service.program.seconds());
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| -> Result<Heard> {
        let reading = scope.spawn(|| read(streams, events));
        let publishing: Vec<_> = (0..PUBLISHERS)
            .map(|_| scope.spawn(|| publish(&service, &next, rate, begun)))
            .collect();
        std::thread::sleep(Duration::from_secs(SECONDS / 2));
        let half = resident()?;
        for thread in publishing {
            thread.join().map_err(|_| anyhow::anyhow!("publishing panicked"))??;
        }
        let published = begun.elapsed();
        let read = reading.join().map_err(|_| anyhow::anyhow!("reading panicked"))??;
        let took = read.last.saturating_duration_since(begun);
        Ok(Heard {
            deliveries: read.deliveries,
            lost: read.wrong + (events * listeners as u64).saturating_sub(read.deliveries),
            rate: read.deliveries as f64 / took.as_secs_f64(),
            published: events as f64 / published.as_secs_f64(),
            late: took.saturating_sub(published),
            server_seconds: service.program.seconds() - server,
            busy: read.busy_seconds / took.as_secs_f64(),
            resident: [before, half, resident()?],
        })
    })
}

/// Publishes what is due, together with the others, until all of it is.
fn publish(service: &Service, next: &AtomicU64, rate: u64, begun: Instant) -> Result<()> {
    let mut stream = TcpStream::connect(service.program.address)?;
    stream.set_nodelay(true)?;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= rate * SECONDS {
            return Ok(());
        }
        let due = Duration::from_secs_f64(number as f64 / rate as f64);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        let body = format!(
            "{{\"type\":\"eval:scored\",\"data\":{{\"agent\":\"scout\",\"task\":\"{number:08}\",\"delta\":0.25}}}}"
        );
        stream.write_all(&service.request("POST", "/api/events", &body))?;
        let mut answer = [0; 4096];
        let length = stream.read(&mut answer)?;
        ensure!(answer[..length].starts_with(b"HTTP/1.1 201"), "an event was not published");
    }
}

struct Read {
    deliveries: u64,
    wrong: u64,
    last: Instant,
    busy_seconds: f64,
}

/// Reads all streams until each has so many events, or nothing comes any more.
fn read(mut streams: Vec<Stream>, events: u64) -> Result<Read> {
    let poll = epoll::create(epoll::CreateFlags::empty())?;
    for (at, stream) in streams.iter().enumerate() {
        let data = epoll::EventData::new_u64(at as u64);
        epoll::add(&poll, stream.socket(), data, epoll::EventFlags::IN)?;
    }
    let nothing =
        epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
    let (mut ready, mut buffer) = ([nothing; 256], vec![0; RECEIVED_MAX]);
    let wanted = events * streams.len() as u64;
    let quiet = rustix::time::Timespec::try_from(QUIET)?;
    let (mut deliveries, mut last, busy) = (0, Instant::now(), thread_seconds());
    while deliveries < wanted {
        let count = epoll::wait(&poll, &mut ready, Some(&quiet))?;
        if count == 0 && last.elapsed() >= QUIET {
            break;
        }
        for event in &ready[..count] {
            deliveries += streams[event.data.u64() as usize].receive(&mut buffer)?;
        }
        last = Instant::now();
    }
    let wrong = streams.iter().map(Stream::wrong).sum();
    Ok(Read { deliveries, wrong, last, busy_seconds: thread_seconds() - busy })
}
