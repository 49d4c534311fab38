//! Models from the hub, through its own client.
//!
//! The client resumes an interrupted download, but it has no time limits: it waits as long as the
//! system does, which on a network that drops packets is minutes. So it runs on a separate thread
//! that reports its progress; if it is silent for too long it is abandoned (it ends when the system
//! gives up, and only ever writes below its own folder) and the next source is tried.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};

use super::install::{self, Staging};
use super::{Hub, PinnedFile, PinnedModel, Progress, Source};
use crate::{Error, Result};

/// Bytes between two reports.
const REPORT_BYTES: u64 = 256 << 10;

enum Event {
    Bytes { file: String, done: u64, total: u64 },
    File { file: String, blob: PathBuf },
    Failed(String),
    Done,
}

/// Downloads the model's files to the staging folder. The inner error is the hub's fault.
pub(super) fn bring(
    model: &PinnedModel,
    hub: &Hub,
    staging: &Staging,
    progress: &mut dyn FnMut(Progress),
) -> Result<Result<(), String>> {
    if let Some(endpoint) = hub.endpoint.as_deref()
        && let Err(reason) = check_endpoint(endpoint)
    {
        return Ok(Err(reason));
    }
    progress(Progress::message(Source::Hub, format!("requesting {}", model.repository)));
    let workplace = staging.workplace("hub")?;
    let folder = staging.empty_model()?;
    // The client links from here to the complete files, which are then moved away; it stops at a
    // dangling link. Partial files are elsewhere and stay.
    let links = Repo::new(model.repository.clone(), RepoType::Model).folder_name();
    install::remove_folder(&workplace.join(links).join("snapshots"))?;
    let brought = match start(model, hub, &workplace) {
        Ok(events) => receive(&events, hub, &folder, progress)?,
        Err(reason) => Err(reason),
    };
    if brought.is_ok() && staging.check_pins(model)?.is_err() {
        // A wrong file is not worth resuming; the caller checks the pins again and reports it to
        // the user.
        install::remove_folder(&workplace)?;
    }
    Ok(brought)
}

/// The client panics on an invalid address.
fn check_endpoint(endpoint: &str) -> std::result::Result<(), String> {
    let rest = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let plain = endpoint.bytes().all(|byte| byte.is_ascii_graphic());
    if host.is_empty() || !plain {
        return Err("its address does not start with http:// or https://".to_owned());
    }
    Ok(())
}

fn start(
    model: &PinnedModel,
    hub: &Hub,
    workplace: &Path,
) -> std::result::Result<Receiver<Event>, String> {
    let mut builder = ApiBuilder::from_cache(Cache::new(workplace.to_owned()))
        .with_progress(false)
        .with_token(hub.token.clone())
        .with_user_agent("waypost", env!("CARGO_PKG_VERSION"));
    if let Some(endpoint) = &hub.endpoint {
        builder = builder.with_endpoint(endpoint.trim_end_matches('/').to_owned());
    }
    let api = builder.build().map_err(|error| error.to_string())?;
    let (repository, revision) = (model.repository.clone(), model.revision.clone());
    let worker = Worker {
        repo: api.repo(Repo::with_revision(repository, RepoType::Model, revision)),
        api,
        workplace: workplace.to_owned(),
    };
    let files = model.files.clone();
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new()
        .name("model-hub".to_owned())
        .spawn(move || worker.run(&files, &sender))
        .map_err(|error| format!("cannot start a thread ({error})"))?;
    Ok(receiver)
}

fn receive(
    events: &Receiver<Event>,
    hub: &Hub,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Result<(), String>> {
    let mut patience = hub.answer_timeout;
    loop {
        match events.recv_timeout(patience) {
            Ok(Event::Bytes { file, done, total }) => {
                patience = hub.stall_timeout;
                progress(Progress {
                    source: Source::Hub,
                    message: format!("downloading {file}"),
                    file,
                    done_bytes: done,
                    total_bytes: Some(total),
                });
            }
            // Between two files there is one more request, which may take time.
            Ok(Event::File { file, blob }) => install::rename(&blob, &folder.join(file))?,
            Ok(Event::Failed(reason)) => return Ok(Err(reason)),
            Ok(Event::Done) => return Ok(Ok(())),
            Err(RecvTimeoutError::Timeout) => return Ok(Err(silent(patience))),
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Err("its client ended without a response".to_owned()));
            }
        }
    }
}

