//! `batch`, `export`, `import`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{HumanBytes, ProgressBar};
use serde::Deserialize;
use serde_json::json;
use waypost_api::client::Client;
use waypost_api::{BatchResult, ImportIds, ImportRequest, MappedId, Vocabulary};
use waypost_cli::failure::{Failure, Result};
use waypost_cli::files;
use waypost_cli::output::{Output, Unit};
use waypost_cli::program::Program;
use waypost_cli::show;

use super::names;

/// Add memories from a file with one JSON object per line
///
/// An invalid line does not affect the others. The exit status is 1 if any line failed.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  printf '{\"content\":\"one\"}\\n{\"content\":\"two\"}\\n' | ctl batch -"
)]
pub(crate) struct BatchArgs {
    /// The file; `-` reads standard input
    file: PathBuf,
}

/// Export memories, links and history as one JSON object per line
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl export memories.ndjson")]
pub(crate) struct ExportArgs {
    /// Output file, created once the export is complete; `-` (the default) writes to standard output
    #[arg(default_value = "-")]
    file: PathBuf,
}

/// Import an export, ids included
///
/// Existing memories are not changed. The checksum of a file is verified before anything is imported; standard input is
/// imported as it arrives, and its checksum is compared at the end. For a file of `add` bodies use `ctl batch`, for a
/// backup `ctl restore`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl import memories.ndjson\n  ctl import --ids map other-project.ndjson"
)]
pub(crate) struct ImportArgs {
    /// The file; `-` reads standard input
    file: PathBuf,
    /// What to do if another memory already has the id
    #[arg(long, value_name = "HOW", default_value = ImportIds::default().as_str(), value_parser = names::<ImportIds>())]
    ids: ImportIds,
}

/// Lines and bytes per batch request: enough to share the syncs, few enough to show progress.
const CHUNK_LINES_MAX: usize = 1000;
const CHUNK_BYTES_MAX: usize = 4 << 20;
/// A longer line cannot be an add: the content has at most 1 MiB, and six times that when escaped.
const LINE_BYTES_MAX: u64 = 16 << 20;
/// Number of invalid lines that are shown; all of them are counted.
const PROBLEMS_SHOWN: u64 = 20;
/// Number of mapped ids that are shown; `--json` shows all.
const MAPPED_SHOWN: usize = 20;

/// The format in the first line of an export.
const FORMAT: &str = "waypost-memory";

/// Longer lines are not the last one of an export.
const END_BYTES_MAX: usize = 256;

/// The first line of an export.
#[derive(Deserialize)]
struct Header {
    format: String,
}

/// The last line of an export.
#[derive(Deserialize)]
#[serde(tag = "record", rename_all = "lowercase")]
enum Last {
    End { crc32c: String },
}

/// The input, with its length if known.
type Input = (Box<dyn Read>, Option<u64>);

#[derive(Default)]
struct Tally {
    added: u64,
    existing: u64,
    failed: u64,
}

pub(super) fn batch(program: &Program, args: &BatchArgs, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    let (input, bytes) = open(&args.file)?;
    let mut input = BufReader::with_capacity(1 << 20, input);
    let bar = output.progress(Unit::Bytes);
    bar.set_message("adding");
    bar.set_length(bytes.unwrap_or(0));
    let mut tally = Tally::default();
    let mut first_line = 1;
    let mut chunk = Vec::new();
    loop {
        chunk.clear();
        let mut numbers = Vec::new();
        while numbers.len() < CHUNK_LINES_MAX && chunk.len() < CHUNK_BYTES_MAX {
            let start = chunk.len();
            let read = input
                .by_ref()
                .take(LINE_BYTES_MAX)
                .read_until(b'\n', &mut chunk)
                .map_err(Failure::from)?;
            if read == 0 {
                break;
            }
            if read as u64 == LINE_BYTES_MAX {
                return Err(Failure::new(format!(
                    "line {first_line} exceeds 16 MiB; neither it nor any later line was sent"
                )));
            }
            bar.inc(read as u64);
            if chunk[start..].iter().all(u8::is_ascii_whitespace) {
                chunk.truncate(start);
            } else {
                if chunk.last() != Some(&b'\n') {
                    chunk.push(b'\n');
                }
                numbers.push(first_line);
            }
            first_line += 1;
        }
        if numbers.is_empty() {
            break;
        }
        send(&client, &chunk, &numbers, &mut tally, output)?;
    }
    bar.finish_and_clear();
    let Tally { added, existing, failed } = tally;
    let summary = format!(
        "{}, {existing} already present",
        show::count(added, "memory added", "memories added")
    );
    if !output.is_json() {
        output.line(&summary)?;
    }
    if failed > 0 {
        return Err(Failure::new(format!("{} failed", show::count(failed, "line", "lines"))));
    }
    Ok(())
}

