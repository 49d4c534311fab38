//! The service by HTTP: adds beside Redis, a batch, an import, searches alone and under load.
//!
//! Needs the program `service` of a release build, and `redis-server` for the peer.

mod load;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use waypost_memory::{Draft, Embedder, ModelInfo, Store, StoreOptions, Timestamp};

use self::load::{Load, Outcome, Protocol, Requests};
use crate::Options;
use crate::corpus::{Zipf, question, text};
use crate::nats;
use crate::process::{Program, Service, nats, redis, service_binary};
use crate::rig::{Random, Report, Samples, Verdict, count, duration, progress, wall_seconds};

const TEXT_BYTES: usize = 500;
/// Unlike requests that are ready; the number in each is new every time.
const REQUESTS: usize = 4096;
const ROUNDS: usize = 3;
const ROUND_SECONDS: f64 = 3.0;
const BATCH_LINES: usize = 100_000;
const MEMORIES: usize = 100_000;
const SEARCHES: u64 = 600;
const PEER: &str = "Redis Streams with appendfsync always";
const MODEL: &str = "all-MiniLM-L6-v2";

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    report.table(
        "The service over HTTP",
        "The release build on loopback, one keep-alive connection per client, one request in \
         flight on each; every add is on disk before its response.\n\
         All clients of a row are one thread.\n\
         Texts have 500 bytes.\n\
         Parentheses of adds give the processor time of the server and of the client for each.",
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
    writes(&binary, folder.path(), &adds(), report)?;
    writes(&binary, folder.path(), &publishes(), report)?;
    bulk(&binary, folder.path(), report)?;
    if !options.small {
        searches(&binary, folder.path(), report)?;
    }
    report.close("");
    Ok(())
}

/// Words of a Zipf language, cut to a length.
fn memory_text(zipf: &Zipf, random: &mut Random) -> String {
    // Eight zeros for the number that makes it unlike all others.
    let mut memory = "00000000".to_owned();
    while memory.len() < TEXT_BYTES {
        memory.push(' ');
        memory.push_str(&text(&zipf.document(random)));
    }
    memory.truncate(TEXT_BYTES);
    memory
}

fn bodies(count: usize) -> Vec<String> {
    let (zipf, mut random) = (Zipf::new(), Random(1));
    (0..count).map(|_| format!("{{\"content\":\"{}\"}}", memory_text(&zipf, &mut random))).collect()
}

fn xadd(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("*5\r\n$4\r\nXADD\r\n$1\r\nm\r\n$1\r\n*\r\n$4\r\nbody\r\n${length}\r\n{body}\r\n")
        .into_bytes()
}

/// One side of a comparison of adds.
struct Side {
    load: Load,
    requests: Requests,
    rates: Samples,
    outcome: Outcome,
    server_seconds: f64,
}

impl Side {
    fn new(
        program: &Program,
        protocol: Protocol,
        clients: usize,
        requests: Requests,
    ) -> Result<Self> {
        let load = Load::connect(program.address, protocol, clients)?;
        let (rates, outcome) = (Samples::default(), Outcome::default());
        Ok(Self { load, requests, rates, outcome, server_seconds: 0.0 })
    }

    fn round(&mut self, program: &Program) -> Result<()> {
        let server = program.seconds();
        let outcome = self.load.run(&mut self.requests, |_, it| it < ROUND_SECONDS)?;
        self.server_seconds += program.seconds() - server;
        self.rates.add(outcome.rate());
        self.outcome.answers += outcome.answers;
        self.outcome.client_seconds += outcome.client_seconds;
        Ok(())
    }

    fn rate(&self) -> f64 {
        self.rates.p50()
    }

    fn shown(&self) -> String {
        let each = |seconds: f64| duration(seconds / self.outcome.answers as f64);
        let (server, client) = (each(self.server_seconds), each(self.outcome.client_seconds));
        let at = |share| count(self.rates.quantile(share));
        format!(
            "{}/s ({}–{}; server {server}, client {client})",
            count(self.rate()),
            at(0.0),
            at(1.0)
        )
    }
}

