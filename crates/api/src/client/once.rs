//! Calls that change something: each has a key, so that it may be sent again if no answer came.

use std::hash::{BuildHasher, RandomState};

use ureq::Body;
use ureq::http::Response;
use ureq::http::header::CONTENT_TYPE;

use super::{Client, Error, Result};
use crate::{IDEMPOTENCY_KEY_HEADER, KEYS_HEADER, NDJSON};

impl Client {
    /// Sends a request for a change, with a key of its own and JSON as its body. If the connection ends before an
    /// answer comes, sends it once more.
    pub(super) fn send_once(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<Response<Body>> {
        self.send_keyed(method, path, body, None)
    }

    /// The same with lines as the body; the response may take long.
    pub(super) fn send_lines_once(&self, path: &str, lines: &[u8]) -> Result<Response<Body>> {
        let key = new_key();
        self.with_repeat(&|| {
            let request = self.request("POST", path).header(CONTENT_TYPE, NDJSON);
            self.run(request.header(IDEMPOTENCY_KEY_HEADER, &key), lines, None)
        })
    }

    /// The same with the key that the caller chose, if it did.
    pub(super) fn send_keyed(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
        key: Option<&str>,
    ) -> Result<Response<Body>> {
        let key = key.map_or_else(new_key, str::to_owned);
        self.with_repeat(&|| {
            let request = self.request(method, path).header(IDEMPOTENCY_KEY_HEADER, &key);
            let Some(body) = body else {
                let request = request.body(()).map_err(|error| self.not_sent(&error))?;
                return self.run_in_time(request);
            };
            let request = request.header(CONTENT_TYPE, "application/json").body(body.to_vec());
            self.run_in_time(request.map_err(|error| self.not_sent(&error))?)
        })
    }

    /// Makes a call whose request has a key. If the connection ends before an answer comes, makes it once more, unless
    /// the service that is there now might carry it out twice.
    fn with_repeat(&self, call: &dyn Fn() -> Result<Response<Body>>) -> Result<Response<Body>> {
        match call() {
            Err(closed @ Error::Closed { .. }) => {
                if self.knows_keys() {
                    call()
                } else {
                    Err(closed)
                }
            }
            answered => answered,
        }
    }

    /// Whether the service carries out a request with a key only once, whatever it changes. An earlier release does not
    /// say so.
    fn knows_keys(&self) -> bool {
        let health = self.send("GET", "/healthz");
        health.is_ok_and(|it| it.headers().contains_key(KEYS_HEADER))
    }
}

/// A key that no other request has.
fn new_key() -> String {
    // Each state has keys of its own, from the system's random numbers.
    let [one, other] = [0, 1].map(|it: u8| RandomState::new().hash_one(it));
    format!("{one:016x}{other:016x}")
}
