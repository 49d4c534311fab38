//! The lines of an export.
//!
//! The first line is `{"format":"waypost-memory","version":1}`. It is followed by one line for each
//! version of each memory, ordered by id and version; a deletion follows the versions of a deleted
//! memory, and is `deletedAt` of the version before it if a later one restored the memory. Then come the links. The last line contains the counts of all lines before it and a
//! CRC-32C over their bytes.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waypost_api::{FieldError, Lines, read_json, visible};

use crate::body::Body;
use crate::{Draft, Lifespan, Link, LinkKind, MemoryId, Metadata, Result, Timestamp};

pub(crate) const FORMAT: &str = "waypost-memory";
pub(crate) const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) format: String,
    pub(crate) version: u32,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RecordName {
    Memory,
    Deletion,
    Link,
    End,
}

/// A line of an export, after the header.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Line {
    Memory(Box<MemoryLine>),
    Deletion(DeletionLine),
    Link(LinkLine),
    End(EndLine),
}

/// A version of a memory.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MemoryLine {
    record: RecordName,
    pub(crate) id: MemoryId,
    #[serde(default = "first_version")]
    pub(crate) version: u32,
    /// Absent in a purged version, as is everything up to `lifespan`.
    title: Option<String>,
    content: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
    session: Option<String>,
    /// Present if it is not the default one. Its `validFrom` is when the memory holds, the line's is
    /// when the version became the current one.
    lifespan: Option<Lifespan>,
    space: Option<String>,
    created_at: Option<Timestamp>,
    /// When this version became the current one.
    pub(crate) valid_from: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    purged: bool,
    /// When the memory was deleted as this version, if the next one restored it.
    pub(crate) deleted_at: Option<Timestamp>,
}

