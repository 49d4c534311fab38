//! The route that handled a request, for the log line and the metrics.

use std::sync::LazyLock;

use axum::extract::Request;
use axum::response::Response;

/// Every path, as in the metrics.
static PATHS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut paths: Vec<&str> = waypost_api::routes::ROUTES.iter().map(|it| it.path).collect();
    paths.dedup();
    paths
});

/// The pattern of the route that handled the request, such as `/api/memory/{id}`.
#[derive(Debug, Clone)]
pub(crate) struct Route(pub(crate) &'static str);

/// Adds the route to the response.
pub(crate) async fn note_route(
    matched: Option<axum::extract::MatchedPath>,
    request: Request,
    next: axum::middleware::Next,
) -> Response {
    let mut response = next.run(request).await;
    let matched = matched.and_then(|matched| PATHS.iter().find(|path| **path == matched.as_str()));
    if let Some(path) = matched {
        response.extensions_mut().insert(Route(path));
    }
    response
}
