//! Queries.

use crate::{Kind, Source, TaskType};

/// The most items in an answer.
pub const ITEMS_MAX: usize = 200;

/// A query for the context of a task.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Query {
    /// Words, names from code, paths; empty (or white space) for what matters now.
    pub text: String,
    /// The most items, 1 to 200; default 30.
    pub max_items: usize,
    /// What the items are for.
    pub task: TaskType,
    /// The most tokens of titles and contents together, at four bytes a token.
    pub max_tokens: Option<usize>,
    /// Only these sources; all if empty.
    pub sources: Vec<Source>,
    /// Only these types; all if empty.
    pub kinds: Vec<Kind>,
    /// Only files that match one of these globs, relative to the project; all if empty.
    pub paths: Vec<String>,
    /// The vector of `text`, computed by the model of the [`Options`](crate::Options).
    pub vector: Option<Vec<f32>>,
}

impl Query {
    /// A query for a text, for no particular task.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The same query for a task.
    #[must_use]
    pub fn with_task(self, task: TaskType) -> Self {
        Self { task, ..self }
    }

    /// The same query with at most this many items.
    #[must_use]
    pub fn with_max_items(self, max_items: usize) -> Self {
        Self { max_items, ..self }
    }

    /// The same with this limit on tokens.
    #[must_use]
    pub fn with_max_tokens(self, max_tokens: usize) -> Self {
        Self { max_tokens: Some(max_tokens), ..self }
    }

    /// The same for these sources only.
    #[must_use]
    pub fn with_sources(self, sources: impl Into<Vec<Source>>) -> Self {
        Self { sources: sources.into(), ..self }
    }

    /// The same for these types only.
    #[must_use]
    pub fn with_kinds(self, kinds: impl Into<Vec<Kind>>) -> Self {
        Self { kinds: kinds.into(), ..self }
    }

    /// The same for files that fit one of these globs.
    #[must_use]
    pub fn with_paths<P: Into<String>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        Self { paths: paths.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same with the vector of its text.
    #[must_use]
    pub fn with_vector(self, vector: Vec<f32>) -> Self {
        Self { vector: Some(vector), ..self }
    }
}

impl Default for Query {
    fn default() -> Self {
        Self {
            text: String::new(),
            max_items: 30,
            task: TaskType::General,
            max_tokens: None,
            sources: Vec::new(),
            kinds: Vec::new(),
            paths: Vec::new(),
            vector: None,
        }
    }
}
