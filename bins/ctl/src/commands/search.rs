//! `search`.

use clap::Args;
use waypost_api::limits::LIMIT_MAX;
use waypost_api::{ANSWERABLE_LEAST, Explanation, Hit, SearchMode, SearchRequest, Vocabulary};
use waypost_cli::failure::Result;
use waypost_cli::output::{Look, Output, cut};
use waypost_cli::program::Program;
use waypost_cli::show;
use waypost_cli::span;

use super::filter::{FilterArgs, Filters};
use super::{names, text_or_stdin};

/// Search memories by terms and by meaning (hybrid search)
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl search where are the spare keys\n  ctl search --type decision --since 30d database --explain"
)]
pub(crate) struct SearchArgs {
    /// The query; `-` reads standard input
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Maximum number of hits
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    limit: Option<u64>,
    #[command(flatten)]
    filter: FilterArgs,
    /// How to rank [default: hybrid]
    #[arg(long, value_parser = names::<SearchMode>())]
    mode: Option<SearchMode>,
    /// Leave out hits with a lower score, from 0 to 1
    #[arg(long, value_name = "SCORE", value_parser = score)]
    min_score: Option<f64>,
    /// Do not rank superseded memories lower
    #[arg(long)]
    include_superseded: bool,
    /// Prefer newer memories, or do not [default: if the query asks for the latest, as "now" or "current" do]
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    recency: Option<bool>,
    /// Only memories that were in force at this time: `7d` ago, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    valid_at: Option<String>,
    /// Search what was known at this time, also in memories deleted since
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
    /// When the question is asked, for "last week" and the like: `7d` ago, `2025-01-31`, or RFC 3339 [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// Show the contribution of each signal to the score
    #[arg(long)]
    explain: bool,
}

/// A score: `nan` and `inf` are numbers, but none of these.
fn score(text: &str) -> Result<f64, &'static str> {
    let score = text.parse().ok().filter(|value| (0.0..=1.0).contains(value));
    score.ok_or("expected a number from 0 to 1")
}

/// Lines of content under a hit.
const SNIPPET_LINES: usize = 2;

pub(super) fn search(program: &Program, args: SearchArgs, output: &mut Output) -> Result<()> {
    let query = text_or_stdin(args.query.join(" "))?;
    let now = span::now();
    let Filters { kinds, tags, tags_any, metadata, space, since, until, pinned } =
        Filters::read(args.filter, now)?;
    let request = SearchRequest {
        query,
        limit: args.limit,
        kinds,
        tags,
        tags_any,
        metadata,
        space,
        since,
        until,
        pinned,
        mode: args.mode,
        explain: args.explain.then_some(true),
        min_score: args.min_score,
        include_superseded: args.include_superseded.then_some(true),
        recency: args.recency,
        valid_at: args.valid_at.map(|at| span::past("--valid-at", &at, now)).transpose()?,
        as_of: args.as_of.map(|of| span::past("--as-of", &of, now)).transpose()?,
        now: args.now.map(|other| span::past("--now", &other, now)).transpose()?,
    };
    let found = program.client()?.search(&request)?;
    if output.is_json() {
        output.document(&found.hits)?;
    } else {
        for hit in &found.hits {
            show_hit(hit, output)?;
        }
    }
    if found.hits.is_empty() {
        output.note("nothing found");
    } else if let Some(answerable) = found.answerable
        && answerable < ANSWERABLE_LEAST
    {
        output
            .note(&format!("probably nothing answers this ({answerable:.2} that something does)"));
    }
    if found.only_stop_words {
        output.note(
            "the query has only stop words: by words, it finds only titles and contents without other words",
        );
    }
    if let Some(forgotten @ 1..) = found.forgotten {
        let memories = show::count(forgotten, "memory", "memories");
        output.note(&format!(
            "{memories} of that time can no longer be found: the text was removed or lost"
        ));
    }
    let wanted = request.mode.unwrap_or(SearchMode::Hybrid);
    if let Some(mode) = found.mode
        && mode != wanted
        && request.as_of.is_none()
    {
        output.note(&format!(
            "searched {} instead of {}; `ctl status` shows why",
            mode.as_str(),
            wanted.as_str()
        ));
    }
    Ok(())
}

fn show_hit(hit: &Hit, output: &mut Output) -> Result<()> {
    let memory = &hit.memory;
    let about = format!(
        "  {} · {} · {}",
        memory.kind,
        memory.space,
        show::day(&memory.created_at.to_string())
    );
    let mut head = vec![
        (Look::Good, format!("{:.3}", hit.score)),
        (Look::Name, format!("  #{}  ", memory.id)),
        (Look::Bold, memory.title.clone()),
        (Look::Dim, about),
    ];
    if let Some(newer) = memory.superseded_by {
        head.push((Look::Warn, format!("  superseded by #{newer}")));
    }
    if !hit.contradicts.is_empty() {
        let others: Vec<_> = hit.contradicts.iter().map(|id| format!("#{id}")).collect();
        head.push((Look::Warn, format!("  contradicts {}", others.join(", "))));
    }
    let pieces: Vec<_> = head.iter().map(|(look, text)| (*look, text.as_str())).collect();
    output.styled(&pieces)?;
    let room = output.width().saturating_sub(7);
    let lines = memory
        .content
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && *line != memory.title);
    for line in lines.take(SNIPPET_LINES) {
        output.styled(&[(Look::Plain, "       "), (Look::Dim, &cut(line, room))])?;
    }
    if let Some(scores) = &hit.scores {
        for signal in &scores.signals {
            let rank = signal.rank.map_or(String::new(), |rank| format!(", rank {rank}"));
            let text = format!(
                "       {:<10} {:.4} × weight {}{rank}",
                signal.name, signal.value, signal.weight
            );
            output.line(&text)?;
        }
        if !scores.terms.is_empty() {
            output.line(&format!("       terms      {}", scores.terms.join(", ")))?;
        }
        if let Some(explanation) = &scores.explanation {
            explain(explanation, 0, output)?;
        }
    }
    for link in hit.links.iter().flatten() {
        output.line(&format!(
            "       link       #{} {} #{}",
            link.from,
            link.kind.as_str(),
            link.to
        ))?;
    }
    Ok(())
}

fn explain(explanation: &Explanation, depth: usize, output: &mut Output) -> Result<()> {
    let indent = "  ".repeat(depth);
    output.styled(&[(
        Look::Dim,
        &format!("       {indent}{:.4} {}", explanation.value, explanation.description),
    )])?;
    for child in &explanation.children {
        explain(child, depth + 1, output)?;
    }
    Ok(())
}
