//! A blocking client of the service, with one method per route.
//!
//! ```no_run
//! use waypost_api::client::Client;
//! use waypost_api::SearchRequest;
//!
//! # fn main() -> Result<(), waypost_api::client::Error> {
//! let client = Client::new("unix:/home/me/project/.waypost/data/service.sock", Some("wp_..."))?;
//! let found = client.search(&SearchRequest { query: "where the keys are".into(), ..SearchRequest::default() })?;
//! for hit in found.hits {
//!     assert!(hit.score <= 1.0);
//! }
//! # Ok(())
//! # }
//! ```

mod answer;
mod browser;
mod bus;
mod context;
mod error;
mod events;
mod flows;
mod mesh;
mod once;
mod recall;
mod way;

use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, EXPECT, LINK};
use ureq::http::request::Builder as RequestBuilder;
use ureq::http::uri::InvalidUri;
use ureq::http::{Error as MalformedRequest, HeaderValue, Request, Response, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, AsSendBody, Body, SendBody, Timeout};

pub use self::answer::{Found, Heard, Page, Stored};
pub use self::bus::{EventsPage, Told};
pub use self::error::Error;
use self::way::{Near, NoResolver};
use crate::query::{encode, with_query};
use crate::{
    ANSWERABLE_HEADER, AddRequest, AddedMemory, BatchResult, CompactRequest, CompactResult,
    CountRequest, Counts, DashboardCode, DashboardCodeRequest, EVENT_STREAM, FORGOTTEN_HEADER,
    HistoryRequest, Hit, ImportRequest, ImportResult, IndexProgress, IndexRequest, IndexResult,
    JournalPosition, Link, LinkRequest, ListRequest, MIN_POSITION_HEADER, Memory, MergeRequest,
    NDJSON, NewTokenRequest, POSITION_HEADER, PatchRequest, Problem, RestoreRequest,
    SEARCH_MODE_HEADER, STOP_WORDS_HEADER, SearchMode, SearchRequest, Status, Suggestions,
    SuggestionsRequest, TokenCreated, TokenGrants, TokenInfo, TokenRevoked, Version, Vocabulary,
};

/// The time limit for establishing a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// The time limit for an ordinary response, from the first byte of the request to the last of the response.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
/// How long a progress stream may be silent; the service sends something every 15 seconds.
const SILENCE_TIME_MAX: Duration = Duration::from_secs(60);

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// A blocking client of one service. Cheap to clone; keeps its connections open.
///
/// A call that changes something has a random idempotency key. If the connection ends before an answer comes, the call
/// is made once more, unless the service is of an earlier release, which might carry it out twice. An import is not
/// repeated: its input can be read only once.
///
/// It follows no redirects, so a token is never sent to another host. Unencrypted connections stay within the machine,
/// and only to a service of this user or of root: for a socket and a loopback address, the client checks the user at
/// the other end before it sends anything (see [`local`](crate::local)).
#[derive(Clone)]
pub struct Client {
    agent: Agent,
    /// The address as the caller gave it.
    base: String,
    /// The prefix of request URLs.
    root: String,
    authorization: Option<String>,
    answer_time_max: Duration,
    /// The latest position of a cluster that a response had. Clones share it.
    position: Arc<Mutex<Option<JournalPosition>>>,
    /// Positions that earlier clients have seen.
    earlier: Arc<[JournalPosition]>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the service at that address, with that token: `unix:` and the path of its socket, `http://` and a
    /// loopback address, or `https://`.
    ///
    /// # Errors
    /// [`Error::Address`] if the address is none of these, [`Error::Plain`] for `http` to another machine,
    /// [`Error::Token`] if the token contains characters that are not valid in a token.
    pub fn new(base_url: &str, token: Option<&str>) -> Result<Self> {
        Self::with_authorities(base_url, token, None)
    }

