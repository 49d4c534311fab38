//! Starting, rebuilding, and what a store takes of memory and disk.

mod fill;
mod program;

use std::fs;
use std::path::Path;

use anyhow::Result;
use waypost_embedding::Model;
use waypost_memory::ModelInfo;

use self::program::Service;
use crate::Options;
use crate::corpus::{self, Zipf};
use crate::rig::{self, Report, Samples, Verdict, count, duration};
use crate::service::process::service_binary;

const MANY: usize = 100_000;
const MILLION: usize = 1_000_000;
const OVERWRITES: usize = 10;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    report.table(
        "The store",
        "The real `service` as a process, on memories of 500 bytes with vectors of 384 \
         dimensions. Times are from the start of the process, files in the page cache.",
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
        opening(&program, project.path(), memories, seconds, report)?;
        rebuilding(&program, project.path(), memories, report)?;
        if memories == MANY {
            memory(&program, project.path(), memories, real, report)?;
            disk(project.path(), memories, &model, report)?;
        }
    }
    report.close("");
    Ok(())
}

/// The real model's name for its vectors, if it is in the cache; else a made-up one.
fn model() -> (ModelInfo, bool) {
    let folder = std::env::home_dir().map(|it| it.join(".cache/waypost/models/all-MiniLM-L6-v2"));
    let real = folder.and_then(|it| Model::load(&it).ok()).map(|it| ModelInfo {
        name: it.name().to_owned(),
        fingerprint: it.fingerprint().to_owned(),
        dimensions: it.dimensions(),
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
) -> Result<()> {
    let zipf = Zipf::new();
    for (how, clean) in [("after a clean stop", true), ("after kill -9", false)] {
        let (mut samples, mut cpu) = (Samples::default(), Samples::default());
        for _ in 0..3 {
            let service = Service::start(program, project, "none")?;
            service.ready(memories)?;
            let found = service.search(&fill::content(&zipf, memories / 2, 0))?;
            samples.add(service.age());
            cpu.add(service.cpu());
            anyhow::ensure!(found.first() == Some(&(memories as u64 / 2 + 1)), "found {found:?}");
            if clean { service.stop()? } else { service.kill()? }
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
    Ok(())
}

fn rebuilding(program: &Path, project: &Path, memories: usize, report: &mut Report) -> Result<()> {
    for derived in ["state", "index"] {
        fs::remove_dir_all(fill::data(project).join("memory").join(derived))?;
    }
    let zipf = Zipf::new();
    let service = Service::start(program, project, "none")?;
    let (served, served_cpu) = (service.age(), service.cpu());
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
    let million = memories == MILLION;
    report.row(
        &format!("{} memories: state and index from the log", count(memories as f64)),
        if million { "≤ 60 s" } else { "" },
        &duration(whole),
        &format!(
            "processor time {}; the state is there and searches are served from {} (processor time {}), each {searches}",
            duration(service.cpu()),
            duration(served),
            duration(served_cpu),
        ),
        None,
        if million { Verdict::from(whole <= 60.0) } else { Verdict::Open },
    );
    service.stop()
}

fn memory(
    program: &Path,
    project: &Path,
    memories: usize,
    real: bool,
    report: &mut Report,
) -> Result<()> {
    let megabytes = |service: &Service| {
        rig::resident_bytes(service.pid()).map_or(f64::NAN, |it| it as f64 / 1e6)
    };
    let mut row = |what: &str, limit: f64, reached: f64| {
        let (limit_text, text) = (format!("≤ {limit} MB"), format!("{reached:.0} MB"));
        report.row(what, &limit_text, &text, "", None, reached <= limit);
    };
    let service = Service::start(program, project, "none")?;
    service.ready(memories)?;
    row("100,000 memories: resident after a start, without the model", 300.0, megabytes(&service));
    service.stop()?;
    let empty = tempfile::tempdir()?;
    let service = Service::start(program, empty.path(), "none")?;
    let zipf = Zipf::new();
    for from in (0..memories).step_by(5_000) {
        let lines: String = (from..from + 5_000)
            .map(|id| format!("{{\"content\":\"{}\"}}\n", fill::content(&zipf, id, 0)))
            .collect();
        let (status, _) = service.send("POST", "/api/memory/batch", lines.as_bytes())?;
        anyhow::ensure!(status == 200, "batch: {status}");
    }
    service.ready(memories)?;
    row("the same after filling it by HTTP", 300.0, megabytes(&service));
    service.stop()?;
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
    service.stop()
}

fn disk(project: &Path, memories: usize, model: &ModelInfo, report: &mut Report) -> Result<()> {
    let store = fill::open(project)?;
    let from = rig::wall_seconds();
    fill::overwrite(&store, memories, OVERWRITES)?;
    fill::embed(&store, model)?;
    rig::progress(format_args!("overwritten: {:.1} s", rig::wall_seconds() - from));
    rig::progress(format_args!("{}", parts(project)));
    let from = rig::wall_seconds();
    store.compact(false)?;
    store.maintain()?;
    rig::progress(format_args!("compacted: {:.1} s", rig::wall_seconds() - from));
    let running = parts(project);
    store.close()?;
    rig::progress(format_args!("{running}\n{}", parts(project)));
    let used = bytes(&fill::data(project)) as f64;
    let vectors = (memories * model.dimensions * 4) as f64;
    let texts = (memories * 500) as f64;
    for (what, live) in [
        ("newest versions", texts + vectors),
        ("all versions, which compaction keeps", texts * (OVERWRITES + 1) as f64 + vectors),
    ] {
        report.row(
            &format!(
                "disk after {OVERWRITES} overwrites of each and compaction; live text: {what}"
            ),
            "≤ 3 × live text and vectors",
            &format!("{:.0} MB", used / 1e6),
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