/// Requests that are on disk before they are answered.
struct Writes {
    what: &'static str,
    path: &'static str,
    bodies: Vec<String>,
    /// Other buses know them, too.
    are_events: bool,
    targets: [Target; 2],
}

/// The target for a number of clients.
struct Target {
    clients: usize,
    /// Requests a second.
    rate: f64,
    /// Of Redis.
    ratio: f64,
}

fn adds() -> Writes {
    Writes {
        what: "durable add",
        path: "/api/memory/add",
        bodies: bodies(REQUESTS),
        are_events: false,
        targets: [
            Target { clients: 1, rate: 2_000.0, ratio: 0.5 },
            Target { clients: 64, rate: 15_000.0, ratio: 0.5 },
        ],
    }
}

fn publishes() -> Writes {
    let body = r#"{"type":"eval:scored","data":{"agent":"scout","task":"00000000","delta":0.25}}"#;
    Writes {
        what: "durable publish of an event",
        path: "/api/events",
        bodies: vec![body.to_owned()],
        are_events: true,
        targets: [
            Target { clients: 1, rate: 0.0, ratio: 1.0 },
            Target { clients: 64, rate: 0.0, ratio: 0.5 },
        ],
    }
}

/// What the same is asked of beside the service.
struct Peer {
    name: &'static str,
    program: Program,
    protocol: Protocol,
    requests: Vec<Vec<u8>>,
}

fn peers(folder: &Path, writes: &Writes) -> Result<Vec<Peer>> {
    let mut peers = Vec::new();
    if let Some(program) = redis(&folder.join(format!("redis {}", writes.what)))? {
        let requests = writes.bodies.iter().map(|body| xadd(body)).collect();
        peers.push(Peer { name: "Redis", program, protocol: Protocol::Redis, requests });
    }
    if writes.are_events
        && let Some(program) = nats(&folder.join(format!("nats {}", writes.what)))?
    {
        nats::create_stream(program.address)?;
        let requests = writes.bodies.iter().map(|body| nats::published(body)).collect();
        let name = "NATS JetStream, not synced:";
        peers.push(Peer { name, program, protocol: Protocol::Nats, requests });
    }
    Ok(peers)
}

fn writes(binary: &Path, folder: &Path, writes: &Writes, report: &mut Report) -> Result<()> {
    let Writes { what, path, bodies, targets, .. } = writes;
    let service = Service::start(binary, &folder.join(what), "none")?;
    let peers = peers(folder, writes)?;
    let ours: Vec<Vec<u8>> = bodies.iter().map(|body| service.request("POST", path, body)).collect();
    let mut sent = 0;
    for Target { clients, rate, ratio: least } in targets {
        let clients = *clients;
        let requests = Requests::numbered(ours.clone(), sent);
        let mut own = Side::new(&service.program, Protocol::Http, clients, requests)?;
        let mut sides = peers
            .iter()
            .map(|peer| {
                let requests = Requests::numbered(peer.requests.clone(), 0);
                Ok((peer, Side::new(&peer.program, peer.protocol, clients, requests)?))
            })
            .collect::<Result<Vec<_>>>()?;
        for _ in 0..ROUNDS {
            own.round(&service.program)?;
            for (peer, side) in &mut sides {
                side.round(&peer.program)?;
            }
        }
        sent = own.requests.sent();
        let redis = sides.iter().find(|(it, _)| matches!(it.protocol, Protocol::Redis));
        let ratio = redis.map(|(_, it)| own.rate() / it.rate());
        let mut shown: Vec<String> =
            sides.iter().map(|(peer, it)| format!("{} {}", peer.name, it.shown())).collect();
        if redis.is_none() {
            shown.push("redis-server is missing".to_owned());
        }
        report.row(
            &format!("{what}, {clients} client{}", if clients == 1 { "" } else { "s" }),
            &if *rate > 0.0 {
                format!("≥ {}/s, ≥ {least} × {PEER}", count(*rate))
            } else {
                format!("≥ {least} × {PEER}")
            },
            &own.shown(),
            &shown.join("; "),
            ratio,
            own.rate() >= *rate && ratio.is_none_or(|ratio| ratio >= *least),
        );
    }
    Ok(())
}