    /// The same. Over `https`, the certificate is verified with these authorities (PEM), instead of the built-in ones
    /// of the public web.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Authorities`] if it contains no certificate.
    pub fn with_authorities(
        base_url: &str,
        token: Option<&str>,
        authorities: Option<&[u8]>,
    ) -> Result<Self> {
        let authorization = match token {
            None => None,
            Some(token)
                if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) =>
            {
                Some(format!("Bearer {token}"))
            }
            Some(_) => return Err(Error::Token),
        };
        let base = base_url.trim_end_matches('/').to_owned();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("waypost/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT_TIME_MAX));
        let (agent, root) = match way(&base)? {
            Way::Socket(path) => {
                let config = config.proxy(None).build();
                let agent = Agent::with_parts(config, Near::Socket(path), NoResolver);
                (agent, "http://localhost".to_owned())
            }
            Way::Loopback => {
                let config = config.proxy(None).build();
                let resolver = DefaultResolver::default();
                (Agent::with_parts(config, Near::Loopback, resolver), base.clone())
            }
            Way::Tls { here } => {
                let roots = match authorities {
                    Some(pem) => RootCerts::Specific(Arc::new(certificates(pem)?)),
                    None => RootCerts::WebPki,
                };
                let tls = TlsConfig::builder().root_certs(roots).build();
                let mut config = config.tls_config(tls).https_only(true);
                if here {
                    config = config.proxy(None);
                }
                (config.build().new_agent(), base.clone())
            }
        };
        let answer_time_max = ANSWER_TIME_MAX;
        let position = Arc::default();
        let earlier = Arc::default();
        Ok(Self { agent, base, root, authorization, answer_time_max, position, earlier })
    }

    /// With another time limit for ordinary responses; the default is 60 seconds. Streams, backups and other responses
    /// that may take long have no such limit.
    #[must_use]
    pub fn with_answer_time_max(mut self, limit: Duration) -> Self {
        self.answer_time_max = limit;
        self
    }

    /// Continues with what another client of the same cluster has seen or written: a response of this one has at least
    /// that, whichever machine it comes from. Within one client, this is so in any case.
    #[must_use]
    pub fn after(self, position: JournalPosition) -> Self {
        self.note(position);
        self
    }

    /// Continues with what earlier clients have seen, of whatever clusters: if this service belongs to one of them and is
    /// behind, it is asked once more; if it does not get there in time, its first answer counts. For a caller that does
    /// not know which cluster a service belongs to.
    #[must_use]
    pub fn remembering(mut self, earlier: impl IntoIterator<Item = JournalPosition>) -> Self {
        self.earlier = earlier.into_iter().collect();
        self
    }

