//! Many memories in one request: one result per line, in order.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use tokio::task::JoinHandle;
use waypost_api as api;
use waypost_memory::{Added, PreparedAdds, RequestKey, Store};

use crate::app::App;
use crate::clock::now;
use crate::http::body::{next_piece, too_large};
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::keys::KeyHead;
use crate::http::reply::encode;
use crate::http::request::parse;
use crate::http::scoped::Scoped;
use crate::http::stream::{Ahead, NotSent, StillWriting};

/// Maximum number of lines stored together.
const GROUP_LINES_MAX: usize = 256;
/// Maximum size of the lines stored together.
const GROUP_BYTES_MAX: usize = 1024 * 1024;
/// How long a group waits for more lines.
const GROUP_WAIT: Duration = Duration::from_millis(5);

pub(super) async fn batch(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: KeyHead,
    request: Request,
) -> Result<Response, Failure> {
    let key = key.of_parts();
    let body = request.into_body();
    if http_body::Body::size_hint(&body).lower() > app.limits.batch_bytes_max {
        return Err(too_large(app.limits.batch_bytes_max));
    }
    let account = caller.account(&app);
    account.check()?;
    let slot = app.streams.slot().await?;
    let (ahead, answer) = Ahead::new(account);
    tokio::spawn(async move {
        let group = Vec::new();
        let (results, writing) = (Vec::new(), None);
        let lines =
            Lines { app, caller, key, ahead, results, group, group_bytes: 0, writing, line: 0 };
        if lines.run(body).await == Err(NotSent::Gone) {
            tracing::debug!("the client of a batch disconnected");
        }
        drop(slot);
    });
    let mut response = answer.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(api::NDJSON));
    response.extensions_mut().insert(StillWriting);
    Ok(response)
}

/// The state of a batch.
struct Lines {
    app: Arc<App>,
    caller: Caller,
    /// The key of the request: each line has one of its own, made from it.
    key: Option<RequestKey>,
    ahead: Ahead,
    /// Results that are not sent yet.
    results: Vec<u8>,
    group: Vec<(u64, Bytes)>,
    group_bytes: usize,
    /// The previous group, while it is written.
    writing: Option<Writing>,
    line: u64,
}

/// The outcome of a line: its status and id, or why it was not stored.
type Stored = Result<(u16, u64), Failure>;

struct Writing {
    numbers: Vec<u64>,
    outcome: JoinHandle<Result<Vec<Stored>, Failure>>,
}

impl Lines {
    async fn run(mut self, mut body: Body) -> Result<(), NotSent> {
        let limits = self.app.limits.clone();
        let mut rest = Vec::new();
        // Set while the rest of an overlong line is skipped.
        let mut skipping = false;
        let mut read_bytes = 0;
        loop {
            let reading = next_piece(&mut body, &mut read_bytes, limits.batch_bytes_max, &limits);
            let mut reading = std::pin::pin!(reading);
            let soon = tokio::time::timeout(GROUP_WAIT, &mut reading).await;
            let piece = if let Ok(piece) = soon {
                piece
            } else {
                self.finish().await?;
                reading.await
            };
            let piece = match piece {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(failure) => {
                    self.finish().await?;
                    self.respond(self.line + 1, Err(failure));
                    return self.send();
                }
            };
            for part in piece.split_inclusive(|piece| *piece == b'\n') {
                if !skipping {
                    rest.extend_from_slice(part);
                }
                let ended = part.ends_with(b"\n");
                if rest.len() > limits.body_bytes_max {
                    rest = Vec::new();
                    skipping = true;
                    self.line += 1;
                    self.finish().await?;
                    self.respond(self.line, Err(too_large(limits.body_bytes_max as u64)));
                    self.send()?;
                } else if ended && !skipping {
                    self.take(std::mem::take(&mut rest)).await?;
                }
                skipping &= !ended;
            }
        }
        if !rest.is_empty() {
            self.take(rest).await?;
        }
        self.finish().await
    }

