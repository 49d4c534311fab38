//! Checks all input against the limits.

use crate::facet;
use crate::limits::{
    CONTENT_BYTES_MAX, KIND_CHARS_MAX, METADATA_BYTES_MAX, METADATA_FILTER_KEYS_MAX,
    METADATA_FILTER_VALUES_MAX, METADATA_KEY_CHARS_MAX, METADATA_KEYS_MAX, QUERY_CHARS_MAX,
    SESSION_CHARS_MAX, SPACE_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX, TITLE_CHARS_MAX,
    TITLE_FROM_CONTENT_CHARS_MAX,
};
use crate::record::{Body, BodyText};
use crate::{
    DEFAULT_KIND, DEFAULT_SPACE, Draft, Error, Filter, Lifespan, Metadata, MetadataTest,
    MetadataValue, Patch, Result, Timestamp,
};

/// The body of a draft, if it is within the limits.
pub(crate) fn draft(draft: Draft, now: Timestamp) -> Result<Body> {
    let space = draft.space.unwrap_or_else(|| DEFAULT_SPACE.to_owned());
    self::space(&space)?;
    Lifespan::check_expiry(draft.lifespan.expires_at, now)?;
    let text = BodyText {
        title: draft.title.unwrap_or_default(),
        content: draft.content,
        kind: draft.kind.unwrap_or_else(|| DEFAULT_KIND.to_owned()),
        tags: draft.tags,
        metadata: draft.metadata,
        session: draft.session,
        lifespan: draft.lifespan,
    };
    Ok(Body { space, created_at: draft.created_at.unwrap_or(now), text: Some(body_text(text)?) })
}

/// The text of a memory after a patch, if it is within the limits.
pub(crate) fn patched(before: &BodyText, patch: &Patch, now: Timestamp) -> Result<BodyText> {
    Lifespan::check_expiry(patch.expires_at.flatten(), now)?;
    let content = patch.content.clone().unwrap_or_else(|| before.content.clone());
    // A title that came from the old content is replaced with it.
    let title = match &patch.title {
        Some(title) => title.clone(),
        None if before.title == title_of(&before.content) => String::new(),
        None => before.title.clone(),
    };
    body_text(BodyText {
        title,
        content,
        kind: patch.kind.clone().unwrap_or_else(|| before.kind.clone()),
        tags: patch.tags.clone().unwrap_or_else(|| before.tags.clone()),
        metadata: patch.metadata.clone().unwrap_or_else(|| before.metadata.clone()),
        session: patch.session.clone().unwrap_or_else(|| before.session.clone()),
        lifespan: before.lifespan.patched(patch),
    })
}

/// A space's name, if it is within the limits.
pub(crate) fn space(space: &str) -> Result<()> {
    name("space", space, SPACE_CHARS_MAX)
}

/// The query, if it is within the limits.
pub(crate) fn query(query: &str) -> Result<()> {
    text("query", query)?;
    if query.is_empty() {
        return Err(Error::invalid("query", "is empty; it needs at least one character"));
    }
    chars("query", query, QUERY_CHARS_MAX)
}

/// Checks and completes the parts of a memory: derives a missing title, sorts and deduplicates
/// tags.
pub(crate) fn body_text(mut given: BodyText) -> Result<BodyText> {
    text("content", &given.content)?;
    if given.content.is_empty() {
        return Err(Error::invalid("content", "is empty; it needs at least one byte"));
    }
    let content_bytes = given.content.len();
    if content_bytes > CONTENT_BYTES_MAX {
        let reason = format!("has {content_bytes} bytes; the limit is {CONTENT_BYTES_MAX}");
        return Err(Error::invalid("content", reason));
    }
    text("title", &given.title)?;
    chars("title", &given.title, TITLE_CHARS_MAX)?;
    if given.title.trim().is_empty() {
        given.title = title_of(&given.content);
    }
    kind("type", &given.kind)?;
    tags(&mut given.tags)?;
    metadata(&given.metadata)?;
    if let Some(session) = &given.session {
        name("session", session, SESSION_CHARS_MAX)?;
    }
    given.lifespan.check()?;
    Ok(given)
}

/// The first line of a content that is not blank, truncated.
fn title_of(content: &str) -> String {
    let line = content.lines().map(str::trim).find(|it| !it.is_empty()).unwrap_or_default();
    line.chars().take(TITLE_FROM_CONTENT_CHARS_MAX).collect::<String>().trim_end().to_owned()
}

fn kind(field: &str, kind: &str) -> Result<()> {
    let allowed = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "_-".contains(it);
    if (1..=KIND_CHARS_MAX).contains(&kind.len()) && kind.chars().all(allowed) {
        return Ok(());
    }
    let reason =
        format!("must be 1 to {KIND_CHARS_MAX} characters of a-z, 0-9, _ and -, like `note`");
    Err(Error::invalid(field, reason))
}

