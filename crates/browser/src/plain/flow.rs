//! Laying out a page without style sheets: blocks one under the other, words in lines, tables in
//! columns. Everything is counted in cells.

use std::collections::HashMap;

use scraper::ElementRef;
use scraper::node::{Element, Node};

use super::extract::BLOCKS;
use super::page::{Open, hides, name_of, option_value, options_of, text_of};
use crate::TargetKind;
use crate::frame::glyphs;

/// Lines of a page; what comes after is left out.
const LINES_MAX: usize = 20_000;
/// Rows of a table.
const ROWS_MAX: usize = 4_000;
/// Elements inside elements.
const DEPTH_MAX: usize = 200;
/// Cells of a field that does not say how wide it is.
const FIELD: usize = 20;
/// Between the columns of a table.
const GAP: usize = 2;
/// The narrowest that a column is made.
const COLUMN_MIN: usize = 4;
/// Blocks with an empty line around them.
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

/// A page in lines.
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
    /// Which thing it is of.
    pub(super) thing: Option<usize>,
    is_verbatim: bool,
}

/// Something that can be used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thing {
    pub(super) kind: TargetKind,
    /// The element's number.
    pub(super) number: u64,
    pub(super) options: Vec<String>,
    /// The line that it begins on.
    pub(super) line: usize,
}

/// How many cells a text takes.
pub(super) fn cells_of(text: &str) -> usize {
    glyphs(text).iter().map(|it| usize::from(it.1)).sum()
}

/// The whole page, in lines of so many cells.
pub(super) fn lay_out(open: &Open<'_>, width: usize) -> Sheet {
    let numbers = open.elements().map(key).zip(1..).collect();
    let mut flow = Flow {
        open,
        numbers: &numbers,
        width: width.max(1),
        lines: Vec::new(),
        things: Vec::new(),
        line: Vec::new(),
        column: 0,
        indent: 0,
        has_space: false,
        is_marked: false,
        depth: 0,
    };
    flow.inside(open.html.root_element(), Style::default());
    flow.end_line();
    while flow.lines.last().is_some_and(Vec::is_empty) {
        flow.lines.pop();
    }
    Sheet { lines: flow.lines, things: flow.things }
}

/// The number of each element: counting it anew for each would take a page's length squared.
type Numbers = HashMap<*const Element, u64>;

fn key(element: ElementRef<'_>) -> *const Element {
    std::ptr::from_ref(element.value())
}

struct Flow<'a> {
    open: &'a Open<'a>,
    numbers: &'a Numbers,
    width: usize,
    lines: Vec<Vec<Span>>,
    things: Vec<Thing>,
    line: Vec<Span>,
    column: usize,
    indent: usize,
    /// A space comes before the next word.
    has_space: bool,
    /// Nothing but the mark of a list is on the line: what follows belongs beside it.
    is_marked: bool,
    depth: usize,
}

