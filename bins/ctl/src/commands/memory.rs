//! `add`, `get`, `list`, `update`, `delete`, `history`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use clap::Args;
use serde_json::json;
use waypost_api::client::{Client, Stored};
use waypost_api::{
    AddRequest, CompactRequest, CountBy, CountRequest, ListOrder, ListRequest, Memory,
    MergeRequest, PatchRequest, RestoreRequest, Scalar, VersionChange, routes,
};
use waypost_cli::exit;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;
use waypost_cli::show;
use waypost_cli::span;
use waypost_time::Timestamp;

use super::filter::{FilterArgs, Filters, scalar};
use super::{id, names, suggestions, text_or_stdin};

/// When a memory holds, and how long it is kept.
#[derive(Debug, Args)]
pub(crate) struct LifespanArgs {
    /// What it says holds from this time on: `7d` ago, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    valid_from: Option<String>,
    /// What it says holds before this time: `30d` from now, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    valid_until: Option<String>,
    /// Hide the memory from this time on, and then delete it: `30d` from now, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    expires_at: Option<String>,
    /// Pin the memory: it does not expire, and comes first in lists and contexts
    #[arg(long)]
    pin: bool,
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
    content: String,
    /// The title [default: the first line of the content]
    #[arg(long)]
    title: Option<String>,
    /// The type [default: note]
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// A tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// A metadata value; may be repeated; `true`, `false` and numbers written as in `emit --data` keep their JSON type unless quoted
    #[arg(long = "meta", value_name = "KEY=VALUE")]
    metadata: Vec<String>,
    /// The space [default: default]
    #[arg(long)]
    space: Option<String>,
    /// The session of the memory
    #[arg(long)]
    session: Option<String>,
    /// Creation time [default: now]
    #[arg(long, value_name = "TIME")]
    created_at: Option<String>,
    #[command(flatten)]
    lifespan: LifespanArgs,
}

/// Show memories
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl get 12")]
pub(crate) struct GetArgs {
    /// Ids of the memories
    #[arg(required = true, value_name = "ID", value_parser = id)]
    ids: Vec<u64>,
}

/// List memories: pinned ones first, then the others, each in order of id, or the newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl list --type decision --space work -n 20")]
pub(crate) struct ListArgs {
    /// Maximum number of memories [default: 100]
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with = "all", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// List all memories
    #[arg(long)]
    all: bool,
    /// The newest first, by creation time, pinned ones in their place
    #[arg(long)]
    newest: bool,
    /// Only memories after this one: with a larger id or, with `--newest`, older; pinned ones in their place
    #[arg(long, value_name = "ID", value_parser = id)]
    after: Option<u64>,
    #[command(flatten)]
    filter: FilterArgs,
}

/// Count memories
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl count --type decision --by tag")]
pub(crate) struct CountArgs {
    /// Also count them by this; may be repeated
    #[arg(long, value_name = "WHAT", value_parser = names::<CountBy>())]
    by: Vec<CountBy>,
    #[command(flatten)]
    filter: FilterArgs,
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
    id: u64,
    /// The new title
    #[arg(long, group = "change")]
    title: Option<String>,
    /// The new content; `-` reads standard input
    #[arg(long, group = "change")]
    content: Option<String>,
    /// The new type
    #[arg(long = "type", value_name = "TYPE", group = "change")]
    kind: Option<String>,
    /// A tag that replaces all existing tags; may be repeated
    #[arg(long = "tag", value_name = "TAG", group = "change", conflicts_with = "no_tags")]
    tags: Vec<String>,
    /// Remove all tags
    #[arg(long, group = "change")]
    no_tags: bool,
    /// A metadata value that replaces all existing ones; may be repeated
    #[arg(long = "meta", value_name = "KEY=VALUE", group = "change", conflicts_with = "no_meta")]
    metadata: Vec<String>,
    /// Remove all metadata
    #[arg(long, group = "change")]
    no_meta: bool,
    /// The new session
    #[arg(long, group = "change", conflicts_with = "no_session")]
    session: Option<String>,
    /// Remove the memory from its session
    #[arg(long, group = "change")]
    no_session: bool,
    #[command(flatten)]
    lifespan: LifespanArgs,
    /// Remove the time from which it holds
    #[arg(long, group = "change", conflicts_with = "valid_from")]
    no_valid_from: bool,
    /// Remove the time before which it holds
    #[arg(long, group = "change", conflicts_with = "valid_until")]
    no_valid_until: bool,
    /// Keep the memory until it is deleted
    #[arg(long, group = "change", conflicts_with = "expires_at")]
    no_expires_at: bool,
    /// Unpin the memory
    #[arg(long, group = "change", conflicts_with = "pin")]
    unpin: bool,
}

