//! Between requests and the index: what is asked, what is answered, how it stands.

use std::time::Duration;

use waypost_api as api;
use waypost_context::{Answer, Context, How, Item, Kind, Query, Source, Status, TaskType, Why};

use super::memories;
use crate::http::failure::Failure;
use crate::http::scoped::Scoped;

/// Bytes of a token, about: what the index counts with, too.
const TOKEN_BYTES: usize = 4;

/// A request that was checked, and what belongs to it.
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a api::ContextRequest,
    /// The query's vector, if there is a model.
    pub(crate) vector: Option<Vec<f32>>,
    /// In seconds since 1970.
    pub(crate) now: i64,
}

/// Finds what is asked for.
pub(crate) fn find(
    context: Option<&Context>,
    scoped: &Scoped,
    asked: Asked<'_>,
) -> Result<api::ContextAnswer, Failure> {
    let Asked { request, vector, now } = asked;
    let query = query(request, vector);
    let mut answer = match context {
        Some(context) if asks_the_project(request) => answered(context.query(&query, now)?),
        _ => api::ContextAnswer::default(),
    };
    let with_memories = request.sources.contains(&api::ContextSource::Memory);
    if with_memories && !query.text.trim().is_empty() {
        let best = answer.items.first().map_or(1.0, |it| it.score);
        let wanted = memories::Wanted { limit: query.max_items, types: &request.types };
        answer.items.extend(memories::find(scoped, &query.text, &wanted, best)?);
        // Stable: of equal scores, what is of the project comes first.
        answer.items.sort_by(|a, b| b.score.total_cmp(&a.score));
        answer.items.truncate(query.max_items);
        answer.truncated |= fit(&mut answer.items, query.max_tokens);
    }
    Ok(answer)
}

/// Whether the request asks for anything of the project.
pub(crate) fn asks_the_project(it: &api::ContextRequest) -> bool {
    let a_source = it.sources.is_empty() || it.sources.iter().any(|it| source(*it).is_some());
    let a_type = it.types.is_empty() || it.types.iter().any(|it| it.parse::<Kind>().is_ok());
    a_source && a_type
}

