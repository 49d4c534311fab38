//! The limits of the contract, and the checks of requests against them.

mod context;

pub use self::context::{ITEMS_DEFAULT, ITEMS_MAX, TOKENS_MAX};

use crate::{
    AddRequest, AllowRequest, CompactRequest, EventsRequest, FieldError, FlowTestRequest,
    ImportRequest, IndexRequest, LinkRequest, LinksRequest, ListRequest, NewTokenRequest,
    PatchRequest, PauseRequest, PublishRequest, ReplayRequest, RunsRequest, Scalar, SearchRequest,
    StreamRequest, WhyRequest,
};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a request body, except batches and imports.
pub const BODY_BYTES_MAX: u64 = 8 << 20;
/// Bytes of a batch of memories.
pub const BATCH_BYTES_MAX: u64 = 64 << 20;
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
/// Depth of a traversal of links.
pub const DEPTH_MAX: u64 = 16;
/// Characters of a token's note, and of the reason why a flow is paused.
pub const NOTE_CHARS_MAX: usize = 256;

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

    /// The invalid fields, in order.
    pub fn into_vec(self) -> Vec<FieldError> {
        self.found
    }

    fn add(&mut self, field: &str, message: impl Into<String>) {
        self.found.push(FieldError {
            pointer: format!("{}{field}", self.prefix),
            message: message.into(),
        });
    }

    fn range(&mut self, field: &str, value: Option<u64>, max: u64) {
        if let Some(value) = value
            && !(1..=max).contains(&value)
        {
            self.add(field, format!("must be between 1 and {max}, not {value}"));
        }
    }

    fn id(&mut self, field: &str, value: u64) {
        if !(1..=ID_MAX).contains(&value) {
            self.add(
                field,
                format!(
                    "must be the id of a memory, between 1 and {ID_MAX} (2^53 - 1), not {value}"
                ),
            );
        }
    }

    fn chars(&mut self, field: &str, value: &str, max: usize) {
        let chars = value.chars().count();
        if chars > max {
            self.add(field, format!("has {chars} characters; the limit is {max}"));
        }
    }

    fn name(&mut self, field: &str, value: &str, max: usize) {
        if value.trim().is_empty() {
            self.add(field, format!("must not be blank; the limit is {max} characters"));
        } else {
            self.chars(field, value, max);
        }
    }

    fn content(&mut self, value: &str) {
        if value.is_empty() {
            self.add("content", "must not be empty");
        } else if value.len() > CONTENT_BYTES_MAX {
            self.add(
                "content",
                format!("has {} bytes; the limit is {CONTENT_BYTES_MAX} (1 MiB)", value.len()),
            );
        }
    }

    fn kind(&mut self, field: &str, value: &str) {
        let allowed = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if !(1..=KIND_CHARS_MAX).contains(&value.len()) || !value.bytes().all(allowed) {
            self.add(field, "must be 1 to 64 characters of a-z, 0-9, `_` and `-`");
        }
    }

    fn kinds(&mut self, values: &[String]) {
        if values.len() > TAGS_MAX {
            self.add("type", format!("names {} types; the limit is {TAGS_MAX}", values.len()));
        }
        for value in values {
            self.kind("type", value);
        }
    }

    fn space(&mut self, value: Option<&str>) {
        if let Some(value) = value {
            self.name("space", value, SPACE_CHARS_MAX);
        }
    }

    fn session(&mut self, value: Option<&str>) {
        if let Some(value) = value {
            self.name("session", value, SESSION_CHARS_MAX);
        }
    }

    fn tags(&mut self, values: &[String]) {
        let distinct = values.iter().collect::<BTreeSet<_>>().len();
        if distinct > TAGS_MAX {
            self.add("tags", format!("has {distinct} tags; the limit is {TAGS_MAX}"));
        }
        for (idx, value) in values.iter().enumerate() {
            let field = if self.prefix == '/' { format!("tags/{idx}") } else { "tags".to_owned() };
            self.name(&field, value, TAG_CHARS_MAX);
        }
    }

    fn metadata(&mut self, values: &BTreeMap<String, Scalar>) {
        if values.len() > METADATA_KEYS_MAX {
            self.add(
                "metadata",
                format!("has {} keys; the limit is {METADATA_KEYS_MAX}", values.len()),
            );
        }
        let mut bytes = 0;
        for (key, value) in values {
            self.name(&format!("metadata/{}", escape_pointer(key)), key, METADATA_KEY_CHARS_MAX);
            bytes += key.len();
            bytes += match value {
                Scalar::String(text) => text.len(),
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

impl Check for SearchRequest {
    fn check(&self, faults: &mut Faults) {
        if self.query.is_empty() {
            faults.add(
                "query",
                format!("must not be empty; the limit is {QUERY_CHARS_MAX} characters"),
            );
        }
        faults.chars("query", &self.query, QUERY_CHARS_MAX);
        faults.range("limit", self.limit, LIMIT_MAX);
        faults.kinds(&self.kinds);
        faults.tags(&self.tags);
        faults.space(self.space.as_deref());
        if let (Some(since), Some(until)) = (self.since, self.until)
            && until <= since
        {
            faults.add("until", "must be after `since`");
        }
        if let Some(score) = self.min_score
            && !(0.0..=1.0).contains(&score)
        {
            faults.add("minScore", format!("must be between 0 and 1, not {score}"));
        }
    }
}

impl Check for AddRequest {
    fn check(&self, faults: &mut Faults) {
        if let Some(title) = &self.title {
            faults.chars("title", title, TITLE_CHARS_MAX);
        }
        faults.content(&self.content);
        if let Some(kind) = &self.kind {
            faults.kind("type", kind);
        }
        faults.tags(&self.tags);
        faults.metadata(&self.metadata);
        faults.space(self.space.as_deref());
        faults.session(self.session.as_deref());
    }
}

impl Check for PatchRequest {
    fn check(&self, faults: &mut Faults) {
        if *self == Self::default() {
            faults.add("", "must change something: `title`, `content`, `type`, `tags`, `metadata` or `session`");
        }
        if let Some(title) = &self.title {
            faults.chars("title", title, TITLE_CHARS_MAX);
        }
        if let Some(content) = &self.content {
            faults.content(content);
        }
        if let Some(kind) = &self.kind {
            faults.kind("type", kind);
        }
        faults.tags(self.tags.as_deref().unwrap_or_default());
        if let Some(metadata) = &self.metadata {
            faults.metadata(metadata);
        }
        faults.session(self.session.as_ref().and_then(|session| session.as_deref()));
    }
}

impl Check for ListRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("limit", self.limit, LIMIT_MAX);
        if let Some(after) = self.after
            && after > ID_MAX
        {
            faults.add("after", format!("must be an id, at most {ID_MAX} (2^53 - 1)"));
        }
        faults.kinds(&self.kinds);
        faults.tags(&self.tags);
        faults.space(self.space.as_deref());
        if let (Some(since), Some(until)) = (self.since, self.until)
            && until <= since
        {
            faults.add("until", "must be after `since`");
        }
    }
}

impl Check for LinksRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("depth", self.depth, DEPTH_MAX);
    }
}