/// Delete memories
///
/// Ids that do not exist are reported at the end, after the others were deleted.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl delete 12 13 --purge")]
pub(crate) struct DeleteArgs {
    /// Ids of the memories
    #[arg(required = true, value_name = "ID", value_parser = id)]
    ids: Vec<u64>,
    /// Also remove their texts from disk, as `ctl compact` does
    #[arg(long)]
    purge: bool,
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
    from: u64,
    /// Id of the memory that stays
    #[arg(long, value_name = "ID", value_parser = id)]
    into: u64,
    /// The new title
    #[arg(long)]
    title: Option<String>,
    /// The new content; `-` reads standard input
    #[arg(long)]
    content: Option<String>,
    /// The new type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// A tag that replaces all existing tags; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// A metadata value that replaces all existing ones; may be repeated
    #[arg(long = "meta", value_name = "KEY=VALUE")]
    metadata: Vec<String>,
}

/// Give a memory the fields of an earlier version, as a new version
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl revert 12 --to 3")]
pub(crate) struct RevertArgs {
    /// Id of the memory
    #[arg(value_name = "ID", value_parser = id)]
    id: u64,
    /// The version, as `ctl history` shows it
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u32).range(1..))]
    to: u32,
}

/// Restore deleted memories, without their links
///
/// The texts of deleted memories stay in the store until `ctl compact` removes them.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl undelete 12 13")]
pub(crate) struct UndeleteArgs {
    /// Ids of the memories
    #[arg(required = true, value_name = "ID", value_parser = id)]
    ids: Vec<u64>,
}

/// Show the versions of a memory, oldest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl history 12")]
pub(crate) struct HistoryArgs {
    /// Id of the memory
    #[arg(value_name = "ID", value_parser = id)]
    id: u64,
}

/// Number of memories per request.
const PAGE: u64 = 500;

pub(super) fn add(program: &Program, args: AddArgs, output: &mut Output) -> Result<()> {
    let now = span::now();
    let times = Times::read(&args.lifespan, now)?;
    let request = AddRequest {
        title: args.title,
        content: text_or_stdin(args.content)?,
        kind: args.kind,
        tags: args.tags,
        metadata: metadata(&args.metadata)?,
        space: args.space,
        session: args.session,
        created_at: args.created_at.map(|at| span::past("--created-at", &at, now)).transpose()?,
        valid_from: times.valid_from,
        valid_until: times.valid_until,
        expires_at: times.expires_at,
        pinned: args.lifespan.pin.then_some(true),
    };
    let stored = program.client()?.store(&routes::ADD_MEMORY, &request)?;
    let is_new = matches!(stored, Stored::New(_));
    let did = if is_new { "added" } else { "already exists:" };
    let added = stored.into_inner();
    if output.json(&added)? {
        return Ok(());
    }
    let memory = &added.memory;
    let id = format!(" #{}", memory.id);
    output.styled(&[
        (Look::Plain, did),
        (Look::Name, &id),
        (Look::Plain, "  "),
        (Look::Bold, &memory.title),
    ])?;
    suggestions::note(&added, output);
    Ok(())
}

/// The times of a lifespan that are given.
struct Times {
    valid_from: Option<Timestamp>,
    valid_until: Option<Timestamp>,
    expires_at: Option<Timestamp>,
}

impl Times {
    fn read(args: &LifespanArgs, now: Timestamp) -> Result<Self> {
        let LifespanArgs { valid_from, valid_until, expires_at, pin: _ } = args;
        type Read = fn(&str, &str, Timestamp) -> Result<Timestamp>;
        let time = |read: Read, option: &str, text: &Option<String>| {
            text.as_deref().map(|text| read(option, text, now)).transpose()
        };
        Ok(Self {
            valid_from: time(span::past, "--valid-from", valid_from)?,
            valid_until: time(span::ahead, "--valid-until", valid_until)?,
            expires_at: time(span::future, "--expires-at", expires_at)?,
        })
    }
}

