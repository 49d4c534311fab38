//! Lays out a page without style sheets: blocks one under the other, words in lines, tables in
//! columns. All sizes are in cells.

mod field;
mod table;

use scraper::ElementRef;
use scraper::node::Node;

use super::extract::BLOCKS;
use super::page::{Open, hides, name_of, options_of, text_of};
use crate::TargetKind;
use crate::frame::glyphs;

/// The maximum number of lines of a page; the rest is left out.
const LINES_MAX: usize = 20_000;
/// The maximum nesting depth of elements.
const DEPTH_MAX: usize = 200;
/// The width in cells of a field that does not specify one.
const FIELD: usize = 20;
/// Blocks with an empty line before and after them.
const APART: &[&str] = &[
    "blockquote",
    "dl",
    "fieldset",
    "figure",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "ol",
    "p",
    "pre",
    "table",
    "ul",
];

/// A page as lines.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    pub(super) lines: Vec<Vec<Span>>,
    pub(super) things: Vec<Thing>,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) column: usize,
    pub(super) cells: usize,
    pub(super) text: String,
    pub(super) style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Style {
    pub(super) is_bold: bool,
    pub(super) is_faint: bool,
    /// The index of the thing that it belongs to.
    pub(super) thing: Option<usize>,
    is_verbatim: bool,
}

/// A usable element.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thing {
    pub(super) kind: TargetKind,
    /// The element's number.
    pub(super) number: u64,
    pub(super) options: Vec<String>,
    /// The line on which it starts.
    pub(super) line: usize,
}

/// The width of a text in cells.
pub(super) fn cells_of(text: &str) -> usize {
    glyphs(text).iter().map(|glyph| usize::from(glyph.1)).sum()
}

/// The whole page as lines of this width.
pub(super) fn lay_out(open: &Open<'_>, width: usize) -> Sheet {
    let mut flow = Flow::new(open, width.max(1), 0);
    flow.inside(open.html.root_element(), Style::default());
    flow.end_line();
    while flow.lines.last().is_some_and(Vec::is_empty) {
        flow.lines.pop();
    }
    Sheet { lines: flow.lines, things: flow.things }
}

struct Flow<'a> {
    open: &'a Open<'a>,
    width: usize,
    lines: Vec<Vec<Span>>,
    things: Vec<Thing>,
    line: Vec<Span>,
    column: usize,
    indent: usize,
    /// A space precedes the next word.
    has_space: bool,
    /// Only a list marker is on the line: what follows belongs next to it.
    is_marked: bool,
    depth: usize,
}

impl<'a> Flow<'a> {
    fn new(open: &'a Open<'a>, width: usize, depth: usize) -> Self {
        Self {
            open,
            width,
            lines: Vec::new(),
            things: Vec::new(),
            line: Vec::new(),
            column: 0,
            indent: 0,
            has_space: false,
            is_marked: false,
            depth,
        }
    }

