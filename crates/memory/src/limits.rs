//! The limits of a store. Those of what a request may contain are the contract's.
//!
//! Limits of what people see are in characters, limits of storage in bytes.

use std::time::Duration;

pub use waypost_api::limits::{
    CONTENT_BYTES_MAX, DEPTH_MAX, ID_MAX, KIND_CHARS_MAX, LIMIT_MAX, METADATA_BYTES_MAX,
    METADATA_FILTER_KEYS_MAX, METADATA_FILTER_VALUES_MAX, METADATA_KEY_CHARS_MAX,
    METADATA_KEYS_MAX, QUERY_CHARS_MAX, SESSION_CHARS_MAX, SPACE_CHARS_MAX, TAG_CHARS_MAX,
    TAGS_MAX, TITLE_CHARS_MAX,
};

/// A title taken from the first line of the content is truncated to this many characters.
pub const TITLE_FROM_CONTENT_CHARS_MAX: usize = 120;
/// Maximum number of expired memories that one call of [`Store::expire`](crate::Store::expire)
/// deletes.
pub const EXPIRED_AT_ONCE_MAX: usize = 1000;
/// Maximum number of steps along a chain of updates in a search.
pub(crate) const UPDATE_STEPS_MAX: u32 = 16;
/// Maximum number of links that one walk returns.
pub const LINKS_RETURNED_MAX: usize = 100_000;
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
