//! Posting to web hooks.

use std::io::Read as _;
use std::time::Duration;

use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use waypost_flows::{Outcome, Post, Report, may_reach};
use waypost_time::Timestamp;

/// Maximum time to connect.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes of a failed response that are shown.
const ANSWER_BYTES_MAX: u64 = 1000;

/// Resolves a public name to public addresses only.
#[derive(Debug, Default)]
struct Checked(DefaultResolver);

impl Resolver for Checked {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        let mut allowed = self.empty();
        let host = uri.host().unwrap_or_default();
        for address in found.iter().filter(|found| may_reach(host, found.ip())) {
            allowed.push(*address);
        }
        if allowed.is_empty() {
            let why =
                "the host has no public address; a private one must be named literally in the URL";
            let error = std::io::Error::new(std::io::ErrorKind::PermissionDenied, why);
            return Err(ureq::Error::Io(error));
        }
        Ok(allowed)
    }
}

/// Posts, and reports the result.
pub(super) fn post(post: &Post, now: Timestamp) -> Report {
    let config = Agent::config_builder()
        .timeout_global(Some(post.timeout))
        .timeout_connect(Some(CONNECT_TIME_MAX.min(post.timeout)))
        .max_redirects(0)
        .http_status_as_error(false)
        // A proxy would resolve the name itself.
        .proxy(None)
        .user_agent(concat!("waypost/", env!("CARGO_PKG_VERSION")))
        .build();
    let agent = Agent::with_parts(config, DefaultConnector::default(), Checked::default());
    let mut request = agent.post(&post.url);
    for (name, value) in post.headers(now) {
        request = request.header(name, value);
    }
    match request.send(post.body.as_str()) {
        Ok(response) if response.status().is_success() => {
            Report::new(Outcome::Succeeded, format!("status {}", response.status().as_u16()))
        }
        Ok(mut response) => {
            let mut answer = Vec::new();
            let mut body = response.body_mut().as_reader().take(ANSWER_BYTES_MAX);
            // Shows what was received, even if it is incomplete.
            let read = body.read_to_end(&mut answer);
            let answer = String::from_utf8_lossy(&answer).trim().to_owned();
            let cut = if read.is_err() { " (the rest did not come)" } else { "" };
            let status = response.status().as_u16();
            Report::new(Outcome::Failed, format!("status {status}: {answer}{cut}"))
        }
        Err(ureq::Error::Timeout(_)) => {
            let detail = format!("it took longer than {} s", post.timeout.as_secs_f64());
            Report::new(Outcome::TimedOut, detail)
        }
        Err(error) => Report::new(Outcome::Failed, error.to_string()),
    }
}
