//! Limits of recall.

/// Characters, in UTF-16 units, of a text that is injected: harnesses put longer ones into a file
/// that the model may not read. It is the sum of [`BRIEF_UNITS_MAX`] and [`PROMPT_UNITS_MAX`].
pub const TEXT_UNITS_MAX: usize = 10_000;
/// The same of a brief.
pub const BRIEF_UNITS_MAX: usize = 6_000;
/// The same of what a prompt gets.
pub const PROMPT_UNITS_MAX: usize = TEXT_UNITS_MAX - BRIEF_UNITS_MAX;
/// Tokens of a brief, by the estimate of [`waypost_quote::tokens`].
pub const BRIEF_TOKENS_MAX: usize = 1_500;
/// Tokens of what a prompt gets.
pub const PROMPT_TOKENS_MAX: usize = 1_000;
/// Tokens of one memory in either.
pub const ITEM_TOKENS_MAX: usize = 250;
/// Memories that a prompt gets.
pub const PROMPT_ITEMS_MAX: usize = 8;
/// Prompts with fewer characters get nothing: they continue what was said, and find anything.
pub const PROMPT_CHARS_MIN: usize = 20;
/// Characters of a prompt that are searched.
pub const QUERY_CHARS_MAX: usize = 1_000;

/// Bytes of a line of a transcript; longer ones are skipped. A prompt is far shorter, and the output
/// of a tool is not read.
pub const LINE_BYTES_MAX: usize = 4 << 20;
/// Bytes of a turn; the rest of a longer one is not recorded.
pub const TURN_BYTES_MAX: usize = 16 << 10;

/// Entries in memory and on disk; the oldest are dropped first.
pub const ENTRIES_MAX: usize = 50_000;
/// Sessions that the log knows; those that were not seen for the longest time are dropped first, with
/// their entries.
pub const SESSIONS_MAX: usize = 10_000;
/// Bytes of a session's name.
pub const SESSION_BYTES_MAX: usize = 4 << 10;
/// Memories that one entry names, used and withheld.
pub const NAMED_MAX: usize = 1_000;
