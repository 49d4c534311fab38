use std::borrow::Cow;
use std::cmp::Ordering;

use waypost_events::{Event, Number, Value};

use super::parse::{Literal, Node, Path, Term, Test, TextTest};

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
pub(super) enum Seen<'a> {
    Text(&'a str),
    Number(Number),
    Bool(bool),
}

impl Node {
    pub(super) fn truth(&self, event: &Event) -> Truth {
        match self {
            Self::All(parts) => decide(parts, event, Truth::False),
            Self::Any(parts) => decide(parts, event, Truth::True),
            Self::Not(part) => part.truth(event).not(),
            Self::Test(test, _) => test.truth(event),
        }
    }

    pub(super) fn explain(&self, source: &str, event: &Event, findings: &mut Vec<Finding>) {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.explain(source, event, findings);
                }
            }
            Self::Not(part) => part.explain(source, event, findings),
            Self::Test(test, span) => findings.push(Finding {
                text: source[span.clone()].to_owned(),
                truth: test.truth(event),
                because: test.because(event),
            }),
        }
    }
}

/// If one part is `deciding`, so is the result; otherwise an unknown part makes it unknown.
fn decide(parts: &[Node], event: &Event, deciding: Truth) -> Truth {
    let mut truth = deciding.not();
    for part in parts {
        match part.truth(event) {
            it if it == deciding => return deciding,
            Truth::Unknown => truth = Truth::Unknown,
            _ => {}
        }
    }
    truth
}

impl Test {
    fn truth(&self, event: &Event) -> Truth {
        match self {
            Self::Is(term) => match term.see(event) {
                Some(Seen::Bool(it)) => it.into(),
                Some(Seen::Text("true")) => Truth::True,
                Some(Seen::Text("false")) => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Compare(left, sign, right) => match (left.see(event), right.see(event)) {
                (Some(left), Some(right)) => compare(left, sign, right).into(),
                _ => Truth::Unknown,
            },
            Self::In(term, list) => match term.see(event) {
                Some(seen) => list.iter().any(|item| equal(seen, item.see())).into(),
                None => Truth::Unknown,
            },
            Self::Has(path) => path.see(event).is_some().into(),
            Self::Text(path, test) => match path.see(event) {
                Some(seen) => test.holds(&seen.text()).into(),
                None => Truth::Unknown,
            },
        }
    }

    fn because(&self, event: &Event) -> String {
        let mut said: Vec<String> = self
            .paths()
            .into_iter()
            .map(|path| match path.see(event) {
                Some(Seen::Text(text)) => format!("{} is {text:?}", path.name()),
                Some(seen) => format!("{} is {}", path.name(), seen.text()),
                None => format!("{} is missing", path.name()),
            })
            .collect();
        if let Self::Is(term) = self
            && term.see(event).is_some()
            && self.truth(event) == Truth::Unknown
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
    fn see<'a>(&'a self, event: &'a Event) -> Option<Seen<'a>> {
        match self {
            Self::Literal(literal) => Some(literal.see()),
            Self::Path(path) => path.see(event),
            Self::Nested(node) => match node.truth(event) {
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

/// A name that a condition can use, and its value.
pub(super) type Field = (&'static str, fn(&Event) -> Seen<'_>);

/// What a condition can say about an event besides its data.
pub(super) const FIELDS: [Field; 6] = [
    ("type", |event| Seen::Text(event.kind.as_str())),
    ("namespace", |event| Seen::Text(event.kind.namespace())),
    ("name", |event| Seen::Text(event.kind.name())),
    ("source", |event| Seen::Text(&event.source)),
    ("id", |event| Seen::Number(event.id.into())),
    ("depth", |event| Seen::Number(u64::from(event.lineage.depth).into())),
];

impl Path {
    fn see<'a>(&self, event: &'a Event) -> Option<Seen<'a>> {
        match self {
            Self::Data(key) => Some(match event.data.get(key)? {
                Value::Text(text) => Seen::Text(text),
                Value::Number(number) => Seen::Number(*number),
            }),
            Self::Field((_, see)) => Some(see(event)),
        }
    }

    fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Data(key) => format!("data.{key}").into(),
            Self::Field((name, _)) => (*name).into(),
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

fn compare(left: Seen<'_>, sign: &str, right: Seen<'_>) -> bool {
    match sign {
        "==" => equal(left, right),
        "!=" => !equal(left, right),
        _ => order(left, right).is_some_and(|order| match sign {
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            _ => order.is_ge(),
        }),
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