/// `key=value` pairs; an unquoted number or boolean keeps its JSON type.
fn metadata(pairs: &[String]) -> Result<BTreeMap<String, Scalar>> {
    let mut read = BTreeMap::new();
    for pair in pairs {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("--meta {pair:?}: expected KEY=VALUE")))?;
        if read.insert(key.to_owned(), scalar(value)).is_some() {
            return Err(Failure::usage(format!("--meta: duplicate key {key:?}")));
        }
    }
    Ok(read)
}

pub(super) fn get(program: &Program, args: &GetArgs, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    for (idx, id) in args.ids.iter().enumerate() {
        let memory = client.call(&routes::GET_MEMORY.at(*id), ())?;
        if output.is_json() {
            output.document(&memory)?;
            continue;
        }
        if idx > 0 {
            output.line("")?;
        }
        whole(&memory, output)?;
    }
    Ok(())
}

pub(super) fn list(program: &Program, args: ListArgs, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    let Filters { kinds, tags, tags_any, metadata, space, since, until, pinned } =
        Filters::read(args.filter, span::now())?;
    let after = args.after;
    let request = ListRequest {
        limit: None,
        order: args.newest.then_some(ListOrder::Newest),
        after,
        kinds,
        tags,
        tags_any,
        metadata,
        space,
        since,
        until,
        pinned,
    };
    // After an id, pinned memories are in their place.
    let parts: &[Option<bool>] = match args.after {
        None if pinned.is_none() && !args.newest => &[Some(true), Some(false)],
        _ => &[request.pinned],
    };
    let left = if args.all { u64::MAX } else { args.limit.unwrap_or(100) };
    let mut listed = Listed { left, memories: Vec::new(), has_more: false };
    for pinned in parts {
        listed.read(&client, ListRequest { pinned: *pinned, ..request.clone() })?;
    }
    let Listed { memories, has_more, .. } = listed;
    if output.json(&memories)? {
        return Ok(());
    }
    if memories.is_empty() {
        output.note("no memories");
        return Ok(());
    }
    table(&memories, output)?;
    if has_more && let Some(last) = memories.last() {
        if last.pinned && parts.len() > 1 {
            output.note("more memories follow: `ctl list --all`");
        } else {
            let after = last.id;
            let newest = if args.newest { " --newest" } else { "" };
            let next = format!("ctl list{newest} --after {after}");
            output.note(&format!("more memories follow: `{next}`, or `--all`"));
        }
    }
    Ok(())
}

/// The memories of a list so far.
struct Listed {
    left: u64,
    memories: Vec<Memory>,
    has_more: bool,
}

impl Listed {
    /// Adds the pages of a request until there are no more, or enough.
    fn read(&mut self, client: &Client, mut request: ListRequest) -> Result<()> {
        if self.left == 0 {
            let page = client.list(&ListRequest { limit: Some(1), ..request })?;
            self.has_more |= !page.memories.is_empty();
            return Ok(());
        }
        while self.left > 0 {
            request.limit = Some(self.left.min(PAGE));
            let page = client.list(&request)?;
            self.left = self.left.saturating_sub(page.memories.len() as u64);
            self.memories.extend(page.memories);
            self.has_more = page.next.is_some();
            match page.next {
                Some(next) => request.after = Some(next),
                None => break,
            }
        }
        Ok(())
    }
}

pub(super) fn count(program: &Program, args: CountArgs, output: &mut Output) -> Result<()> {
    let Filters { kinds, tags, tags_any, metadata, space, since, until, pinned } =
        Filters::read(args.filter, span::now())?;
    let by = args.by;
    let request = CountRequest { kinds, tags, tags_any, metadata, space, since, until, pinned, by };
    let counts = program.client()?.call(&routes::COUNT_MEMORIES, &request)?;
    if output.json(&counts)? {
        return Ok(());
    }
    output.line(&show::count(counts.count, "memory", "memories"))?;
    let parts = [("TYPE", counts.by_type), ("TAG", counts.by_tag), ("SPACE", counts.by_space)];
    for (name, counts) in parts.into_iter().filter_map(|(name, it)| Some((name, it?))) {
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        let row = |(name, count): &(String, u64)| {
            vec![(Look::Plain, name.clone()), (Look::Plain, count.to_string())]
        };
        output.line("")?;
        output.table(&[name, "MEMORIES"], &counts.iter().map(row).collect::<Vec<_>>())?;
    }
    if counts.truncated {
        output.note("only the 1,000 names with the most memories are shown");
    }
    Ok(())
}

