//! Draws what is open over the page.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use waypost_browser::Color;

use super::Pen;
use crate::terminal::hint::Hint;
use crate::terminal::key::HELP;
use crate::terminal::state::Choice;

const LABEL: (Color, Color) = (Color(0, 0, 0), Color(255, 215, 0));
const SHEET: (Color, Color) = (Color(0, 0, 0), Color(238, 238, 238));

impl Pen {
    /// The labels that start with the typed letters.
    pub(super) fn hints(&self, buffer: &mut Buffer, page: Rect, hints: &[Hint], typed: &str) {
        let style = self.style(LABEL, true).add_modifier(Modifier::BOLD);
        for hint in hints {
            let Some(rest) = hint.label.strip_prefix(typed) else { continue };
            if hint.column < page.width && hint.row < page.height {
                let (x, y) = (page.x + hint.column, page.y + hint.row);
                put(buffer, (x, y), rest, usize::from(page.width - hint.column), style);
            }
        }
    }

    pub(super) fn help(&self, buffer: &mut Buffer, page: Rect) {
        let rows: Vec<String> =
            HELP.iter().map(|help| format!(" {:24} {} ", help.0, help.1)).collect();
        self.sheet(buffer, page, &rows, None);
    }

    /// The options around the current one.
    pub(super) fn choice(&self, buffer: &mut Buffer, page: Rect, choice: &Choice) {
        let room = usize::from(page.height).max(1);
        let first =
            choice.at.saturating_sub(room / 2).min(choice.options.len().saturating_sub(room));
        let shown = choice.options.iter().skip(first).take(room);
        let rows: Vec<String> = shown.map(|shown| format!(" {shown} ")).collect();
        self.sheet(buffer, page, &rows, Some(choice.at - first));
    }

    /// Rows in the middle of the page, one of them highlighted.
    fn sheet(&self, buffer: &mut Buffer, page: Rect, rows: &[String], marked: Option<usize>) {
        let style = self.style(SHEET, true);
        let widest = rows.iter().map(|row| row.chars().count()).max().unwrap_or_default();
        let width = u16::try_from(widest).unwrap_or(u16::MAX).min(page.width);
        let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).min(page.height);
        let (x, y) = (page.x + (page.width - width) / 2, page.y + (page.height - height) / 2);
        for (at, (row, text)) in (y..y + height).zip(rows).enumerate() {
            let style = if marked == Some(at) {
                style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
            } else {
                style
            };
            put(buffer, (x, row), &format!("{text:widest$}"), usize::from(width), style);
        }
    }
}

/// Writes a text over the existing content, including halves of wide letters.
fn put(buffer: &mut Buffer, (x, y): (u16, u16), text: &str, width: usize, style: Style) {
    if let Some(before) = x.checked_sub(1).and_then(|difference| buffer.cell_mut((difference, y)))
        && before.symbol().chars().count() > 0
        && unicode_width::UnicodeWidthStr::width(before.symbol()) > 1
    {
        before.set_symbol(" ");
    }
    let span = u16::try_from(width.min(text.chars().count())).unwrap_or(u16::MAX);
    for column in x..x.saturating_add(span) {
        if let Some(cell) = buffer.cell_mut((column, y)) {
            cell.reset();
        }
    }
    buffer.set_stringn(x, y, text, width, style);
}
