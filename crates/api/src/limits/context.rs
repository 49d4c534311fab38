//! Limits of a context request.

use super::{Check, Faults, KIND_CHARS_MAX, QUERY_CHARS_MAX, TAGS_MAX};
use crate::context::CONTEXT_TYPES;
use crate::parse::nearest;
use crate::{ContextRequest, ContextSource};

/// Items of a response.
pub const ITEMS_MAX: u64 = 200;
/// Items of a response if the request does not specify a number.
pub const ITEMS_DEFAULT: u64 = 30;
/// Tokens of a response.
pub const TOKENS_MAX: u64 = 1_000_000;
/// Globs of a request.
const GLOBS_MAX: usize = 64;
/// Characters of a glob.
const GLOB_CHARS_MAX: usize = 512;

impl Check for ContextRequest {
    fn check(&self, faults: &mut Faults) {
        faults.chars("query", self.query.as_deref().unwrap_or_default(), QUERY_CHARS_MAX);
        faults.range("maxItems", self.max_items, ITEMS_MAX);
        faults.range("maxTokens", self.max_tokens, TOKENS_MAX);
        let with_memories = self.sources.contains(&ContextSource::Memory);
        faults.count("types", self.types.len(), TAGS_MAX);
        for (idx, name) in self.types.iter().enumerate() {
            let field = format!("types/{idx}");
            if with_memories {
                faults.kind(&field, name);
            } else if !CONTEXT_TYPES.contains(&name.as_str()) {
                faults.add(&field, unknown_type(name));
            }
        }
        faults.count("paths", self.paths.len(), GLOBS_MAX);
        for (idx, glob) in self.paths.iter().enumerate() {
            let field = format!("paths/{idx}");
            faults.name(&field, glob, GLOB_CHARS_MAX);
            if climbs_out(glob) {
                let rule = "must be a glob relative to the project, such as `src/**/*.rs`, without `..` and without a leading `/`";
                faults.add(&field, rule);
            }
        }
    }
}

impl Faults {
    fn count(&mut self, field: &str, count: usize, max: usize) {
        if count > max {
            self.add(field, format!("has {count} elements; the limit is {max}"));
        }
    }
}

fn unknown_type(name: &str) -> String {
    let shown: String = name.chars().take(KIND_CHARS_MAX).collect();
    match nearest(name, &CONTEXT_TYPES) {
        Some(near) => format!("unknown value `{shown}`; did you mean `{near}`?"),
        None => format!("`{shown}` is not one of {}", CONTEXT_TYPES.join(", ")),
    }
}

/// Whether a glob refers to anything outside the project, or tries to.
fn climbs_out(glob: &str) -> bool {
    let drive = matches!(glob.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let mut parts = glob.split(['/', '\\', '{', '}', ',']);
    drive || glob.starts_with(['/', '\\', '~']) || parts.any(|it| it == "..")
}
