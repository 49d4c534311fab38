//! Texts to vectors, beside onnxruntime and candle's own `BertModel`, each on one thread; with every
//! kernel of the machine, and by the service as it is built.
//!
//! onnxruntime runs in `onnx_model.py`, by the Python that `WAYPOST_PYTHON` names or that lies in
//! `target/peers/venv`. The time of Waypost and of candle is that of the thread, the time of
//! onnxruntime that of its process around the run alone. Waypost's contains the splitting of texts
//! into terms, the others' does not.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use serde::{Deserialize, Serialize};
use tokenizers::Tokenizer;
use waypost_embedding::{Kernel, Model, fetch};
use waypost_project::models_dir;

use crate::Options;
use crate::process::{Service, service_binary};
use crate::rig::{self, Report, Samples, Verdict};
use crate::vectors::turns;

/// Words that are one term each.
const WORDS: &str = "the old keeper of light on a small island told me about his life and the many \
    ships that he had seen pass in the night when wind and rain came from north he said that most \
    people never think of those who work alone far from home but every captain knows how much one \
    lamp can mean after three days without sun or stars then he made tea showed us his books and \
    spoke for hours about weather music war love food money and what he would do if they closed \
    the house next year";

/// Texts, their terms, how often, and the target.
const SHAPES: [(usize, usize, usize, &str); 5] = [
    (1, 12, 60, "≤ 1.0 × onnxruntime (aim 0.7)"),
    (1, 20, 40, "≤ 1.0 × onnxruntime"),
    (1, 97, 20, "≤ 1.0 × onnxruntime"),
    (32, 20, 8, "≥ 1.0 × onnxruntime"),
    (32, 97, 4, "≥ 1.0 × onnxruntime"),
];

/// Runs of each before the other has its turn.
const TURN: usize = 2;

/// Turns of conversations that the service embeds, and how often.
const TURNS: usize = 600;
const ROUNDS: usize = 3;
/// The most texts of one length that onnxruntime gets in a call.
const CALL_MAX: usize = 32;

pub fn run(_options: &Options, report: &mut Report) -> Result<()> {
    let models = models_dir(&|name| std::env::var_os(name)).context("no cache folder")?;
    let folder =
        fetch::ensure(fetch::DEFAULT_MODEL, &models, &fetch::Options::default(), &mut |_| {})?;
    let (before, start) = (rig::resident_bytes(std::process::id()), rig::thread_seconds());
    let model = Model::load(&folder)?;
    let loaded = rig::thread_seconds() - start;
    let after = rig::resident_bytes(std::process::id());
    let candle = Candle::load(&folder)?;
    let mut terms = Tokenizer::from_file(folder.join("tokenizer.json"))
        .map_err(|error| anyhow::anyhow!("tokenizer.json: {error}"))?;
    terms.with_padding(None);
    let mut onnx = Onnx::start(&folder);
    let version =
        onnx.as_ref().map_or_else(|why| format!("none ({why:#})"), |onnx| onnx.version.clone());
    report.table(
        "Embedding",
        &format!(
            "{}, one thread: processor time of a call with the given number of texts and terms \
             per text, or texts per second of processor time; median, the middle 80 % in \
             parentheses.\n\
             The comparison is onnxruntime {version} with 32-bit floats and its fused operators, \
             and candle's `BertModel` with 32-bit floats.\n\
             The ratio is to onnxruntime.",
            fetch::DEFAULT_MODEL
        ),
    );
    // One thread for the libraries that would take more.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for (texts, length, times, target) in SHAPES {
        let texts = texts_of(&terms, texts, length)?;
        let measured =
            pool.install(|| measure(&model, &candle, onnx.as_mut().ok(), &texts, times))?;
        row(report, &texts, &format!("{length} terms"), target, &measured);
    }
    // The portable kernel, the first, defines the results; without fused instructions it is never used.
    let slower = Kernel::all().into_iter().skip(1).rev().skip(1);
    for kernel in slower {
        let model = Model::load(&folder)?.with_kernel(kernel);
        for (texts, length, times, _) in [SHAPES[0], SHAPES[4]] {
            let texts = texts_of(&terms, texts, length)?;
            let measured =
                pool.install(|| measure(&model, &candle, onnx.as_mut().ok(), &texts, times))?;
            let what = format!("{length} terms with {}", kernel.name());
            row(report, &texts, &what, "", &measured);
        }
    }
    let memory = match (before, after) {
        (Some(before), Some(after)) => format!("{} MB", rig::count((after - before) as f64 / 1e6)),
        _ => "unknown".to_owned(),
    };
    report.close(&format!(
        "Loading the model took {} of processor time and added {memory} of memory.",
        rig::duration(loaded)
    ));
    by_service(&folder, &terms, onnx.as_mut().ok(), report)
}