impl Check for ImportRequest {
    fn check(&self, _faults: &mut Faults) {}
}

impl Check for LinkRequest {
    fn check(&self, faults: &mut Faults) {
        faults.id("from", self.from);
        faults.id("to", self.to);
        if self.from == self.to {
            faults.add("to", "must be another memory than `from`");
        }
    }
}

impl Check for IndexRequest {
    fn check(&self, _faults: &mut Faults) {}
}

impl Check for CompactRequest {
    fn check(&self, faults: &mut Faults) {
        if self.versions == Some(0) {
            faults.add("versions", "must be at least 1; the newest version is always kept");
        }
    }
}

impl Check for PublishRequest {
    // The event bus decides which events are valid.
    fn check(&self, _faults: &mut Faults) {}
}

impl Check for EventsRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("limit", self.limit, LIMIT_MAX);
    }
}

impl Check for StreamRequest {
    fn check(&self, _faults: &mut Faults) {}
}

impl Check for FlowTestRequest {
    // The event bus decides which events are valid.
    fn check(&self, _faults: &mut Faults) {}
}

impl Check for RunsRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("limit", self.limit, LIMIT_MAX);
    }
}

impl Check for ReplayRequest {
    fn check(&self, faults: &mut Faults) {
        if let (Some(after), Some(until)) = (self.after, self.until)
            && until <= after
        {
            faults.add("until", "must be above `after`");
        }
    }
}

impl Check for WhyRequest {
    fn check(&self, faults: &mut Faults) {
        faults.range("event", Some(self.event), ID_MAX);
    }
}

impl Check for AllowRequest {
    fn check(&self, faults: &mut Faults) {
        let is_hash = self.hash.len() == 64 && self.hash.bytes().all(|it| it.is_ascii_hexdigit());
        if !is_hash {
            faults.add("hash", "must be the SHA-256 of the text, 64 hexadecimal digits");
        }
        let is_hash = |it: &String| it.len() == 64 && it.bytes().all(|it| it.is_ascii_hexdigit());
        if !self.programs.values().all(is_hash) {
            faults.add("programs", "must be a SHA-256 of 64 hexadecimal digits for each program");
        }
    }
}

impl Check for PauseRequest {
    fn check(&self, faults: &mut Faults) {
        if let Some(why) = &self.why {
            faults.chars("why", why, NOTE_CHARS_MAX);
        }
    }
}

impl Check for NewTokenRequest {
    fn check(&self, faults: &mut Faults) {
        if self.scopes.is_empty() {
            faults.add("scopes", "must name at least one scope");
        }
        faults.space(self.space.as_deref());
        if let Some(note) = &self.note {
            faults.chars("note", note, NOTE_CHARS_MAX);
        }
    }
}
