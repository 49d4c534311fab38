//! Server-sent events, as far as this service uses them.

use std::io::{BufRead, BufReader, ErrorKind, Read};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::http::header::ACCEPT;

use super::answer::{Heard, Told};
use super::{Client, Error, Patience, Result};
use crate::query::with_query;
use crate::routes;
use crate::{
    EVENT_STREAM, IndexProgress, IndexRequest, IndexResult, MeshListenRequest, MeshLost, Problem,
    StreamRequest,
};

/// Far above the length of any progress line.
const LINE_BYTES_MAX: u64 = 8 << 20;

/// One event of a stream.
#[derive(Debug, Default)]
struct Message {
    name: String,
    data: String,
}

#[derive(Deserialize)]
struct Gap {
    first: u64,
}

impl Client {
    /// Rebuilds the index and reports its progress.
    pub fn reindex(
        &self,
        request: &IndexRequest,
        progress: &mut dyn FnMut(IndexProgress),
    ) -> Result<IndexResult> {
        let body = serde_json::to_vec(request);
        let body = body.map_err(|error| Error::Input { source: error.into() })?;
        let path = routes::REINDEX_MEMORIES.path().to_owned();
        self.follow("POST", &path, Some(&body), |message| match message.name.as_str() {
            "progress" => {
                progress(self.data(&message)?);
                Ok(None)
            }
            "done" => self.data(&message).map(Some),
            "problem" => {
                let problem: Problem = self.data(&message)?;
                Err(Error::Refused(Box::new(problem)))
            }
            _ => Ok(None),
        })
    }

    /// Passes each event to `each` until it returns false or the stream ends.
    pub fn follow_events(
        &self,
        request: &StreamRequest,
        each: &mut dyn FnMut(Told) -> Result<bool>,
    ) -> Result<()> {
        let path = with_query(routes::FOLLOW_EVENTS.path(), request);
        self.follow("GET", &path, None, |message| {
            let told = match message.name.as_str() {
                "" | "message" => Told::Event(self.data(&message)?),
                "reset" => Told::Reset { first: self.data::<Gap>(&message)?.first },
                "end" => return Ok(Some(())),
                _ => return Ok(None),
            };
            Ok((!each(told)?).then_some(()))
        })
    }

    /// Passes each event of the mesh to `each` until it returns false or the stream ends.
    pub fn follow_mesh(
        &self,
        request: &MeshListenRequest,
        each: &mut dyn FnMut(Heard) -> Result<bool>,
    ) -> Result<()> {
        let path = with_query(routes::LISTEN_TO_MESH.path(), request);
        self.follow("GET", &path, None, |message| {
            let heard = match message.name.as_str() {
                "" => Heard::Event(self.data(&message)?),
                "lost" => Heard::Lost(self.data::<MeshLost>(&message)?.events),
                "end" => return Ok(Some(())),
                _ => return Ok(None),
            };
            Ok((!each(heard)?).then_some(()))
        })
    }

    fn data<T: DeserializeOwned>(&self, message: &Message) -> Result<T> {
        serde_json::from_str(&message.data).map_err(|error| self.not_understood(&error))
    }

    /// Passes on each event of a stream until `each` returns a value.
    fn follow<T>(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
        mut each: impl FnMut(Message) -> Result<Option<T>>,
    ) -> Result<T> {
        let request = self.request(method, path).header(ACCEPT, EVENT_STREAM);
        let mut response = self.send(request, body, Patience::Silence)?;
        let reader = response.body_mut().with_config().limit(u64::MAX).reader();
        let mut input = BufReader::new(reader);
        let mut message = Message::default();
        let mut line = String::new();
        loop {
            line.clear();
            let read = input
                .by_ref()
                .take(LINE_BYTES_MAX)
                .read_line(&mut line)
                .map_err(Error::broken_off)?;
            if read == 0 {
                return Err(Error::broken_off(ErrorKind::UnexpectedEof.into()));
            }
            let text = line.trim_end_matches(['\n', '\r']);
            if text.is_empty() {
                let whole = std::mem::take(&mut message);
                if !whole.data.is_empty()
                    && let Some(done) = each(whole)?
                {
                    return Ok(done);
                }
                continue;
            }
            let (field, value) = text.split_once(':').unwrap_or((text, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut message.name),
                "data" if message.data.is_empty() => value.clone_into(&mut message.data),
                "data" => {
                    message.data.push('\n');
                    message.data.push_str(value);
                }
                _ => {}
            }
        }
    }
}
