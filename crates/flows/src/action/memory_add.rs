//! Adding a memory.

use waypost_events::Data;

use crate::{Template, Unready};

/// A memory to add: in a flow file with [`Template`]s, for an event with texts.
#[derive(Debug, Clone)]
pub struct MemoryAdd<T = Template> {
    /// Its text.
    pub content: T,
    /// Its title; without it the first line of the text.
    pub title: Option<T>,
    /// Its type; without it `note`.
    pub kind: Option<String>,
    /// Its tags.
    pub tags: Vec<T>,
    /// Its space; without it `default`.
    pub space: Option<String>,
}

impl MemoryAdd {
    pub(super) fn memory(&self, data: &Data) -> Result<MemoryAdd<String>, Unready> {
        Ok(MemoryAdd {
            content: self.content.render(data)?,
            title: self.title.as_ref().map(|title| title.render(data)).transpose()?,
            kind: self.kind.clone(),
            tags: self.tags.iter().map(|tag| tag.render(data)).collect::<Result<_, _>>()?,
            space: self.space.clone(),
        })
    }
}