/// The end of a memory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeletionLine {
    record: RecordName,
    pub(crate) id: MemoryId,
    pub(crate) at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LinkLine {
    record: RecordName,
    pub(crate) from: MemoryId,
    pub(crate) to: MemoryId,
    #[serde(rename = "type")]
    pub(crate) kind: LinkKind,
    pub(crate) created_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndLine {
    record: RecordName,
    memories: u64,
    links: u64,
    pub(crate) crc32c: String,
}

impl Line {
    /// The line of a version of a memory.
    pub(crate) fn memory(
        id: MemoryId,
        (version, valid_from): (u32, Timestamp),
        deleted_at: Option<Timestamp>,
        body: Body,
    ) -> Self {
        let purged = body.text.is_none();
        let text = body.text.unwrap_or_default();
        let given = |text: String| (!purged).then_some(text);
        Self::Memory(Box::new(MemoryLine {
            record: RecordName::Memory,
            id,
            version,
            title: given(text.title),
            content: given(text.content),
            kind: given(text.kind),
            tags: text.tags,
            metadata: text.metadata,
            session: text.session,
            lifespan: Some(text.lifespan).filter(|lifespan| *lifespan != Lifespan::default()),
            space: Some(body.space),
            created_at: Some(body.created_at),
            valid_from: Some(valid_from),
            purged,
            deleted_at,
        }))
    }

    pub(crate) fn deletion(id: MemoryId, at: Timestamp) -> Self {
        Self::Deletion(DeletionLine { record: RecordName::Deletion, id, at })
    }

    pub(crate) fn link(link: Link) -> Self {
        let Link { from, to, kind, created_at, .. } = link;
        Self::Link(LinkLine {
            record: RecordName::Link,
            from,
            to,
            kind,
            created_at: Some(created_at),
        })
    }

    /// The last line, with the checksum of the lines before it.
    pub(crate) fn end(memories: u64, links: u64, sum: u32) -> Self {
        let crc32c = format!("{sum:08x}");
        Self::End(EndLine { record: RecordName::End, memories, links, crc32c })
    }

    /// Reads a line, or says what is wrong with it and what is valid.
    pub(crate) fn read(text: &[u8]) -> std::result::Result<Self, String> {
        #[derive(Deserialize)]
        struct Tag {
            record: RecordName,
        }
        let read = || {
            let Tag { record } = serde_json::from_slice(text).or_else(|_| read_json(text))?;
            Ok(match record {
                RecordName::Memory => Self::Memory(read_json(text)?),
                RecordName::Deletion => Self::Deletion(read_json(text)?),
                RecordName::Link => Self::Link(read_json(text)?),
                RecordName::End => Self::End(read_json(text)?),
            })
        };
        read().map_err(|fault: FieldError| match fault.pointer.trim_start_matches('/') {
            "" => fault.message,
            field => format!("{}: {}", visible(field, Lines::Fold), fault.message),
        })
    }
}

impl MemoryLine {
    /// The body of the version, if it is within the limits.
    pub(crate) fn body(self, valid_from: Timestamp) -> Result<Body> {
        let created_at = self.created_at.unwrap_or(valid_from);
        let mut draft = Draft::new(self.content.unwrap_or_default())
            .with_tags(self.tags)
            .with_metadata(self.metadata)
            .with_lifespan(self.lifespan.unwrap_or_default());
        (draft.title, draft.kind) = (self.title, self.kind);
        (draft.space, draft.session) = (self.space, self.session);
        draft.created_at = Some(created_at);
        if self.purged {
            Body::without_text(draft, created_at)
        } else {
            Body::new(draft, created_at)
        }
    }
}

fn first_version() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::Line;

    #[test]
    fn what_is_wrong_with_a_line_is_said_in_the_words_of_the_file() {
        let mut told = Vec::new();
        for line in [
            r#"["memory",{"id":1}]"#,
            r#"["memory",1,1,"t"]"#,
            "7",
            r#"{"id":1}"#,
            r#"{"record":"note","id":1}"#,
            r#"{"record":{"memory":null},"id":1}"#,
            r#"{"record":"memory"}"#,
            r#"{"record":"memory","id":"1"}"#,
            r#"{"record":"memory","id":1.5}"#,
            r#"{"record":"memory","id":1,"version":4294967296}"#,
            r#"{"record":"memory","id":1,"lifespan":[]}"#,
            r#"{"record":"memory","id":1,"lifespan":["x"]}"#,
            r#"{"record":"memory","id":1,"lifespan":{"pinned":1}}"#,
            r#"{"record":"memory","id":1,"lifespan":{"nope":1}}"#,
            r#"{"record":"memory","id":1,"tags":["a",2]}"#,
            r#"{"record":"memory","id":1,"tags":null}"#,
            r#"{"record":"memory","id":1,"metadata":[]}"#,
            r#"{"record":"memory","id":1,"metadata":{"k":1e999}}"#,
            "{\"record\":\"memory\",\"id\":1,\"a\\u001b[1m\":1}",
            r#"{"record":"memory","id":1,"id":2}"#,
            r#"{"record":"link","from":1,"to":2}"#,
            r#"{"record":"link","from":1,"to":2,"type":{"updates":null}}"#,
        ] {
            let fault = Line::read(line.as_bytes()).expect_err(line);
            for phrase in ["struct", "invalid type", "variant", "Lifespan", "u64"] {
                assert!(!fault.contains(phrase), "{line}: {fault}");
            }
            told.extend([line.to_owned(), format!("  {fault}")]);
        }
        expect![[r#"
            ["memory",{"id":1}]
              must be an object, not an array
            ["memory",1,1,"t"]
              must be an object, not an array
            7
              must be an object, not 7
            {"id":1}
              record: is required
            {"record":"note","id":1}
              record: `note` is not one of `memory`, `deletion`, `link`, `end`
            {"record":{"memory":null},"id":1}
              record: must be one of `memory`, `deletion`, `link`, `end`, not an object
            {"record":"memory"}
              id: is required
            {"record":"memory","id":"1"}
              id: must be a whole number, not a string
            {"record":"memory","id":1.5}
              id: must be a whole number, not 1.5
            {"record":"memory","id":1,"version":4294967296}
              version: must be a whole number, not 4294967296
            {"record":"memory","id":1,"lifespan":[]}
              lifespan: must be an object, not an array
            {"record":"memory","id":1,"lifespan":["x"]}
              lifespan: must be an object, not an array
            {"record":"memory","id":1,"lifespan":{"pinned":1}}
              lifespan/pinned: must be a boolean, not 1
            {"record":"memory","id":1,"lifespan":{"nope":1}}
              lifespan/nope: unknown field; expected one of `validFrom`, `validUntil`, `expiresAt`, `pinned`
            {"record":"memory","id":1,"tags":["a",2]}
              tags/1: must be a string, not 2
            {"record":"memory","id":1,"tags":null}
              tags: must be an array, not null
            {"record":"memory","id":1,"metadata":[]}
              metadata: must be an object, not an array
            {"record":"memory","id":1,"metadata":{"k":1e999}}
              number out of range at line 1 column 47
            {"record":"memory","id":1,"a\u001b[1m":1}
              a\u{1b}[1m: unknown field; expected one of `record`, `id`, `version`, `title`, `content`, `type`, `tags`, `metadata`, `session`, `lifespan`, `space`, `createdAt`, `validFrom`, `purged`, `deletedAt`
            {"record":"memory","id":1,"id":2}
              duplicate key "id" at line 1 column 30
            {"record":"link","from":1,"to":2}
              type: is required
            {"record":"link","from":1,"to":2,"type":{"updates":null}}
              type: must be one of `updates`, `contradicts`, `related_to`, `caused_by`, `part_of`, not an object"#]].assert_eq(&told.join("\n"));
        let long = format!(r#"{{"record":"{}"}}"#, "x".repeat(1 << 16));
        assert!(Line::read(long.as_bytes()).expect_err("too long").len() < 300);
    }

    #[test]
    fn null_is_an_absent_text() {
        let line = r#"{"record":"memory","id":1,"title":null,"lifespan":null}"#;
        assert!(Line::read(line.as_bytes()).is_ok());
    }
}