fn silent(patience: Duration) -> String {
    format!("no response within {} s", patience.as_secs_f32())
}

struct Worker {
    api: Api,
    repo: ApiRepo,
    workplace: PathBuf,
}

impl Worker {
    /// Events without a receiver are dropped with their channel.
    fn run(&self, files: &[PinnedFile], events: &Sender<Event>) {
        for file in files {
            let event = match self.download(file, events) {
                Ok(blob) => Event::File { file: file.path.clone(), blob },
                Err(reason) => Event::Failed(format!("{}: {reason}", file.path)),
            };
            let failed = matches!(event, Event::Failed(_));
            if events.send(event).is_err() || failed {
                return;
            }
        }
        drop(events.send(Event::Done));
    }

    fn download(
        &self,
        file: &PinnedFile,
        events: &Sender<Event>,
    ) -> std::result::Result<PathBuf, String> {
        let metadata =
            self.api.metadata(&self.repo.url(&file.path)).map_err(|error| error.to_string())?;
        // The client builds file names from these two.
        if !is_plain(metadata.etag()) || !is_plain(metadata.commit_hash()) {
            return Err("it returns an ETag or a commit that is not a plain name".to_owned());
        }
        if metadata.size() as u64 != file.bytes {
            return Err(format!("it has {} bytes, expected {}", metadata.size(), file.bytes));
        }
        let reporter = || Reporter {
            events: events.clone(),
            file: file.path.clone(),
            done: 0,
            told: 0,
            total: file.bytes,
        };
        let pointer = match self.repo.download_with_progress(&file.path, reporter()) {
            Err(error) if is_stale_part(&error) => {
                self.remove_parts();
                self.repo.download_with_progress(&file.path, reporter())
            }
            other => other,
        };
        let pointer = pointer.map_err(|error| error.to_string())?;
        fs::canonicalize(&pointer).map_err(|error| Error::io("read", &pointer, error).to_string())
    }

    /// Removes partial files that cannot be resumed.
    fn remove_parts(&self) {
        let Ok(repositories) = fs::read_dir(&self.workplace) else { return };
        for repository in repositories.flatten() {
            let Ok(blobs) = fs::read_dir(repository.path().join("blobs")) else { continue };
            for blob in blobs.flatten().map(|entry| entry.path()) {
                if blob.extension().is_some_and(|it| it == "part") {
                    // If it stays, the download fails once more, with the client's own error.
                    drop(fs::remove_file(&blob));
                }
            }
        }
    }
}

fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none()
}

/// A partial file that is already complete, or longer than the file: the client would request what
/// is past its end for ever.
fn is_stale_part(error: &ApiError) -> bool {
    const RANGE_NOT_SATISFIABLE: &str = "416";
    match error {
        ApiError::InvalidResume => true,
        ApiError::RequestError(error) => error.to_string().contains(RANGE_NOT_SATISFIABLE),
        _ => false,
    }
}

struct Reporter {
    events: Sender<Event>,
    file: String,
    done: u64,
    told: u64,
    total: u64,
}

impl Reporter {
    fn tell(&mut self) {
        self.told = self.done;
        let (file, done, total) = (self.file.clone(), self.done, self.total);
        // Without a receiver another source was chosen; the download may as well end.
        drop(self.events.send(Event::Bytes { file, done, total }));
    }
}

impl hf_hub::api::Progress for Reporter {
    fn init(&mut self, size: usize, _file: &str) {
        self.total = size as u64;
        self.done = 0;
        self.tell();
    }

    fn update(&mut self, size: usize) {
        self.done += size as u64;
        if self.done - self.told >= REPORT_BYTES {
            self.tell();
        }
    }

    fn finish(&mut self) {
        self.tell();
    }
}