impl Flow<'_> {
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
            } else if let Some(inner) = ElementRef::wrap(child).filter(|it| !hides(*it)) {
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
                let said = element.attr("alt").map(crate::clean_line).filter(|it| !it.is_empty());
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
                // Nothing is left of a place in a window that is too narrow.
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
        let number = self.numbers.get(&key(element)).copied().unwrap_or_default();
        let options = match kind {
            TargetKind::Select => {
                options_of(element).iter().take(200).map(|it| text_of(*it)).collect()
            }
            _ => Vec::new(),
        };
        style.thing = Some(self.things.len());
        self.things.push(Thing { kind, number, options, line: self.lines.len() });
    }

    fn mark(&mut self, element: ElementRef<'_>, style: Style) {
        let is_item = |it: &ElementRef<'_>| name_of(*it) == "li";
        let list = element.parent().and_then(ElementRef::wrap).filter(|it| name_of(*it) == "ol");
        let sign = match list {
            Some(_) => {
                let before = element.prev_siblings().filter_map(ElementRef::wrap);
                format!("{}.", before.filter(is_item).count() + 1)
            }
            None => "•".to_owned(),
        };
        self.put(&sign, style);
        self.has_space = true;
        self.is_marked = true;
    }

    fn field(&mut self, field: ElementRef<'_>, mut style: Style) {
        let kind = field.attr("type").unwrap_or_default().to_ascii_lowercase();
        let is_on = || self.open.is_checked(field);
        let size = field.attr("size").or(field.attr("cols")).and_then(|it| it.parse().ok());
        let size: usize = size.unwrap_or(FIELD).clamp(1, self.width);
        let (target, text, is_faint, size) = match (name_of(field), kind.as_str()) {
            ("input", "checkbox") => {
                (TargetKind::Check, if is_on() { "[x]" } else { "[ ]" }.to_owned(), false, 3)
            }
            ("input", "radio") => {
                (TargetKind::Check, if is_on() { "(•)" } else { "( )" }.to_owned(), false, 3)
            }
            ("input", "submit" | "button" | "reset" | "image") => {
                let label = self.open.label(field);
                let label = if label.is_empty() { "Submit".to_owned() } else { label };
                let size = cells_of(&label);
                (TargetKind::Button, label, false, size)
            }
            ("input", "file") => (TargetKind::Other, "no file".to_owned(), true, 7),
            ("select", _) => {
                let chosen = self.open.chosen(field);
                let options = options_of(field);
                let shown = options.iter().filter(|it| chosen.contains(&option_value(**it)));
                let shown: Vec<String> = shown.map(|it| text_of(*it)).collect();
                let text = format!("{} ▾", shown.join(", "));
                let size = cells_of(&text).min(self.width);
                (TargetKind::Select, text, false, size)
            }
            _ => {
                let value = self.open.value(field);
                let is_secret = self.open.is_secret(field);
                let target = if is_secret { TargetKind::Secret } else { TargetKind::Text };
                let placeholder = field.attr("placeholder").unwrap_or_default();
                match (value.is_empty(), is_secret) {
                    (true, _) => (target, placeholder.to_owned(), true, size),
                    (false, true) => {
                        (target, "•".repeat(value.chars().count().min(64)), false, size)
                    }
                    (false, false) => (target, crate::clean_line(&value), false, size),
                }
            }
        };
        self.begin(target, field, &mut style);
        style.is_faint = is_faint;
        self.make_room(size, style);
        let shown =
            tail(&text, size, target.is_field() && !is_faint && target != TargetKind::Select);
        let span = Span { column: self.column, cells: size, text: shown, style };
        self.column += size;
        self.line.push(span);
    }

    fn table(&mut self, table: ElementRef<'_>, style: Style) {
        let mut rows: Vec<Vec<ElementRef<'_>>> = Vec::new();
        let parts = table.children().filter_map(ElementRef::wrap).filter(|it| !hides(*it));
        for part in parts {
            let inner = part.children().filter_map(ElementRef::wrap);
            let found: Vec<ElementRef<'_>> = match name_of(part) {
                "tr" => vec![part],
                "caption" => {
                    self.inside(part, style);
                    self.end_line();
                    continue;
                }
                _ => inner.filter(|it| name_of(*it) == "tr").collect(),
            };
            for row in found.into_iter().filter(|it| !hides(*it)) {
                let cells = row.children().filter_map(ElementRef::wrap);
                rows.push(cells.filter(|it| matches!(name_of(*it), "td" | "th")).collect());
            }
        }
        rows.truncate(ROWS_MAX);
        let widths = widths_of(&rows, self.width.saturating_sub(self.indent));
        for row in rows {
            if self.lines.len() >= LINES_MAX {
                return;
            }
            self.row(&row, &widths, style);
        }
    }

    fn row(&mut self, row: &[ElementRef<'_>], widths: &[usize], style: Style) {
        let top = self.lines.len();
        let mut column = self.indent;
        let mut merged: Vec<Vec<Span>> = Vec::new();
        for (cell, width) in row.iter().zip(widths) {
            let style = Style { is_bold: style.is_bold || name_of(*cell) == "th", ..style };
            let mut inner = Flow {
                width: *width,
                lines: Vec::new(),
                things: std::mem::take(&mut self.things),
                line: Vec::new(),
                column: 0,
                indent: 0,
                has_space: false,
                is_marked: false,
                depth: self.depth,
                ..*self
            };
            let first = inner.things.len();
            if !hides(*cell) {
                inner.inside(*cell, style);
                inner.end_line();
            }
            for thing in &mut inner.things[first..] {
                thing.line += top;
            }
            let (lines, things) = (inner.lines, inner.things);
            self.things = things;
            if merged.len() < lines.len() {
                merged.resize(lines.len(), Vec::new());
            }
            for (into, line) in merged.iter_mut().zip(lines) {
                into.extend(line.into_iter().map(|it| Span { column: it.column + column, ..it }));
            }
            column += width + GAP;
        }
        self.lines.append(&mut merged);
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

    /// Makes room for so many cells after the space that comes before them: on the next line if there
    /// is none on this.
    fn make_room(&mut self, cells: usize, style: Style) {
        let has_space = std::mem::take(&mut self.has_space) && !self.line.is_empty();
        self.is_marked = false;
        if !self.line.is_empty() && self.column + usize::from(has_space) + cells > self.width {
            self.break_line();
        } else if has_space {
            let last = self.line.last_mut();
            let same = last.filter(|it| it.style == style && it.column + it.cells == self.column);
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

    /// Puts a text where the line is, broken where it is too long for one.
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
            match last.filter(|it| it.style == style && it.column + it.cells == self.column) {
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

    /// Ends the line, if something is on it.
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

    /// An empty line, but not two, and none at the beginning.
    fn gap(&mut self) {
        if self.lines.last().is_some_and(|it| !it.is_empty()) {
            self.lines.push(Vec::new());
        }
    }
}

/// The widths of a table's columns: as wide as they would be, or less where there is no room.
fn widths_of(rows: &[Vec<ElementRef<'_>>], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        if widths.len() < row.len() {
            widths.resize(row.len(), 1);
        }
        for (width, cell) in widths.iter_mut().zip(row) {
            let has_field = || {
                let inside = cell.descendants().filter_map(ElementRef::wrap);
                inside.into_iter().any(|it| matches!(name_of(it), "input" | "select" | "textarea"))
            };
            let own = cells_of(&text_of(*cell)).min(room) + if has_field() { FIELD } else { 0 };
            *width = (*width).max(own);
        }
    }
    let gaps = GAP * widths.len().saturating_sub(1);
    let room = room.saturating_sub(gaps);
    let total: usize = widths.iter().sum();
    if total > room {
        for width in &mut widths {
            *width = (*width * room / total.max(1)).max(COLUMN_MIN);
        }
    }
    widths
}

/// The part of a text that fits: its end where one writes, its beginning elsewhere.
fn tail(text: &str, cells: usize, is_written: bool) -> String {
    let letters = glyphs(text);
    let mut total: usize = letters.iter().map(|it| usize::from(it.1)).sum();
    let mut first = 0;
    while is_written && total > cells.saturating_sub(1) && first < letters.len() {
        total -= usize::from(letters[first].1);
        first += 1;
    }
    let mut room = cells;
    let fits = letters[first..].iter().take_while(|it| {
        let is_in = usize::from(it.1) <= room;
        room = room.saturating_sub(usize::from(it.1));
        is_in
    });
    fits.map(|it| it.0.as_str()).collect()
}