pub(super) fn update(program: &Program, args: UpdateArgs, output: &mut Output) -> Result<()> {
    let replaced = |given: bool| given.then_some(());
    let times = Times::read(&args.lifespan, span::now())?;
    let request = PatchRequest {
        title: args.title,
        content: args.content.map(text_or_stdin).transpose()?,
        kind: args.kind,
        tags: replaced(args.no_tags || !args.tags.is_empty()).map(|()| args.tags),
        metadata: replaced(args.no_meta || !args.metadata.is_empty())
            .map(|()| metadata(&args.metadata))
            .transpose()?,
        session: if args.no_session { Some(None) } else { args.session.map(Some) },
        valid_from: if args.no_valid_from { Some(None) } else { times.valid_from.map(Some) },
        valid_until: if args.no_valid_until { Some(None) } else { times.valid_until.map(Some) },
        expires_at: if args.no_expires_at { Some(None) } else { times.expires_at.map(Some) },
        pinned: (args.lifespan.pin || args.unpin).then_some(args.lifespan.pin),
    };
    let memory = program.client()?.call(&routes::UPDATE_MEMORY.at(args.id), &request)?;
    changed("updated", &memory, output)
}

/// Shows what became of a memory.
fn changed(what: &str, memory: &Memory, output: &mut Output) -> Result<()> {
    if output.json(memory)? {
        return Ok(());
    }
    let id = format!(" #{}  ", memory.id);
    output.styled(&[(Look::Plain, what), (Look::Name, &id), (Look::Bold, &memory.title)])
}

pub(super) fn merge(program: &Program, args: MergeArgs, output: &mut Output) -> Result<()> {
    let set = PatchRequest {
        title: args.title,
        content: args.content.map(text_or_stdin).transpose()?,
        kind: args.kind,
        tags: Some(args.tags).filter(|tag| !tag.is_empty()),
        metadata: Some(metadata(&args.metadata)?).filter(|metadata| !metadata.is_empty()),
        ..PatchRequest::default()
    };
    let set = Some(set).filter(|set| *set != PatchRequest::default());
    let request = MergeRequest { into: args.into, from: args.from, set };
    let memory = program.client()?.call(&routes::MERGE_MEMORIES, &request)?;
    changed(&format!("merged #{} into", args.from), &memory, output)
}

pub(super) fn revert(program: &Program, args: &RevertArgs, output: &mut Output) -> Result<()> {
    let request = RestoreRequest { version: args.to.into() };
    let memory = program.client()?.call(&routes::RESTORE_VERSION.at(args.id), request)?;
    changed("reverted", &memory, output)
}

pub(super) fn undelete(program: &Program, args: &UndeleteArgs, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    for id in &args.ids {
        changed("restored", &client.call(&routes::UNDELETE_MEMORY.at(*id), ())?, output)?;
    }
    Ok(())
}

pub(super) fn delete(program: &Program, args: &DeleteArgs, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    let (mut deleted, mut missing) = (Vec::new(), Vec::new());
    for id in &args.ids {
        match client.call(&routes::DELETE_MEMORY.at(*id), ()).map_err(Failure::from) {
            Ok(()) => deleted.push(*id),
            // A command that was interrupted can be repeated.
            Err(failure) if failure.code() == exit::NOT_FOUND => {
                missing.push(failure);
                continue;
            }
            Err(failure) => return Err(failure),
        }
        if !output.is_json() {
            output.styled(&[(Look::Plain, "deleted"), (Look::Name, &format!(" #{id}"))])?;
        }
    }
    let compacted = if args.purge {
        Some(client.call(&routes::COMPACT_MEMORIES, CompactRequest::default())?)
    } else {
        None
    };
    if output.is_json() {
        output.document(&json!({ "deleted": deleted, "compacted": compacted }))?;
    } else if let Some(compacted) = compacted {
        let versions = show::count(compacted.purged_versions, "version", "versions");
        output.line(&format!("removed {versions} from disk"))?;
    }
    let messages: Vec<_> = missing.iter().map(Failure::message).collect();
    if messages.is_empty() { Ok(()) } else { Err(Failure::not_found(messages.join("; "))) }
}

