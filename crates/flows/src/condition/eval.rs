use std::borrow::Cow;
use std::cmp::Ordering;

use waypost_events::{Number, Value};

use super::Facts;
use super::parse::{Comparison, Literal, Node, Path, Term, Test, TextTest};

/// Whether something holds (Kleene, "Introduction to Metamathematics", 1952: the strong
/// three-valued logic).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// It does.
    True,
    /// It does not.
    False,
    /// The event does not contain the value.
    Unknown,
}

impl Truth {
    fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }
}

impl From<bool> for Truth {
    fn from(it: bool) -> Self {
        if it { Self::True } else { Self::False }
    }
}

/// The result of one comparison of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The comparison, as written.
    pub text: String,
    /// Its result.
    pub truth: Truth,
    /// The values compared, or why there were none.
    pub because: String,
}

/// The value of a term; nothing if the event lacks it.
#[derive(Debug, Clone, Copy)]
enum Seen<'a> {
    Text(&'a str),
    Number(Number),
    Bool(bool),
}

impl Node {
    pub(super) fn truth(&self, facts: &Facts<'_>) -> Truth {
        match self {
            Self::All(parts) => decide(parts, facts, Truth::False),
            Self::Any(parts) => decide(parts, facts, Truth::True),
            Self::Not(part) => part.truth(facts).not(),
            Self::Test(test, _) => test.truth(facts),
        }
    }

    pub(super) fn explain(&self, source: &str, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.explain(source, facts, findings);
                }
            }
            Self::Not(part) => part.explain(source, facts, findings),
            Self::Test(test, span) => findings.push(Finding {
                text: source[span.clone()].to_owned(),
                truth: test.truth(facts),
                because: test.because(facts),
            }),
        }
    }
}

/// If one part is `deciding`, so is the result; otherwise an unknown part makes it unknown.
fn decide(parts: &[Node], facts: &Facts<'_>, deciding: Truth) -> Truth {
    let mut truth = deciding.not();
    for part in parts {
        match part.truth(facts) {
            it if it == deciding => return deciding,
            Truth::Unknown => truth = Truth::Unknown,
            _ => {}
        }
    }
    truth
}

impl Test {
    fn truth(&self, facts: &Facts<'_>) -> Truth {
        match self {
            Self::Is(term) => match term.see(facts) {
                Some(Seen::Bool(it)) => it.into(),
                Some(Seen::Text("true")) => Truth::True,
                Some(Seen::Text("false")) => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Compare(left, comparison, right) => match (left.see(facts), right.see(facts)) {
                (Some(left), Some(right)) => comparison.holds(left, right).into(),
                _ => Truth::Unknown,
            },
            Self::In(term, list) => match term.see(facts) {
                Some(seen) => list.iter().any(|it| equal(seen, it.see())).into(),
                None => Truth::Unknown,
            },
            Self::Has(path) => path.see(facts).is_some().into(),
            Self::Text(path, test) => match path.see(facts) {
                Some(seen) => test.holds(&seen.text()).into(),
                None => Truth::Unknown,
            },
        }
    }

    fn because(&self, facts: &Facts<'_>) -> String {
        let mut said: Vec<String> = self
            .paths()
            .into_iter()
            .map(|path| match path.see(facts) {
                Some(Seen::Text(text)) => format!("{} is {text:?}", path.name()),
                Some(seen) => format!("{} is {}", path.name(), seen.text()),
                None => format!("{} is missing", path.name()),
            })
            .collect();
        if let Self::Is(term) = self
            && term.see(facts).is_some()
            && self.truth(facts) == Truth::Unknown
        {
            said.push("this is neither true nor false".to_owned());
        }
        said.join(", ")
    }

    fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Is(term) | Self::In(term, _) => term.path().into_iter().collect(),
            Self::Compare(left, _, right) => left.path().into_iter().chain(right.path()).collect(),
            Self::Has(path) | Self::Text(path, _) => vec![path],
        }
    }
}

