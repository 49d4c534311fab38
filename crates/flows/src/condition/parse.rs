use std::ops::Range;

use regex::{Regex, RegexBuilder};
use waypost_events::Number;

use super::InvalidCondition;
use super::eval::{FIELDS, Field};
use super::lex::{self, Kind, Token};

/// The deepest nesting of expressions.
const DEPTH_MAX: usize = 16;
/// The most comparisons, tests, literals and operators in one condition.
const NODES_MAX: usize = 128;
/// Signs between two terms.
const COMPARISONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
/// The size limit of a compiled regular expression.
const REGEX_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Clone)]
pub(super) enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Test(Test, Range<usize>),
}

/// An expression that is itself true, false or unknown.
#[derive(Debug, Clone)]
pub(super) enum Test {
    Is(Term),
    /// With one of [`COMPARISONS`].
    Compare(Term, &'static str, Term),
    In(Term, Vec<Literal>),
    Has(Path),
    Text(Path, TextTest),
}

#[derive(Debug, Clone)]
pub(super) enum Term {
    Literal(Literal),
    Path(Path),
    Nested(Box<Node>),
}

#[derive(Debug, Clone)]
pub(super) enum Literal {
    Text(String),
    Number(Number),
    Bool(bool),
}

#[derive(Debug, Clone)]
pub(super) enum Path {
    Data(String),
    /// One of [`FIELDS`].
    Field(Field),
}

#[derive(Debug, Clone)]
pub(super) enum TextTest {
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    Matches(Regex),
}

pub(super) fn condition(source: &str) -> Result<Node, InvalidCondition> {
    let tokens = lex::tokens(source)?;
    let mut parser = Parser { source, tokens, at: 0, depth: 0, nodes: 0 };
    if parser.peek() == &Kind::End {
        return Err(parser.error("the condition is empty; remove it to match every event"));
    }
    let root = parser.any()?;
    match parser.peek() {
        Kind::End => Ok(root),
        Kind::Name(word) => Err(parser.error(after_expression(word))),
        _ => Err(parser.error("expected && or || or the end")),
    }
}

fn after_expression(word: &str) -> String {
    match word {
        "and" | "AND" => format!("{word} is not an operator; write &&"),
        "or" | "OR" => format!("{word} is not an operator; write ||"),
        "is" => "is is not an operator; write ==".to_owned(),
        _ => format!("expected && or || or the end, found {word}"),
    }
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    nodes: usize,
}

type Parsed<T> = Result<T, InvalidCondition>;

impl Parser<'_> {
    fn token(&self) -> &Token {
        // The last token is the end, and the parser never passes it.
        &self.tokens[self.at]
    }

    fn peek(&self) -> &Kind {
        &self.token().kind
    }

