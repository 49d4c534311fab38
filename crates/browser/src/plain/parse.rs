//! Parses a page in time and memory in proportion to it.
//!
//! The standard parser looks through all open elements for each tag, through all unclosed formatting
//! elements, and through all attributes of a tag for each of them. Here each of these is bounded.

use std::cell::{Cell, RefCell};

use html5ever::buffer_queue::BufferQueue;
use html5ever::tokenizer::{
    EndTag, StartTag, Tag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts, TreeSink};
use html5ever::{LocalName, TokenizerResult};
use scraper::{Html, HtmlTreeSink};

/// What names a node of a document.
pub(super) type NodeId = <HtmlTreeSink as TreeSink>::Handle;

/// The maximum number of open elements, as in Chromium. The innermost is closed for another one.
const OPEN_MAX: usize = 512;
/// The maximum number of elements, texts and comments of a page. The rest is left out.
const NODES_MAX: usize = 500_000;
/// The maximum number of attributes of a tag. The page ends where one has more.
const ATTRIBUTES_MAX: usize = 1_000;
/// The elements that are opened again in the next block if they are not closed.
const FORMATTING: &[&str] =
    &["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
/// An open formatting element keeps this many attributes,
const KEPT_MAX: usize = 8;
/// and none if so many are open: the parser opens at most three that are the same.
const FORMATTING_MAX: usize = 16;
/// `html` and `body` tags that add attributes to those elements.
const ROOTS_MAX: usize = 8;
/// Elements that are never open.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];

/// The document of a page.
pub(super) fn parse(html: &str) -> Html {
    let builder =
        TreeBuilder::new(HtmlTreeSink::new(Html::new_document()), TreeBuilderOpts::default());
    let bounded = Bounded {
        builder,
        // Elements that the parser adds must not make a page larger than its text.
        nodes_max: NODES_MAX.min(html.len() + 100),
        last: RefCell::default(),
        is_raw: Cell::default(),
        roots: Cell::default(),
        room: Cell::default(),
        tokens: Cell::default(),
    };
    let tokenizer = Tokenizer::new(bounded, TokenizerOpts::default());
    let input = BufferQueue::default();
    let mut tag: Option<Attributes> = None;
    let starts = html.match_indices('<').map(|(at, _)| at).filter(|at| *at > 0);
    let mut from = 0;
    for to in starts.chain([html.len()]) {
        let piece = &html[from..to];
        from = to;
        let begins = |text: &str| text.starts_with(|letter: char| letter.is_ascii_alphabetic());
        if tag.is_none()
            && let Some(inner) = piece.strip_prefix('<')
            && (begins(inner) && !tokenizer.sink.is_raw.get()
                || inner.strip_prefix('/').is_some_and(begins))
        {
            tag = Some(Attributes::default());
        }
        if let Some(known) = &mut tag {
            piece.bytes().skip_while(|byte| *byte == b'<').for_each(|byte| known.see(byte));
            if known.count > ATTRIBUTES_MAX {
                break;
            }
        }
        let before = tokenizer.sink.tokens.get();
        input.push_back(piece.into());
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        if tokenizer.sink.tokens.get() > before {
            tag = None;
        }
    }
    tokenizer.end();
    tokenizer.sink.builder.sink.finish()
}

/// How many attributes a tag has so far.
#[derive(Debug, Default)]
struct Attributes {
    at: At,
    count: usize,
}

#[derive(Debug, Default, Clone, Copy)]
enum At {
    #[default]
    TagName,
    Gap,
    Name,
    NameGap,
    Equals,
    Value,
    Quoted(u8),
    Text,
}

impl Attributes {
    fn see(&mut self, byte: u8) {
        let next = match (self.at, byte) {
            (At::Quoted(quote), _) if byte == quote => At::Gap,
            (At::Quoted(_) | At::Text, _) => self.at,
            (_, b'>') => At::Text,
            (At::Equals, b'"' | b'\'') => At::Quoted(byte),
            (At::Name | At::NameGap, b'=') => At::Equals,
            (At::TagName | At::Gap | At::Name | At::NameGap, b'/') => At::Gap,
            (At::Name | At::NameGap, _) if byte.is_ascii_whitespace() => At::NameGap,
            (At::Equals, _) if byte.is_ascii_whitespace() => At::Equals,
            (_, _) if byte.is_ascii_whitespace() => At::Gap,
            (At::Equals | At::Value, _) => At::Value,
            (At::TagName | At::Name, _) => self.at,
            (At::Gap | At::NameGap, _) => At::Name,
        };
        self.count += usize::from(matches!((self.at, next), (At::Gap | At::NameGap, At::Name)));
        self.at = next;
    }
}

/// Passes the tags on that the bounds allow.
struct Bounded {
    builder: TreeBuilder<NodeId, HtmlTreeSink>,
    nodes_max: usize,
    /// The name of the last element that was opened.
    last: RefCell<LocalName>,
    /// In a script or the like, where no other tags are.
    is_raw: Cell<bool>,
    roots: Cell<usize>,
    /// So many elements can be opened before the open ones are counted again.
    room: Cell<usize>,
    tokens: Cell<u64>,
}

impl Bounded {
    /// How many elements are open that `counts` counts; twice, if they are for formatting.
    fn open(&self, counts: fn(&str) -> bool) -> usize {
        let open = Open { html: &self.builder.sink.0, counts, found: Cell::new(0) };
        self.builder.trace_handles(&open);
        open.found.get()
    }

    /// Whether an element may be opened.
    fn admits(&self, tag: &mut Tag, line: u64) -> bool {
        let is_formatting = |name: &str| FORMATTING.contains(&name);
        if is_formatting(&tag.name) {
            let is_kept = self.open(is_formatting) < FORMATTING_MAX;
            tag.attrs.truncate(if is_kept { KEPT_MAX } else { 0 });
        }
        if matches!(&*tag.name, "html" | "body") {
            self.roots.set(self.roots.get() + 1);
            tag.attrs.truncate(if self.roots.get() > ROOTS_MAX { 0 } else { ATTRIBUTES_MAX });
        }
        if self.room.get() == 0 {
            let room = || OPEN_MAX.saturating_sub(self.open(|_| true));
            let mut left = room();
            let last = self.last.take();
            if left == 0 && !last.is_empty() {
                let end = Tag { kind: EndTag, name: last, attrs: Vec::new(), ..tag.clone() };
                drop(self.builder.process_token(Token::TagToken(end), line));
                left = room();
            }
            if left == 0 {
                return false;
            }
            // A tag may open more than one element.
            self.room.set(left.div_ceil(2));
        }
        self.room.set(self.room.get() - 1);
        if !VOID.contains(&&*tag.name) {
            *self.last.borrow_mut() = tag.name.clone();
        }
        true
    }
}

impl TokenSink for Bounded {
    type Handle = NodeId;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<NodeId> {
        if matches!(token, Token::ParseError(_)) {
            return TokenSinkResult::Continue;
        }
        self.tokens.set(self.tokens.get() + 1);
        let is_full = self.builder.sink.0.borrow().tree.values().len() >= self.nodes_max;
        let is_left_out = match &mut token {
            Token::EOFToken => false,
            Token::TagToken(tag) if tag.kind == StartTag && !is_full => !self.admits(tag, line),
            _ => is_full,
        };
        if is_left_out {
            return TokenSinkResult::Continue;
        }
        let is_tag = matches!(token, Token::TagToken(_));
        let result = self.builder.process_token(token, line);
        if is_tag {
            let is_raw = matches!(result, TokenSinkResult::RawData(_) | TokenSinkResult::Plaintext);
            self.is_raw.set(is_raw);
        }
        result
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Counts what the parser looks through.
struct Open<'a> {
    html: &'a RefCell<Html>,
    counts: fn(&str) -> bool,
    found: Cell<usize>,
}

impl Tracer for Open<'_> {
    type Handle = NodeId;

    fn trace_handle(&self, node: &NodeId) {
        let html = self.html.borrow();
        let element = html.tree.get(*node).and_then(|node| node.value().as_element());
        let is_counted = element.is_some_and(|element| (self.counts)(element.name()));
        self.found.set(self.found.get() + usize::from(is_counted));
    }
}
