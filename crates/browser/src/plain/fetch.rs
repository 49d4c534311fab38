//! Fetches pages through the proxy that every engine uses.

use std::sync::Arc;

use cookie_store::CookieStore;
use parking_lot::Mutex;
use ureq::Body;
use ureq::http::{Method, Request, Response};
use url::Url;

use crate::proxy::{Proxy, Ways};
use crate::{Actor, Deadline, Policy, Problem, ProblemKind};

/// The maximum number of redirects that are followed.
const REDIRECTS_MAX: usize = 10;
/// The longest page that is accepted, in bytes.
const PAGE_BYTES_MAX: u64 = 8 << 20;

/// Sends requests, and stores cookies.
#[derive(Debug)]
pub(super) struct Fetcher {
    proxy: Proxy,
    policy: Arc<Policy>,
    pub(super) jar: Mutex<CookieStore>,
}

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) url: Url,
    /// The encoded form data; if given, the request is a POST.
    pub(super) form: Option<String>,
}

/// A response.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) url: Url,
    pub(super) status: u16,
    pub(super) body: String,
    /// It is a download, not a page: its file name.
    pub(super) file: Option<String>,
}

impl Fetcher {
    pub(super) fn new(proxy: Proxy, policy: Arc<Policy>) -> Self {
        Self { proxy, policy, jar: Mutex::default() }
    }

    /// Fetches a page, following all redirects. Blocks.
    pub(super) fn fetch(&self, asked: &Asked, by: Deadline) -> Result<Fetched, Problem> {
        let mut asked = asked.clone();
        for _ in 0..=REDIRECTS_MAX {
            let mut response = self.once(&asked, by)?;
            let status = response.status().as_u16();
            let header =
                |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
            if let (301 | 302 | 303 | 307 | 308, Some(to)) = (status, header("location")) {
                let url = self.policy.url(to, Some(&asked.url), Actor::Agent)?;
                let form = asked.form.filter(|_| matches!(status, 307 | 308));
                asked = Asked { url, form };
                continue;
            }
            let file = file_name(header("content-type"), header("content-disposition"), &asked.url);
            let body = if file.is_some() {
                String::new()
            } else {
                let read = response.body_mut().with_config().limit(PAGE_BYTES_MAX).read_to_vec();
                let bytes = read.map_err(|error| lost(&asked.url, &error))?;
                String::from_utf8_lossy(&bytes).into_owned()
            };
            return Ok(Fetched { url: asked.url, status, body, file });
        }
        let detail = format!("{}: more than {REDIRECTS_MAX} redirects", asked.url);
        Err(Problem::new(ProblemKind::Unreachable, detail))
    }

    fn once(&self, asked: &Asked, by: Deadline) -> Result<Response<Body>, Problem> {
        let url = &asked.url;
        let ways: &Arc<Ways> = self.proxy.ways();
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(Problem::invalid(format!("{url} has no host")));
        };
        ways.announce(host, port);
        let proxy = ureq::Proxy::new(&format!("http://{}", self.proxy.address()));
        let proxy = proxy.map_err(|error| unreachable(url, &error))?;
        // An agent is a handful of settings; connections are closed after each response anyway.
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .proxy(Some(proxy))
            .max_redirects(0)
            .http_status_as_error(false)
            .timeout_global(Some(by.left()))
            .user_agent("Mozilla/5.0 (compatible; Waypost)")
            .build()
            .into();
        let method = if asked.form.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::builder().method(method).uri(url.as_str());
        let cookies: Vec<String> = self
            .jar
            .lock()
            .get_request_values(url)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        let sent = match &asked.form {
            Some(form) => request
                .header("content-type", "application/x-www-form-urlencoded")
                .body(form.clone())
                .map(|body| agent.run(body)),
            None => request.body(()).map(|body| agent.run(body)),
        };
        let sent = sent.map_err(|error| Problem::invalid(format!("{url}: {error}")))?;
        let response =
            sent.map_err(|error| ways.refusal(host, port).unwrap_or_else(|| lost(url, &error)))?;
        let mut jar = self.jar.lock();
        for cookie in response.headers().get_all("set-cookie") {
            // A cookie that is invalid, or belongs to another site, is ignored.
            if let Ok(text) = cookie.to_str() {
                jar.parse(text, url).map(drop).unwrap_or_default();
            }
        }
        Ok(response)
    }

    /// An address from a page, if it may be followed.
    pub(super) fn check(&self, url: &Url) -> Result<Url, Problem> {
        self.policy.url(url.as_str(), None, Actor::Agent)
    }

    pub(super) fn forget_refusals(&self) {
        self.proxy.ways().forget_refusals();
    }
}

/// No response arrived, or only a part of it.
fn lost(url: &Url, error: &ureq::Error) -> Problem {
    match error {
        ureq::Error::Timeout(_) => {
            Problem::new(ProblemKind::Timeout, "the server did not respond in time")
        }
        error => unreachable(url, error),
    }
}

fn unreachable(url: &Url, error: &ureq::Error) -> Problem {
    Problem::new(ProblemKind::Unreachable, format!("{url}: {error}"))
}

/// The file name of a response that is not a page.
fn file_name(kind: Option<&str>, disposition: Option<&str>, url: &Url) -> Option<String> {
    let kind = kind.unwrap_or("text/html").to_ascii_lowercase();
    let is_page = kind.starts_with("text/") || kind.contains("html") || kind.contains("xml");
    let is_attached =
        disposition.is_some_and(|disposition| disposition.trim_start().starts_with("attachment"));
    if is_page && !is_attached {
        return None;
    }
    let given = disposition
        .and_then(|disposition| disposition.split_once("filename="))
        .map(|parts| parts.1);
    let name = given.unwrap_or_else(|| url.path()).trim_matches(['"', ' ']);
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    Some(last.chars().take(200).collect())
}
