//! Every limit of the store, in one place.
//!
//! Lengths of text are in characters where people see them and in bytes where storage does.

/// The longest content of a memory, in bytes.
pub const CONTENT_BYTES_MAX: usize = 1024 * 1024;
/// The longest title, in characters.
pub const TITLE_CHARS_MAX: usize = 512;
/// A title that is taken from the content's first line is cut to this many characters.
pub const TITLE_FROM_CONTENT_CHARS_MAX: usize = 120;
/// The longest kind (`type` on the wire), in characters of `[a-z0-9_-]`.
pub const KIND_CHARS_MAX: usize = 64;
/// The most tags of one memory.
pub const TAGS_MAX: usize = 64;
/// The longest tag, in characters.
pub const TAG_CHARS_MAX: usize = 64;
/// The most keys in a memory's metadata.
pub const METADATA_KEYS_MAX: usize = 64;
/// The longest metadata key, in characters.
pub const METADATA_KEY_CHARS_MAX: usize = 64;
/// All keys and values of one memory's metadata together, in bytes.
pub const METADATA_BYTES_MAX: usize = 16 * 1024;
/// The longest name of a space, in characters.
pub const SPACE_CHARS_MAX: usize = 128;
/// The longest name of a session, in characters.
pub const SESSION_CHARS_MAX: usize = 256;
/// The longest query, in characters.
pub const QUERY_CHARS_MAX: usize = 8192;
/// The most hits that one search returns.
pub const SEARCH_LIMIT_MAX: usize = 1000;
/// The most memories on one page of a list.
pub const LIST_LIMIT_MAX: usize = 1000;
/// The deepest walk over links.
pub const LINK_DEPTH_MAX: u32 = 16;
/// The most links that one walk returns.
pub const LINKS_RETURNED_MAX: usize = 100_000;
/// The largest id: numbers up to 2^53 − 1 survive every JSON reader.
pub const ID_MAX: u64 = (1 << 53) - 1;
/// The largest version that an import takes; each is followed by as many that changes can make.
pub const IMPORT_VERSION_MAX: u32 = 1 << 31;
/// An import that keeps ids takes none further than this above the highest that the store has had.
///
/// An export names every id in turn, and a repair skips about 2^20. Even lines that each skip as many
/// as they may use up the ids below 2^53 only after 2^25 of them.
pub const IMPORT_ID_GAP_MAX: u64 = 1 << 28;
/// The longest line of an import, in bytes.
pub const IMPORT_LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The widest vector that a model may give.
pub const DIMENSIONS_MAX: usize = 4096;
