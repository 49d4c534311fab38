//! A blocking client of the service: [`Client::call`] for a route of [`routes`](crate::routes), and methods for those
//! whose responses are more than one value.
//!
//! ```no_run
//! use waypost_api::client::Client;
//! use waypost_api::{SearchRequest, routes};
//!
//! # fn main() -> Result<(), waypost_api::client::Error> {
//! let client = Client::new("unix:/home/me/project/.waypost/data/service.sock", Some("wp_..."))?;
//! let found = client.search(&SearchRequest { query: "where the keys are".into(), ..SearchRequest::default() })?;
//! for hit in found.hits {
//!     let memory = client.call(&routes::GET_MEMORY.at(hit.memory.id), ())?;
//!     assert_eq!(memory.content, hit.memory.content);
//! }
//! # Ok(())
//! # }
//! ```

mod answer;
mod calls;
mod connector;
mod error;
mod streams;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};
use ureq::http::request::Builder as RequestBuilder;
use ureq::http::{Request, Response, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, AsSendBody, Body, Timeout};

pub use self::answer::{EventsPage, Found, Heard, Page, Stored, Told};
use self::connector::{Near, NoResolver};
pub use self::error::Error;
use crate::{JournalPosition, MIN_POSITION_HEADER, POSITION_HEADER, Problem};

/// The time limit for establishing a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// The time limit for an ordinary response, from the first byte of the request to the last of the response.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
/// How long a progress stream may be silent; the service sends something every 15 seconds.
const SILENCE_TIME_MAX: Duration = Duration::from_secs(60);

/// How long to wait for a response.
#[derive(Debug, Clone, Copy)]
enum Patience {
    /// The time limit for ordinary responses.
    Answer,
    /// As long as there are bytes.
    Silence,
    /// As long as it takes.
    Endless,
}

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
        if known.as_ref().is_none_or(|known| position.replaces(known)) {
            *known = Some(position);
        }
    }

    /// The address of the service.
    pub fn base_url(&self) -> &str {
        &self.base
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

    /// Sends a request again if its response may lack what an earlier client has seen: the position of a
    /// response covers what it shows, and more.
    fn up_to_date(&self, send: &dyn Fn() -> Result<Response<Body>>) -> Result<Response<Body>> {
        let named = self.position();
        let outcome = send();
        // Also that of a refusal: what is not found may only not be here yet.
        let Some(position) = self.position() else { return outcome };
        let is_same = |other: &&JournalPosition| {
            (&other.store, other.incarnation) == (&position.store, position.incarnation)
        };
        match self.earlier.iter().find(is_same) {
            Some(earlier)
                if !named.iter().any(|named| is_same(&named) && named.seq >= earlier.seq) =>
            {
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

    /// Sends a request once.
    fn send(
        &self,
        request: RequestBuilder,
        body: Option<&[u8]>,
        patience: Patience,
    ) -> Result<Response<Body>> {
        match body {
            None => self.send_with(request, (), patience),
            Some(body) => self.send_with(request, body, patience),
        }
    }

    fn send_with(
        &self,
        request: RequestBuilder,
        body: impl AsSendBody,
        patience: Patience,
    ) -> Result<Response<Body>> {
        let request = request.body(body).map_err(|error| Error::NotUnderstood {
            url: self.base.clone(),
            reason: error.to_string(),
        })?;
        let request = self.agent.configure_request(request);
        let request = match patience {
            Patience::Answer => request.timeout_global(Some(self.answer_time_max)),
            Patience::Silence => request.timeout_per_read(Some(SILENCE_TIME_MAX)),
            Patience::Endless => request,
        };
        let response =
            self.agent.run(request.build()).map_err(|error| self.not_reachable(error))?;
        self.accepted(response)
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
            .and_then(|value| value.to_str().ok())
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
        if response.status() == 204 {
            return serde_json::from_value(Value::Null)
                .map_err(|error| self.not_understood(&error));
        }
        response.body_mut().with_config().limit(u64::MAX).read_json().map_err(|error| match error {
            ureq::Error::Json(error) if !error.is_io() => self.not_understood(&error),
            ureq::Error::Json(error) => Error::broken_off(error.into()),
            other => self.not_reachable(other),
        })
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
                } else if text.contains("InvalidContentType") || text.contains(connector::TLS_ALERT)
                {
                    Error::Scheme { url }
                } else {
                    Error::NotReachable { url, source: Box::new(other) }
                }
            }
        }
    }

    fn not_understood(&self, error: &serde_json::Error) -> Error {
        Error::NotUnderstood { url: self.base.clone(), reason: error.to_string() }
    }
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
    if uri.query().is_some()
        || uri.authority().is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err(address());
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let here = host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|value| value.to_canonical().is_loopback());
    match uri.scheme_str() {
        Some("http") if here => Ok(Way::Loopback),
        Some("http") => Err(Error::Plain { url: base.to_owned() }),
        Some("https") => Ok(Way::Tls { here }),
        _ => Err(address()),
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>> {
    let found: std::result::Result<Vec<_>, _> = parse_pem(pem).collect();
    let found = found.map_err(|error| Error::Authorities { reason: error.to_string() })?;
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

fn position_of(response: &Response<Body>) -> Option<JournalPosition> {
    response.headers().get(POSITION_HEADER)?.to_str().ok()?.parse().ok()
}
