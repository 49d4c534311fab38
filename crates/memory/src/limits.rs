//! Every limit of the store, in one place.
//!
//! Limits of what people see are in characters, limits of storage in bytes.

use std::time::Duration;

/// Maximum length of a memory's content, in bytes.
pub const CONTENT_BYTES_MAX: usize = 1024 * 1024;
/// Maximum length of a title, in characters.
pub const TITLE_CHARS_MAX: usize = 512;
/// A title taken from the first line of the content is truncated to this many characters.
pub const TITLE_FROM_CONTENT_CHARS_MAX: usize = 120;
/// Maximum length of a kind (`type` on the wire), in characters of `[a-z0-9_-]`.
pub const KIND_CHARS_MAX: usize = 64;
/// Maximum number of tags of a memory.
pub const TAGS_MAX: usize = 64;
/// Maximum length of a tag, in characters.
pub const TAG_CHARS_MAX: usize = 64;
/// Maximum number of keys in a memory's metadata.
pub const METADATA_KEYS_MAX: usize = 64;
/// Maximum length of a metadata key, in characters.
pub const METADATA_KEY_CHARS_MAX: usize = 64;
/// Maximum size of all keys and values of a memory's metadata together, in bytes.
pub const METADATA_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of metadata keys that a filter tests.
pub const METADATA_FILTER_KEYS_MAX: usize = 16;
/// Maximum number of values that a filter allows for one metadata key.
pub const METADATA_FILTER_VALUES_MAX: usize = 64;
/// Maximum length of the name of a space, in characters.
pub const SPACE_CHARS_MAX: usize = 128;
/// Maximum length of the name of a session, in characters.
pub const SESSION_CHARS_MAX: usize = 256;
/// Maximum length of a query, in characters.
pub const QUERY_CHARS_MAX: usize = 8192;
/// Maximum number of hits of a search.
pub const SEARCH_LIMIT_MAX: usize = 1000;
/// Maximum number of memories in a page of a list.
pub const LIST_LIMIT_MAX: usize = 1000;
/// Maximum number of suggestions.
pub const SUGGESTIONS_LIMIT_MAX: usize = 1000;
/// Maximum number of expired memories that one call of [`Store::expire`](crate::Store::expire)
/// deletes.
pub const EXPIRED_AT_ONCE_MAX: usize = 1000;
/// Maximum depth of a walk over links.
pub const LINK_DEPTH_MAX: u32 = 16;
/// Maximum number of steps along a chain of updates in a search.
pub(crate) const UPDATE_STEPS_MAX: u32 = 16;
/// Maximum number of links that one walk returns.
pub const LINKS_RETURNED_MAX: usize = 100_000;
/// The largest id: numbers up to 2^53 − 1 survive every JSON reader.
pub const ID_MAX: u64 = (1 << 53) - 1;
/// The largest version of a memory, whether a change or an import makes it.
pub const VERSION_MAX: u32 = u32::MAX;
/// An import accepts no version further than this above the previous one of the same memory.
///
/// An export contains every version in order, so a file can only come near [`VERSION_MAX`] by as
/// many changes, or by lines made for that purpose.
pub const IMPORT_VERSION_GAP_MAX: u32 = 1 << 20;
/// An import that keeps ids accepts none further than this above the highest id of the store.
///
/// An export contains every id in order, and a repair skips about 2^20. Even if each line skips as
/// many ids as allowed, the ids below 2^53 last for 2^25 lines.
pub const IMPORT_ID_GAP_MAX: u64 = 1 << 28;
/// Maximum length of a line of an import, in bytes.
pub const IMPORT_LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum length of all lines of one memory in an import, in bytes: they are in memory at once.
pub const IMPORT_HISTORY_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// Maximum number of dimensions of a model's vectors.
pub const DIMENSIONS_MAX: usize = 4096;
/// A [request key](crate::RequestKey) is known for this long …
pub const KEY_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
/// … and until this many others have been used after it, whichever is longer.
pub const KEY_WINDOW_REQUESTS: u64 = 100_000;
/// Maximum number of request keys that one call of [`Store::expire`](crate::Store::expire) forgets.
pub const KEYS_FORGOTTEN_AT_ONCE_MAX: usize = 5_000;
/// Maximum length of the answer that is kept with a request key, in bytes
/// ([`Request::finish`](crate::Request::finish)).
pub const ANSWER_BYTES_MAX: usize = 16 * 1024;
