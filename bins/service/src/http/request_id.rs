//! Request ids: the client's own if it is harmless, else a new one.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::header::{HeaderMap, HeaderName, HeaderValue};

/// The first id of this run of the service.
static FIRST_ID: LazyLock<u64> = LazyLock::new(|| {
    let mut random = [0_u8; 8];
    // Without randomness two runs have the same ids, which is better than no service.
    getrandom::fill(&mut random).map_or(0, |()| u64::from_le_bytes(random))
});
static GIVEN_IDS: AtomicU64 = AtomicU64::new(0);
/// The step between ids: odd, so that no id repeats, and large, so that consecutive ids look
/// unrelated.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The client's request id if it is harmless, else a new one.
pub(crate) fn request_id(headers: &HeaderMap) -> HeaderValue {
    if let Some(given) = headers.get(&REQUEST_ID) {
        let harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        if (1..=128).contains(&given.len()) && given.as_bytes().iter().all(harmless) {
            return given.clone();
        }
    }
    HeaderValue::from_str(&new_id()).unwrap_or(HeaderValue::from_static("unknown"))
}

/// An id that distinguishes requests, also across runs of the service; it is not secret.
pub(crate) fn new_id() -> String {
    let number =
        FIRST_ID.wrapping_add(GIVEN_IDS.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP));
    format!("{number:016x}")
}
