//! Conversions between the context index's types and the wire's.

use std::time::Duration;

use waypost_api as api;
use waypost_context::{Answer, Context, How, Item, Kind, Query, Source, Status, TaskType, Why};

use crate::context::ProjectContext;

/// Whether the request includes any source of the project.
pub(crate) fn includes_project(it: &api::ContextRequest) -> bool {
    let a_source = it.sources.is_empty() || it.sources.iter().any(|other| source(*other).is_some());
    let a_type = it.types.is_empty() || it.types.iter().any(|kind| kind.parse::<Kind>().is_ok());
    a_source && a_type
}

pub(crate) fn query(asked: &api::ContextRequest, vector: Option<Vec<f32>>) -> Query {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let mut query = Query::new(asked.query.clone().unwrap_or_default())
        .with_max_items(number(asked.max_items.unwrap_or(api::limits::ITEMS_DEFAULT)))
        .with_task(task(asked.task_type.unwrap_or_default()));
    query.max_tokens = asked.max_tokens.map(number);
    query.sources = asked.sources.iter().filter_map(|other| source(*other)).collect();
    // A type that the project does not have is a type of memories.
    query.kinds = asked.types.iter().filter_map(|kind| kind.parse().ok()).collect();
    query.paths.clone_from(&asked.paths);
    query.vector = vector;
    query
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

/// The index's source, if it has one for it.
fn source(it: api::ContextSource) -> Option<Source> {
    match it {
        api::ContextSource::Journal => Some(Source::Journal),
        api::ContextSource::Knowledge => Some(Source::Knowledge),
        api::ContextSource::Code => Some(Source::Code),
        api::ContextSource::Memory => None,
    }
}

pub(crate) fn answered(it: Answer) -> api::ContextAnswer {
    api::ContextAnswer {
        items: it.items.into_iter().map(item).collect(),
        indexed_at: it.indexed_at,
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
        updated_at: it.updated_at,
        tokens: it.tokens.into(),
        truncated: it.truncated,
        why: it.why.into_iter().map(|why| why.name().to_owned()).collect(),
    }
}

/// How the context is, for `GET /api/context/status`.
pub(crate) fn status(context: &ProjectContext) -> api::ContextStatus {
    let (index, last_scan, how) = (context.index(), context.last_scan(), context.watching());
    let of_index = index.map(Context::status).unwrap_or_default();
    let state = match index {
        None => api::ContextState::Off,
        Some(_) if of_index.indexed_at.is_none() || of_index.pending > 0 => {
            api::ContextState::Indexing
        }
        Some(_) => api::ContextState::Ready,
    };
    let Status { skipped_samples: mut samples, .. } = of_index;
    api::ContextStatus {
        status: state,
        why: context.why_off().map(str::to_owned),
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
        indexed_at: of_index.indexed_at,
        last_scan,
        watch: watch(&how),
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
        Why::Asked => "set by context.watch".to_owned(),
        Why::Limit { folders, allowed } => format!(
            "the project has {folders} folders, more than the {allowed} that may be watched (half of the system's limit)"
        ),
        Why::FileSystem(name) => format!("{name} does not report all changes"),
        Why::Refused(cause) => format!("system error: {cause}"),
    }
}
