//! Adding a memory.

use waypost_events::Data;

use crate::{Template, Unready};

/// Adds a memory.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MemoryAdd {
    /// Its text.
    pub content: Template,
    /// Its title; without it the first line of the text.
    pub title: Option<Template>,
    /// Its type; without it `note`.
    pub kind: Option<String>,
    /// Its tags.
    pub tags: Vec<Template>,
    /// Its space; without it `default`.
    pub space: Option<String>,
}

/// A memory to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    /// Its text.
    pub content: String,
    /// Its title, if not the first line of the text.
    pub title: Option<String>,
    /// Its type, if not `note`.
    pub kind: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its space, if not `default`.
    pub space: Option<String>,
}

impl MemoryAdd {
    pub(super) fn memory(&self, data: &Data) -> Result<NewMemory, Unready> {
        Ok(NewMemory {
            content: self.content.render(data)?,
            title: self.title.as_ref().map(|it| it.render(data)).transpose()?,
            kind: self.kind.clone(),
            tags: self.tags.iter().map(|it| it.render(data)).collect::<Result<_, _>>()?,
            space: self.space.clone(),
        })
    }
}
