//! Models from the hub.
//!
//! A file arrives in a partial file whose name is its digest, so an interrupted download is
//! continued. What the hub says of a file besides its length is not asked: the pins decide.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use ureq::http::Response;
use ureq::http::header::{AUTHORIZATION, CONTENT_RANGE, RANGE};
use ureq::{Agent, Body, Timeout};

use super::install::{self, Staging};
use super::{Hub, PinnedFile, PinnedModel, Progress, Source};
use crate::{Error, Result, files};

/// The hub's own address.
const ENDPOINT: &str = "https://huggingface.co";
/// Bytes between two reports.
const REPORT_BYTES: u64 = 256 << 10;

/// Downloads the model's files to the staging folder. The inner error is the hub's fault.
pub(super) fn bring(
    model: &PinnedModel,
    hub: &Hub,
    staging: &Staging,
    progress: &mut dyn FnMut(Progress),
) -> Result<Result<(), String>> {
    let endpoint = hub.endpoint.as_deref().unwrap_or(ENDPOINT).trim_end_matches('/');
    let host = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://"));
    if host.is_none_or(str::is_empty) {
        return Ok(Err("its address does not start with http:// or https://".to_owned()));
    }
    progress(Progress::message(Source::Hub, format!("requesting {}", model.repository)));
    let workplace = staging.workplace("hub")?;
    let folder = staging.empty_model()?;
    let agent: Agent = Agent::config_builder()
        .user_agent(concat!("waypost/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(hub.answer_timeout))
        .timeout_connect(Some(hub.answer_timeout))
        .timeout_recv_response(Some(hub.answer_timeout))
        .timeout_per_read(Some(hub.stall_timeout))
        .build()
        .into();
    for file in &model.files {
        let part = workplace.join(&file.sha256);
        let url =
            format!("{endpoint}/{}/resolve/{}/{}", model.repository, model.revision, file.path);
        let request = |done: u64| {
            let mut request = agent.get(&url).header(RANGE, format!("bytes={done}-"));
            if let Some(token) = &hub.token {
                request = request.header(AUTHORIZATION, format!("Bearer {token}"));
            }
            request.call().map_err(|error| fault(&error, hub))
        };
        if let Err(reason) = download(file, &part, hub, request, progress)? {
            return Ok(Err(format!("{}: {reason}", file.path)));
        }
    }
    for file in &model.files {
        install::rename(&workplace.join(&file.sha256), &folder.join(&file.path))?;
    }
    Ok(Ok(()))
}

/// Completes a partial file.
fn download(
    file: &PinnedFile,
    part: &Path,
    hub: &Hub,
    request: impl FnOnce(u64) -> Result<Response<Body>, String>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Result<(), String>> {
    let io = |error| Error::io("write", part, error);
    let mut done = fs::metadata(part).map_or(0, |metadata| metadata.len());
    if done >= file.bytes {
        if done == file.bytes && files::digest_of(part)?.0 == file.sha256 {
            return Ok(Ok(()));
        }
        done = 0;
    }
    let response = match request(done) {
        Ok(response) => response,
        Err(reason) => return Ok(Err(reason)),
    };
    let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
    let range = range.and_then(|range| range.rsplit_once('/')?.1.parse().ok());
    if range.is_none() {
        // It sends the whole file.
        done = 0;
    }
    let mut body = response.into_body();
    if let Some(bytes) = range.or(body.content_length())
        && bytes != file.bytes
    {
        return Ok(Err(format!("it has {bytes} bytes, expected {}", file.bytes)));
    }
    let mut output =
        File::options().create(true).write(true).truncate(false).open(part).map_err(io)?;
    output.set_len(done).map_err(io)?;
    output.seek(SeekFrom::Start(done)).map_err(io)?;
    let mut input = body.as_reader().take(file.bytes - done);
    let mut buffer = vec![0; REPORT_BYTES as usize];
    let mut told = done;
    loop {
        let read = match input.read(&mut buffer) {
            Ok(read) => read,
            Err(error) => return Ok(Err(fault(&error.into(), hub))),
        };
        output.write_all(&buffer[..read]).map_err(io)?;
        done += read as u64;
        if read == 0 || done - told >= REPORT_BYTES {
            told = done;
            progress(Progress {
                source: Source::Hub,
                message: format!("downloading {}", file.path),
                file: file.path.clone(),
                done_bytes: done,
                total_bytes: Some(file.bytes),
            });
        }
        if read == 0 {
            let missing = file.bytes - done;
            let reason = format!("the connection ended {missing} bytes before the end");
            return Ok(if missing == 0 { Ok(()) } else { Err(reason) });
        }
    }
}

/// Why a request failed.
fn fault(error: &ureq::Error, hub: &Hub) -> String {
    let silent = |time: Duration| format!("no response within {} s", time.as_secs_f32());
    match error {
        ureq::Error::Timeout(Timeout::PerRead) => silent(hub.stall_timeout),
        ureq::Error::Timeout(_) => silent(hub.answer_timeout),
        other => other.to_string(),
    }
}