    /// The position of the cluster that the latest response had; `None` if the service belongs to no cluster.
    pub fn position(&self) -> Option<JournalPosition> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, position: JournalPosition) {
        let mut known = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|it| position.replaces(it)) {
            *known = Some(position);
        }
    }

    /// The address of the service.
    pub fn base_url(&self) -> &str {
        &self.base
    }

    /// `POST /api/memory/search`.
    pub fn search(&self, request: &SearchRequest) -> Result<Found> {
        let response = self.send_json("POST", "/api/memory/search", request)?;
        let mode = response.headers().get(SEARCH_MODE_HEADER).and_then(|it| it.to_str().ok());
        let mode = mode.and_then(SearchMode::from_name);
        let answerable = response.headers().get(ANSWERABLE_HEADER);
        let answerable = answerable.and_then(|it| it.to_str().ok()?.parse().ok());
        let forgotten = response.headers().get(FORGOTTEN_HEADER);
        let forgotten = forgotten.and_then(|it| it.to_str().ok()?.parse().ok());
        let only_stop_words = response.headers().contains_key(STOP_WORDS_HEADER);
        let hits: Vec<Hit> = self.read(response)?;
        Ok(Found { hits, answerable, mode, forgotten, only_stop_words })
    }

    /// `POST /api/memory/add`.
    pub fn add(&self, request: &AddRequest) -> Result<Stored<AddedMemory>> {
        self.stored(self.send_once("POST", "/api/memory/add", Some(&encoded(request)?))?)
    }

    /// `POST /api/memory/batch`: `lines` are bodies of adds, one per line. The results are in the order of the lines.
    ///
    /// The whole request is sent before the response is read.
    pub fn batch(&self, lines: &[u8]) -> Result<Vec<BatchResult>> {
        let mut response = self.send_lines_once("/api/memory/batch", lines)?;
        let mut text = Vec::new();
        response
            .body_mut()
            .with_config()
            .limit(u64::MAX)
            .reader()
            .read_to_end(&mut text)
            .map_err(Error::broken_off)?;
        // Its header was sent before the writes: another response has their position.
        drop(self.status());
        text.split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).map_err(|error| self.not_understood(&error)))
            .collect()
    }

    /// `GET /api/memory`.
    pub fn list(&self, request: &ListRequest) -> Result<Page> {
        let response = self.send("GET", &with_query("/api/memory", request))?;
        let (memories, next) = self.read_page(response)?;
        Ok(Page { memories, next })
    }

    /// `POST /api/memory/count`.
    pub fn count(&self, request: &CountRequest) -> Result<Counts> {
        self.read(self.send_json("POST", "/api/memory/count", request)?)
    }

    /// `GET /api/memory/{id}`.
    pub fn get(&self, id: u64) -> Result<Memory> {
        self.read(self.send("GET", &format!("/api/memory/{id}"))?)
    }

    /// `PATCH /api/memory/{id}`.
    pub fn update(&self, id: u64, request: &PatchRequest) -> Result<Memory> {
        let body = encoded(request)?;
        self.read(self.send_once("PATCH", &format!("/api/memory/{id}"), Some(&body))?)
    }

    /// `DELETE /api/memory/{id}`.
    pub fn delete(&self, id: u64) -> Result<()> {
        self.send_once("DELETE", &format!("/api/memory/{id}"), None).map(drop)
    }

    /// `POST /api/memory/merge`.
    pub fn merge(&self, request: &MergeRequest) -> Result<Memory> {
        self.read(self.send_once("POST", "/api/memory/merge", Some(&encoded(request)?))?)
    }

    /// `POST /api/memory/{id}/restore`.
    pub fn restore(&self, id: u64, request: RestoreRequest) -> Result<Memory> {
        let body = encoded(&request)?;
        self.read(self.send_once("POST", &format!("/api/memory/{id}/restore"), Some(&body))?)
    }

    /// `POST /api/memory/{id}/undelete`.
    pub fn undelete(&self, id: u64) -> Result<Memory> {
        self.read(self.send_once("POST", &format!("/api/memory/{id}/undelete"), None)?)
    }

    /// `GET /api/memory/{id}/history`, all pages.
    pub fn history(&self, id: u64) -> Result<Vec<Version>> {
        let (mut versions, mut request) = (Vec::new(), HistoryRequest::default());
        loop {
            let path = with_query(&format!("/api/memory/{id}/history"), &request);
            let (page, next): (Vec<Version>, Option<u64>) =
                self.read_page(self.send("GET", &path)?)?;
            versions.extend(page);
            if next.is_none() {
                return Ok(versions);
            }
            request.after = next;
        }
    }

    /// `GET /api/memory/{id}/links`.
    pub fn links(&self, id: u64, depth: u64) -> Result<Vec<Link>> {
        self.read(self.send("GET", &format!("/api/memory/{id}/links?depth={depth}"))?)
    }

    /// `GET /api/memory/suggestions`.
    pub fn suggestions(&self, request: &SuggestionsRequest) -> Result<Suggestions> {
        self.read(self.send("GET", &with_query("/api/memory/suggestions", request))?)
    }

    /// `POST /api/memory/link`.
    pub fn link(&self, request: &LinkRequest) -> Result<Stored<Link>> {
        self.stored(self.send_once("POST", "/api/memory/link", Some(&encoded(request)?))?)
    }

    /// `DELETE /api/memory/link`.
    pub fn unlink(&self, request: &LinkRequest) -> Result<()> {
        self.send_once("DELETE", &with_query("/api/memory/link", request), None).map(drop)
    }

    /// `GET /api/memory/status`.
    pub fn status(&self) -> Result<Status> {
        self.read(self.send("GET", "/api/memory/status")?)
    }

    /// `POST /api/memory/index`, with its progress.
    pub fn reindex(
        &self,
        request: &IndexRequest,
        progress: &mut dyn FnMut(IndexProgress),
    ) -> Result<IndexResult> {
        let body = encoded(request)?;
        let http = self.request("POST", "/api/memory/index").header(ACCEPT, EVENT_STREAM);
        let mut response = self.run(http, &body, Some(SILENCE_TIME_MAX))?;
        let reader = response.body_mut().with_config().limit(u64::MAX).reader();
        events::follow(reader, |event| match event.name.as_str() {
            "progress" => {
                progress(
                    serde_json::from_str(&event.data)
                        .map_err(|error| self.not_understood(&error))?,
                );
                Ok(None)
            }
            "done" => serde_json::from_str(&event.data)
                .map(Some)
                .map_err(|error| self.not_understood(&error)),
            "problem" => {
                let problem: Problem = serde_json::from_str(&event.data)
                    .map_err(|error| self.not_understood(&error))?;
                Err(Error::Refused(Box::new(problem)))
            }
            _ => Ok(None),
        })
    }

    /// `POST /api/memory/compact`.
    pub fn compact(&self, asked: &CompactRequest) -> Result<CompactResult> {
        let body = encoded(asked)?;
        let request = self.request("POST", "/api/memory/compact");
        let response = self.run(request, &body, None)?;
        self.read(response)
    }

    /// `GET /api/memory/export`, written to `output` as it arrives; returns the number of bytes.
    ///
    /// # Errors
    /// [`Error::BrokenOff`] if the stream ends early: what was written is then not a complete export.
    pub fn export(&self, output: &mut dyn Write) -> Result<u64> {
        let request = self.request("GET", "/api/memory/export").header(ACCEPT, NDJSON);
        let mut response = self.run(request, b"", Some(SILENCE_TIME_MAX))?;
        let mut reader = response.body_mut().with_config().limit(u64::MAX).reader();
        copy(&mut reader, output, &mut |_| ())
    }

    /// `GET /api/backup`, written to `output` as it arrives. `progress` gets the number of bytes so far, and the total
    /// size of the files.
    ///
    /// # Errors
    /// [`Error::BrokenOff`] if the stream ends early. [`crate::backup::Reader`] verifies whether the result is
    /// complete.
    pub fn backup(
        &self,
        output: &mut dyn Write,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<u64> {
        let request = self.request("GET", "/api/backup").header(ACCEPT, crate::backup::MEDIA_TYPE);
        let mut response = self.run(request, b"", Some(SILENCE_TIME_MAX))?;
        let total = response.headers().get(crate::backup::BYTES_HEADER);
        let total = total.and_then(|it| it.to_str().ok()?.parse().ok()).unwrap_or(0);
        let mut reader = response.body_mut().with_config().limit(u64::MAX).reader();
        copy(&mut reader, output, &mut |bytes| progress(bytes, total))
    }

    /// `POST /api/memory/import`.
    pub fn import(&self, input: &mut dyn Read, asked: &ImportRequest) -> Result<ImportResult> {
        let path = with_query("/api/memory/import", asked);
        // Nothing of the input is sent before the service has admitted the request.
        let request = self.request("POST", &path).header(CONTENT_TYPE, NDJSON);
        let request = request.header(EXPECT, "100-continue");
        let request =
            request.body(SendBody::from_reader(input)).map_err(|error| self.not_sent(&error))?;
        let response = self.agent.run(request).map_err(|error| self.not_reachable(error))?;
        self.read(self.accepted(response)?)
    }

    /// `GET /api/tokens`.
    pub fn tokens(&self) -> Result<Vec<TokenInfo>> {
        self.read(self.send("GET", "/api/tokens")?)
    }

    /// `POST /api/tokens`.
    pub fn create_token(&self, request: &NewTokenRequest) -> Result<TokenCreated> {
        self.read(self.send_once("POST", "/api/tokens", Some(&encoded(request)?))?)
    }

    /// `DELETE /api/tokens/{id}`. An earlier release answers 204 and derives no tokens.
    pub fn revoke_token(&self, id: &str) -> Result<TokenRevoked> {
        let mut path = "/api/tokens/".to_owned();
        encode(id, &mut path);
        let response = self.send_once("DELETE", &path, None)?;
        if response.status() == 204 {
            return Ok(TokenRevoked::default());
        }
        self.read(response)
    }

    /// `POST /api/dashboard/codes`.
    pub fn dashboard_code(&self, request: &DashboardCodeRequest) -> Result<DashboardCode> {
        self.read(self.send_json("POST", "/api/dashboard/codes", request)?)
    }

    /// `GET /healthz`: whether a service responds.
    pub fn health(&self) -> Result<crate::Health> {
        self.read(self.send("GET", "/healthz")?)
    }

    /// `GET /readyz`.
    pub fn ready(&self) -> Result<crate::Readiness> {
        self.read(self.send("GET", "/readyz")?)
    }

    /// `GET /metrics`, as text.
    pub fn metrics(&self) -> Result<String> {
        let mut response = self.send("GET", "/metrics")?;
        response.body_mut().read_to_string().map_err(|error| self.not_reachable(error))
    }

    /// `GET /openapi.json`.
    pub fn openapi(&self) -> Result<Value> {
        self.read(self.send("GET", "/openapi.json")?)
    }

    /// `GET /api/tokens/current`: what the client's token permits.
    pub fn grants(&self) -> Result<TokenGrants> {
        self.read(self.send("GET", "/api/tokens/current")?)
    }

    /// Sends a request to the path and query in its URI, with the client's token, and returns the response with
    /// whatever status it has. For callers that translate requests; the other methods are typed.
    ///
    /// # Errors
    /// If no response arrives, as for the other methods; never [`Error::Refused`].
    pub fn exchange(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>> {
        let (mut head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |it| it.as_str());
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

    fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.root));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if let Some(position) = self.position() {
            request = request.header(MIN_POSITION_HEADER, position.to_string());
        }
        request
    }

    /// Sends a request that changes nothing.
    fn send(&self, method: &str, path: &str) -> Result<Response<Body>> {
        self.up_to_date(&|| {
            let request = self.request(method, path).body(());
            self.run_in_time(request.map_err(|error| self.not_sent(&error))?)
        })
    }

    /// Sends a request with a body that changes nothing.
    fn send_json(&self, method: &str, path: &str, body: &impl Serialize) -> Result<Response<Body>> {
        let body = encoded(body)?;
        self.up_to_date(&|| {
            let request = self.request(method, path).header(CONTENT_TYPE, "application/json");
            let request = request.body(&*body).map_err(|error| self.not_sent(&error))?;
            self.run_in_time(request)
        })
    }

    /// Sends a request again if its response may lack what an earlier client has seen: the position of a
    /// response covers what it shows, and more.
    fn up_to_date(&self, send: &dyn Fn() -> Result<Response<Body>>) -> Result<Response<Body>> {
        let named = self.position();
        let outcome = send();
        // Also that of a refusal: what is not found may only not be here yet.
        let Some(position) = self.position() else { return outcome };
        let is_same = |it: &&JournalPosition| {
            (&it.store, it.incarnation) == (&position.store, position.incarnation)
        };
        match self.earlier.iter().find(is_same) {
            Some(earlier) if !named.iter().any(|it| is_same(&it) && it.seq >= earlier.seq) => {
                self.note(earlier.clone());
                match send() {
                    // A machine that does not get there, without the database for example, still answers.
                    Err(Error::Refused(problem)) if problem.status == 503 => {
                        *self.position.lock().unwrap_or_else(PoisonError::into_inner) =
                            Some(position);
                        outcome
                    }
                    again => again,
                }
            }
            _ => outcome,
        }
    }

    /// Sends a request with a fast response.
    fn run_in_time(&self, request: Request<impl AsSendBody>) -> Result<Response<Body>> {
        let limit = Some(self.answer_time_max);
        let request = self.agent.configure_request(request).timeout_global(limit).build();
        let response = self.agent.run(request).map_err(|error| self.not_reachable(error))?;
        self.accepted(response)
    }

    /// Sends a request whose response may take long.
    fn run(
        &self,
        request: RequestBuilder,
        body: &[u8],
        silence_max: Option<Duration>,
    ) -> Result<Response<Body>> {
        let response = if request.method_ref().is_some_and(|it| *it == "GET") {
            let request = request.body(()).map_err(|error| self.not_sent(&error))?;
            self.agent
                .run(self.agent.configure_request(request).timeout_per_read(silence_max).build())
        } else {
            let request = request.body(body).map_err(|error| self.not_sent(&error))?;
            self.agent
                .run(self.agent.configure_request(request).timeout_per_read(silence_max).build())
        };
        self.accepted(response.map_err(|error| self.not_reachable(error))?)
    }

    /// Converts an unsuccessful response to the problem in it.
    fn accepted(&self, mut response: Response<Body>) -> Result<Response<Body>> {
        if let Some(position) = position_of(&response) {
            self.note(position);
        }
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let kind = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|it| it.to_str().ok())
            .unwrap_or_default();
        let is_problem = kind.starts_with(crate::PROBLEM_JSON);
        if is_problem && let Ok(problem) = response.body_mut().read_json::<Problem>() {
            return Err(Error::Refused(Box::new(Problem { status, ..problem })));
        }
        Err(Error::NotUnderstood {
            url: self.base.clone(),
            reason: format!("it responded with status {status}"),
        })
    }

    fn read<T: DeserializeOwned>(&self, mut response: Response<Body>) -> Result<T> {
        response.body_mut().with_config().limit(u64::MAX).read_json().map_err(|error| match error {
            ureq::Error::Json(error) if !error.is_io() => self.not_understood(&error),
            ureq::Error::Json(error) => Error::broken_off(error.into()),
            other => self.not_reachable(other),
        })
    }

    /// An array, and after which element the next page begins.
    fn read_page<T: DeserializeOwned>(&self, page: Response<Body>) -> Result<(T, Option<u64>)> {
        let next = page.headers().get(LINK).and_then(|it| it.to_str().ok()).and_then(next_after);
        Ok((self.read(page)?, next))
    }

    fn stored<T: DeserializeOwned>(&self, response: Response<Body>) -> Result<Stored<T>> {
        let is_new = response.status() == 201;
        let value = self.read(response)?;
        Ok(if is_new { Stored::New(value) } else { Stored::Existing(value) })
    }

    fn not_reachable(&self, error: ureq::Error) -> Error {
        let url = self.base.clone();
        match error {
            ureq::Error::Other(other) => match other.downcast::<crate::local::Error>() {
                Ok(source) => Error::Untrusted { url, source: *source },
                Err(source) => Error::NotReachable { url, source },
            },
            ureq::Error::Io(source) if error::is_closed(source.kind()) => {
                Error::Closed { url, source }
            }
            ureq::Error::Timeout(reason) if reason != Timeout::Connect => Error::NoAnswer { url },
            other => {
                let text = other.to_string();
                if text.contains("invalid peer certificate") {
                    Error::Certificate { url, source: Box::new(other) }
                } else if text.contains("InvalidContentType") || text.contains(way::TLS_ALERT) {
                    Error::Scheme { url }
                } else {
                    Error::NotReachable { url, source: Box::new(other) }
                }
            }
        }
    }

    fn not_sent(&self, error: &MalformedRequest) -> Error {
        Error::NotUnderstood { url: self.base.clone(), reason: error.to_string() }
    }

    fn not_understood(&self, error: &serde_json::Error) -> Error {
        Error::NotUnderstood { url: self.base.clone(), reason: error.to_string() }
    }
}

