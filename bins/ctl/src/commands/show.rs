//! Memories as a person reads them.

use waypost_api::Memory;

use crate::failure::Result;
use crate::output::{Look, Output};

/// A memory with everything.
pub(super) fn whole(memory: &Memory, output: &mut Output) -> Result<()> {
    let id = format!("#{}", memory.id);
    output.styled(&[(Look::Name, &id), (Look::Plain, "  "), (Look::Bold, &memory.title)])?;
    let field = |name: &'static str, value: String| (name, value);
    let mut fields = vec![field("type", memory.kind.clone()), field("space", memory.space.clone())];
    if let Some(session) = &memory.session {
        fields.push(field("session", session.clone()));
    }
    if !memory.tags.is_empty() {
        fields.push(field("tags", memory.tags.join(", ")));
    }
    for (key, value) in &memory.metadata {
        let value = match value {
            waypost_api::Scalar::String(text) => text.clone(),
            waypost_api::Scalar::Number(number) => number.to_string(),
            waypost_api::Scalar::Bool(is_true) => is_true.to_string(),
        };
        fields.push(field("meta", format!("{key} = {value}")));
    }
    fields.push(field("created", memory.created_at.to_string()));
    if memory.updated_at != memory.created_at {
        fields.push(field("updated", memory.updated_at.to_string()));
    }
    if let Some(newer) = memory.superseded_by {
        fields.push(field("superseded", format!("by #{newer}")));
    }
    if !memory.embedded {
        fields.push(field("embedded", "not yet; only lexical search finds it".to_owned()));
    }
    for (name, value) in fields {
        output.styled(&[(Look::Dim, &format!("{name:<10} ")), (Look::Plain, &value)])?;
    }
    output.line("")?;
    output.text(&memory.content)?;
    Ok(())
}

/// Memories in a table.
pub(super) fn table(memories: &[Memory], output: &mut Output) -> Result<()> {
    let rows: Vec<_> = memories
        .iter()
        .map(|memory| {
            vec![
                (Look::Name, format!("#{}", memory.id)),
                (Look::Dim, day(&memory.created_at.to_string())),
                (Look::Plain, memory.kind.clone()),
                (Look::Plain, memory.space.clone()),
                (Look::Bold, memory.title.clone()),
            ]
        })
        .collect();
    output.table(&["ID", "CREATED", "TYPE", "SPACE", "TITLE"], &rows)?;
    Ok(())
}

/// The day of a written time.
pub(super) fn day(time: &str) -> String {
    time.split('T').next().unwrap_or_default().to_owned()
}

/// `1 memory`, `2 memories`.
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
