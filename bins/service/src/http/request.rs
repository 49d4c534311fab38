//! Parses a request's body as the type that its route takes.

use axum::extract::Request;
use bytes::Bytes;

use crate::app::App;
use crate::http::body::Held;
use crate::http::failure::Failure;

/// The request's whole body, within the limits.
pub(crate) async fn whole(app: &App, request: Request) -> Result<Held, Failure> {
    app.bodies.read(request.into_body(), &app.limits).await
}

/// A JSON body as the type of the route.
pub(crate) fn parse<T>(bytes: &Bytes) -> Result<T, Failure>
where
    T: serde::de::DeserializeOwned + waypost_api::Check,
{
    Ok(waypost_api::parse_body(bytes)?)
}

/// The query string of a request.
pub(crate) fn query(request: &Request) -> &str {
    request.uri().query().unwrap_or_default()
}