    async fn take(&mut self, line: Vec<u8>) -> Result<(), NotSent> {
        self.line += 1;
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        self.group_bytes += line.len();
        self.group.push((self.line, line.into()));
        if self.group.len() >= GROUP_LINES_MAX || self.group_bytes >= GROUP_BYTES_MAX {
            self.store_group().await?;
        }
        Ok(())
    }

    /// Stores the group, and responds with the outcomes.
    async fn finish(&mut self) -> Result<(), NotSent> {
        self.store_group().await?;
        self.respond_written().await
    }

    /// Parses and analyses the group while the previous one is written, then starts writing it.
    async fn store_group(&mut self) -> Result<(), NotSent> {
        let group = std::mem::take(&mut self.group);
        self.group_bytes = 0;
        if group.is_empty() {
            return Ok(());
        }
        let numbers: Vec<u64> = group.iter().map(|(number, _)| *number).collect();
        let (scoped, caller, key) = (self.app.scoped(&self.caller), self.caller.clone(), self.key);
        let storing = Arc::clone(scoped.adding());
        let ready = self.app.writes.run(move || ready_lines(&scoped, &caller, key, group)).await;
        self.respond_written().await?;
        let app = Arc::clone(&self.app);
        let outcome = tokio::spawn(async move {
            let ready = ready?;
            app.writes.run(move || store_lines(&storing, ready)).await
        });
        self.writing = Some(Writing { numbers, outcome });
        Ok(())
    }

    /// Waits for the group that is being written, and responds with its outcomes.
    async fn respond_written(&mut self) -> Result<(), NotSent> {
        let Some(Writing { numbers, outcome }) = self.writing.take() else { return Ok(()) };
        let stored = outcome.await.unwrap_or_else(|_| Err(Failure::internal()));
        self.app.model.embed_soon();
        match stored {
            Ok(results) => {
                for (number, result) in numbers.into_iter().zip(results) {
                    self.respond(number, result);
                }
            }
            Err(failure) => {
                for number in numbers {
                    self.respond(number, Err(failure.problem.as_ref().clone().into()));
                }
            }
        }
        self.send()
    }

    fn respond(&mut self, line: u64, result: Stored) {
        let result = match result {
            Ok((status, id)) => api::BatchResult { line, status, id: Some(id), problem: None },
            Err(failure) => api::BatchResult {
                line,
                status: failure.status(),
                id: None,
                problem: Some(*failure.problem),
            },
        };
        self.results.extend_from_slice(&encode(&result));
        self.results.push(b'\n');
    }

    fn send(&mut self) -> Result<(), NotSent> {
        match std::mem::take(&mut self.results) {
            results if results.is_empty() => Ok(()),
            results => self.ahead.send(results.into()),
        }
    }
}

/// Parsed and analysed lines.
struct ReadyLines {
    ready: PreparedAdds,
    /// The reason for rejection of each line, if any.
    checked: Vec<Result<(), Failure>>,
}

fn ready_lines(
    scoped: &Scoped,
    caller: &Caller,
    key: Option<RequestKey>,
    group: Vec<(u64, Bytes)>,
) -> ReadyLines {
    let mut drafts = Vec::new();
    let checked = group
        .into_iter()
        .map(|(number, line)| {
            caller.ensure_valid()?;
            let mut asked: api::AddRequest = parse(&line)?;
            caller.narrow(&mut asked.space)?;
            drafts.push(scoped.addition(asked, key.map(|key| key.part(number, &line))));
            Ok(())
        })
        .collect();
    ReadyLines { ready: scoped.adding().prepare_adds(drafts, now()), checked }
}

/// Stores the valid lines; each has its own outcome.
fn store_lines(store: &Store, lines: ReadyLines) -> Vec<Stored> {
    let mut added = store.add_prepared(lines.ready).into_iter();
    lines
        .checked
        .into_iter()
        .map(|checked| {
            checked?;
            match added.next() {
                Some(Ok(Added::New(memory))) => Ok((201, memory.id.get())),
                Some(Ok(Added::Existing(memory) | Added::Before(memory))) => {
                    Ok((200, memory.id.get()))
                }
                Some(Err(error)) => Err(error.into()),
                None => Err(Failure::internal()),
            }
        })
        .collect()
}
