//! The files of the page, compressed once.

use std::io::Write as _;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::StatusCode;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, VARY,
    X_FRAME_OPTIONS,
};
use sha2::{Digest as _, Sha256};

use crate::app::App;

/// The path of the page.
pub(crate) const PAGE: &str = "/";

/// Nothing but the page's own files, no text as markup or code, and no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of every file beside those about its content.
const HEADERS: [(HeaderName, &str); 8] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "no-referrer"),
    (X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
    // Unchanged files are confirmed with a 304.
    (CACHE_CONTROL, "no-cache"),
    (VARY, "accept-encoding"),
];

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// A file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    path: &'static str,
    kind: &'static str,
    content: &'static [u8],
}

macro_rules! assets {
    ($($path:literal $kind:ident $file:literal,)*) => {
        &[$(Asset {
            path: $path,
            kind: $kind,
            content: include_bytes!(concat!("../../../dashboard/", $file)),
        },)*]
    };
}

static ASSETS: &[Asset] = assets![
    "/" HTML "index.html",
    "/dashboard/style.css" STYLE "style.css",
    "/dashboard/icon.svg" PICTURE "icon.svg",
    "/dashboard/api.js" SCRIPT "api.js",
    "/dashboard/app.js" SCRIPT "app.js",
    "/dashboard/conflicts.js" SCRIPT "conflicts.js",
    "/dashboard/context.js" SCRIPT "context.js",
    "/dashboard/diff.js" SCRIPT "diff.js",
    "/dashboard/dom.js" SCRIPT "dom.js",
    "/dashboard/events.js" SCRIPT "events.js",
    "/dashboard/flows.js" SCRIPT "flows.js",
    "/dashboard/graph.js" SCRIPT "graph.js",
    "/dashboard/memory.js" SCRIPT "memory.js",
    "/dashboard/recall.js" SCRIPT "recall.js",
    "/dashboard/search.js" SCRIPT "search.js",
    "/dashboard/status.js" SCRIPT "status.js",
];

/// A file as it is sent.
#[derive(Debug)]
struct Ready {
    etag: HeaderValue,
    packed: Bytes,
}

static READY: LazyLock<Vec<Ready>> = LazyLock::new(|| ASSETS.iter().map(Asset::ready).collect());

impl Asset {
    fn ready(&self) -> Ready {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory does not fail.
        let packed = packer.write_all(self.content).and_then(|()| packer.finish());
        let digest = Sha256::digest(self.content);
        let half = digest.first_chunk().expect("a digest has 32 bytes");
        let etag = format!("\"{:032x}\"", u128::from_be_bytes(*half));
        let etag = HeaderValue::from_str(&etag).expect("quoted digits are a value");
        Ready { etag, packed: packed.unwrap_or_default().into() }
    }
}

/// The file at a path.
pub(crate) fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

/// The routes of the files.
pub(crate) fn router() -> Router<Arc<App>> {
    ASSETS.iter().enumerate().fold(Router::new(), |router, (idx, asset)| {
        router.route(asset.path, get(async move |headers: HeaderMap| answer(idx, &headers)))
    })
}

fn answer(idx: usize, asked: &HeaderMap) -> Response {
    let (asset, ready) = (&ASSETS[idx], &READY[idx]);
    let mut response = Response::default();
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(ETAG, ready.etag.clone());
    let known = asked.get_all(IF_NONE_MATCH).iter().filter_map(|it| it.to_str().ok());
    let mut known =
        known.flat_map(|known| known.split(',')).map(|part| part.trim().trim_start_matches("W/"));
    if known.any(|known| known == "*" || ready.etag == known) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    let content = if accepts_gzip(asked) {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        ready.packed.clone()
    } else {
        Bytes::from_static(asset.content)
    };
    headers.insert(CONTENT_LENGTH, content.len().into());
    *response.body_mut() = Body::from(content);
    response
}

/// Whether a client accepts `gzip`, by name and not with a weight of zero.
fn accepts_gzip(asked: &HeaderMap) -> bool {
    let values = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| {
        let mut parts = part.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|part| part.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        is_gzip && weight.is_none_or(|weight| weight.parse().is_ok_and(|value: f32| value > 0.0))
    })
}