    fn inside(&mut self, element: ElementRef<'_>, style: Style) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        for child in element.children() {
            if self.lines.len() >= LINES_MAX {
                break;
            }
            if let Node::Text(text) = child.value() {
                self.text(&text.text, style);
            } else if let Some(inner) = ElementRef::wrap(child).filter(|element| !hides(*element)) {
                self.enter(inner, style);
            }
        }
        self.depth -= 1;
    }

    fn enter(&mut self, element: ElementRef<'_>, outer: Style) {
        let name = name_of(element);
        let mut style = outer;
        let is_block = BLOCKS.contains(&name);
        let indent = self.indent;
        if is_block && !self.is_marked {
            self.end_line();
            if APART.contains(&name) {
                self.gap();
            }
        }
        match name {
            "br" => self.break_line(),
            "hr" => {
                let text = "─".repeat(self.width.saturating_sub(self.indent));
                self.put(&text, Style { is_faint: true, ..style });
            }
            "input" | "select" | "textarea" => self.field(element, style),
            "img" => {
                let said =
                    element.attr("alt").map(crate::clean_line).filter(|line| !line.is_empty());
                if let Some(said) = said {
                    self.words(&format!("[{said}]"), Style { is_faint: true, ..style });
                }
            }
            "table" => self.table(element, style),
            _ => {
                match name {
                    "b" | "strong" | "th" | "dt" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                        style.is_bold = true;
                    }
                    "pre" => style.is_verbatim = true,
                    "ul" | "ol" | "dd" | "blockquote" => self.indent += 2,
                    "li" => self.mark(element, style),
                    "button" | "summary" => self.begin(TargetKind::Button, element, &mut style),
                    "a" if element.attr("href").is_some() => {
                        self.begin(TargetKind::Link, element, &mut style);
                    }
                    _ => {}
                }
                // In a window that is too narrow, nothing would be left for text.
                self.indent = self.indent.min(self.width / 2);
                self.inside(element, style);
            }
        }
        if is_block {
            self.end_line();
            if APART.contains(&name) {
                self.gap();
            }
        }
        self.indent = indent;
    }

    fn begin(&mut self, kind: TargetKind, element: ElementRef<'_>, style: &mut Style) {
        let number = self.open.number(element);
        let options = match kind {
            TargetKind::Select => {
                options_of(element).iter().take(200).map(|of| text_of(*of)).collect()
            }
            _ => Vec::new(),
        };
        style.thing = Some(self.things.len());
        self.things.push(Thing { kind, number, options, line: self.lines.len() });
    }

    fn mark(&mut self, element: ElementRef<'_>, style: Style) {
        let list =
            element.parent().and_then(ElementRef::wrap).filter(|element| name_of(*element) == "ol");
        let sign = match list {
            Some(_) => format!("{}.", self.open.nth_of_type(element)),
            None => "•".to_owned(),
        };
        self.put(&sign, style);
        self.has_space = true;
        self.is_marked = true;
    }

    fn text(&mut self, text: &str, style: Style) {
        if !style.is_verbatim {
            return self.words(text, style);
        }
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.break_line();
            }
            self.put(&line.replace('\t', "    "), style);
        }
    }

    fn words(&mut self, text: &str, style: Style) {
        self.has_space |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            self.make_room(cells_of(word), style);
            self.put(word, style);
            self.has_space = true;
        }
        self.has_space &= text.is_empty() || text.ends_with(char::is_whitespace);
    }

    /// Makes room for this many cells after the preceding space: on the next line if they do not
    /// fit on this one.
    fn make_room(&mut self, cells: usize, style: Style) {
        let has_space = std::mem::take(&mut self.has_space) && !self.line.is_empty();
        self.is_marked = false;
        if !self.line.is_empty() && self.column + usize::from(has_space) + cells > self.width {
            self.break_line();
        } else if has_space {
            let last = self.line.last_mut();
            let same =
                last.filter(|last| last.style == style && last.column + last.cells == self.column);
            if let Some(span) = same {
                span.text.push(' ');
                span.cells += 1;
            }
            self.column += 1;
        }
        if self.line.is_empty() {
            self.column = self.indent;
        }
    }

    /// Appends a text to the line, and breaks it where it is too long.
    fn put(&mut self, text: &str, style: Style) {
        for (letter, width) in glyphs(text) {
            let width = usize::from(width);
            if self.line.is_empty() {
                self.column = self.indent;
            }
            if self.column + width > self.width && !self.line.is_empty() {
                self.break_line();
                self.column = self.indent;
            }
            let last = self.line.last_mut();
            match last.filter(|last| last.style == style && last.column + last.cells == self.column)
            {
                Some(span) => {
                    span.text.push_str(&letter);
                    span.cells += width;
                }
                None => {
                    self.line.push(Span { column: self.column, cells: width, text: letter, style });
                }
            }
            self.column += width;
        }
    }

    /// Ends the line, if it is not empty.
    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.break_line();
        }
        self.has_space = false;
    }

    fn break_line(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
        self.column = self.indent;
        self.has_space = false;
        self.is_marked = false;
    }

    /// Adds an empty line, but never two in a row, and none at the start.
    fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Vec::new());
        }
    }
}