fn bulk(binary: &Path, folder: &Path, report: &mut Report) -> Result<()> {
    let mut lines = Vec::with_capacity(BATCH_LINES * (TEXT_BYTES + 16));
    for (number, body) in bodies(BATCH_LINES).into_iter().enumerate() {
        lines.extend(body.replacen("00000000", &format!("{number:08}"), 1).into_bytes());
        lines.push(b'\n');
    }
    let lines = String::from_utf8(lines)?;
    let mut batches = Samples::default();
    let mut imports = Samples::default();
    let mut seconds = [0.0; 2];
    for round in 0..ROUNDS {
        let source = Service::start(binary, &folder.join(format!("batch-{round}")), "none")?;
        let (wall, server) = (wall_seconds(), source.program.seconds());
        let answer = source.send("POST", "/api/memory/batch", &lines)?;
        batches.add(BATCH_LINES as f64 / (wall_seconds() - wall));
        seconds[0] += source.program.seconds() - server;
        anyhow::ensure!(answer.matches("\"status\":201").count() == BATCH_LINES, "some failed");
        let answer = source.send("GET", "/api/memory/export", "")?;
        let export = dechunked(&answer)?;
        let target = Service::start(binary, &folder.join(format!("import-{round}")), "none")?;
        let (wall, server) = (wall_seconds(), target.program.seconds());
        let answer = target.send("POST", "/api/memory/import", &export)?;
        imports.add(BATCH_LINES as f64 / (wall_seconds() - wall));
        seconds[1] += target.program.seconds() - server;
        let wanted = format!("\"memories\":{BATCH_LINES}");
        anyhow::ensure!(answer.contains(&wanted), "imported {answer}");
    }
    for (at, (what, rates)) in
        [("batch of 100,000 lines", batches), ("import of 100,000 memories", imports)]
            .into_iter()
            .enumerate()
    {
        let each = duration(seconds[at] / (ROUNDS * BATCH_LINES) as f64);
        report.row(
            &format!("{what}, without embedding"),
            "≥ 20,000/s",
            &format!("{}/s (server {each} each)", count(rates.p50())),
            "",
            None,
            rates.p50() >= 20_000.0,
        );
    }
    Ok(())
}