    fn next(&mut self) -> Token {
        let token = self.token().clone();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Kind::Sign(it) if *it == sign);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.take(sign) { Ok(()) } else { Err(self.error(format!("expected {sign}"))) }
    }

    fn error(&self, what: impl Into<String>) -> InvalidCondition {
        lex::error(self.source, self.token().start, what)
    }

    fn count(&mut self) -> Parsed<()> {
        self.nodes += 1;
        if self.nodes <= NODES_MAX {
            return Ok(());
        }
        Err(self.error(format!("the condition has more than {NODES_MAX} parts")))
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEPTH_MAX {
            return Err(
                self.error(format!("the condition is nested more than {DEPTH_MAX} levels deep"))
            );
        }
        self.depth += 1;
        let parsed = parse(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    fn any(&mut self) -> Parsed<Node> {
        let mut parts = vec![self.all()?];
        while self.take("||") {
            self.count()?;
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Node::Any))
    }

    fn all(&mut self) -> Parsed<Node> {
        let mut parts = vec![self.not()?];
        while self.take("&&") {
            self.count()?;
            parts.push(self.not()?);
        }
        Ok(one_or(parts, Node::All))
    }

    fn not(&mut self) -> Parsed<Node> {
        if self.take("!") {
            self.count()?;
            return self.deeper(Self::not).map(|deeper| Node::Not(Box::new(deeper)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parsed<Node> {
        let start = self.token().start;
        let left = match self.test()? {
            Left::Test(test) => return Ok(self.node(test, start)),
            Left::Term(term) => term,
        };
        if matches!(self.peek(), Kind::Name(word) if word == "in") {
            self.next();
            let list = self.list()?;
            return Ok(self.node(Test::In(left, list), start));
        }
        let sign = match self.peek() {
            Kind::Sign(sign) if COMPARISONS.contains(sign) => *sign,
            _ => {
                return Ok(match left {
                    Term::Nested(node) => *node,
                    term => self.node(Test::Is(term), start),
                });
            }
        };
        self.next();
        self.count()?;
        let right = match self.test()? {
            Left::Term(term) => term,
            Left::Test(test) => Term::Nested(Box::new(self.node(test, start))),
        };
        Ok(self.node(Test::Compare(left, sign, right), start))
    }

    fn node(&self, test: Test, start: usize) -> Node {
        let end = self.tokens[self.at.saturating_sub(1)].end;
        Node::Test(test, start..end)
    }

    /// A term, or a call, which is already a test.
    fn test(&mut self) -> Parsed<Left> {
        self.count()?;
        if self.take("(") {
            let node = self.deeper(Self::any)?;
            self.expect(")")?;
            return Ok(Left::Term(Term::Nested(Box::new(node))));
        }
        if let Some(literal) = self.literal() {
            return Ok(Left::Term(Term::Literal(literal)));
        }
        let Kind::Name(word) = self.peek().clone() else {
            return Err(self.error("expected a comparison, such as data.delta > 0.1"));
        };
        if word == "has" {
            self.next();
            self.expect("(")?;
            let path = self.path()?;
            self.expect(")")?;
            return Ok(Left::Test(Test::Has(path)));
        }
        let path = self.path()?;
        if !self.take(".") {
            return Ok(Left::Term(Term::Path(path)));
        }
        self.text_test().map(|test| Left::Test(Test::Text(path, test)))
    }

    fn literal(&mut self) -> Option<Literal> {
        let literal = match self.peek() {
            Kind::Text(text) => Literal::Text(text.clone()),
            Kind::Number(number) => Literal::Number(*number),
            Kind::Name(word) if word == "true" || word == "false" => Literal::Bool(word == "true"),
            _ => return None,
        };
        self.next();
        Some(literal)
    }

    fn path(&mut self) -> Parsed<Path> {
        let Kind::Name(word) = self.peek().clone() else {
            return Err(self.error("expected a name, such as data.delta"));
        };
        if let Some(field) = FIELDS.iter().find(|(name, _)| *name == word) {
            self.next();
            return Ok(Path::Field(*field));
        }
        match word.as_str() {
            "data" => {
                self.next();
                self.data_path()
            }
            "not" => Err(self.error("not is not an operator; write !")),
            _ => Err(self.error(format!(
                "unknown name {word}; event data is data.{word}, and strings need quotes"
            ))),
        }
    }

    fn data_path(&mut self) -> Parsed<Path> {
        if self.take("[") {
            let Kind::Text(key) = self.peek().clone() else {
                return Err(self.error("expected a quoted key"));
            };
            self.next();
            self.expect("]")?;
            return Ok(Path::Data(key));
        }
        if !self.take(".") {
            return Err(self.error("expected a key after data, such as data.delta"));
        }
        let Kind::Name(key) = self.peek().clone() else {
            return Err(self.error("expected a key, such as data.delta"));
        };
        self.next();
        Ok(Path::Data(key))
    }

    fn text_test(&mut self) -> Parsed<TextTest> {
        let Kind::Name(name) = self.peek().clone() else {
            return Err(
                self.error("expected startsWith, endsWith, contains or matches after the dot")
            );
        };
        let known = ["startsWith", "endsWith", "contains", "matches"];
        if !known.contains(&name.as_str()) {
            let what = format!("unknown function {name}; expected one of {}", known.join(", "));
            return Err(self.error(what));
        }
        self.next();
        self.expect("(")?;
        let Kind::Text(text) = self.peek().clone() else {
            return Err(self.error("expected a quoted string"));
        };
        let test = match name.as_str() {
            "startsWith" => TextTest::StartsWith(text),
            "endsWith" => TextTest::EndsWith(text),
            "contains" => TextTest::Contains(text),
            _ => TextTest::Matches(self.regex(&text)?),
        };
        self.next();
        self.expect(")")?;
        Ok(test)
    }

    fn regex(&self, text: &str) -> Parsed<Regex> {
        let built = RegexBuilder::new(text).size_limit(REGEX_BYTES_MAX).build();
        built.map_err(|error| {
            let what = match error {
                regex::Error::CompiledTooBig(_) => {
                    "the regular expression is too large; simplify it".to_owned()
                }
                other => {
                    // The last line states the error; the others show where it is.
                    let text = other.to_string();
                    let reason = text.lines().last().unwrap_or_default().trim();
                    format!("invalid regular expression: {}", reason.trim_start_matches("error: "))
                }
            };
            self.error(what)
        })
    }

    fn list(&mut self) -> Parsed<Vec<Literal>> {
        self.expect("[")?;
        let mut list = Vec::new();
        if self.take("]") {
            return Ok(list);
        }
        loop {
            self.count()?;
            let Some(literal) = self.literal() else {
                return Err(self.error("expected a quoted string, a number, true or false"));
            };
            list.push(literal);
            if self.take("]") {
                return Ok(list);
            }
            self.expect(",")?;
        }
    }
}

enum Left {
    Term(Term),
    Test(Test),
}

fn one_or(mut parts: Vec<Node>, many: fn(Vec<Node>) -> Node) -> Node {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            many(parts)
        }
    }
}
