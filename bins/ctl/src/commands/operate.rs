//! `status`, `reindex`, `compact`.

use clap::Args;
use indicatif::HumanBytes;
use waypost_api::{CompactRequest, IndexRequest, ModelState, Status, StatusKind, routes};
use waypost_cli::failure::Result;
use waypost_cli::output::{Look, Output, Unit};
use waypost_cli::program::Program;
use waypost_cli::show;
use waypost_cli::visible::{Lines, visible};

/// Rebuild the search index, while searches continue
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl reindex --backfill")]
pub(crate) struct ReindexArgs {
    /// Also embed memories that lack a vector of the current model
    #[arg(long)]
    backfill: bool,
}

/// Remove deleted memories from disk
///
/// Deleted memories and earlier versions stay in the store's log until it is rewritten; this command rewrites it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ctl delete 12 && ctl compact\n  ctl compact --versions 3")]
pub(crate) struct CompactArgs {
    /// Keep the content of only the N newest versions of each memory [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    versions: Option<u32>,
}

pub(super) fn status(program: &Program, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    let status = client.call(&routes::MEMORY_STATUS, ())?;
    if output.json(&status)? {
        return Ok(());
    }
    let (look, word) = match status.status {
        StatusKind::Ok => (Look::Good, "ok"),
        StatusKind::Degraded => (Look::Warn, "degraded"),
    };
    let about = format!(
        "  Waypost {} at {}, up {}",
        status.version,
        status.url.as_deref().unwrap_or(client.base_url()),
        indicatif::HumanDuration(std::time::Duration::from_secs(status.uptime_seconds))
    );
    output.styled(&[(look, word), (Look::Plain, &about)])?;
    if let Some(remedy) = &status.remedy {
        output.styled(&[(Look::Warn, "remedy     "), (Look::Plain, remedy)])?;
    }
    for (name, value) in lines(&status) {
        output.styled(&[(Look::Dim, &format!("{name:<11}")), (Look::Plain, &value)])?;
    }
    Ok(())
}

fn lines(status: &Status) -> Vec<(&'static str, String)> {
    let listed = |counts: &std::collections::BTreeMap<String, u64>| {
        let parts: Vec<_> =
            counts.iter().map(|(name, number)| format!("{name} {number}")).collect();
        parts.join(", ")
    };
    let mut lines = vec![("memories", status.memories.to_string())];
    if !status.by_type.is_empty() {
        lines.push(("by type", listed(&status.by_type)));
    }
    if !status.by_space.is_empty() {
        lines.push(("by space", listed(&status.by_space)));
    }
    lines.push(("links", status.links.to_string()));
    lines.push(("embedded", format!("{}, {} waiting", status.embedded, status.pending_embeddings)));
    let model = &status.model;
    let dimensions =
        model.dimensions.map_or(String::new(), |dimension| format!(", {dimension} dimensions"));
    let fetched = match (model.state, model.fetched_bytes) {
        (ModelState::Fetching, Some(done)) => {
            let total = model
                .total_bytes
                .map_or(String::new(), |total| format!(" of {}", HumanBytes(total)));
            format!(", {}{total}", HumanBytes(done))
        }
        _ => String::new(),
    };
    lines.push(("model", format!("{}: {}{dimensions}{fetched}", model.name, model.state.as_str())));
    if let Some(reranker) = &status.reranker {
        let problem =
            reranker.problem.as_ref().map_or(String::new(), |problem| format!("; {problem}"));
        let state = reranker.state.as_str();
        lines.push(("reranker", format!("{}: {state}{problem}", reranker.name)));
    }
    lines.push((
        "index",
        format!(
            "{}, {}, {}",
            show::count(status.index.documents, "document", "documents"),
            show::count(status.index.terms, "term", "terms"),
            HumanBytes(status.index.bytes)
        ),
    ));
    if let Some(mesh) = &status.mesh {
        let joined = if mesh.joined { "joined" } else { "not joined" };
        let problem = mesh.problem.as_ref().map_or(String::new(), |problem| format!(": {problem}"));
        lines.push(("mesh", format!("{joined}{problem}")));
    }
    if !status.pending_approval.is_empty() {
        let files = status.pending_approval.join(", ");
        lines.push(("approval", format!("flows of {files} do not run until `ctl allow`")));
    }
    lines.push(("on disk", HumanBytes(status.storage_bytes).to_string()));
    let reindexed = status.last_reindex_at.map_or("never".to_owned(), |time| time.to_string());
    lines.push(("reindexed", reindexed));
    lines
}

pub(super) fn reindex(program: &Program, args: &ReindexArgs, output: &mut Output) -> Result<()> {
    let request = IndexRequest { backfill: args.backfill.then_some(true) };
    let bar = output.progress(Unit::Things);
    let done = program.client()?.reindex(&request, &mut |progress| {
        bar.set_message(visible(&progress.phase, Lines::Fold).into_owned());
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    let done = done?;
    if output.json(&done)? {
        return Ok(());
    }
    let indexed = format!("indexed {}", show::count(done.indexed, "memory", "memories"));
    let embedded = if args.backfill {
        format!(", embedded {}, skipped {}, failed {}", done.embedded, done.skipped, done.failed)
    } else {
        String::new()
    };
    output.line(&format!("{indexed}{embedded} in {} ms", done.duration_ms))
}

pub(super) fn compact(program: &Program, args: &CompactArgs, output: &mut Output) -> Result<()> {
    let done = program
        .client()?
        .call(&routes::COMPACT_MEMORIES, CompactRequest { versions: args.versions })?;
    if output.json(&done)? {
        return Ok(());
    }
    output.line(&format!(
        "removed {} from disk; the log has {} instead of {}",
        show::count(done.purged_versions, "version", "versions"),
        HumanBytes(done.bytes_after),
        HumanBytes(done.bytes_before)
    ))?;
    Ok(())
}
