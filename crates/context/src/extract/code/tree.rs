//! Definitions by the syntax tree.
//!
//! A custom walk over the outer nodes: it does not enter function bodies, which makes it several
//! times faster than a query over the whole tree.

use std::collections::HashMap;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::time::Duration;

use tree_sitter::{Node, ParseOptions, Tree, TreeCursor};

use super::cfg;
use super::grammars::{self, Grammar, Role};
use super::{ITEMS_MAX, Item};
use crate::{Kind, Language};

/// The most nodes visited in a file. The largest real files have a tenth of it.
const NODES_MAX: usize = 200_000;

/// The deepest nesting of scopes.
const DEPTH_MAX: usize = 64;

/// Parsers, each created on first use.
pub(in crate::extract) struct Trees {
    deadline: Duration,
    ready: HashMap<Language, Option<LoadedGrammar>>,
}

/// A parser, and the roles of its node kinds.
struct LoadedGrammar {
    parser: tree_sitter::Parser,
    roles: Vec<Role>,
    grammar: Grammar,
}

impl fmt::Debug for Trees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trees").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl Trees {
    pub(in crate::extract) fn new(deadline: Duration) -> Self {
        Self { deadline, ready: HashMap::new() }
    }

    /// The definitions of a text in order; `None` without a grammar, or if parsing takes too long.
    pub(super) fn items(&mut self, language: Language, text: &str) -> Option<Vec<Item>> {
        // A header is C or C++; the name does not tell which.
        let language = match language {
            Language::C if grammars::is_cpp(text) => Language::Cpp,
            other => other,
        };
        let ready = self.ready.entry(language).or_insert_with(|| LoadedGrammar::new(language));
        let ready = ready.as_mut()?;
        let tree = ready.parse(text, self.deadline)?;
        let mut walk =
            Walk { text, roles: &ready.roles, grammar: &ready.grammar, items: Vec::new() };
        walk.run(&mut tree.walk());
        Some(walk.items)
    }
}

impl LoadedGrammar {
    fn new(language: Language) -> Option<Self> {
        let grammar = grammars::grammar(language)?;
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&grammar.language).ok()?;
        let roles = (0..grammar.language.node_kind_count())
            .map(|id| {
                let id = id as u16;
                let name = grammar.language.node_kind_for_id(id).unwrap_or_default();
                let named = grammar.language.node_kind_is_named(id);
                let has = |names: &str| names.split(' ').any(|part| part == name);
                let role = grammar.roles.iter().find(|(names, _)| named && has(names));
                role.map_or(Role::Skip, |(_, role)| *role)
            })
            .collect();
        Some(Self { parser, roles, grammar })
    }

    fn parse(&mut self, text: &str, deadline: Duration) -> Option<Tree> {
        #[expect(clippy::disallowed_methods, reason = "a deadline is about the time that passes")]
        let now = std::time::Instant::now;
        let start = now();
        let mut go_on = |_: &tree_sitter::ParseState| {
            if now() - start < deadline {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut go_on);
        let bytes = text.as_bytes();
        let tree = self.parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(options),
        );
        if tree.is_none() {
            // Otherwise the parser would resume the previous file.
            self.parser.reset();
        }
        tree
    }
}

/// Comments and attributes directly before a node.
#[derive(Debug, Clone, Copy)]
struct Lead {
    start: usize,
    end_row: usize,
    /// Whether an attribute says that the definition exists in tests alone.
    is_for_tests: bool,
}

/// A scope: its name, and whether it is a type, whose names are not top-level names of the file.
type Scope = (String, bool);

/// The children of one node.
#[derive(Debug, Default)]
struct Level {
    /// The number of scope names outside.
    scopes: usize,
    lead: Option<Lead>,
    /// The last row of the previous node that was not a comment.
    last_row: Option<usize>,
    /// What precedes an enclosing node, for the first definition in it.
    around: Option<(Option<Lead>, Range<usize>, usize)>,
}

struct Walk<'a> {
    text: &'a str,
    roles: &'a [Role],
    grammar: &'a Grammar,
    items: Vec<Item>,
}

