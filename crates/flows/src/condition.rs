//! Conditions: whether an event matches a flow, beyond its type.
//!
//! The syntax is a subset of CEL's (Common Expression Language); the semantics suit data from JSON
//! as well as from command lines: evaluation cannot fail, its cost is bounded by the condition's
//! length, and unknown never counts as true.

mod eval;
mod lex;
mod parse;

use std::fmt;
use std::str::FromStr;

use waypost_events::Event;

pub use self::eval::{Finding, Truth};
use self::parse::Node;
use crate::scalar::from_text;

/// The longest condition, in bytes.
pub const CONDITION_BYTES_MAX: usize = 1024;

/// An expression over an event, such as `data.improved == "true" && data.delta > 0.1`.
///
/// ```text
/// expr    = and { "||" and }           and  = not { "&&" not }
/// not     = "!" not | cmp              cmp  = term [ op term ] | term "in" list
/// op      = "==" | "!=" | "<" | "<=" | ">" | ">="
/// term    = literal | path | call | "(" expr ")"
/// path    = "data." key | "data[" text "]" | "type" | "namespace" | "name" | "source" | "id" | "depth"
/// call    = "has(" path ")" | path "." ("startsWith" | "endsWith" | "contains" | "matches") "(" text ")"
/// literal = 'text' | "text" | number | "true" | "false"         list = "[" [ literal { "," literal } ] "]"
/// ```
///
/// - A text is compared with a number as a number if the whole text is a decimal number; otherwise
///   the two are unequal and neither is less. `data.delta > 0.9` holds for `0.95` and for `"0.95"`.
/// - Compared with a text, `true` is the text `true`.
/// - A value that the event lacks is unknown, and so is every expression of it, unless the rest
///   decides: `false && unknown` is false. [`Truth::Unknown`] is not true, nor is its negation.
///   `data.status != "failed"` does not hold for an event without `status`; `has` tests for that.
/// - `matches` searches anywhere in the text, with regular expressions that take linear time.
#[derive(Debug, Clone)]
pub struct Condition {
    source: String,
    root: Node,
}

impl Condition {
    /// Whether it holds for an event.
    pub fn holds(&self, event: &Event) -> Truth {
        self.root.truth(event)
    }

    /// The result of each comparison for an event, in the order written.
    pub fn explain(&self, event: &Event) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.root.explain(&self.source, event, &mut findings);
        findings
    }

    /// The source text.
    pub fn as_str(&self) -> &str {
        &self.source
    }
}

impl FromStr for Condition {
    type Err = InvalidCondition;

    fn from_str(source: &str) -> Result<Self, InvalidCondition> {
        parse::condition(source).map(|root| Self { source: source.to_owned(), root })
    }
}

from_text!(Condition: "a condition");

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// An invalid condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} (character {column} of the condition)")]
#[non_exhaustive]
pub struct InvalidCondition {
    /// The position, in characters from 1.
    pub column: usize,
    /// What is invalid, and what would be valid.
    pub what: String,
}