fn tags(tags: &mut Vec<String>) -> Result<()> {
    for (idx, tag) in tags.iter().enumerate() {
        name(&format!("tags/{idx}"), tag, TAG_CHARS_MAX)?;
    }
    tags.sort();
    tags.dedup();
    if tags.len() > TAGS_MAX {
        let reason = format!("has {} unequal tags; the limit is {TAGS_MAX}", tags.len());
        return Err(Error::invalid("tags", reason));
    }
    Ok(())
}

fn metadata(metadata: &Metadata) -> Result<()> {
    if metadata.len() > METADATA_KEYS_MAX {
        let reason = format!("has {} keys; the limit is {METADATA_KEYS_MAX}", metadata.len());
        return Err(Error::invalid("metadata", reason));
    }
    let mut bytes = 0;
    for (key, value) in metadata {
        name(&format!("metadata/{key}"), key, METADATA_KEY_CHARS_MAX)?;
        bytes += key.len();
        match value {
            MetadataValue::Text(value) => {
                text(&format!("metadata/{key}"), value)?;
                bytes += value.len();
            }
            MetadataValue::Float(number) if !number.is_finite() => {
                return Err(Error::invalid(format!("metadata/{key}"), "is not a finite number"));
            }
            MetadataValue::Integer(_) | MetadataValue::Float(_) => bytes += 8,
            MetadataValue::Boolean(_) => bytes += 1,
        }
    }
    if bytes > METADATA_BYTES_MAX {
        let reason = format!("has {bytes} bytes; the limit is {METADATA_BYTES_MAX}");
        return Err(Error::invalid("metadata", reason));
    }
    Ok(())
}

/// Checks the parts of a filter whose size would count for every memory.
pub(crate) fn filter(filter: &Filter) -> Result<()> {
    for (field, tags) in [("tags", &filter.tags), ("tagsAny", &filter.tags_any)] {
        if tags.len() > TAGS_MAX {
            let reason = format!("has {} tags; the limit is {TAGS_MAX}", tags.len());
            return Err(Error::invalid(field, reason));
        }
    }
    let keys = filter.metadata.len();
    if keys > METADATA_FILTER_KEYS_MAX {
        let reason = format!("tests {keys} keys; the limit is {METADATA_FILTER_KEYS_MAX}");
        return Err(Error::invalid("metadata", reason));
    }
    for (key, test) in &filter.metadata {
        let field = format!("metadata/{key}");
        name(&field, key, METADATA_KEY_CHARS_MAX)?;
        metadata_test(test).map_err(|reason| Error::invalid(field, reason))?;
    }
    Ok(())
}

fn metadata_test(test: &MetadataTest) -> std::result::Result<(), String> {
    match test {
        MetadataTest::OneOf(values) => {
            if !(1..=METADATA_FILTER_VALUES_MAX).contains(&values.len()) {
                return Err(format!(
                    "has {} values; expected 1 to {METADATA_FILTER_VALUES_MAX}",
                    values.len()
                ));
            }
            if values.windows(2).any(|it| type_of(&it[0]) != type_of(&it[1])) {
                return Err("has values of several types; expected only texts, only numbers or \
                            only booleans"
                    .to_owned());
            }
        }
        MetadataTest::Within { gte, lte } => {
            let bounds = [gte, lte].into_iter().flatten();
            if bounds.clone().next().is_none() {
                return Err("has no bound; expected `gte`, `lte` or both".to_owned());
            }
            for bound in bounds {
                if type_of(bound) != "number" && facet::time(bound).is_none() {
                    return Err("has a bound that is neither a number nor a time like \
                                2026-11-21T13:00:00Z"
                        .to_owned());
                }
            }
            if let (Some(gte), Some(lte)) = (gte, lte)
                && facet::is_empty(gte, lte)
            {
                return Err("has a `gte` above its `lte`, or of another type".to_owned());
            }
        }
    }
    Ok(())
}

fn type_of(value: &MetadataValue) -> &'static str {
    match value {
        MetadataValue::Text(_) => "text",
        MetadataValue::Integer(_) | MetadataValue::Float(_) => "number",
        MetadataValue::Boolean(_) => "boolean",
    }
}

fn name(field: &str, name: &str, chars_max: usize) -> Result<()> {
    text(field, name)?;
    if name.trim().is_empty() {
        return Err(Error::invalid(field, "is blank"));
    }
    chars(field, name, chars_max)
}

fn chars(field: &str, text: &str, chars_max: usize) -> Result<()> {
    let count = text.chars().count();
    if count <= chars_max {
        return Ok(());
    }
    Err(Error::invalid(field, format!("has {count} characters; the limit is {chars_max}")))
}

fn text(field: &str, text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::invalid(field, "contains a NUL character"));
    }
    Ok(())
}
