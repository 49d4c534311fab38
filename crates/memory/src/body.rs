//! The contents of a version of a memory: what a request makes of them, and their bytes in records.

use serde_json::Number;

use crate::check::{self, check};
use crate::codec::{Malformed, Reader, Writer};
use crate::limits::TITLE_FROM_CONTENT_CHARS_MAX;
use crate::{
    DEFAULT_KIND, DEFAULT_SPACE, Draft, Lifespan, Memory, MemoryId, Metadata, Patch, Result,
    Scalar, Timestamp,
};

/// The version of a body with a lifespan.
pub(crate) const BODY_VERSION: u8 = 2;

/// The contents of one version of a memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Body {
    pub(crate) space: String,
    pub(crate) created_at: Timestamp,
    /// `None` once it was purged.
    pub(crate) text: Option<BodyText>,
}

/// The part of a [`Body`] that a purge removes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BodyText {
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) kind: String,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Metadata,
    pub(crate) session: Option<String>,
    pub(crate) lifespan: Lifespan,
}

impl Body {
    /// The body of a draft, if it is within the limits. `now` is its time if it has none.
    pub(crate) fn new(draft: Draft, now: Timestamp) -> Result<Self> {
        check(&draft)?;
        let lifespan = draft.lifespan();
        let mut text = BodyText {
            title: draft.title.unwrap_or_default(),
            content: draft.content,
            kind: draft.kind.unwrap_or_else(|| DEFAULT_KIND.to_owned()),
            tags: draft.tags,
            metadata: draft.metadata,
            session: draft.session,
            lifespan,
        };
        text.complete();
        let space = draft.space.unwrap_or_else(|| DEFAULT_SPACE.to_owned());
        Ok(Self { space, created_at: draft.created_at.unwrap_or(now), text: Some(text) })
    }

    /// The body of a draft whose text was purged.
    pub(crate) fn without_text(draft: Draft, now: Timestamp) -> Result<Self> {
        let space = draft.space.unwrap_or_else(|| DEFAULT_SPACE.to_owned());
        check::check_with(|faults| faults.space(Some(&space)))?;
        Ok(Self { space, created_at: draft.created_at.unwrap_or(now), text: None })
    }

    /// The body without what a purge removes.
    pub(crate) fn purged(&self) -> Self {
        Self { space: self.space.clone(), created_at: self.created_at, text: None }
    }

    /// The memory, without text if that was purged. Whether it is embedded or superseded is for the
    /// index to say.
    pub(crate) fn memory(self, id: MemoryId, version: u32, updated_at: Timestamp) -> Memory {
        let BodyText { title, content, kind, tags, metadata, session, lifespan } =
            self.text.unwrap_or_default();
        let Lifespan { valid_from, valid_until, expires_at, pinned } = lifespan;
        let (space, created_at) = (self.space, self.created_at);
        let (embedded, superseded_by) = (false, None);
        Memory {
            id,
            version,
            title,
            content,
            kind,
            tags,
            metadata,
            space,
            session,
            created_at,
            updated_at,
            valid_from,
            valid_until,
            expires_at,
            pinned,
            embedded,
            superseded_by,
        }
    }

    pub(crate) fn encode(&self, out: &mut Writer) {
        out.u8(u8::from(self.text.is_some()));
        out.text(&self.space);
        out.time(self.created_at);
        if let Some(text) = &self.text {
            out.text(&text.title);
            out.text(&text.content);
            out.text(&text.kind);
            out.texts(&text.tags);
            out.metadata(&text.metadata);
            out.optional_text(text.session.as_deref());
            if self.has_lifespan() {
                out.lifespan(text.lifespan);
            }
        }
    }

    /// The lowest version that can express it.
    pub(crate) fn version(&self) -> u8 {
        if self.has_lifespan() { BODY_VERSION } else { 1 }
    }

    fn has_lifespan(&self) -> bool {
        self.text.as_ref().is_some_and(|text| text.lifespan != Lifespan::default())
    }

    /// Decodes the body of a record of this version.
    pub(crate) fn decode(
        input: &mut Reader<'_>,
        version: u8,
    ) -> std::result::Result<Self, Malformed> {
        let full = input.flag()?;
        let (space, created_at) = (input.text()?, input.time()?);
        let text = full
            .then(|| {
                Ok(BodyText {
                    title: input.text()?,
                    content: input.text()?,
                    kind: input.text()?,
                    tags: input.texts()?,
                    metadata: input.metadata()?,
                    session: input.optional_text()?,
                    lifespan: match version {
                        1 => Lifespan::default(),
                        _ => input.lifespan()?,
                    },
                })
            })
            .transpose()?;
        Ok(Self { space, created_at, text })
    }
}

impl BodyText {
    /// The text after a patch, if it is within the limits.
    pub(crate) fn patched(&self, patch: &Patch, now: Timestamp) -> Result<Self> {
        check::check_with(|faults| patch.check_fields(faults))?;
        check::expiry(patch.expires_at.flatten(), now)?;
        let before = self.clone();
        // A title that came from the old content is replaced with it.
        let title =
            if before.title == title_of(&before.content) { String::new() } else { before.title };
        let lifespan = Lifespan {
            valid_from: patch.valid_from.unwrap_or(before.lifespan.valid_from),
            valid_until: patch.valid_until.unwrap_or(before.lifespan.valid_until),
            expires_at: patch.expires_at.unwrap_or(before.lifespan.expires_at),
            pinned: patch.pinned.unwrap_or(before.lifespan.pinned),
        };
        check(&lifespan)?;
        let patch = patch.clone();
        let mut after = Self {
            title: patch.title.unwrap_or(title),
            content: patch.content.unwrap_or(before.content),
            kind: patch.kind.unwrap_or(before.kind),
            tags: patch.tags.unwrap_or(before.tags),
            metadata: patch.metadata.unwrap_or(before.metadata),
            session: patch.session.unwrap_or(before.session),
            lifespan,
        };
        after.complete();
        Ok(after)
    }

    /// Derives a missing title, sorts and deduplicates tags, and gives numbers the form that the log
    /// keeps.
    fn complete(&mut self) {
        if self.title.trim().is_empty() {
            self.title = title_of(&self.content);
        }
        self.tags.sort();
        self.tags.dedup();
        for value in self.metadata.values_mut() {
            if let Scalar::Number(number) = value
                && !number.is_i64()
                && let Some(float) = number.as_f64().and_then(Number::from_f64)
            {
                *value = Scalar::Number(float);
            }
        }
    }
}

/// The first line of a content that is not blank, truncated.
fn title_of(content: &str) -> String {
    let line = content.lines().map(str::trim).find(|text| !text.is_empty()).unwrap_or_default();
    line.chars().take(TITLE_FROM_CONTENT_CHARS_MAX).collect::<String>().trim_end().to_owned()
}
