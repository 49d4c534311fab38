//! Export, import and backup, all streamed.

use std::io::{BufReader, Write};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, StatusCode};
use waypost_api as api;
use waypost_memory::ImportOptions;

use crate::app::App;
use crate::clock::now;
use crate::error::chain;
use crate::http::backup;
use crate::http::body::{next_piece, too_large};
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::keys::KeyHead;
use crate::http::reply::json;
use crate::http::stream::{Reader, Writer};

pub(super) async fn export(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Response, Failure> {
    let store = app.whole(&caller)?.store;
    let slot = app.streams.slot().await?;
    let (mut writer, body) = Writer::new(app.limits.unread_time_max);
    tokio::task::spawn_blocking(move || {
        let written = store.export(&mut writer);
        if let Err(error) = written {
            tracing::warn!(error = chain(&error), "an export was aborted");
            writer.abort();
        } else if let Err(error) = writer.flush() {
            tracing::debug!(%error, "the client did not read the end of an export");
        }
        drop(slot);
    });
    let mut response = body.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(api::NDJSON));
    Ok(response)
}

/// All data of the service, as one stream.
pub(super) async fn backup(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Response, Failure> {
    caller.require_all_spaces()?;
    let slot = app.streams.slot().await?;
    let shared = Arc::clone(&app);
    let taken = tokio::task::spawn_blocking(move || backup::collect(&shared));
    let taken = taken.await.map_err(|_| Failure::internal())??;
    let bytes = backup::bytes(&taken);
    let (mut writer, body) = Writer::new(app.limits.unread_time_max);
    tokio::task::spawn_blocking(move || {
        match backup::write(&taken, &mut writer) {
            Ok(summary) => tracing::info!(files = summary.files, bytes, "sent a backup"),
            Err(error) => {
                tracing::warn!(error = chain(&error), "a backup was aborted");
                writer.abort();
            }
        }
        drop(slot);
    });
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(api::backup::MEDIA_TYPE));
    headers.insert(HeaderName::from_static(api::backup::BYTES_HEADER), HeaderValue::from(bytes));
    Ok(response)
}

pub(super) async fn import(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: KeyHead,
    request: Request,
) -> Result<Response, Failure> {
    let store = app.whole(&caller)?.store;
    let asked: api::ImportRequest = api::parse_query(request.uri().query().unwrap_or_default())?;
    let mut options = ImportOptions::default().with_ids(asked.ids.unwrap_or_default());
    options.key = key.of_parts();
    let mut body = request.into_body();
    if http_body::Body::size_hint(&body).lower() > app.limits.import_bytes_max {
        return Err(too_large(app.limits.import_bytes_max));
    }
    let slot = app.streams.slot().await?;
    let (pieces, reader) = Reader::new();
    let wake = Arc::clone(&app.wake);
    let importing = tokio::task::spawn_blocking(move || {
        let mut reader = BufReader::with_capacity(64 * 1024, reader);
        let imported = store.import_beside(&mut reader, &options, now(), &|| wake.writing());
        drop(slot);
        imported
    });
    let mut read_bytes = 0;
    let broken = loop {
        let limits = &app.limits;
        match next_piece(&mut body, &mut read_bytes, limits.import_bytes_max, limits).await {
            Ok(Some(piece)) => {
                if pieces.send(piece).await.is_err() {
                    break None;
                }
            }
            Ok(None) => break None,
            Err(failure) => break Some(failure),
        }
    };
    drop(pieces);
    let imported = importing.await.map_err(|_| Failure::internal())?;
    app.model.embed_soon();
    if let Some(failure) = broken {
        return Err(failure);
    }
    match imported {
        Ok(imported) => Ok(json(StatusCode::OK, &imported)),
        Err(error) => Err(error.into()),
    }
}
