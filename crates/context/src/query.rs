//! What is asked.

use crate::{Kind, Source, TaskType};

/// The most items that an answer has.
pub const ITEMS_MAX: usize = 200;

/// What a task needs to know.
#[derive(Debug, Clone)]
pub struct Query {
    /// In words, names of code, paths; empty (or white space) for what matters just now.
    pub text: String,
    /// The most items, 1 to 200; 30.
    pub max_items: usize,
    /// What the items are wanted for.
    pub task: TaskType,
    /// The most tokens that titles and contents take together, a token being four bytes.
    pub max_tokens: Option<usize>,
    /// Only these sources; all if there is none.
    pub sources: Vec<Source>,
    /// Only these types; all if there is none.
    pub kinds: Vec<Kind>,
    /// Only files that fit one of these globs, relative to the project; all if there is none.
    pub paths: Vec<String>,
    /// The vector of `text`, made by the model of the [`Options`](crate::Options).
    pub vector: Option<Vec<f32>>,
}

impl Query {
    /// A query of a text for no task in particular.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The same for a task.
    #[must_use]
    pub fn with_task(self, task: TaskType) -> Self {
        Self { task, ..self }
    }

    /// The same with at most so many items.
    #[must_use]
    pub fn with_max_items(self, max_items: usize) -> Self {
        Self { max_items, ..self }
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
