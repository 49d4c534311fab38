//! Search.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use waypost_api::{self as api, Vocabulary, limits::SEARCH_LIMIT_DEFAULT};
use waypost_memory::{Hit, HitExplanation, Memory, MemoryId, Outline, SearchResult};
use waypost_time::Timestamp;

use crate::app::App;
use crate::clock::now;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::reply::array;
use crate::http::request::{parse, whole};
use crate::http::scoped::Scoped;
use crate::http::stream::PIECE_BYTES;
use crate::http::wire;

pub(super) async fn search(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    let body = whole(&app, request).await?;
    let scoped = app.scoped(&caller);
    let shared = Arc::clone(&app);
    let read = move || {
        let mut asked: api::SearchRequest = parse(&body.bytes)?;
        caller.narrow(&mut asked.space)?;
        if asked.as_of.is_some() {
            return Ok::<_, Failure>(Err((scoped, asked)));
        }
        answer(&shared, scoped, &asked).map(Ok)
    };
    match app.reads.run(read).await?? {
        Ok(response) => Ok(response),
        Err((scoped, asked)) => {
            let shared = Arc::clone(&app);
            app.past.run(move || answer(&shared, scoped, &asked)).await?
        }
    }
}

/// Searches. The hits are apart from the rest of the result, to be read one by one.
pub(super) fn find(
    scoped: &Scoped,
    asked: &api::SearchRequest,
) -> Result<(SearchResult, Vec<Unsent>), Failure> {
    let limit = usize::try_from(asked.limit.unwrap_or(SEARCH_LIMIT_DEFAULT)).unwrap_or(usize::MAX);
    let options = wire::search_options(asked, limit).with_text_bytes_max(PIECE_BYTES);
    let mut found = scoped.search(&asked.query, options)?;
    let hits = std::mem::take(&mut found.hits);
    Ok((found, hits.into_iter().map(Unsent::from).collect()))
}

fn answer(app: &Arc<App>, scoped: Scoped, asked: &api::SearchRequest) -> Result<Response, Failure> {
    let time = asked.as_of.map_or_else(now, |of| of.min(now()));
    let (found, hits) = find(&scoped, asked)?;
    let mode = HeaderValue::from_static(found.mode.as_str());
    let answerable = format!("{:.3}", found.answerable);
    let rerank = wire::rerank(found.rerank);
    let forgotten = asked.as_of.map(|_| found.forgotten.to_string());
    let held_bytes = hits.iter().map(Unsent::bytes).sum();
    let hits = hits.into_iter().map(move |hit| hit.read(&scoped, time));
    let mut response = array(app, hits, held_bytes)?;
    response.headers_mut().insert(HeaderName::from_static("waypost-search-mode"), mode);
    if let Ok(answerable) = HeaderValue::from_str(&answerable) {
        let name = HeaderName::from_static("waypost-answerable");
        response.headers_mut().insert(name, answerable);
    }
    if let Some(forgotten) = forgotten.and_then(|forgotten| HeaderValue::from_str(&forgotten).ok())
    {
        let name = HeaderName::from_static("waypost-forgotten");
        response.headers_mut().insert(name, forgotten);
    }
    if found.only_stop_words {
        let name = HeaderName::from_static("waypost-stop-words");
        response.headers_mut().insert(name, HeaderValue::from_static("only"));
    }
    if let Some(rerank) = rerank {
        let name = HeaderName::from_static("waypost-rerank");
        response.headers_mut().insert(name, HeaderValue::from_static(rerank));
    }
    Ok(response)
}

/// A hit that is not sent yet, without the text of its memory if that is read later.
pub(super) struct Unsent {
    outline: Outline,
    whole: Option<Box<Memory>>,
    score: f64,
    contradicts: Vec<MemoryId>,
    explanation: Option<Box<HitExplanation>>,
}

impl From<Hit> for Unsent {
    fn from(it: Hit) -> Self {
        let Hit { memory, score, contradicts, explanation } = it;
        let explanation = explanation.map(Box::new);
        let outline = Outline::of(&memory);
        // Every memory has a content.
        let whole = (!memory.content.is_empty()).then(|| Box::new(memory));
        Self { outline, whole, score, contradicts, explanation }
    }
}

impl Unsent {
    pub(super) fn read(
        self,
        scoped: &Scoped,
        time: Timestamp,
    ) -> Result<Option<api::Hit>, Failure> {
        let Self { outline, whole, score, contradicts, explanation } = self;
        let memory = match whole {
            Some(whole) => Some(*whole),
            None => scoped.read_text(outline, time)?,
        };
        let explanation = explanation.map(|explanation| *explanation);
        Ok(memory.map(|memory| wire::hit(Hit { memory, score, contradicts, explanation })))
    }

    /// About its size, without the texts.
    fn bytes(&self) -> usize {
        let explained = self.explanation.as_ref().map_or(0, |explanation| {
            let terms =
                explanation.matched_terms.iter().map(|term| size_of::<String>() + term.len());
            let (signals, links) =
                (size_of_val(&*explanation.signals), size_of_val(&*explanation.links));
            size_of::<HitExplanation>() + terms.sum::<usize>() + signals + links
        });
        size_of::<Self>() + size_of_val(&*self.contradicts) + explained
    }
}
