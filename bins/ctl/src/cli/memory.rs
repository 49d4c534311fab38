//! Commands about memories and links.

use std::path::PathBuf;

use clap::Args;
use waypost_api::limits::{DEPTH_MAX, LIMIT_MAX};
use waypost_api::{CountBy, LinkKind, SearchMode};

use super::names::names;

/// Search memories by terms and by meaning (hybrid search)
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl search where are the spare keys\n  ctl search --type decision --since 30d database --explain"
)]
pub(crate) struct SearchArgs {
    /// The query; `-` reads standard input
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Maximum number of hits
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// How to rank [default: hybrid]
    #[arg(long, value_parser = names::<SearchMode>())]
    pub(crate) mode: Option<SearchMode>,
    /// Leave out hits with a lower score, from 0 to 1
    #[arg(long, value_name = "SCORE", value_parser = score)]
    pub(crate) min_score: Option<f64>,
    /// Do not rank superseded memories lower
    #[arg(long)]
    pub(crate) include_superseded: bool,
    /// Prefer newer memories, or do not [default: if the query asks for the latest, as "now" or "current" do]
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) recency: Option<bool>,
    /// Only memories that were in force at this time: `7d` ago, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(crate) valid_at: Option<String>,
    /// Search what was known at this time, also in memories deleted since
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<String>,
    /// When the question is asked, for "last week" and the like: `7d` ago, `2025-01-31`, or RFC 3339 [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Show the contribution of each signal to the score
    #[arg(long)]
    pub(crate) explain: bool,
}

/// Filters on memories.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Only memories of this type; may be repeated to match any of them
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kinds: Vec<String>,
    /// Only memories with this tag; may be repeated to require all of them
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only memories with this tag or another one given so; may be repeated
    #[arg(long = "tag-any", value_name = "TAG")]
    pub(crate) tags_any: Vec<String>,
    /// Only memories with this metadata: `KEY=VALUE`, `KEY>=VALUE` or `KEY<=VALUE`; may be repeated; of
    /// several values of a key, one must be equal; ranges compare numbers or RFC 3339 times
    #[arg(long = "meta", value_name = "TEST")]
    pub(crate) metadata: Vec<String>,
    /// Only memories in this space
    #[arg(long)]
    pub(crate) space: Option<String>,
    /// Only memories created at or after this time: `7d` ago, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only memories created before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only pinned memories
    #[arg(long)]
    pub(crate) pinned: bool,
}

/// When a memory holds, and how long it is kept.
#[derive(Debug, Args)]
pub(crate) struct LifespanArgs {
    /// What it says holds from this time on: `7d` ago, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(crate) valid_from: Option<String>,
    /// What it says holds before this time: `30d` from now, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(crate) valid_until: Option<String>,
    /// Hide the memory from this time on, and then delete it: `30d` from now, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(crate) expires_at: Option<String>,
    /// Pin the memory: it does not expire, and comes first in lists and contexts
    #[arg(long)]
    pub(crate) pin: bool,
}

/// Add a memory
///
/// A memory with the same title, content, type, space and session is stored once: adding it again shows the existing
/// memory.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl add 'The spare keys are in the blue tin' --title Keys --tag home\n  git log -1 --format=%B | ctl add - --type commit"
)]
pub(crate) struct AddArgs {
    /// The content; `-` reads standard input
    pub(crate) content: String,
    /// The title [default: the first line of the content]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// The type [default: note]
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// A tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// A metadata value; may be repeated; `true`, `false` and numbers written as in `emit --data` keep their JSON type unless quoted
    #[arg(long = "meta", value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<String>,
    /// The space [default: default]
    #[arg(long)]
    pub(crate) space: Option<String>,
    /// The session of the memory
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Creation time [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) created_at: Option<String>,
    #[command(flatten)]
    pub(crate) lifespan: LifespanArgs,
}

/// Add memories from a file with one JSON object per line
///
/// An invalid line does not affect the others. The exit status is 1 if any line failed.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  printf '{\"content\":\"one\"}\\n{\"content\":\"two\"}\\n' | ctl batch -"
)]
pub(crate) struct BatchArgs {
    /// The file; `-` reads standard input
    pub(crate) file: PathBuf,
}

