//! Calls of routes.

use std::borrow::Borrow;
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, EXPECT, HeaderName, LINK};
use ureq::http::uri::InvalidUri;
use ureq::http::{HeaderValue, Request, Response};
use ureq::{Body, SendBody};

use super::answer::{EventsPage, Found, Page, Stored};
use super::{Client, Error, Patience, Result};
use crate::query::with_query;
use crate::routes::{self, Endpoint, Input, Output, Repeat, Route};
use crate::{
    ANSWERABLE_HEADER, BatchResult, EventsRequest, FORGOTTEN_HEADER, HistoryRequest,
    IDEMPOTENCY_KEY_HEADER, ImportRequest, ImportResult, KEYS_HEADER, ListRequest, NDJSON,
    NEXT_AFTER_HEADER, PublishRequest, Published, SEARCH_MODE_HEADER, STOP_WORDS_HEADER,
    SearchMode, SearchRequest, TokenRevoked, Version, Vocabulary, backup,
};

const JSON: &str = "application/json";

impl Client {
    /// Calls a route and returns its response: `client.call(&routes::GET_MEMORY.at(7), ())`.
    pub fn call<I: Input, O: Output>(
        &self,
        endpoint: &Endpoint<I, O>,
        request: impl Borrow<I::Value>,
    ) -> Result<O::Value>
    where
        I::Value: Serialize,
        O::Value: DeserializeOwned,
    {
        self.read(self.perform(endpoint, request.borrow(), None)?)
    }

    /// Calls a route that stores something, which may have been stored before.
    pub fn store<I: Input, O: Output>(
        &self,
        endpoint: &Endpoint<I, O>,
        request: impl Borrow<I::Value>,
    ) -> Result<Stored<O::Value>>
    where
        I::Value: Serialize,
        O::Value: DeserializeOwned,
    {
        self.stored(self.perform(endpoint, request.borrow(), None)?)
    }

    /// Publishes an event, with the given idempotency key or one of its own.
    pub fn publish(
        &self,
        request: &PublishRequest,
        idempotency_key: Option<&str>,
    ) -> Result<Stored<Published>> {
        self.stored(self.perform(&routes::PUBLISH_EVENT, request, idempotency_key)?)
    }

    /// Searches memories, and reads what the headers of the response say of the search.
    pub fn search(&self, request: &SearchRequest) -> Result<Found> {
        let response = self.perform(&routes::SEARCH_MEMORIES, request, None)?;
        let mode = header(&response, SEARCH_MODE_HEADER).and_then(SearchMode::from_name);
        let answerable =
            header(&response, ANSWERABLE_HEADER).and_then(|header| header.parse().ok());
        let forgotten = header(&response, FORGOTTEN_HEADER).and_then(|header| header.parse().ok());
        let only_stop_words = response.headers().contains_key(STOP_WORDS_HEADER);
        Ok(Found { hits: self.read(response)?, answerable, mode, forgotten, only_stop_words })
    }

