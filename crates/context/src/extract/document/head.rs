//! A document's statements about itself.

use waypost_time::Timestamp;

use super::blocks::{Block, HEADING_BYTES_MAX, What};
use super::{date, links, stem};
use crate::extract::Standing;
use crate::extract::frontmatter::Frontmatter;
use crate::extract::text::clip;
use crate::{Kind, Source};

/// Lines at the start in which `Status: …` is searched for.
const STATUS_LINES: usize = 30;

/// The kind: from the head, else from the path.
pub(super) fn kind(head: &Frontmatter, by_path: Kind) -> Kind {
    let named = head.get("type").and_then(|name| named(&name.to_lowercase()));
    let published = by_path == Kind::Note
        && head.has("title")
        && ["slug", "draft", "publishdate", "publish_date"].iter().any(|it| head.has(it));
    match named {
        Some(kind) => kind,
        None if published => Kind::Content,
        None => by_path,
    }
}

/// The kind of document that a word names: one of ours, or a common one.
fn named(name: &str) -> Option<Kind> {
    let kind = match name {
        "adr" | "decision-record" | "decisions" => Kind::Decision,
        "rfc" | "prd" | "design" | "requirements" | "specification" | "proposal" => Kind::Spec,
        "journal" | "diary" | "log" => Kind::Daily,
        "meeting" | "retro" | "session" | "handoff" => Kind::Worklog,
        "post" | "article" | "blog" => Kind::Content,
        "plan" | "roadmap" | "goals" | "okr" | "vision" => Kind::Strategy,
        "rule" | "rules" | "skill" => Kind::Instructions,
        "doc" | "docs" | "howto" | "tutorial" | "reference" | "runbook" => Kind::Guide,
        _ => name.parse().ok()?,
    };
    (kind.source() != Source::Code && kind != Kind::Commit).then_some(kind)
}

/// The title: from the head, else the first heading of the first level, else the file stem.
pub(super) fn title(head: &Frontmatter, blocks: &[Block], path: &str) -> String {
    let first = blocks.iter().find_map(|block| match &block.what {
        What::Heading(1, text) => Some(text.as_str()),
        _ => None,
    });
    clip(head.get("title").or(first).unwrap_or_else(|| stem(path)), HEADING_BYTES_MAX).into_owned()
}

pub(super) fn date(head: &Frontmatter) -> Option<Timestamp> {
    "updated last_updated lastmod modified date publishdate publish_date created"
        .split(' ')
        .find_map(|key| head.get(key).and_then(date::find))
}

/// Whether a document is in force, and what it replaces.
pub(super) fn standing(
    head: &Frontmatter,
    kind: Kind,
    lines: &[&str],
    blocks: &[Block],
) -> (Standing, Vec<String>) {
    let mut supersedes =
        head.any(&["supersedes", "replaces"]).iter().map(|value| target(value)).collect::<Vec<_>>();
    let is_replaced = !head.any(&["superseded_by", "replaced_by"]).is_empty();
    let mut status = head.get("status").map(str::to_owned);
    if matches!(kind, Kind::Decision | Kind::Spec) {
        for line in status_lines(lines, head.lines, blocks) {
            let plain = plain(line);
            match plain.strip_prefix("supersedes").or_else(|| plain.strip_prefix("replaces")) {
                Some(_) => supersedes.push(target(after_word(line))),
                None if status.is_none() => status = Some(line.to_owned()),
                // The head says `superseded`, the text says by what.
                None => {}
            }
        }
    }
    let drafted = head.get("draft") == Some("true");
    let standing = match status {
        _ if is_replaced => Standing::Past,
        Some(status) => of_status(&status),
        None if drafted => Standing::Draft,
        None => Standing::Current,
    };
    (standing, supersedes)
}

/// The lines below a heading `Status`, or those that start with `Status:`, without that word.
fn status_lines<'a>(lines: &[&'a str], from: usize, blocks: &[Block]) -> Vec<&'a str> {
    let heading = blocks.iter().position(|block| {
        matches!(&block.what, What::Heading(_, text) if text.trim_end_matches(':').eq_ignore_ascii_case("status"))
    });
    if let Some(at) = heading {
        let below =
            blocks[at + 1..].iter().take_while(|block| !matches!(block.what, What::Heading(..)));
        return below
            .flat_map(|below| lines[below.lines.clone()].iter().copied())
            .filter(|line| !line.trim().is_empty())
            .take(10)
            .collect();
    }
    lines[from..]
        .iter()
        .take(STATUS_LINES)
        .filter(|line| plain(line).starts_with("status:") || plain(line).starts_with("supersedes"))
        .map(|line| if plain(line).starts_with("status") { after_word(line) } else { line })
        .collect()
}

/// A line in lower case without emphasis marks.
fn plain(line: &str) -> String {
    let signs = |c: char| c.is_whitespace() || "*-+>_#:".contains(c);
    line.trim_start_matches(signs).replace(['*', '_'], "").to_lowercase()
}

/// The text after the first word and a colon: `**Status:** accepted`.
fn after_word(line: &str) -> &str {
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let rest = line.trim_start_matches(char::is_alphanumeric);
    rest.trim_start_matches(|c: char| c.is_whitespace() || "*_:".contains(c))
}

fn of_status(text: &str) -> Standing {
    let plain = plain(text);
    let word =
        plain.split(|c: char| !c.is_alphanumeric()).find(|part| !part.is_empty()).unwrap_or("");
    match word {
        "accepted" | "approved" | "adopted" | "active" | "implemented" | "final" | "done"
        | "decided" => Standing::Accepted,
        "draft" | "proposed" | "proposal" | "wip" | "pending" | "open" | "review" => {
            Standing::Draft
        }
        "superseded" | "replaced" | "supersedes" | "obsoleted" | "deprecated" | "obsolete"
        | "retired" | "archived" | "rejected" | "declined" | "withdrawn" | "abandoned" => {
            Standing::Past
        }
        // `Status: in review`, `~~Accepted~~ superseded by 7`.
        _ if plain.contains("superseded by") => Standing::Past,
        _ if plain.contains("in review") => Standing::Draft,
        _ => Standing::Current,
    }
}

/// A reference to a document: the target of a link, else the text.
fn target(text: &str) -> String {
    let linked = links::targets(text).into_iter().next();
    linked.unwrap_or_else(|| text.trim().trim_end_matches(['.', ')', '*']).trim().to_owned())
}