/// Show memories
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl get 12")]
pub(crate) struct GetArgs {
    /// Ids of the memories
    #[arg(required = true, value_name = "ID", value_parser = id)]
    pub(crate) ids: Vec<u64>,
}

/// List memories: pinned ones first, then the others, each in order of id, or the newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl list --type decision --space work -n 20")]
pub(crate) struct ListArgs {
    /// Maximum number of memories [default: 100]
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with = "all", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// List all memories
    #[arg(long)]
    pub(crate) all: bool,
    /// The newest first, by creation time, pinned ones in their place
    #[arg(long)]
    pub(crate) newest: bool,
    /// Only memories after this one: with a larger id or, with `--newest`, older; pinned ones in their place
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) after: Option<u64>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Count memories
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl count --type decision --by tag")]
pub(crate) struct CountArgs {
    /// Also count them by this; may be repeated
    #[arg(long, value_name = "WHAT", value_parser = names::<CountBy>())]
    pub(crate) by: Vec<CountBy>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Change a memory, keeping its earlier versions
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl update 12 --title 'Spare keys' --tag home --tag keys")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag; clap rejects contradictions")]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true)
    .args(["valid_from", "valid_until", "expires_at", "pin"]))]
pub(crate) struct UpdateArgs {
    /// Id of the memory
    #[arg(value_name = "ID", value_parser = id)]
    pub(crate) id: u64,
    /// The new title
    #[arg(long, group = "change")]
    pub(crate) title: Option<String>,
    /// The new content; `-` reads standard input
    #[arg(long, group = "change")]
    pub(crate) content: Option<String>,
    /// The new type
    #[arg(long = "type", value_name = "TYPE", group = "change")]
    pub(crate) kind: Option<String>,
    /// A tag that replaces all existing tags; may be repeated
    #[arg(long = "tag", value_name = "TAG", group = "change", conflicts_with = "no_tags")]
    pub(crate) tags: Vec<String>,
    /// Remove all tags
    #[arg(long, group = "change")]
    pub(crate) no_tags: bool,
    /// A metadata value that replaces all existing ones; may be repeated
    #[arg(long = "meta", value_name = "KEY=VALUE", group = "change", conflicts_with = "no_meta")]
    pub(crate) metadata: Vec<String>,
    /// Remove all metadata
    #[arg(long, group = "change")]
    pub(crate) no_meta: bool,
    /// The new session
    #[arg(long, group = "change", conflicts_with = "no_session")]
    pub(crate) session: Option<String>,
    /// Remove the memory from its session
    #[arg(long, group = "change")]
    pub(crate) no_session: bool,
    #[command(flatten)]
    pub(crate) lifespan: LifespanArgs,
    /// Remove the time from which it holds
    #[arg(long, group = "change", conflicts_with = "valid_from")]
    pub(crate) no_valid_from: bool,
    /// Remove the time before which it holds
    #[arg(long, group = "change", conflicts_with = "valid_until")]
    pub(crate) no_valid_until: bool,
    /// Keep the memory until it is deleted
    #[arg(long, group = "change", conflicts_with = "expires_at")]
    pub(crate) no_expires_at: bool,
    /// Unpin the memory
    #[arg(long, group = "change", conflicts_with = "pin")]
    pub(crate) unpin: bool,
}

/// Delete memories
///
/// Ids that do not exist are reported at the end, after the others were deleted.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl delete 12 13 --purge")]
pub(crate) struct DeleteArgs {
    /// Ids of the memories
    #[arg(required = true, value_name = "ID", value_parser = id)]
    pub(crate) ids: Vec<u64>,
    /// Also remove their texts from disk, as `ctl compact` does
    #[arg(long)]
    pub(crate) purge: bool,
}