/// Sends one chunk; results get the line numbers of the whole input.
fn send(
    client: &Client,
    chunk: &[u8],
    numbers: &[u64],
    tally: &mut Tally,
    output: &mut Output,
) -> Result<()> {
    let results = client.batch(chunk)?;
    if results.len() != numbers.len() {
        let message =
            format!("the service responded to {} of {} lines", results.len(), numbers.len());
        return Err(Failure::new(message)
            .with_hint("run the batch again: existing memories are not stored twice"));
    }
    for (result, line) in results.into_iter().zip(numbers) {
        match result.status {
            201 => tally.added += 1,
            200 => tally.existing += 1,
            _ => {
                tally.failed += 1;
                let detail =
                    result.problem.as_ref().map_or("failed", |problem| problem.detail.as_str());
                if tally.failed <= PROBLEMS_SHOWN {
                    output.warn(&format!("line {line}: {detail}"));
                }
            }
        }
        if output.is_json() {
            output.line_of_json(&BatchResult { line: *line, ..result })?;
        }
    }
    Ok(())
}

pub(super) fn export(program: &Program, args: &ExportArgs, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    if args.file.as_os_str() == "-" {
        client.export(output.raw())?;
        return Ok(());
    }
    let bytes = export_to(&client, &args.file)?;
    written(&args.file, bytes, output)
}

fn written(file: &Path, bytes: u64, output: &mut Output) -> Result<()> {
    output.answer(
        &json!({ "file": file.to_string_lossy(), "bytes": bytes }),
        &format!("wrote {} to {}", HumanBytes(bytes), file.display()),
    )
}

/// Writes an export next to the file, and renames it when it is complete and on disk.
fn export_to(client: &Client, file: &Path) -> Result<u64> {
    let cannot = |what: &str, error: &io::Error| {
        Failure::of(error).while_doing(format!("could not {what} {}", file.display()))
    };
    if file.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let why = format!("{} is not a regular file and was not replaced", file.display());
        return Err(Failure::new(why).with_hint("pass another file, or `-` for standard output"));
    }
    let mut name =
        file.file_name().ok_or_else(|| Failure::usage("the path has no file name"))?.to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = Part(file.with_file_name(name));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut output = options.open(&part.0).map_err(|error| cannot("create", &error))?;
    let bytes = client.export(&mut output)?;
    output.flush().and_then(|()| output.sync_all()).map_err(|error| cannot("write", &error))?;
    drop(output);
    fs::rename(&part.0, file).map_err(|error| cannot("create", &error))?;
    #[cfg(unix)]
    if let Some(folder) = file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        File::open(folder)
            .and_then(|file| file.sync_all())
            .map_err(|error| cannot("sync", &error))?;
    }
    Ok(bytes)
}

/// A file that is removed on drop unless it was renamed.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // A renamed file no longer exists under this name.
        drop(fs::remove_file(&self.0));
    }
}

