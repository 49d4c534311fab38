//! Tables in columns.

use scraper::ElementRef;

use super::{FIELD, Flow, LINES_MAX, Span, Style, cells_of};
use crate::plain::page::{hides, name_of, text_of};

/// The maximum number of rows of a table.
const ROWS_MAX: usize = 4_000;
/// The space between two columns.
const GAP: usize = 2;
/// The minimum width of a column.
const COLUMN_MIN: usize = 4;

impl Flow<'_> {
    pub(super) fn table(&mut self, table: ElementRef<'_>, style: Style) {
        let mut rows: Vec<Vec<ElementRef<'_>>> = Vec::new();
        let parts =
            table.children().filter_map(ElementRef::wrap).filter(|element| !hides(*element));
        for part in parts {
            let inner = part.children().filter_map(ElementRef::wrap);
            let found: Vec<ElementRef<'_>> = match name_of(part) {
                "tr" => vec![part],
                "caption" => {
                    self.inside(part, style);
                    self.end_line();
                    continue;
                }
                _ => inner.filter(|inner| name_of(*inner) == "tr").collect(),
            };
            for row in found.into_iter().filter(|found| !hides(*found)) {
                let cells = row.children().filter_map(ElementRef::wrap);
                rows.push(cells.filter(|cell| matches!(name_of(*cell), "td" | "th")).collect());
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
            let mut inner = Flow::new(self.open, *width, self.depth);
            inner.things = std::mem::take(&mut self.things);
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
                into.extend(
                    line.into_iter().map(|line| Span { column: line.column + column, ..line }),
                );
            }
            column += width + GAP;
        }
        self.lines.append(&mut merged);
    }
}

/// The widths of a table's columns: the natural widths, or less if they do not fit.
fn widths_of(rows: &[Vec<ElementRef<'_>>], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        if widths.len() < row.len() {
            widths.resize(row.len(), 1);
        }
        for (width, cell) in widths.iter_mut().zip(row) {
            let has_field = || {
                let inside = cell.descendants().filter_map(ElementRef::wrap);
                inside
                    .into_iter()
                    .any(|inside| matches!(name_of(inside), "input" | "select" | "textarea"))
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