impl Walk<'_> {
    fn run(&mut self, cursor: &mut TreeCursor<'_>) {
        let mut scopes: Vec<Scope> = Vec::new();
        let mut levels = vec![Level::default()];
        if !cursor.goto_first_child() {
            return;
        }
        for _ in 0..NODES_MAX {
            let entered = levels.len() < DEPTH_MAX && self.node(cursor, &mut levels, &mut scopes);
            if entered && cursor.goto_first_child() {
                continue;
            }
            if entered {
                close(&mut levels, &mut scopes);
            }
            while !cursor.goto_next_sibling() {
                close(&mut levels, &mut scopes);
                if levels.is_empty() || !cursor.goto_parent() {
                    return;
                }
            }
            if self.items.len() >= ITEMS_MAX {
                return;
            }
        }
    }

    /// Visits a node. Returns whether to visit its children, for which a level was added.
    fn node(
        &mut self,
        cursor: &TreeCursor<'_>,
        levels: &mut Vec<Level>,
        scopes: &mut Vec<Scope>,
    ) -> bool {
        let node = cursor.node();
        let Some(level) = levels.last_mut() else { return false };
        let role = if node.is_error() {
            Role::Enter
        } else {
            self.roles.get(usize::from(node.kind_id())).copied().unwrap_or(Role::Skip)
        };
        if let Role::Lead = role {
            self.comment(node, level);
            return false;
        }
        let lead = level.lead.take().filter(|lead| node.start_position().row <= lead.end_row + 1);
        if node.is_named() {
            level.last_row = Some(end_row(node));
        }
        if lead.is_some_and(|lead| lead.is_for_tests) {
            return false;
        }
        let below = Level { scopes: scopes.len(), ..Level::default() };
        let (kind, enters) = match role {
            Role::Skip | Role::Lead => return false,
            Role::Enter => {
                // Some grammars put the comment of the first definition before the node that holds
                // all of them.
                levels.push(Level { lead, ..below });
                return true;
            }
            Role::Wrap => {
                let around = level.around.take();
                let around = around.unwrap_or((lead, node.byte_range(), node.start_position().row));
                levels.push(Level { around: Some(around), ..below });
                return true;
            }
            Role::Scope => (None, true),
            Role::Item(kind) => (Some(kind), false),
            Role::Holder(kind) => (Some(kind), true),
            Role::Ask => (None, false),
        };
        let depth = scopes.len();
        let Some(header) = (self.grammar.header)(node, self.text, kind, depth) else {
            return false;
        };
        if let Some(kind) = header.kind {
            let around = level.around.take();
            let outer = scopes.iter().map(|(name, _)| name.as_str());
            let name = outer.chain([header.name.as_str()]).collect::<Vec<_>>().join(".");
            let is_top_level = scopes.iter().all(|(_, is_type)| !is_type);
            self.item(node, kind, name, &header, lead, around, is_top_level);
        }
        if enters {
            levels.push(below);
            let is_type = header.kind.is_some() || node.kind() == "impl_item";
            scopes.push((header.name, is_type));
        }
        enters
    }

    fn comment(&self, node: Node<'_>, level: &mut Level) {
        let text = &self.text[node.byte_range()];
        let (start, row) = (node.start_byte(), node.start_position().row);
        // `//!` belongs to the enclosing item, a comment after code to that code.
        if text.starts_with("//!")
            || text.starts_with("/*!") && self.grammar.inner_docs
            || level.last_row == Some(row)
        {
            level.lead = None;
            return;
        }
        let before = level.lead.filter(|lead| row <= lead.end_row + 1);
        level.lead = Some(Lead {
            start: before.map_or(start, |before| before.start),
            end_row: end_row(node),
            is_for_tests: before.is_some_and(|before| before.is_for_tests)
                || node.kind() == "attribute_item" && cfg::is_for_tests(text),
        });
    }

    #[expect(clippy::too_many_arguments, reason = "what was found of one definition")]
    fn item(
        &mut self,
        node: Node<'_>,
        kind: Kind,
        name: String,
        header: &super::headers::Header,
        lead: Option<Lead>,
        around: Option<(Option<Lead>, Range<usize>, usize)>,
        is_top_level: bool,
    ) {
        let mut start = node.start_byte();
        let mut lead_start = lead.map(|lead| lead.start);
        if let Some((outer, range, row)) = around {
            // `export`, `type` and the like on the same line belong to the signature; decorators
            // and templates on separate lines are like attributes.
            if row == node.start_position().row {
                start = range.start;
                lead_start = outer.map(|outer| outer.start);
            } else {
                lead_start = Some(outer.map_or(range.start, |outer| outer.start));
            }
        }
        let lead = lead_start.map_or(start..start, |other| other.min(start)..start);
        let lead =
            if super::comments::is_licence(&self.text[lead.clone()]) { start..start } else { lead };
        let mut end = header.end.clamp(start, node.end_byte());
        if kind == Kind::Value {
            let name_end = node.start_byte();
            end = memchr::memchr(b'\n', &self.text.as_bytes()[name_end..end])
                .map_or(end, |at| name_end + at);
        }
        self.items.push(Item {
            kind,
            name,
            lead,
            signature: start..end,
            hole: header.hole.clone(),
            doc: header.doc.clone(),
            end: node.end_byte(),
            is_top_level,
        });
    }
}

fn close(levels: &mut Vec<Level>, scopes: &mut Vec<Scope>) {
    if let Some(level) = levels.pop() {
        scopes.truncate(level.scopes);
    }
}

/// The row of the last character of a node; a node may end with its line break.
fn end_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row }
}