/// Leaves out what is too much for the tokens; whether there was such.
fn fit(items: &mut Vec<api::ContextItem>, max_tokens: Option<usize>) -> bool {
    let Some(mut left) = max_tokens.map(|it| it as u64) else { return false };
    let before = items.len();
    items.retain(|it| {
        let rest = left.checked_sub(it.tokens);
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    items.len() < before
}

fn query(asked: &api::ContextRequest, vector: Option<Vec<f32>>) -> Query {
    let number = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
    Query {
        text: asked.query.clone().unwrap_or_default(),
        max_items: number(asked.max_items.unwrap_or(api::limits::ITEMS_DEFAULT)),
        task: task(asked.task_type.unwrap_or_default()),
        max_tokens: asked.max_tokens.map(number),
        sources: asked.sources.iter().filter_map(|it| source(*it)).collect(),
        // What is no type of the project's is one of memories.
        kinds: asked.types.iter().filter_map(|it| it.parse().ok()).collect(),
        paths: asked.paths.clone(),
        vector,
    }
}

fn task(it: api::ContextTask) -> TaskType {
    match it {
        api::ContextTask::Code => TaskType::Code,
        api::ContextTask::Spec => TaskType::Spec,
        api::ContextTask::Content => TaskType::Content,
        api::ContextTask::Strategy => TaskType::Strategy,
        api::ContextTask::General => TaskType::General,
    }
}

/// The index's source, if it has it.
fn source(it: api::ContextSource) -> Option<Source> {
    match it {
        api::ContextSource::Journal => Some(Source::Journal),
        api::ContextSource::Knowledge => Some(Source::Knowledge),
        api::ContextSource::Code => Some(Source::Code),
        api::ContextSource::Memory => None,
    }
}

fn answered(it: Answer) -> api::ContextAnswer {
    api::ContextAnswer {
        items: it.items.into_iter().map(item).collect(),
        indexed_at: it.indexed_at.map(time),
        pending: it.pending,
        truncated: it.truncated,
        skipped: it.skipped,
        duration_ms: 0,
    }
}

fn item(it: Item) -> api::ContextItem {
    api::ContextItem {
        source: match it.source {
            Source::Journal => api::ContextSource::Journal,
            Source::Knowledge => api::ContextSource::Knowledge,
            Source::Code => api::ContextSource::Code,
        },
        kind: it.kind.name().to_owned(),
        title: it.title,
        content: it.content,
        path: it.path,
        line: Some(it.line.into()),
        end_line: Some(it.end_line.into()),
        score: it.score,
        updated_at: it.updated_at.map(time),
        tokens: it.tokens.into(),
        truncated: it.truncated,
        why: it.why.into_iter().map(|it| it.name().to_owned()).collect(),
    }
}

/// What a text takes.
pub(super) fn tokens(title: &str, content: &str) -> u64 {
    (title.len() + content.len()).div_ceil(TOKEN_BYTES) as u64
}

/// The beginning of a text: whole lines if one fits, else whole characters.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let end = (0..=bytes_max).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0);
    let start = &text[..end];
    start.rfind('\n').filter(|it| *it > 0).map_or(start, |it| &start[..it])
}

fn time(seconds: i64) -> api::Time {
    api::Time(seconds.saturating_mul(1000))
}

/// How the context is, for `GET /api/context/status`.
pub(super) fn status(
    index: Result<&Context, &String>,
    last_scan: Option<api::ContextScan>,
    how: &How,
) -> api::ContextStatus {
    let of_index = index.map(Context::status).unwrap_or_default();
    let state = match index {
        Err(_) => api::ContextState::Off,
        Ok(_) if of_index.indexed_at.is_none() || of_index.pending > 0 => {
            api::ContextState::Indexing
        }
        Ok(_) => api::ContextState::Ready,
    };
    let why = index.err().cloned();
    let Status { skipped_samples: mut samples, .. } = of_index;
    api::ContextStatus {
        status: state,
        why,
        files: of_index.files,
        chunks: of_index.chunks.iter().map(|(kind, it)| (kind.name().to_owned(), *it)).collect(),
        skipped: of_index
            .skipped
            .iter()
            .map(|(reason, files)| {
                let samples = samples.remove(reason).unwrap_or_default();
                ((*reason).to_owned(), api::ContextSkipped { files: *files, samples })
            })
            .collect(),
        pending: of_index.pending,
        truncated: of_index.truncated,
        indexed_at: of_index.indexed_at.map(time),
        last_scan,
        watch: watch(how),
        redactions: of_index.redactions,
        parsed_by_lines: of_index.parsed_by_lines,
        head: of_index.head,
        commits: of_index.commits,
        vectors: of_index.vectors,
        vectors_pending: of_index.vectors_pending,
        rebuilt: of_index.rebuilt,
        memory_bytes: of_index.memory_bytes,
        disk_bytes: of_index.disk_bytes,
    }
}

fn watch(how: &How) -> api::ContextWatch {
    let none = |mode| api::ContextWatch { mode, folders: None, every_ms: None, why: None };
    match how {
        How::Native { watches } => api::ContextWatch {
            folders: Some(*watches as u64),
            ..none(api::ContextWatchMode::Native)
        },
        How::Poll { every, why } => api::ContextWatch {
            every_ms: Some(millis(*every)),
            why: Some(reason(why)),
            ..none(api::ContextWatchMode::Poll)
        },
        How::Off => none(api::ContextWatchMode::Off),
    }
}

fn millis(it: Duration) -> u64 {
    u64::try_from(it.as_millis()).unwrap_or(u64::MAX)
}

fn reason(why: &Why) -> String {
    match why {
        Why::Asked => "the setting context.watch says so".to_owned(),
        Why::Limit { folders, allowed } => format!(
            "the project has {folders} folders, and {allowed} may be watched: half of what the system allows you"
        ),
        Why::FileSystem(name) => format!("{name} does not tell of all changes"),
        Why::Refused(cause) => format!("the system refused: {cause}"),
    }
}