/// The body of a chunked answer.
fn dechunked(mut rest: &str) -> Result<String> {
    let mut body = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n").context("no chunk")?;
        let size = usize::from_str_radix(size, 16)?;
        if size == 0 {
            return Ok(body);
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
}

/// A store of memories with made-up vectors that are taken for the model's: the time of a search
/// does not depend on their meaning, and 100,000 texts would take the model a quarter of an hour.
fn fill(project: &Path) -> Result<()> {
    let cache = waypost_project::models_dir(&|name| std::env::var_os(name));
    let model = waypost_embedding::Model::load(&cache.context("no HOME")?.join(MODEL))?;
    let store = Store::open(&project.join(".waypost/data"), StoreOptions::default())?.0;
    let info = ModelInfo {
        name: model.name().to_owned(),
        fingerprint: model.fingerprint().to_owned(),
        dimensions: model.dimensions(),
    };
    let random = Mutex::new(Random(7));
    let embed = move |texts: &[&str]| {
        let mut random = random.lock().map_err(|error| error.to_string())?;
        let mut vector = || (0..model.dimensions()).map(|_| random.unit() as f32 - 0.5).collect();
        Ok(texts.iter().map(|_| vector()).collect())
    };
    let embed = Arc::new(embed);
    store.set_embedder(Some(Embedder { model: info, embed, embed_queries: None }))?;
    let (zipf, mut random) = (Zipf::new(), Random(2));
    for round in 0..MEMORIES / 500 {
        let drafts = (0..500).map(|at| {
            let content = memory_text(&zipf, &mut random);
            Draft::new(content.replacen("00000000", &format!("f{:07}", round * 500 + at), 1))
        });
        for added in store.add_batch(drafts, Timestamp::from_millis(1)) {
            added?;
        }
    }
    while store.embed_pending(1000)?.pending > 0 {}
    Ok(store.close()?)
}

fn searches(binary: &Path, folder: &Path, report: &mut Report) -> Result<()> {
    let project = folder.join("searches");
    std::fs::create_dir_all(&project)?;
    progress(format_args!("filling a store of {MEMORIES}"));
    fill(&project)?;
    let service = Service::start(binary, &project, MODEL)?;
    service.wait_for_model()?;
    let (zipf, mut random) = (Zipf::new(), Random(3));
    let queries = (0..4 * SEARCHES).map(|_| {
        let query = question(1, &zipf.document(&mut random));
        service.request("POST", "/api/memory/search", &format!("{{\"query\":\"{query}\"}}"))
    });
    let queries: Vec<Vec<u8>> = queries.collect();
    let repeated = vec![queries[0].clone()];
    let mut queries = Requests::new(queries);
    let mut repeated = Requests::new(repeated);
    let mut client = Load::connect(service.program.address, Protocol::Http, 1)?;
    client.run(&mut queries, |answers, _| answers < SEARCHES / 4)?;
    let new = client.run(&mut queries, |answers, _| answers < SEARCHES)?.latencies;
    let again = client.run(&mut repeated, |answers, _| answers < SEARCHES)?.latencies;
    let what = "search at 100,000 memories, new query of about 12 tokens";
    report.row(what, "p50 ≤ 10 ms", &new.to_string(), "", None, new.p50() <= 0.010);
    let what = "the same, repeated query";
    report.row(what, "p50 ≤ 1.5 ms", &again.to_string(), "", None, again.p50() <= 0.0015);

    let adds = bodies(REQUESTS);
    let adds = adds.iter().map(|add| service.request("POST", "/api/memory/add", add)).collect();
    let mut adds = Requests::numbered(adds, 0);
    let mut adders = Load::connect(service.program.address, Protocol::Http, 64)?;
    let stop = AtomicBool::new(false);
    let embedded = embedded(&service)?;
    let (added, busy) = std::thread::scope(|scope| {
        let adding = scope.spawn(|| adders.run(&mut adds, |_, _| !stop.load(Ordering::Relaxed)));
        std::thread::sleep(std::time::Duration::from_secs(1));
        let busy = client.run(&mut queries, |answers, _| answers < SEARCHES);
        stop.store(true, Ordering::Relaxed);
        let added = adding.join().map_err(|_| anyhow::anyhow!("the adding thread panicked"));
        anyhow::Ok((added??, busy?.latencies))
    })?;
    let embedded = self::embedded(&service)? - embedded;
    report.row(
        "new query while 64 clients add and the queue embeds",
        "p99 ≤ 3 × the quiet p99",
        &format!(
            "{busy}; {} adds/s, {} embedded/s",
            count(added.rate()),
            count(embedded / added.seconds)
        ),
        &format!("quiet: p99 {}", duration(new.p99())),
        Some(busy.p99() / new.p99()),
        if busy.p99() <= 3.0 * new.p99() { Verdict::Met } else { Verdict::Missed },
    );
    Ok(())
}

/// How many texts the service has embedded.
fn embedded(service: &Service) -> Result<f64> {
    let metrics = service.send("GET", "/metrics", "")?;
    let line = metrics.lines().find_map(|line| line.strip_prefix("waypost_embeddings_total "));
    Ok(line.context("no such metric")?.parse()?)
}
