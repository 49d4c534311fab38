//! Every limit: at the edge it is taken, one above it is refused and named.

use waypost_memory::limits::*;
use waypost_memory::{
    Draft, Error, ErrorKind, Filter, MemoryId, Metadata, Patch, Scalar, SearchOptions,
};

use crate::world::{World, at, id};

fn check(draft: Draft) -> Result<(), String> {
    let world = World::new();
    match world.store().add(draft, at(0)) {
        Ok(added) => {
            let memory = added.into_memory();
            assert_eq!(world.store().get(memory.id).expect("it is there"), memory);
            Ok(())
        }
        Err(Error::Invalid { field, .. }) => Err(field),
        Err(other) => panic!("{other}"),
    }
}

fn refused(draft: Draft, field: &str) {
    assert_eq!(check(draft), Err(field.to_owned()));
}

#[test]
fn text_is_taken_up_to_its_limits() {
    let content = |count| Draft::new("x".repeat(count));
    check(content(1)).expect("one byte");
    check(content(CONTENT_BYTES_MAX)).expect("at the edge");
    refused(content(CONTENT_BYTES_MAX + 1), "content");
    refused(content(0), "content");
    refused(Draft::new("a\0b"), "content");
    let title = |title: String| Draft::new("c").with_title(title);
    check(title("ü".repeat(TITLE_CHARS_MAX))).expect("at the edge");
    refused(title("ü".repeat(TITLE_CHARS_MAX + 1)), "title");
    refused(title("\0".to_owned()), "title");
}

#[test]
fn names_are_taken_up_to_their_limits() {
    let kind = |kind: &str| Draft::new("c").with_kind(kind);
    check(kind(&"k".repeat(KIND_CHARS_MAX))).expect("at the edge");
    check(kind("a-z_09")).expect("all that is allowed");
    for wrong in [&*"k".repeat(KIND_CHARS_MAX + 1), "", "Note", "a b", "ü"] {
        refused(kind(wrong), "type");
    }
    let space = |space: String| Draft::new("c").with_space(space);
    check(space("ü".repeat(SPACE_CHARS_MAX))).expect("at the edge");
    refused(space("ü".repeat(SPACE_CHARS_MAX + 1)), "space");
    refused(space(" ".to_owned()), "space");
    let session = |session: String| Draft::new("c").with_session(session);
    check(session("s".repeat(SESSION_CHARS_MAX))).expect("at the edge");
    refused(session("s".repeat(SESSION_CHARS_MAX + 1)), "session");
}

#[test]
fn tags_and_metadata_are_taken_up_to_their_limits() {
    let tags = |count: usize| {
        Draft::new("c").with_tags((0..count).map(|number| format!("{number:0>TAG_CHARS_MAX$}")))
    };
    check(tags(TAGS_MAX)).expect("at the edge");
    refused(tags(TAGS_MAX + 1), "tags");
    let tag = |tag: String| Draft::new("c").with_tags(["a".to_owned(), tag]);
    refused(tag("x".repeat(TAG_CHARS_MAX + 1)), "tags/1");
    refused(tag(String::new()), "tags/1");
    let keys = |count: usize| {
        Draft::new("c").with_metadata(
            (0..count).map(|number| (number.to_string(), Scalar::from(true))).collect(),
        )
    };
    check(keys(METADATA_KEYS_MAX)).expect("at the edge");
    refused(keys(METADATA_KEYS_MAX + 1), "metadata");
    let value = |bytes: usize| {
        Draft::new("c")
            .with_metadata(Metadata::from([("k".to_owned(), Scalar::String("v".repeat(bytes)))]))
    };
    check(value(METADATA_BYTES_MAX - 1)).expect("at the edge");
    refused(value(METADATA_BYTES_MAX), "metadata");
    let key = |count: usize| {
        Draft::new("c").with_metadata(Metadata::from([("k".repeat(count), Scalar::from(1))]))
    };
    check(key(METADATA_KEY_CHARS_MAX)).expect("at the edge");
    let too_long = "k".repeat(METADATA_KEY_CHARS_MAX + 1);
    refused(key(METADATA_KEY_CHARS_MAX + 1), &format!("metadata/{too_long}"));
}

#[test]
fn everything_at_its_limit_at_once_is_stored() {
    let draft = Draft::new("x".repeat(16 * 1024))
        .with_title("\u{1F600}".repeat(TITLE_CHARS_MAX))
        .with_tags((0..TAGS_MAX).map(|number| format!("{number:\u{1F600}>TAG_CHARS_MAX$}")))
        .with_metadata(Metadata::from([(
            "k".to_owned(),
            Scalar::String("v".repeat(METADATA_BYTES_MAX - 1)),
        )]))
        .with_space("\u{1F600}".repeat(SPACE_CHARS_MAX))
        .with_session("\u{1F600}".repeat(SESSION_CHARS_MAX));
    check(draft).expect("it is stored");
}

#[test]
fn a_patch_is_checked_like_a_draft() {
    let mut world = World::new();
    let memory = world.add("fine");
    let patch = Patch::default().with_kind("Not Fine");
    let error = world.store().update(memory, patch, at(0)).expect_err("it is refused");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(world.store().get(memory).expect("it is there").version, 1);
}

#[test]
fn queries_are_taken_up_to_their_limits() {
    let mut world = World::new();
    world.add("the quick brown fox");
    let search = |query: &str, limit| {
        let options = SearchOptions::default().with_limit(limit);
        world.store().search(query, &options).map(|search| search.hits.len())
    };
    assert!(search(&"ü".repeat(QUERY_CHARS_MAX), 10).is_ok());
    assert!(search(&"ü".repeat(QUERY_CHARS_MAX + 1), 10).is_err());
    assert!(search("", 10).is_err());
    assert!(search("a\0b", 10).is_err());
    assert_eq!(search("fox", LIMIT_MAX as usize).ok(), Some(1));
    assert!(search("fox", LIMIT_MAX as usize + 1).is_err());
    assert!(search("fox", 0).is_err());
    for query in ["the of and", "🙂🙂", "\"quick\" AND (fox OR -NOT*)", "\u{1b}[31m", "   "] {
        assert!(search(query, 10).is_ok(), "{query}");
    }
    let least = |least: f64| SearchOptions::default().with_min_score(least);
    assert!(world.store().search("fox", &least(1.0)).is_ok());
    assert!(world.store().search("fox", &least(1.1)).is_err());
    assert!(world.store().search("fox", &least(f64::NAN)).is_err());
}

#[test]
fn numbers_are_taken_up_to_their_limits() {
    let mut world = World::new();
    let memory = world.add("one");
    assert_eq!(MemoryId::new(0), None);
    assert!(MemoryId::new(ID_MAX).is_some());
    assert_eq!(MemoryId::new(ID_MAX + 1), None);
    assert!(matches!(world.store().get(id(ID_MAX)), Err(Error::NotFound(_))));
    let list = |limit| world.store().list(&Filter::default(), None, limit);
    assert!(
        list(LIMIT_MAX as usize).is_ok()
            && list(LIMIT_MAX as usize + 1).is_err()
            && list(0).is_err()
    );
    let links = |depth| world.store().links(memory, depth);
    assert!(links(DEPTH_MAX as u32).is_ok() && links(DEPTH_MAX as u32 + 1).is_err());
    assert!(links(0).is_err());
}
