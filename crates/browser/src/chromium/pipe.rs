//! The connection to Chromium: JSON messages, each terminated by a NUL, over two pipes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};

use super::launch::Ends;
use crate::Deadline;
use crate::deadline::Late;

/// The longest message that is accepted; a longer one closes the connection.
const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lost {
    /// It took too long.
    Late,
    /// Its session ended.
    Detached,
    /// Chromium is gone.
    Gone,
    /// Chromium rejected the call.
    Refused(String),
}

impl From<Late> for Lost {
    fn from(_: Late) -> Self {
        Self::Late
    }
}

/// An event, as received.
#[derive(Debug)]
pub(super) struct Event<'a> {
    pub(super) method: &'a str,
    pub(super) session: Option<&'a str>,
    pub(super) params: &'a RawValue,
}

/// A command whose response is not awaited.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) session: Option<String>,
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// Our end of a connection to Chromium.
#[derive(Debug)]
pub(super) struct Pipe {
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    pending: Mutex<Pending>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Pending {
    calls: HashMap<u64, Call>,
    is_gone: bool,
}

#[derive(Debug)]
struct Call {
    session: Option<String>,
    answer: oneshot::Sender<Result<Value, Lost>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    result: Option<Value>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

impl Pipe {
    /// Opens the connection. `heard` gets each event in order, and may return commands; `gone` is
    /// called when the connection ends.
    pub(super) fn open(
        ends: Ends,
        heard: impl Fn(&Event<'_>) -> Vec<Post> + Send + Sync + 'static,
        gone: impl FnOnce() + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let mut to = pipe::Sender::from_owned_fd(ends.to)?;
        let from = pipe::Receiver::from_owned_fd(ends.from)?;
        let (outgoing, mut queue) = mpsc::unbounded_channel::<Vec<u8>>();
        tokio::spawn(async move {
            while let Some(message) = queue.recv().await {
                if to.write_all(&message).await.is_err() {
                    return;
                }
            }
        });
        let pipe = Arc::new(Self { outgoing, pending: Mutex::default(), next: AtomicU64::new(1) });
        let reader = pipe.clone();
        tokio::spawn(async move {
            // Whatever the reason, the connection has ended.
            reader.read(from, &heard).await.unwrap_or_default();
            reader.lose(|_| true, &Lost::Gone, true);
            gone();
        });
        Ok(pipe)
    }

    pub(super) fn is_gone(&self) -> bool {
        self.pending.lock().is_gone
    }

    /// Sends a command without waiting for a response.
    pub(super) fn post(&self, post: &Post) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.send(id, post.session.as_deref(), post.method, &post.params);
    }

    /// Sends a command, and waits for the response.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
        by: Deadline,
    ) -> Result<Value, Lost> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        {
            let mut pending = self.pending.lock();
            if pending.is_gone {
                return Err(Lost::Gone);
            }
            pending.calls.insert(id, Call { session: session.map(str::to_owned), answer });
        }
        self.send(id, session, method, &params);
        let result = by.of(answered).await;
        if result.is_err() {
            self.pending.lock().calls.remove(&id);
        }
        result?.unwrap_or(Err(Lost::Gone))
    }

    /// Ends the calls of a session that has ended.
    pub(super) fn detach(&self, session: &str) {
        self.lose(|call| call.session.as_deref() == Some(session), &Lost::Detached, false);
    }

    fn lose(&self, is_lost: impl Fn(&Call) -> bool, why: &Lost, is_gone: bool) {
        let lost: Vec<Call> = {
            let mut pending = self.pending.lock();
            pending.is_gone |= is_gone;
            let ids: Vec<u64> =
                pending.calls.iter().filter(|call| is_lost(call.1)).map(|call| *call.0).collect();
            ids.iter().filter_map(|id| pending.calls.remove(id)).collect()
        };
        for call in lost {
            call.answer.send(Err(why.clone())).unwrap_or_default();
        }
    }

    fn send(&self, id: u64, session: Option<&str>, method: &str, params: &Value) {
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        // If the receiver is gone, the reader has noticed it.
        self.outgoing.send(bytes).unwrap_or_default();
    }

    async fn read(
        &self,
        mut from: pipe::Receiver,
        heard: &(impl Fn(&Event<'_>) -> Vec<Post> + Sync),
    ) -> io::Result<()> {
        let mut read = Vec::with_capacity(64 << 10);
        loop {
            let known = read.len();
            if from.read_buf(&mut read).await? == 0 || read.len() > MESSAGE_BYTES_MAX {
                return Ok(());
            }
            let Some(last) = read[known..].iter().rposition(|byte| *byte == 0) else { continue };
            let rest = read.split_off(known + last + 1);
            for message in read.split(|byte| *byte == 0).filter(|part| !part.is_empty()) {
                self.take(message, heard);
            }
            read = rest;
            read.reserve(64 << 10);
        }
    }

    fn take(&self, message: &[u8], heard: &impl Fn(&Event<'_>) -> Vec<Post>) {
        // An unreadable message is of no known version; a call that waits for it times out.
        let Ok(incoming) = serde_json::from_slice::<Incoming<'_>>(message) else { return };
        if let Some(id) = incoming.id {
            let call = self.pending.lock().calls.remove(&id);
            let result = match incoming.error {
                Some(refusal) => Err(Lost::Refused(refusal.message)),
                None => Ok(incoming.result.unwrap_or(Value::Null)),
            };
            if let Some(call) = call {
                call.answer.send(result).unwrap_or_default();
            }
        } else if let (Some(method), Some(params)) = (&incoming.method, incoming.params) {
            let event = Event { method, session: incoming.session_id.as_deref(), params };
            for post in heard(&event) {
                self.post(&post);
            }
        }
    }
}