pub(super) fn import(program: &Program, args: &ImportArgs, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    let bar = output.progress(Unit::Bytes);
    let (input, bytes) = verified_export(&args.file, &bar)?;
    bar.set_message("importing");
    bar.set_position(0);
    bar.set_length(bytes.unwrap_or(0));
    let mut input = bar.wrap_read(input);
    let asked = ImportRequest { ids: Some(args.ids) };
    let imported = client.import(&mut input, &asked);
    bar.finish_and_clear();
    // The error is in the file, not on the command line.
    let imported = imported.map_err(|error| Failure::from(error).not_usage())?;
    for problem in imported.problems.iter().take(PROBLEMS_SHOWN as usize) {
        output.warn(&format!("line {}: {}", problem.line, problem.message));
    }
    if output.is_json() {
        output.document(&imported)?;
    } else {
        output.line(&format!(
            "{}, {}, {} already present",
            show::count(imported.memories, "memory imported", "memories imported"),
            show::count(imported.links, "link", "links"),
            imported.existing
        ))?;
        show_mapped(&imported.mapped, output)?;
    }
    let bad = imported.problems.len() as u64;
    if bad == 0 {
        return Ok(());
    }
    let failure = Failure::new(format!("{} rejected", show::count(bad, "line", "lines")));
    let is_taken = imported.problems.iter().any(|problem| problem.id_taken);
    Err(if is_taken {
        failure.with_hint("`ctl import --ids map FILE` assigns new ids to memories whose id is taken; already imported memories are not stored twice")
    } else {
        failure
    })
}

/// Opens the input. A file is verified completely before any of it is sent; a pipe is sent as it
/// arrives.
fn verified_export(path: &Path, bar: &ProgressBar) -> Result<Input> {
    if path.as_os_str() == "-" {
        return open(path);
    }
    let (mut file, bytes) = files::open(path)?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok((Box::new(file), None));
    }
    bar.set_message("verifying");
    bar.set_length(bytes);
    let mut input = BufReader::with_capacity(1 << 20, bar.wrap_read(&file));
    check_complete(path, &mut input).map_err(|failure| {
        failure.while_doing(format!("nothing was imported from {}", path.display())).with_hint(
            "export again, or import the readable lines with `ctl import - < FILE`; `ctl restore` reads a backup, `ctl batch` a file of `add` bodies",
        )
    })?;
    file.rewind().map_err(|error| files::cannot_read(path, &error))?;
    Ok((Box::new(file), Some(bytes)))
}

/// Checks that the input is a complete export with a valid checksum. The service checks its lines.
fn check_complete(path: &Path, input: &mut impl BufRead) -> Result<()> {
    let (mut line, mut number, mut sum, mut is_complete) = (Vec::new(), 0, 0, false);
    loop {
        line.clear();
        let read = input.take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if read.map_err(|error| files::cannot_read(path, &error))? == 0 {
            break;
        }
        number += 1;
        let text = line.trim_ascii_end();
        if number == 1
            && !serde_json::from_slice(text).is_ok_and(|header: Header| header.format == FORMAT)
        {
            let wanted =
                format!("the export must begin with `{{\"format\":\"{FORMAT}\",\"version\":1}}`");
            return Err(Failure::new(wanted));
        }
        if is_complete && !text.is_empty() {
            return Err(Failure::new(format!(
                "the export continues after its end, with line {number}"
            )));
        }
        if text.len() <= END_BYTES_MAX
            && let Ok(Last::End { crc32c }) = serde_json::from_slice(text)
        {
            is_complete = true;
            if crc32c != format!("{sum:08x}") {
                return Err(Failure::new("the export was changed or damaged: invalid checksum"));
            }
        }
        sum = crc32c::crc32c_append(sum, &line);
    }
    match number {
        0 => Err(Failure::new("the export is empty")),
        _ if !is_complete => {
            Err(Failure::new(format!("the export is truncated after line {number}")))
        }
        _ => Ok(()),
    }
}

/// Shows the memories that have another id here than in the file.
fn show_mapped(mapped: &[MappedId], output: &mut Output) -> Result<()> {
    for it in mapped.iter().take(MAPPED_SHOWN) {
        output.line(&format!("#{} in the file is now #{}", it.from, it.to))?;
    }
    if mapped.len() > MAPPED_SHOWN {
        let more = mapped.len() - MAPPED_SHOWN;
        output.note(&format!("{more} more got a new id; --json shows all"));
    }
    Ok(())
}

/// A file or standard input, with its length where it is known.
fn open(path: &Path) -> Result<Input> {
    if path.as_os_str() == "-" {
        return Ok((Box::new(io::stdin().lock()), None));
    }
    let (file, bytes) = files::open(path)?;
    Ok((Box::new(file), Some(bytes)))
}
