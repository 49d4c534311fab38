//! The limits of the contract, and what checks requests against them. Each request has its check
//! next to it.

use waypost_time::Timestamp;

use crate::{FieldError, Metadata, Scalar};
use std::collections::BTreeSet;

/// Bytes of a request body, except batches and imports.
pub const BODY_BYTES_MAX: u64 = 8 << 20;
/// Bytes of a batch of memories.
pub const BATCH_BYTES_MAX: u64 = 64 << 20;
/// Visible ASCII characters of an idempotency key.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 128;
/// The largest id: ids stay below 2^53, so that every JSON reader keeps them exactly.
pub const ID_MAX: u64 = (1 << 53) - 1;
/// Characters of a query.
pub const QUERY_CHARS_MAX: usize = 8192;
/// Hits of a search, and memories of a page.
pub const LIMIT_MAX: u64 = 1000;
/// Hits of a search that does not specify a number.
pub const SEARCH_LIMIT_DEFAULT: u64 = 10;
/// Memories of a page if the request does not specify a number.
pub const LIST_LIMIT_DEFAULT: u64 = 100;
/// Default number of suggestions.
pub const SUGGESTIONS_LIMIT_DEFAULT: u64 = 20;
/// Bytes of a memory's content.
pub const CONTENT_BYTES_MAX: usize = 1 << 20;
/// Characters of a title.
pub const TITLE_CHARS_MAX: usize = 512;
/// Characters of a type.
pub const KIND_CHARS_MAX: usize = 64;
/// Characters of a space.
pub const SPACE_CHARS_MAX: usize = 128;
/// Characters of a session.
pub const SESSION_CHARS_MAX: usize = 256;
/// Tags of a memory or a filter, and types of a filter.
pub const TAGS_MAX: usize = 64;
/// Characters of a tag.
pub const TAG_CHARS_MAX: usize = 64;
/// Metadata values of a memory.
pub const METADATA_KEYS_MAX: usize = 64;
/// Characters of a metadata key.
pub const METADATA_KEY_CHARS_MAX: usize = 64;
/// Bytes of all metadata keys and texts of a memory.
pub const METADATA_BYTES_MAX: usize = 16 << 10;
/// Metadata keys that a filter tests.
pub const METADATA_FILTER_KEYS_MAX: usize = 16;
/// Values that a filter allows for one metadata key.
pub const METADATA_FILTER_VALUES_MAX: usize = 64;
/// Depth of a traversal of links.
pub const DEPTH_MAX: u64 = 16;
/// Characters of a token's note, and of the reason why a flow is paused.
pub const NOTE_CHARS_MAX: usize = 256;

/// Items of a context.
pub const ITEMS_MAX: u64 = 200;
/// Items of a context if the request does not specify a number.
pub const ITEMS_DEFAULT: u64 = 30;
/// Tokens of a context.
pub const TOKENS_MAX: u64 = 1_000_000;
/// Globs of a request.
pub const GLOBS_MAX: usize = 64;
/// Characters of a glob.
pub const GLOB_CHARS_MAX: usize = 512;

/// Bytes of a prompt for recall.
pub const RECALL_PROMPT_BYTES_MAX: usize = 1 << 20;
/// Characters of the reason for which a session starts.
pub const RECALL_SOURCE_CHARS_MAX: usize = 64;
/// Turns of one request.
pub const RECALL_TURNS_MAX: usize = 500;
/// Bytes of a turn.
pub const RECALL_TURN_BYTES_MAX: usize = 64 << 10;
/// Entries of the recall log if the request does not specify a number.
pub const RECALL_LIMIT_DEFAULT: u64 = 100;
/// Memories that a question about a session's recall explains.
pub const RECALL_WHY_LIMIT_MAX: u64 = 50;
/// The same if the request does not specify a number.
pub const RECALL_WHY_LIMIT_DEFAULT: u64 = 10;

/// The maximum number of reported invalid fields.
pub(crate) const FAULTS_MAX: usize = 32;

/// A request whose values have limits.
pub trait Check {
    /// Records every field that exceeds its limits.
    fn check(&self, faults: &mut Faults);
}

/// The invalid fields found so far.
#[derive(Debug)]
pub struct Faults {
    prefix: char,
    found: Vec<FieldError>,
}

impl Faults {
    /// Faults of a JSON body: fields are named by JSON pointers.
    pub fn of_body() -> Self {
        Self { prefix: '/', found: Vec::new() }
    }

    /// Faults of a query string: parameters are named `?name`.
    pub fn of_query() -> Self {
        Self { prefix: '?', found: Vec::new() }
    }

    /// No faults, of the same kind of request.
    pub(crate) fn none(&self) -> Self {
        Self { prefix: self.prefix, found: Vec::new() }
    }

    /// The invalid fields, in order.
    pub fn into_vec(self) -> Vec<FieldError> {
        self.found
    }

    /// Adds an invalid field, by its name or, in a body, by its pointer without the first `/`; the
    /// empty name is the whole request.
    ///
    /// Only the first 32 are kept: what an error says must not grow with the request.
    pub fn add(&mut self, field: &str, message: impl Into<String>) {
        if self.found.len() < FAULTS_MAX {
            let pointer = match field {
                "" => String::new(),
                field => format!("{}{field}", self.prefix),
            };
            self.found.push(FieldError { pointer, message: message.into() });
        }
    }