impl Term {
    fn see<'a>(&'a self, facts: &Facts<'a>) -> Option<Seen<'a>> {
        match self {
            Self::Literal(literal) => Some(literal.see()),
            Self::Path(path) => path.see(facts),
            Self::Nested(node) => match node.truth(facts) {
                Truth::True => Some(Seen::Bool(true)),
                Truth::False => Some(Seen::Bool(false)),
                Truth::Unknown => None,
            },
        }
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            _ => None,
        }
    }
}

impl Literal {
    fn see(&self) -> Seen<'_> {
        match self {
            Self::Text(text) => Seen::Text(text),
            Self::Number(number) => Seen::Number(*number),
            Self::Bool(it) => Seen::Bool(*it),
        }
    }
}

impl Path {
    fn see<'a>(&self, facts: &Facts<'a>) -> Option<Seen<'a>> {
        Some(match self {
            Self::Data(key) => match facts.data.get(key)? {
                Value::Text(text) => Seen::Text(text),
                Value::Number(number) => Seen::Number(*number),
            },
            Self::Type => Seen::Text(facts.kind.as_str()),
            Self::Namespace => Seen::Text(facts.kind.namespace()),
            Self::Name => Seen::Text(facts.kind.name()),
            Self::Source => Seen::Text(facts.source),
            Self::Id => Seen::Number(facts.id.into()),
            Self::Depth => Seen::Number(u64::from(facts.depth).into()),
        })
    }

    fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Data(key) => format!("data.{key}").into(),
            Self::Type => "type".into(),
            Self::Namespace => "namespace".into(),
            Self::Name => "name".into(),
            Self::Source => "source".into(),
            Self::Id => "id".into(),
            Self::Depth => "depth".into(),
        }
    }
}

impl<'a> Seen<'a> {
    fn text(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => text.into(),
            Self::Number(number) => number.to_string().into(),
            Self::Bool(true) => "true".into(),
            Self::Bool(false) => "false".into(),
        }
    }
}

impl Comparison {
    fn holds(self, left: Seen<'_>, right: Seen<'_>) -> bool {
        match self {
            Self::Equal => equal(left, right),
            Self::Unequal => !equal(left, right),
            Self::Less => order(left, right).is_some_and(Ordering::is_lt),
            Self::LessOrEqual => order(left, right).is_some_and(Ordering::is_le),
            Self::Greater => order(left, right).is_some_and(Ordering::is_gt),
            Self::GreaterOrEqual => order(left, right).is_some_and(Ordering::is_ge),
        }
    }
}

fn equal(left: Seen<'_>, right: Seen<'_>) -> bool {
    match (left, right) {
        (Seen::Bool(it), Seen::Text(text)) | (Seen::Text(text), Seen::Bool(it)) => {
            text == if it { "true" } else { "false" }
        }
        (Seen::Bool(left), Seen::Bool(right)) => left == right,
        _ => order(left, right) == Some(Ordering::Equal),
    }
}

/// Nothing if there is no order: for a truth value, and for a number and a text that is not one.
fn order(left: Seen<'_>, right: Seen<'_>) -> Option<Ordering> {
    match (left, right) {
        (Seen::Text(left), Seen::Text(right)) => Some(left.cmp(right)),
        (Seen::Number(left), Seen::Number(right)) => Some(left.cmp(&right)),
        (Seen::Number(left), Seen::Text(right)) => {
            Number::from_decimal(right).map(|right| left.cmp(&right))
        }
        (Seen::Text(left), Seen::Number(right)) => {
            Number::from_decimal(left).map(|left| left.cmp(&right))
        }
        (Seen::Bool(_), _) | (_, Seen::Bool(_)) => None,
    }
}

impl TextTest {
    fn holds(&self, text: &str) -> bool {
        match self {
            Self::StartsWith(it) => text.starts_with(it.as_str()),
            Self::EndsWith(it) => text.ends_with(it.as_str()),
            Self::Contains(it) => text.contains(it.as_str()),
            Self::Matches(it) => it.is_match(text),
        }
    }
}
