//! Reads request bodies within limits of size, time and memory.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};
use waypost_project::LimitSettings;

use crate::http::failure::Failure;

const KIB: usize = 1024;

/// A body in memory, counted against the limit for all bodies together.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) bytes: Bytes,
    _share: Vec<OwnedSemaphorePermit>,
}

/// Allocates the memory for bodies.
#[derive(Debug)]
pub(crate) struct Bodies(Arc<Semaphore>);

impl Bodies {
    pub(crate) fn new(limits: &LimitSettings) -> Self {
        Self(Arc::new(Semaphore::new(limits.bodies_bytes_max / KIB)))
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Failure> {
        let kib = u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX);
        Arc::clone(&self.0)
            .try_acquire_many_owned(kib)
            .map_err(|_| Failure::busy("too many large bodies are being received"))
    }

    /// The whole body, or 413, 408 or 400.
    pub(crate) async fn read(
        &self,
        mut body: Body,
        limits: &LimitSettings,
    ) -> Result<Held, Failure> {
        let deadline = Instant::now() + limits.body_read_time;
        let announced = http_body::Body::size_hint(&body).lower();
        if announced > limits.body_bytes_max as u64 {
            return Err(too_large(limits.body_bytes_max as u64));
        }
        let mut bytes = Vec::with_capacity(announced.min(64 * 1024) as usize);
        let mut share = Vec::new();
        let mut granted = 0;
        loop {
            let frame = timeout_at(deadline, body.frame()).await.map_err(|_| too_slow(limits))?;
            let Some(frame) = frame else { break };
            let Ok(piece) = frame.map_err(|_| broken())?.into_data() else { continue };
            if bytes.len() + piece.len() > limits.body_bytes_max {
                return Err(too_large(limits.body_bytes_max as u64));
            }
            if bytes.len() + piece.len() > granted {
                let more = piece.len().max(granted).max(64 * KIB);
                share.push(self.take(more)?);
                granted += more;
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Held { bytes: bytes.into(), _share: share })
    }
}

/// The next chunk of a streamed body; `None` at its end. `read_bytes` counts up to the limit.
pub(crate) async fn next_piece(
    body: &mut Body,
    read_bytes: &mut u64,
    bytes_max: u64,
    limits: &LimitSettings,
) -> Result<Option<Bytes>, Failure> {
    loop {
        let frame =
            timeout(limits.body_read_time, body.frame()).await.map_err(|_| too_slow(limits))?;
        let Some(frame) = frame else { return Ok(None) };
        let Ok(piece) = frame.map_err(|_| broken())?.into_data() else { continue };
        *read_bytes += piece.len() as u64;
        if *read_bytes > bytes_max {
            return Err(too_large(bytes_max));
        }
        return Ok(Some(piece));
    }
}

pub(crate) fn too_large(bytes_max: u64) -> Failure {
    Failure::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the body exceeds the limit of {bytes_max} bytes; split it"),
    )
    .closing()
}

fn too_slow(limits: &LimitSettings) -> Failure {
    Failure::new(
        StatusCode::REQUEST_TIMEOUT,
        format!("the body did not arrive within {} s", limits.body_read_time.as_secs_f32()),
    )
    .closing()
}

fn broken() -> Failure {
    Failure::new(
        StatusCode::BAD_REQUEST,
        "the body ended early or its chunks are malformed; send as many bytes as Content-Length or the chunks declare",
    )
    .closing()
}
