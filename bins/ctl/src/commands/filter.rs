//! The filters of `search` and `list`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use clap::Args;
use waypost_api::{MetadataRange, MetadataTest, Scalar};
use waypost_cli::failure::{Failure, Result};
use waypost_cli::span;
use waypost_time::Timestamp;

use crate::pairs;

/// Filters on memories.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Only memories of this type; may be repeated to match any of them
    #[arg(long = "type", value_name = "TYPE")]
    kinds: Vec<String>,
    /// Only memories with this tag; may be repeated to require all of them
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only memories with this tag or another one given so; may be repeated
    #[arg(long = "tag-any", value_name = "TAG")]
    tags_any: Vec<String>,
    /// Only memories with this metadata: `KEY=VALUE`, `KEY>=VALUE` or `KEY<=VALUE`; may be repeated; of
    /// several values of a key, one must be equal; ranges compare numbers or RFC 3339 times
    #[arg(long = "meta", value_name = "TEST")]
    metadata: Vec<String>,
    /// Only memories in this space
    #[arg(long)]
    space: Option<String>,
    /// Only memories created at or after this time: `7d` ago, `2025-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only memories created before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only pinned memories
    #[arg(long)]
    pinned: bool,
}

/// The values of filters.
pub(super) struct Filters {
    pub(super) kinds: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) tags_any: Vec<String>,
    pub(super) metadata: BTreeMap<String, MetadataTest>,
    pub(super) space: Option<String>,
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    pub(super) pinned: Option<bool>,
}

impl Filters {
    pub(super) fn read(args: FilterArgs, now: Timestamp) -> Result<Self> {
        let FilterArgs { kinds, tags, tags_any, metadata, space, since, until, pinned } = args;
        Ok(Self {
            kinds,
            tags,
            tags_any,
            metadata: tests(&metadata)?,
            space,
            since: since.map(|since| span::past("--since", &since, now)).transpose()?,
            until: until.map(|until| span::past("--until", &until, now)).transpose()?,
            pinned: pinned.then_some(true),
        })
    }
}

/// Tests of metadata by key.
fn tests(arguments: &[String]) -> Result<BTreeMap<String, MetadataTest>> {
    let mut tests = BTreeMap::new();
    for argument in arguments {
        add(argument, &mut tests)
            .map_err(|reason| Failure::usage(format!("--meta {argument:?}: {reason}")))?;
    }
    Ok(tests)
}

fn add(argument: &str, tests: &mut BTreeMap<String, MetadataTest>) -> Result<(), &'static str> {
    let (key, value) = argument
        .split_once('=')
        .ok_or("expected KEY=VALUE, KEY>=VALUE or KEY<=VALUE; quote it for the shell")?;
    let (key, is_lowest) = match (key.strip_suffix('>'), key.strip_suffix('<')) {
        (Some(key), _) => (key, Some(true)),
        (_, Some(key)) => (key, Some(false)),
        _ => (key, None),
    };
    let value = scalar(value);
    let entry = tests.entry(key.to_owned());
    let Some(is_lowest) = is_lowest else {
        match entry {
            Entry::Vacant(entry) => drop(entry.insert(MetadataTest::OneOf(vec![value]))),
            Entry::Occupied(mut entry) => match entry.get_mut() {
                MetadataTest::OneOf(values) => values.push(value),
                _ => return Err("the key already has a range"),
            },
        }
        return Ok(());
    };
    let range = entry.or_insert_with(|| MetadataTest::Within(MetadataRange::default()));
    let MetadataTest::Within(range) = range else {
        return Err("the key already has a value");
    };
    let bound = if is_lowest { &mut range.gte } else { &mut range.lte };
    match bound.replace(value) {
        None => Ok(()),
        Some(_) => Err("the key already has this bound"),
    }
}

/// A metadata value: a boolean or a [number](pairs::scalar) unless it is quoted.
pub(super) fn scalar(value: &str) -> Scalar {
    let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match (quoted, value) {
        (Some(text), _) => Scalar::String(text.to_owned()),
        (None, "true") => Scalar::Bool(true),
        (None, "false") => Scalar::Bool(false),
        (None, text) => pairs::scalar(text.to_owned()),
    }
}