pub(super) fn history(program: &Program, args: &HistoryArgs, output: &mut Output) -> Result<()> {
    let versions = program.client()?.history(args.id)?;
    if output.json(&versions)? {
        return Ok(());
    }
    for version in &versions {
        let (look, change) = match version.change {
            VersionChange::Added => (Look::Good, "added"),
            VersionChange::Updated => (Look::Name, "updated"),
            VersionChange::Deleted => (Look::Bad, "deleted"),
            VersionChange::Restored => (Look::Good, "restored"),
        };
        if let Some(count) = version.missing_before {
            output.line(&missing(version.version, count))?;
        }
        let number = format!("version {}  ", version.version);
        let when = format!("  {}", version.changed_at);
        output.styled(&[(Look::Bold, &number), (look, change), (Look::Dim, &when)])?;
        match &version.memory {
            Some(memory) => {
                output.styled(&[(Look::Plain, "  "), (Look::Bold, &memory.title)])?;
                for line in memory.content.lines() {
                    output.styled(&[(Look::Plain, "  "), (Look::Plain, line)])?;
                }
            }
            None if version.change != VersionChange::Deleted => {
                output.line("  (removed from disk)")?;
            }
            None => {}
        }
    }
    Ok(())
}

/// Names the `count` versions before `version`, which the store has lost.
fn missing(version: u64, count: u32) -> String {
    let (first, last) = (version.saturating_sub(count.into()), version.saturating_sub(1));
    if first == last {
        format!("version {last}  missing (lost by damage)")
    } else {
        format!("versions {first} to {last}  missing (lost by damage)")
    }
}

/// A memory with everything.
fn whole(memory: &Memory, output: &mut Output) -> Result<()> {
    let id = format!("#{}", memory.id);
    output.styled(&[(Look::Name, &id), (Look::Plain, "  "), (Look::Bold, &memory.title)])?;
    let field = |name: &'static str, value: String| (name, value);
    let mut fields = vec![field("type", memory.kind.clone()), field("space", memory.space.clone())];
    if let Some(session) = &memory.session {
        fields.push(field("session", session.clone()));
    }
    if !memory.tags.is_empty() {
        fields.push(field("tags", memory.tags.join(", ")));
    }
    for (key, value) in &memory.metadata {
        let value = match value {
            Scalar::String(text) => text.clone(),
            Scalar::Number(number) => number.to_string(),
            Scalar::Bool(is_true) => is_true.to_string(),
        };
        fields.push(field("meta", format!("{key} = {value}")));
    }
    fields.push(field("created", memory.created_at.to_string()));
    if memory.updated_at != memory.created_at {
        fields.push(field("updated", memory.updated_at.to_string()));
    }
    let times = [
        ("valid from", memory.valid_from),
        ("valid to", memory.valid_until),
        ("expires", memory.expires_at),
    ];
    fields
        .extend(times.into_iter().filter_map(|(name, time)| Some(field(name, time?.to_string()))));
    if memory.pinned {
        fields.push(field("pinned", "yes".to_owned()));
    }
    if let Some(newer) = memory.superseded_by {
        fields.push(field("superseded", format!("by #{newer}")));
    }
    if !memory.embedded {
        fields.push(field("embedded", "not yet; only lexical search finds it".to_owned()));
    }
    for (name, value) in fields {
        output.styled(&[(Look::Dim, &format!("{name:<10} ")), (Look::Plain, &value)])?;
    }
    output.line("")?;
    output.text(&memory.content)
}

/// Memories in a table.
fn table(memories: &[Memory], output: &mut Output) -> Result<()> {
    let rows: Vec<_> = memories
        .iter()
        .map(|memory| {
            vec![
                (Look::Name, format!("#{}", memory.id)),
                (Look::Dim, show::day(&memory.created_at.to_string())),
                (Look::Plain, memory.kind.clone()),
                (Look::Plain, memory.space.clone()),
                (
                    Look::Bold,
                    format!("{}{}", memory.title, if memory.pinned { " (pinned)" } else { "" }),
                ),
            ]
        })
        .collect();
    output.table(&["ID", "CREATED", "TYPE", "SPACE", "TITLE"], &rows)
}
