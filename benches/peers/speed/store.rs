//! Starting, rebuilding, and what a store takes of memory and disk.

mod fill;

use std::fs;
use std::num::NonZeroU32;
use std::path::Path;

use anyhow::Result;
use waypost_embedding::Model;
use waypost_memory::{Compaction, ModelInfo};

use crate::Options;
use crate::corpus::{self, Zipf};
use crate::process::{Service, service_binary};
use crate::rig::{self, Report, Samples, Verdict, count, duration};

const MANY: usize = 100_000;
const MILLION: usize = 1_000_000;
const OVERWRITES: usize = 10;
/// Memories that the store on disk has and its index snapshot may lack.
const ADDS_BEFORE_KILL: usize = 1_000;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    report.table(
        "The store",
        "The real `service` as a process, on memories of 500 bytes with vectors of 384 \
         dimensions.\n\
         Times are from the start of the process, with files in the page cache.",
    );
    let program = match service_binary() {
        Ok(program) => program,
        Err(missing) => {
            report.close(&missing);
            return Ok(());
        }
    };
    let (model, real) = model();
    let limits = [(MANY, 1.0), (MILLION, 5.0)];
    for (memories, seconds) in limits {
        if memories == MILLION && options.small {
            continue;
        }
        let project = tempfile::tempdir()?;
        filled(project.path(), memories, &model)?;
        let there = opening(&program, project.path(), memories, seconds, report)?;
        rebuilding(&program, project.path(), there, memories == MILLION, report)?;
        if memories == MANY {
            memory(&program, project.path(), there, real, report)?;
            disk(&model, report)?;
        }
    }
    report.close("");
    Ok(())
}

/// The real model's name for its vectors, if it is in the cache; else a made-up one.
fn model() -> (ModelInfo, bool) {
    let folder = std::env::home_dir().map(|home| home.join(".cache/waypost/models/all-MiniLM-L6-v2"));
    let real = folder.and_then(|folder| Model::load(&folder).ok()).map(|model| ModelInfo {
        name: model.name().to_owned(),
        fingerprint: model.fingerprint().to_owned(),
        dimensions: model.dimensions(),
    });
    let is_real = real.is_some();
    let made_up = || ModelInfo { name: "none".into(), fingerprint: "none".into(), dimensions: 384 };
    (real.unwrap_or_else(made_up), is_real)
}

fn filled(project: &Path, memories: usize, model: &ModelInfo) -> Result<()> {
    let from = rig::wall_seconds();
    let store = fill::open(project)?;
    fill::fill(&store, memories, model)?;
    let filled = rig::wall_seconds();
    store.close()?;
    let (filling, closing) = (filled - from, rig::wall_seconds() - filled);
    rig::progress(format_args!("filled {memories}: {filling:.1} s, closed {closing:.1} s"));
    rig::progress(format_args!("{}", parts(project)));
    Ok(())
}

fn opening(
    program: &Path,
    project: &Path,
    memories: usize,
    seconds: f64,
    report: &mut Report,
) -> Result<usize> {
    let zipf = Zipf::new();
    let mut there = memories;
    for (how, clean) in [
        ("after a clean stop".to_owned(), true),
        (format!("after {} adds and kill -9", count(ADDS_BEFORE_KILL as f64)), false),
    ] {
        let (mut samples, mut cpu) = (Samples::default(), Samples::default());
        for round in 0..=3 {
            let service = Service::start(program, project, "none")?;
            service.ready(there)?;
            let found = service.search(&fill::content(&zipf, memories / 2, 0))?;
            // The first start of a kind is after the end of another.
            if round > 0 {
                samples.add(service.program.age());
                cpu.add(service.program.seconds());
            }
            anyhow::ensure!(found.first() == Some(&(memories as u64 / 2 + 1)), "found {found:?}");
            if clean {
                continue;
            }
            let added = there..there + ADDS_BEFORE_KILL;
            service.send("POST", "/api/memory/batch", &fill::lines(&zipf, added))?;
            there += ADDS_BEFORE_KILL;
            service.program.kill()?;
        }
        report.row(
            &format!("{} memories: ready and searched, {how}", count(memories as f64)),
            &format!("≤ {}", duration(seconds)),
            &samples.to_string(),
            &format!("processor time {}", duration(cpu.p50())),
            None,
            samples.p50() <= seconds,
        );
    }
    Ok(there)
}

