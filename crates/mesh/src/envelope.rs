//! What goes over the wire around an argument, a result and an event.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Problem;
use crate::limits::{CLOCK_SKEW_MAX, DEADLINE_MAX};

/// The version of these shapes. Another one is refused by number.
pub(crate) const SCHEMA: u32 = 1;

/// A call, as it is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) v: u32,
    /// 32 hexadecimal digits, made by the caller, once for each call.
    pub(crate) id: String,
    /// What the caller calls itself. Nobody has checked it.
    pub(crate) from: String,
    /// When the answer is not wanted any more, in milliseconds since 1970-01-01T00:00:00Z.
    pub(crate) expires: u64,
    /// The peer that may have got it before. Another one has not, and does not know what was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) only: Option<String>,
    pub(crate) argument: Value,
}

/// Its answer: a result, or a problem.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Response {
    pub(crate) v: u32,
    /// Of a greeting: the peer that gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Result(Value),
    Problem(Problem),
}

/// An event, as it is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Notice {
    pub(crate) v: u32,
    pub(crate) id: String,
    pub(crate) from: String,
    /// When it happened, by the sender's clock.
    pub(crate) at: u64,
    pub(crate) event: Value,
}

impl Request {
    /// Reads a request and checks everything that does not need its handler.
    pub(crate) fn read(bytes: &[u8], now_ms: u64) -> Result<Self, Problem> {
        let bad = |detail: String| Problem::new(400, "bad_request", detail);
        let request: Self = serde_json::from_slice(bytes)
            .map_err(|error| bad(format!("this is not the envelope of a call: {error}")))?;
        if request.v != SCHEMA {
            let detail = format!("version {} is asked for, {SCHEMA} is spoken", request.v);
            return Err(Problem::new(400, "version", detail));
        }
        if request.id.len() != 32 || !request.id.bytes().all(|it| it.is_ascii_hexdigit()) {
            return Err(bad("the id of a call is 32 hexadecimal digits".into()));
        }
        crate::name::check("the name of a caller", &request.from).map_err(bad)?;
        let skew = CLOCK_SKEW_MAX.as_millis() as u64;
        if request.expires.saturating_add(skew) < now_ms {
            let detail = "its time was over before it came: it is old, or the clocks differ";
            return Err(Problem::new(408, crate::error::EXPIRED, detail));
        }
        if request.expires > now_ms + DEADLINE_MAX.as_millis() as u64 + skew {
            let detail = format!("a call may take {} seconds at most", DEADLINE_MAX.as_secs());
            return Err(bad(detail));
        }
        Ok(request)
    }
}

impl Response {
    pub(crate) fn new(outcome: Result<Value, Problem>) -> Self {
        let outcome = match outcome {
            Ok(value) => Outcome::Result(value),
            Err(problem) => Outcome::Problem(problem),
        };
        Self { v: SCHEMA, by: None, outcome }
    }
}

/// 128 random bits as 32 hexadecimal digits.
pub(crate) fn random_id() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness there are no ids to tell calls apart, and no passwords either.
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    let digit = |it: u8| char::from(b"0123456789abcdef"[usize::from(it)]);
    bytes.iter().flat_map(|it| [digit(it >> 4), digit(it & 15)]).collect()
}