/// Merge a memory into another one of its space, and delete it
///
/// Its links move to the other memory, which keeps what no option replaces.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl merge 14 --into 12 --content 'The spare keys are in the blue tin'"
)]
pub(crate) struct MergeArgs {
    /// Id of the memory that is deleted
    #[arg(value_name = "ID", value_parser = id)]
    pub(crate) from: u64,
    /// Id of the memory that stays
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) into: u64,
    /// The new title
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// The new content; `-` reads standard input
    #[arg(long)]
    pub(crate) content: Option<String>,
    /// The new type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// A tag that replaces all existing tags; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// A metadata value that replaces all existing ones; may be repeated
    #[arg(long = "meta", value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<String>,
}

/// Give a memory the fields of an earlier version, as a new version
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl revert 12 --to 3")]
pub(crate) struct RevertArgs {
    /// Id of the memory
    #[arg(value_name = "ID", value_parser = id)]
    pub(crate) id: u64,
    /// The version, as `ctl history` shows it
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) to: u32,
}

/// Restore deleted memories, without their links
///
/// The texts of deleted memories stay in the store until `ctl compact` removes them.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl undelete 12 13")]
pub(crate) struct UndeleteArgs {
    /// Ids of the memories
    #[arg(required = true, value_name = "ID", value_parser = id)]
    pub(crate) ids: Vec<u64>,
}

/// Show the versions of a memory, oldest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl history 12")]
pub(crate) struct HistoryArgs {
    /// Id of the memory
    #[arg(value_name = "ID", value_parser = id)]
    pub(crate) id: u64,
}

/// An edge.
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// Id of the source memory
    #[arg(value_name = "FROM", value_parser = id)]
    pub(crate) from: u64,
    /// Id of the target memory
    #[arg(value_name = "TO", value_parser = id)]
    pub(crate) to: u64,
    /// Type of the link
    #[arg(long = "type", value_name = "TYPE", value_parser = names::<LinkKind>())]
    pub(crate) kind: LinkKind,
}

/// Show the links from and to a memory
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl links 12 --depth 2")]
pub(crate) struct LinksArgs {
    /// Id of the memory
    #[arg(value_name = "ID", value_parser = id)]
    pub(crate) id: u64,
    /// Maximum number of links to follow
    #[arg(long, value_name = "STEPS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=DEPTH_MAX))]
    pub(crate) depth: u64,
}

/// List memories that say nearly the same, or different things about the same subject
///
/// Each line shows the score, what may be done, the newer and the older memory, the reason, and the command to run.
/// Nothing is done unless you run it. To keep both memories as they are, link them as `related_to`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ctl suggestions\n  ctl suggestions 12 --json")]
pub(crate) struct SuggestionsArgs {
    /// Only suggestions about this memory [default: about all]
    #[arg(value_name = "ID", value_parser = id)]
    pub(crate) id: Option<u64>,
    /// Compare only memories with a lower id with those before them
    #[arg(long, value_name = "ID", value_parser = id, conflicts_with = "id")]
    pub(crate) before: Option<u64>,
    /// Only memories in this space
    #[arg(long)]
    pub(crate) space: Option<String>,
    /// Maximum number of suggestions [default: 20]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    pub(crate) limit: Option<u64>,
}

/// Rebuild the search index, while searches continue
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl reindex --backfill")]
pub(crate) struct ReindexArgs {
    /// Also embed memories that lack a vector of the current model
    #[arg(long)]
    pub(crate) backfill: bool,
}

/// Remove deleted memories from disk
///
/// Deleted memories and earlier versions stay in the store's log until it is rewritten; this command rewrites it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ctl delete 12 && ctl compact\n  ctl compact --versions 3")]
pub(crate) struct CompactArgs {
    /// Keep the content of only the N newest versions of each memory [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) versions: Option<u32>,
}

/// A score: `nan` and `inf` are numbers, but none of these.
fn score(text: &str) -> Result<f64, &'static str> {
    let score = text.parse().ok().filter(|it| (0.0..=1.0).contains(it));
    score.ok_or("expected a number from 0 to 1")
}

/// An id on the command line; accepts `#12` for `12`, because the output shows ids in that form.
fn id(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    waypost_api::parse_id(digits)
        .map_err(|_| "an id is a whole number between 1 and 9007199254740991".to_owned())
}