fn rebuilding(
    program: &Path,
    project: &Path,
    memories: usize,
    million: bool,
    report: &mut Report,
) -> Result<()> {
    for derived in ["state", "index"] {
        fs::remove_dir_all(fill::data(project).join("memory").join(derived))?;
    }
    let zipf = Zipf::new();
    let service = Service::start(program, project, "none")?;
    let (served, served_cpu) = (service.program.age(), service.program.seconds());
    let mut searches = Samples::default();
    let mut random = rig::Random(1);
    loop {
        let query = corpus::question(1, &zipf.document(&mut random));
        if !query.is_empty() {
            let from = rig::wall_seconds();
            service.search(&query)?;
            searches.add(rig::wall_seconds() - from);
        }
        let documents = service.status()?["index"]["documents"].as_u64();
        if documents == Some(memories as u64) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let whole = service.ready(memories)?;
    report.row(
        &format!("{} memories: state and index from the log", count(memories as f64)),
        if million { "≤ 60 s" } else { "" },
        &duration(whole),
        &format!(
            "processor time {}; the state is there and searches are served from {} (processor time {}), each {searches}",
            duration(service.program.seconds()),
            duration(served),
            duration(served_cpu),
        ),
        None,
        if million { Verdict::from(whole <= 60.0) } else { Verdict::Open },
    );
    Ok(())
}

fn memory(
    program: &Path,
    project: &Path,
    memories: usize,
    real: bool,
    report: &mut Report,
) -> Result<()> {
    let megabytes = |service: &Service| {
        rig::resident_bytes(service.program.pid()).map_or(f64::NAN, |bytes| bytes as f64 / 1e6)
    };
    let mut row = |what: &str, limit: f64, used: f64| {
        let (limit_text, text) = (format!("≤ {limit} MB"), format!("{used:.0} MB"));
        report.row(what, &limit_text, &text, "", None, used <= limit);
    };
    let service = Service::start(program, project, "none")?;
    service.ready(memories)?;
    row("100,000 memories: resident after a start, without the model", 300.0, megabytes(&service));
    drop(service);
    let empty = tempfile::tempdir()?;
    let service = Service::start(program, empty.path(), "none")?;
    let zipf = Zipf::new();
    for from in (0..MANY).step_by(5_000) {
        service.send("POST", "/api/memory/batch", &fill::lines(&zipf, from..from + 5_000))?;
    }
    service.ready(MANY)?;
    row("the same after filling it by HTTP", 300.0, megabytes(&service));
    drop(service);
    if !real {
        report.row(
            "the same with the model",
            "≤ 450 MB",
            "not measured",
            "the model is not in the cache",
            None,
            Verdict::Open,
        );
        return Ok(());
    }
    let service = Service::start(program, project, "all-MiniLM-L6-v2")?;
    service.embedded(memories)?;
    service.search("what the model makes of a question")?;
    row("with the model and all vectors", 450.0, megabytes(&service));
    Ok(())
}

/// What a store takes when each memory was overwritten, with all versions and with the newest.
fn disk(model: &ModelInfo, report: &mut Report) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let project = folder.path();
    filled(project, MANY, model)?;
    let store = fill::open(project)?;
    let from = rig::wall_seconds();
    fill::overwrite(&store, MANY, OVERWRITES)?;
    fill::embed(&store, model)?;
    rig::progress(format_args!("overwritten: {:.1} s", rig::wall_seconds() - from));
    rig::progress(format_args!("{}", parts(project)));
    let vectors = (MANY * model.dimensions * 4) as f64;
    let mut store = Some(store);
    for (what, versions) in [("all versions kept", OVERWRITES + 1), ("the newest version kept", 1)]
    {
        let open = match store.take() {
            Some(it) => it,
            None => fill::open(project)?,
        };
        let from = rig::wall_seconds();
        let versions_kept = NonZeroU32::new(versions as u32);
        open.compact(Compaction::default().with_versions(versions_kept))?;
        open.maintain()?;
        open.close()?;
        rig::progress(format_args!("compacted: {:.1} s", rig::wall_seconds() - from));
        let used = bytes(&fill::data(project)) as f64;
        let live = (MANY * fill::CONTENT_BYTES * versions) as f64 + vectors;
        report.row(
            &format!("disk after {OVERWRITES} overwrites of each and compaction, {what}"),
            "≤ 3 × kept text and vectors",
            &format!("{:.0} MB ({})", used / 1e6, parts(project)),
            &format!("{:.0} MB", live / 1e6),
            Some(used / live),
            used <= 3.0 * live,
        );
    }
    Ok(())
}

fn parts(project: &Path) -> String {
    let memory = fill::data(project).join("memory");
    let part = |name: &str| format!("{name} {:.0} MB", bytes(&memory.join(name)) as f64 / 1e6);
    ["log", "state", "index", "vectors"].map(part).join(", ")
}

fn bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(it) if it.is_dir() => bytes(&entry.path()),
        Ok(it) => it.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