    /// A query of a search.
    pub fn query(&mut self, query: &str) {
        if query.is_empty() {
            let reason = format!("must not be empty; the limit is {QUERY_CHARS_MAX} characters");
            self.add("query", reason);
        }
        self.chars("query", query, QUERY_CHARS_MAX);
    }

    /// The least score of a hit.
    pub fn min_score(&mut self, score: Option<f64>) {
        if let Some(score) = score
            && !(0.0..=1.0).contains(&score)
        {
            self.add("minScore", format!("must be between 0 and 1, not {score:?}"));
        }
    }

    /// A number from 1 to a maximum.
    pub fn range(&mut self, field: &str, value: Option<u64>, max: u64) {
        if let Some(value) = value
            && !(1..=max).contains(&value)
        {
            self.add(field, format!("must be between 1 and {max}, not {value}"));
        }
    }

    pub(crate) fn count(&mut self, field: &str, count: usize, max: usize) {
        if count > max {
            self.add(field, format!("has {count} elements; the limit is {max}"));
        }
    }

    /// The id of a memory.
    pub(crate) fn id(&mut self, field: &str, value: u64) {
        self.id_of("a memory", field, value);
    }

    pub(crate) fn id_of(&mut self, what: &str, field: &str, value: u64) {
        if !(1..=ID_MAX).contains(&value) {
            self.add(
                field,
                format!("must be the id of {what}, between 1 and {ID_MAX} (2^53 - 1), not {value}"),
            );
        }
    }

    /// A position in a file, in bytes: every JSON reader must keep it exactly.
    pub(crate) fn position(&mut self, field: &str, value: u64) {
        if value > ID_MAX {
            self.add(field, format!("must be between 0 and {ID_MAX} (2^53 - 1), not {value}"));
        }
    }

    pub(crate) fn period(&mut self, since: Option<Timestamp>, until: Option<Timestamp>) {
        if let (Some(since), Some(until)) = (since, until)
            && until <= since
        {
            self.add("until", "must be after `since`");
        }
    }

    /// A text without NUL characters, for which some programs have no representation.
    fn text(&mut self, field: &str, value: &str) {
        if value.contains('\0') {
            self.add(field, "contains a NUL character");
        }
    }

    pub(crate) fn chars(&mut self, field: &str, value: &str, max: usize) {
        self.text(field, value);
        let chars = value.chars().count();
        if chars > max {
            self.add(field, format!("has {chars} characters; the limit is {max}"));
        }
    }

    pub(crate) fn name(&mut self, field: &str, value: &str, max: usize) {
        if value.trim().is_empty() {
            self.add(field, format!("must not be blank; the limit is {max} characters"));
        } else {
            self.chars(field, value, max);
        }
    }

    pub(crate) fn content(&mut self, value: &str) {
        self.text("content", value);
        if value.is_empty() {
            self.add("content", "must not be empty");
        } else if value.len() > CONTENT_BYTES_MAX {
            self.add(
                "content",
                format!("has {} bytes; the limit is {CONTENT_BYTES_MAX} (1 MiB)", value.len()),
            );
        }
    }

    pub(crate) fn kind(&mut self, field: &str, value: &str) {
        let allowed = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if !(1..=KIND_CHARS_MAX).contains(&value.len()) || !value.bytes().all(allowed) {
            self.add(field, "must be 1 to 64 characters of a-z, 0-9, `_` and `-`");
        }
    }

    pub(crate) fn kinds(&mut self, values: &[String]) {
        if values.len() > TAGS_MAX {
            self.add("type", format!("names {} types; the limit is {TAGS_MAX}", values.len()));
        }
        for value in values {
            self.kind("type", value);
        }
    }

    /// The name of a space.
    pub fn space(&mut self, value: Option<&str>) {
        if let Some(value) = value {
            self.name("space", value, SPACE_CHARS_MAX);
        }
    }

    pub(crate) fn session(&mut self, value: Option<&str>) {
        if let Some(value) = value {
            self.name("session", value, SESSION_CHARS_MAX);
        }
    }

    pub(crate) fn tags(&mut self, field: &str, values: &[String]) {
        let distinct = values.iter().collect::<BTreeSet<_>>().len();
        if distinct > TAGS_MAX {
            self.add(field, format!("has {distinct} tags; the limit is {TAGS_MAX}"));
        }
        for (idx, value) in values.iter().enumerate() {
            let in_body = self.prefix == '/';
            let one = if in_body { format!("{field}/{idx}") } else { field.to_owned() };
            self.name(&one, value, TAG_CHARS_MAX);
        }
    }

    pub(crate) fn metadata(&mut self, values: &Metadata) {
        if values.len() > METADATA_KEYS_MAX {
            self.add(
                "metadata",
                format!("has {} keys; the limit is {METADATA_KEYS_MAX}", values.len()),
            );
        }
        let mut bytes = 0;
        for (key, value) in values {
            let field = format!("metadata/{}", escape_pointer(key));
            self.name(&field, key, METADATA_KEY_CHARS_MAX);
            bytes += key.len();
            bytes += match value {
                Scalar::String(text) => {
                    self.text(&field, text);
                    text.len()
                }
                Scalar::Number(_) => 8,
                Scalar::Bool(_) => 1,
            };
        }
        if bytes > METADATA_BYTES_MAX {
            self.add("metadata", format!("has {bytes} bytes; the limit is {METADATA_BYTES_MAX}"));
        }
    }
}

/// Escapes a key for a JSON pointer.
pub fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
