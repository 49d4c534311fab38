//! The wire and the store reject the same values.

use waypost_api::limits as wire;
use waypost_memory::limits as store;
use waypost_project::LimitSettings;

#[test]
fn the_limits_of_the_wire_are_those_of_the_store() {
    let lengths = [
        ("content", wire::CONTENT_BYTES_MAX, store::CONTENT_BYTES_MAX),
        ("title", wire::TITLE_CHARS_MAX, store::TITLE_CHARS_MAX),
        ("type", wire::KIND_CHARS_MAX, store::KIND_CHARS_MAX),
        ("space", wire::SPACE_CHARS_MAX, store::SPACE_CHARS_MAX),
        ("session", wire::SESSION_CHARS_MAX, store::SESSION_CHARS_MAX),
        ("tags", wire::TAGS_MAX, store::TAGS_MAX),
        ("tag", wire::TAG_CHARS_MAX, store::TAG_CHARS_MAX),
        ("metadata keys", wire::METADATA_KEYS_MAX, store::METADATA_KEYS_MAX),
        ("metadata key", wire::METADATA_KEY_CHARS_MAX, store::METADATA_KEY_CHARS_MAX),
        ("metadata", wire::METADATA_BYTES_MAX, store::METADATA_BYTES_MAX),
        ("query", wire::QUERY_CHARS_MAX, store::QUERY_CHARS_MAX),
        ("search limit", wire::LIMIT_MAX as usize, store::SEARCH_LIMIT_MAX),
        ("list limit", wire::LIMIT_MAX as usize, store::LIST_LIMIT_MAX),
        ("depth", wire::DEPTH_MAX as usize, store::LINK_DEPTH_MAX as usize),
    ];
    for (what, of_wire, of_store) in lengths {
        assert_eq!(of_wire, of_store, "{what}");
    }
    assert_eq!(wire::ID_MAX, store::ID_MAX);
}

#[test]
fn the_documented_sizes_of_bodies_are_those_that_hold_by_default() {
    let limits = LimitSettings::default();
    assert_eq!(limits.body_bytes_max as u64, wire::BODY_BYTES_MAX);
    assert_eq!(limits.batch_bytes_max, wire::BATCH_BYTES_MAX);
}