/// What embedding costs in the program that people build: from the request that adds the texts to
/// the last vector on disk.
fn by_service(
    model: &Path,
    tokenizer: &Tokenizer,
    onnx: Option<&mut Onnx>,
    report: &mut Report,
) -> Result<()> {
    report.table(
        "Embedding by the service",
        &format!(
            "The first {TURNS} turns of the conversations, added in one batch: all processor time \
             of the service until each has its vector, with its log, its index and its HTTP.\n\
             onnxruntime has one thread, gets terms instead of texts, and up to {CALL_MAX} texts of \
             one length in a call, so that nothing is padded."
        ),
    );
    let (binary, texts) = match (service_binary(), turns(TURNS)) {
        (Ok(binary), Ok(texts)) => (binary, texts),
        (Err(missing), _) => return Ok(report.close(&missing)),
        (_, Err(missing)) => return Ok(report.close(&format!("{missing:#}"))),
    };
    let mut lines = String::new();
    let mut lengths: BTreeMap<usize, Vec<Vec<u32>>> = BTreeMap::new();
    for text in &texts {
        lines.push_str(&serde_json::json!({ "content": text }).to_string());
        lines.push('\n');
        let terms = tokenizer.encode(text.as_str(), true);
        let terms = terms.map_err(|error| anyhow::anyhow!("{error}"))?.get_ids().to_vec();
        lengths.entry(terms.len()).or_default().push(terms);
    }
    let folder = tempfile::tempdir_in(binary.parent().context("no folder")?)?;
    let name = model.file_name().and_then(|name| name.to_str()).context("no model name")?;
    let mut ours = Samples::default();
    let mut theirs = Samples::default();
    let mut onnx = onnx;
    for round in 0..ROUNDS {
        let project = folder.path().join(round.to_string());
        let service = Service::start(&binary, &project, name)?;
        service.wait_for_model()?;
        let before = service.program.seconds();
        service.send("POST", "/api/memory/batch", &lines)?;
        service.embedded(TURNS)?;
        ours.add(service.program.seconds() - before);
        if let Some(onnx) = &mut onnx {
            let mut seconds = 0.0;
            for rows in lengths.values().flat_map(|texts| texts.chunks(CALL_MAX)) {
                let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
                seconds += onnx.ask(&rows, 1)?.seconds.iter().sum::<f64>();
            }
            theirs.add(seconds);
        }
    }
    let rate = |samples: &Samples| {
        let at = |share| format!("{:.0}", TURNS as f64 / samples.quantile(share));
        format!("{} texts/s ({}–{})", at(0.5), at(1.0), at(0.0))
    };
    let ratio = (!theirs.is_empty()).then(|| ours.p50() / theirs.p50());
    report.row(
        &format!("{TURNS} turns"),
        "≤ 1.1 × onnxruntime",
        &rate(&ours),
        &if theirs.is_empty() { "no onnxruntime".to_owned() } else { format!("onnxruntime {}", rate(&theirs)) },
        ratio,
        ratio.map_or(Verdict::Open, |ratio| Verdict::from(ratio <= 1.1)),
    );
    report.close("");
    Ok(())
}

/// Texts of equal length, in terms, and their terms.
type Texts = Vec<(String, Vec<u32>)>;

fn texts_of(tokenizer: &Tokenizer, count: usize, length: usize) -> Result<Texts> {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    (0..count)
        .map(|from| {
            let chosen: Vec<&str> =
                words.iter().cycle().skip(from * 3).take(length - 2).copied().collect();
            let text = chosen.join(" ");
            let terms = tokenizer
                .encode(text.as_str(), true)
                .map_err(|error| anyhow::anyhow!("{error}"))?
                .get_ids()
                .to_vec();
            ensure!(terms.len() == length, "{text:?} has {} terms", terms.len());
            Ok((text, terms))
        })
        .collect()
}

/// Seconds of each call.
#[derive(Default)]
struct Measured {
    waypost: Samples,
    candle: Samples,
    onnx: Option<Samples>,
}

fn measure(
    model: &Model,
    candle: &Candle,
    mut onnx: Option<&mut Onnx>,
    texts: &Texts,
    times: usize,
) -> Result<Measured> {
    let strings: Vec<&str> = texts.iter().map(|(text, _)| text.as_str()).collect();
    let rows: Vec<&[u32]> = texts.iter().map(|(_, terms)| terms.as_slice()).collect();
    let mut measured = Measured::default();
    // The first turn warms up.
    for turn in 0..=times / TURN {
        let mut one = Measured::default();
        for _ in 0..TURN {
            one.waypost.add(rig::time(|| model.embed(&strings)));
        }
        if let Some(onnx) = &mut onnx {
            let answer = onnx.ask(&rows, TURN)?;
            if turn == 0 {
                check(&model.embed(&strings)?, &answer.vectors)?;
            }
            one.onnx.get_or_insert_default().extend(answer.seconds);
        }
        for _ in 0..TURN {
            one.candle.add(rig::time(|| candle.run(&rows)));
        }
        if turn > 0 {
            measured.waypost.extend(one.waypost);
            measured.candle.extend(one.candle);
            if let Some(seconds) = one.onnx {
                measured.onnx.get_or_insert_default().extend(seconds);
            }
        }
    }
    Ok(measured)
}