    /// Adds memories: `lines` are bodies of adds, one per line. The results are in the order of the lines.
    ///
    /// The whole request is sent before the response is read.
    pub fn batch(&self, lines: &[u8]) -> Result<Vec<BatchResult>> {
        let key = new_key();
        let mut response = self.with_repeat(&|| {
            let request = self.request("POST", routes::ADD_MEMORIES.path());
            let request = request.header(CONTENT_TYPE, NDJSON).header(IDEMPOTENCY_KEY_HEADER, &key);
            self.send(request, Some(lines), Patience::Endless)
        })?;
        let mut text = Vec::new();
        let mut reader = response.body_mut().with_config().limit(u64::MAX).reader();
        reader.read_to_end(&mut text).map_err(Error::broken_off)?;
        // Its header was sent before the writes: another response has their position.
        drop(self.call(&routes::MEMORY_STATUS, ()));
        text.split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).map_err(|error| self.not_understood(&error)))
            .collect()
    }

    /// Lists a page of memories.
    pub fn list(&self, request: &ListRequest) -> Result<Page> {
        let response = self.perform(&routes::LIST_MEMORIES, request, None)?;
        let next = next_after(&response);
        Ok(Page { memories: self.read(response)?, next })
    }

    /// Lists all versions of a memory.
    pub fn history(&self, id: u64) -> Result<Vec<Version>> {
        let (mut versions, mut request) = (Vec::new(), HistoryRequest::default());
        loop {
            let response = self.perform(&routes::MEMORY_HISTORY.at(id), &request, None)?;
            request.after = next_after(&response);
            versions.extend(self.read::<Vec<Version>>(response)?);
            if request.after.is_none() {
                return Ok(versions);
            }
        }
    }

    /// Lists a page of events.
    pub fn events(&self, request: &EventsRequest) -> Result<EventsPage> {
        let response = self.perform(&routes::LIST_EVENTS, request, None)?;
        let next_after =
            header(&response, NEXT_AFTER_HEADER).and_then(|header| header.parse().ok());
        let events: Vec<crate::Event> = self.read(response)?;
        let last = events.last().map_or(0, |event| event.id);
        Ok(EventsPage { next_after: next_after.unwrap_or(last), events })
    }

    /// Writes an export to `output` as it arrives; returns the number of bytes.
    ///
    /// # Errors
    /// [`Error::BrokenOff`] if the stream ends early: what was written is then not a complete export.
    pub fn export(&self, output: &mut dyn Write) -> Result<u64> {
        let request = self.request("GET", routes::EXPORT_MEMORIES.path()).header(ACCEPT, NDJSON);
        copy(self.send(request, None, Patience::Silence)?, output, &mut |_| ())
    }

    /// Writes a backup to `output` as it arrives. `progress` gets the number of bytes so far, and the total size of the
    /// files.
    ///
    /// # Errors
    /// [`Error::BrokenOff`] if the stream ends early. [`crate::backup::Reader`] verifies whether the result is
    /// complete.
    pub fn backup(
        &self,
        output: &mut dyn Write,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<u64> {
        let request = self.request("GET", routes::BACK_UP.path());
        let request = request.header(ACCEPT, backup::MEDIA_TYPE);
        let response = self.send(request, None, Patience::Silence)?;
        let total = header(&response, backup::BYTES_HEADER).and_then(|header| header.parse().ok());
        let total = total.unwrap_or(0);
        copy(response, output, &mut |bytes| progress(bytes, total))
    }

    /// Imports an export.
    pub fn import(&self, input: &mut dyn Read, asked: &ImportRequest) -> Result<ImportResult> {
        let path = with_query(routes::IMPORT_MEMORIES.path(), asked);
        // Nothing of the input is sent before the service has admitted the request.
        let request = self.request("POST", &path).header(CONTENT_TYPE, NDJSON);
        let request = request.header(EXPECT, "100-continue");
        self.read(self.send_with(request, SendBody::from_reader(input), Patience::Endless)?)
    }

    /// Revokes a token. An earlier release answers 204 and derives no tokens.
    pub fn revoke_token(&self, id: &str) -> Result<TokenRevoked> {
        let response = self.perform(&routes::REVOKE_TOKEN.at(id), &(), None)?;
        if response.status() == 204 {
            return Ok(TokenRevoked::default());
        }
        self.read(response)
    }

    /// The service's metrics, as text.
    pub fn metrics(&self) -> Result<String> {
        let mut response = self.perform(&routes::METRICS, &(), None)?;
        response.body_mut().read_to_string().map_err(|error| self.not_reachable(error))
    }

    /// Sends a request to the path and query in its URI, with the client's token, and returns the response with
    /// whatever status it has. For callers that translate requests; the other methods are typed.
    ///
    /// # Errors
    /// If no response arrives, as for the other methods; never [`Error::Refused`].
    pub fn exchange(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>> {
        let (mut head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |query| query.as_str());
        head.uri = format!("{}{path}", self.root).parse().map_err(|error: InvalidUri| {
            Error::NotUnderstood { url: self.base.clone(), reason: error.to_string() }
        })?;
        if let Some(authorization) = &self.authorization {
            let value = HeaderValue::try_from(authorization).map_err(|_| Error::Token)?;
            head.headers.insert(AUTHORIZATION, value);
        }
        let limit = Some(self.answer_time_max);
        let response = if body.is_empty() && head.method == "GET" {
            let request = Request::from_parts(head, ());
            self.agent.run(self.agent.configure_request(request).timeout_global(limit).build())
        } else {
            let request = Request::from_parts(head, body);
            self.agent.run(self.agent.configure_request(request).timeout_global(limit).build())
        };
        let (head, mut body) = response.map_err(|error| self.not_reachable(error))?.into_parts();
        let read = body.with_config().limit(u64::MAX).read_to_vec();
        Ok(Response::from_parts(head, read.map_err(|error| self.not_reachable(error))?))
    }

    fn perform<I: Input, O: Output>(
        &self,
        endpoint: &Endpoint<I, O>,
        request: &I::Value,
        key: Option<&str>,
    ) -> Result<Response<Body>>
    where
        I::Value: Serialize,
    {
        if !I::IS_BODY {
            let path = with_query(endpoint.path(), request);
            return self.perform_encoded(endpoint.route(), &path, None, key);
        }
        let body = serde_json::to_vec(request);
        let body = body.map_err(|error| Error::Input { source: error.into() })?;
        self.perform_encoded(endpoint.route(), endpoint.path(), Some(&body), key)
    }

    /// Sends a request. One that changes something has a key, so that it can be sent once more if no answer came.
    fn perform_encoded(
        &self,
        route: Route,
        path: &str,
        body: Option<&[u8]>,
        key: Option<&str>,
    ) -> Result<Response<Body>> {
        let mut head: Vec<(HeaderName, String)> = Vec::new();
        if body.is_some() {
            head.push((CONTENT_TYPE, JSON.to_owned()));
        }
        let is_keyed = route.repeat != Repeat::Reads && !route.is_slow;
        if is_keyed {
            let key = key.map_or_else(new_key, str::to_owned);
            head.push((HeaderName::from_static(IDEMPOTENCY_KEY_HEADER), key));
        }
        let patience = if route.is_slow { Patience::Endless } else { Patience::Answer };
        let send = || {
            let request = self.request(route.method, path);
            let request = head.iter().fold(request, |it, (name, value)| it.header(name, value));
            self.send(request, body, patience)
        };
        let send_again = || if is_keyed { self.with_repeat(&send) } else { send() };
        match route.repeat {
            Repeat::Reads | Repeat::Harmless if !route.is_slow => self.up_to_date(&send_again),
            _ => send_again(),
        }
    }

    /// Makes a call whose request has a key. If the connection ends before an answer comes, makes it once more, unless
    /// the service that is there now might carry it out twice.
    fn with_repeat(&self, call: &dyn Fn() -> Result<Response<Body>>) -> Result<Response<Body>> {
        match call() {
            Err(Error::Closed { .. }) if self.knows_keys() => call(),
            answered => answered,
        }
    }

    /// Whether the service carries out a request with a key only once, whatever it changes. An earlier release does not
    /// say so.
    fn knows_keys(&self) -> bool {
        let health = self.perform(&routes::LIVE, &(), None);
        health.is_ok_and(|health| health.headers().contains_key(KEYS_HEADER))
    }

    fn stored<T: DeserializeOwned>(&self, response: Response<Body>) -> Result<Stored<T>> {
        let is_new = response.status() == 201;
        let value = self.read(response)?;
        Ok(if is_new { Stored::New(value) } else { Stored::Existing(value) })
    }
}

/// A key that no other request has.
fn new_key() -> String {
    // Each state has keys of its own, from the system's random numbers.
    let [one, other] = [0, 1].map(|byte: u8| RandomState::new().hash_one(byte));
    format!("{one:016x}{other:016x}")
}

fn header<'a>(response: &'a Response<Body>, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// The `after` of the next page.
fn next_after(response: &Response<Body>) -> Option<u64> {
    let (target, parameters) = header(response, LINK.as_str())?.split_once('>')?;
    if !parameters.contains("rel=\"next\"") {
        return None;
    }
    let (_, query) = target.split_once('?')?;
    query.split('&').find_map(|part| part.strip_prefix("after=")?.parse().ok())
}

/// Writes the body of a response to `output`.
fn copy(
    mut response: Response<Body>,
    output: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let mut input = response.body_mut().with_config().limit(u64::MAX).reader();
    let mut buffer = vec![0; 64 << 10];
    let mut bytes = 0;
    loop {
        let read = input.read(&mut buffer).map_err(Error::broken_off)?;
        if read == 0 {
            return Ok(bytes);
        }
        output.write_all(&buffer[..read]).map_err(|source| Error::Output { source })?;
        bytes += read as u64;
        progress(bytes);
    }
}