fn copy(
    input: &mut dyn Read,
    output: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
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

fn encoded(body: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(body).map_err(|error| Error::Input { source: error.into() })
}

/// How to connect to an address.
enum Way {
    Socket(PathBuf),
    Loopback,
    Tls {
        /// It is an address of this machine, for which no proxy must be used.
        here: bool,
    },
}

fn way(base: &str) -> Result<Way> {
    let address = || Error::Address { url: base.to_owned() };
    if let Some(path) = base.strip_prefix("unix:") {
        return if Path::new(path).is_absolute() {
            Ok(Way::Socket(path.into()))
        } else {
            Err(address())
        };
    }
    let uri: Uri = base.parse().map_err(|_| address())?;
    let host = uri.host().ok_or_else(address)?;
    if uri.query().is_some() || uri.authority().is_some_and(|it| it.as_str().contains('@')) {
        return Err(address());
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let here = host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|it| it.to_canonical().is_loopback());
    match uri.scheme_str() {
        Some("http") if here => Ok(Way::Loopback),
        Some("http") => Err(Error::Plain { url: base.to_owned() }),
        Some("https") => Ok(Way::Tls { here }),
        _ => Err(address()),
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>> {
    let found: std::result::Result<Vec<_>, _> = parse_pem(pem).collect();
    let found = found.map_err(|it| Error::Authorities { reason: it.to_string() })?;
    let found: Vec<_> = found
        .into_iter()
        .filter_map(|it| match it {
            PemItem::Certificate(it) => Some(it),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return Err(Error::Authorities { reason: "the file contains no certificate".to_owned() });
    }
    Ok(found)
}

/// The `after` of the page that a `Link` header names as next.
fn next_after(header: &str) -> Option<u64> {
    let (target, parameters) = header.split_once('>')?;
    if !parameters.contains("rel=\"next\"") {
        return None;
    }
    let (_, query) = target.split_once('?')?;
    query.split('&').find_map(|part| part.strip_prefix("after=")?.parse().ok())
}

fn position_of(response: &Response<Body>) -> Option<JournalPosition> {
    response.headers().get(POSITION_HEADER)?.to_str().ok()?.parse().ok()
}
