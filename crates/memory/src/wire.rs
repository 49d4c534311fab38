//! The lines of an export.
//!
//! The first line is `{"format":"waypost-memory","version":1}`. It is followed by one line for each
//! version of each memory, ordered by id and version; a deletion follows the versions of a deleted
//! memory, and is `deletedAt` of the version before it if a later one restored the memory. Then come the links. The last line contains the counts of all lines before it and a
//! CRC-32C over their bytes.

mod read;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

pub(crate) use self::read::shown;
use crate::record::{Body, BodyText};
use crate::{DEFAULT_KIND, Lifespan, MemoryId, Metadata, MetadataValue, Timestamp};

pub(crate) const FORMAT: &str = "waypost-memory";
pub(crate) const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) format: String,
    pub(crate) version: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(
    tag = "record",
    rename_all = "lowercase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(crate) enum Line {
    Memory(MemoryLine),
    Deletion { id: u64, at: String },
    Link { from: u64, to: u64, r#type: String, created_at: Option<String> },
    End { memories: u64, links: u64, crc32c: String },
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MemoryLine {
    pub(crate) id: u64,
    #[serde(default = "first_version")]
    pub(crate) version: u32,
    /// Absent in a purged version, as is everything up to `session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) metadata: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    #[serde(default, deserialize_with = "read::lifespan", skip_serializing_if = "Option::is_none")]
    pub(crate) lifespan: Option<Box<LifespanLine>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) space: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<String>,
    /// When this version became the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) valid_from: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) purged: bool,
    /// When the memory was deleted as this version, if the next one restored it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deleted_at: Option<String>,
}

/// A [`Lifespan`] that is not the default one. Its `validFrom` is when the memory holds, the line's
/// is when the version became the current one.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LifespanLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) valid_from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) valid_until: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) pinned: bool,
}

impl LifespanLine {
    fn of(lifespan: Lifespan) -> Option<Box<Self>> {
        let text = |it: Option<Timestamp>| it.map(|it| it.to_string());
        let line = || Self {
            valid_from: text(lifespan.valid_from),
            valid_until: text(lifespan.valid_until),
            expires_at: text(lifespan.expires_at),
            pinned: lifespan.is_pinned,
        };
        (lifespan != Lifespan::default()).then(|| Box::new(line()))
    }
}

impl MemoryLine {
    /// The line of a version of a memory.
    pub(crate) fn of(id: MemoryId, version: u32, valid_from: Timestamp, body: Body) -> Self {
        let mut line = Self {
            id: id.get(),
            version,
            space: Some(body.space),
            created_at: Some(body.created_at.to_string()),
            valid_from: Some(valid_from.to_string()),
            purged: body.text.is_none(),
            ..Self::default()
        };
        if let Some(text) = body.text {
            line.title = Some(text.title);
            line.content = Some(text.content);
            line.kind = Some(text.kind);
            line.tags = text.tags;
            line.metadata = metadata_out(&text.metadata);
            line.session = text.session;
            line.lifespan = LifespanLine::of(text.lifespan);
        }
        line
    }

    /// What the line says, not yet checked, with this lifespan; the key at fault if a value of the
    /// metadata is neither text, number nor boolean.
    pub(crate) fn into_text(self, lifespan: Lifespan) -> Result<BodyText, String> {
        Ok(BodyText {
            title: self.title.unwrap_or_default(),
            content: self.content.unwrap_or_default(),
            kind: self.kind.unwrap_or_else(|| DEFAULT_KIND.to_owned()),
            tags: self.tags,
            metadata: metadata_in(self.metadata)?,
            session: self.session,
            lifespan,
        })
    }
}

fn first_version() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

fn metadata_out(metadata: &Metadata) -> BTreeMap<String, Value> {
    let value = |it: &MetadataValue| match it {
        MetadataValue::Text(text) => Value::String(text.clone()),
        MetadataValue::Integer(number) => Value::Number((*number).into()),
        MetadataValue::Float(number) => {
            Number::from_f64(*number).map_or(Value::Null, Value::Number)
        }
        MetadataValue::Boolean(value) => Value::Bool(*value),
    };
    metadata.iter().map(|(key, it)| (key.clone(), value(it))).collect()
}

fn metadata_in(values: BTreeMap<String, Value>) -> Result<Metadata, String> {
    let mut metadata = Metadata::new();
    for (key, value) in values {
        let value = match value {
            Value::String(text) => MetadataValue::Text(text),
            Value::Bool(value) => MetadataValue::Boolean(value),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => MetadataValue::Integer(number),
                (None, Some(number)) => MetadataValue::Float(number),
                (None, None) => return Err(key),
            },
            Value::Null | Value::Array(_) | Value::Object(_) => return Err(key),
        };
        metadata.insert(key, value);
    }
    Ok(metadata)
}