/// The peer must compute the same vectors, or its time says nothing.
fn check(ours: &[Vec<f32>], theirs: &[Vec<f32>]) -> Result<()> {
    ensure!(ours.len() == theirs.len(), "onnxruntime gives {} vectors", theirs.len());
    for (ours, theirs) in ours.iter().zip(theirs) {
        let likeness: f32 = ours.iter().zip(theirs).map(|(a, b)| a * b).sum();
        ensure!(likeness > 0.9999, "onnxruntime gives another vector: cosine {likeness}");
    }
    Ok(())
}

fn row(report: &mut Report, texts: &Texts, what: &str, target: &str, measured: &Measured) {
    let count = texts.len() as f64;
    let many = texts.len() > 1;
    let figure = |samples: &Samples| {
        let at = |share| match many {
            true => format!("{:.0}", count / samples.quantile(1.0 - share)),
            false => rig::duration(samples.quantile(share)),
        };
        let unit = if many { " texts/s" } else { "" };
        format!("{}{unit} ({}–{})", at(0.5), at(0.1), at(0.9))
    };
    let ratio = measured.onnx.as_ref().map(|onnx| {
        let time = measured.waypost.p50() / onnx.p50();
        if many { 1.0 / time } else { time }
    });
    let onnx = measured.onnx.as_ref().map_or_else(|| "no onnxruntime".to_owned(), figure);
    let verdict =
        ratio.map_or(Verdict::Open, |ratio| Verdict::from(if many { ratio >= 1.0 } else { ratio <= 1.0 }));
    report.row(
        &format!("{} × {what}", texts.len()),
        target,
        &figure(&measured.waypost),
        &format!("onnxruntime {onnx}; candle {}", figure(&measured.candle)),
        ratio,
        verdict,
    );
}

/// candle's own network.
struct Candle(BertModel);

impl Candle {
    fn load(folder: &Path) -> Result<Self> {
        let config: Config = serde_json::from_slice(&std::fs::read(folder.join("config.json"))?)?;
        let weights = std::fs::read(folder.join("model.safetensors"))?;
        let tensors = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
        Ok(Self(BertModel::load(tensors, &config)?))
    }

    /// The vectors of the terms of rows of one length; pooling is left out.
    fn run(&self, rows: &[&[u32]]) -> candle_core::Result<Tensor> {
        let shape = (rows.len(), rows[0].len());
        let terms = Tensor::from_vec(rows.concat(), shape, &Device::Cpu)?;
        self.0.forward(&terms, &terms.zeros_like()?, None)
    }
}

/// onnxruntime in a process of its own.
struct Onnx {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    version: String,
}

#[derive(Serialize)]
struct Request<'a> {
    rows: &'a [&'a [u32]],
    runs: usize,
}

#[derive(Deserialize)]
struct Answer {
    seconds: Vec<f64>,
    vectors: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct Hello {
    onnxruntime: String,
}

impl Onnx {
    fn start(folder: &Path) -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = std::env::var_os("WAYPOST_PYTHON")
            .map_or_else(|| here.join("../../target/peers/venv/bin/python"), PathBuf::from);
        let mut child = Command::new(&python)
            .arg(here.join("speed/onnx_model.py"))
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} does not start", python.display()))?;
        let requests = child.stdin.take();
        let answers = child.stdout.take().context("no pipe")?;
        let mut onnx = Self {
            child,
            requests,
            answers: BufReader::new(answers).lines(),
            version: String::new(),
        };
        onnx.version = onnx.read::<Hello>()?.onnxruntime;
        Ok(onnx)
    }

    fn ask(&mut self, rows: &[&[u32]], runs: usize) -> Result<Answer> {
        let mut line = serde_json::to_vec(&Request { rows, runs })?;
        line.push(b'\n');
        self.requests.as_mut().context("no pipe")?.write_all(&line)?;
        self.read()
    }

    fn read<T: for<'a> Deserialize<'a>>(&mut self) -> Result<T> {
        let line =
            self.answers.next().context("onnxruntime's process ended; it says why above")??;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Onnx {
    fn drop(&mut self) {
        // Its input ends, and so does it.
        self.requests = None;
        let _ = self.child.wait();
    }
}
