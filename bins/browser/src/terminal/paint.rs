//! Draws everything.

mod overlay;
mod picture;

use ratatui::Frame as Picture;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;
use url::Url;
use waypost_browser::{Cell, Color, Frame, Holder, TargetKind, clean_line};

use super::album::Album;
use super::color::Depth;
use super::layout::{Layout, tab_spans};
use super::state::{Mode, State};

/// The colours of the program's own rows: light on dark, never a page's.
const BAR: (Color, Color) = (Color(208, 208, 208), Color(48, 48, 48));
const BAR_STRONG: (Color, Color) = (Color(255, 255, 255), Color(88, 88, 88));

/// Draws everything, and puts the cursor where text is typed.
pub(crate) fn paint(picture: &mut Picture<'_>, state: &State, depth: Depth) {
    let area = picture.area();
    if area.is_empty() {
        return;
    }
    // The terminal may have another size than last reported.
    let layout = Layout::of(area.height);
    let pen = Pen { depth };
    let buffer = picture.buffer_mut();
    let (top, rows) = layout.page;
    let page = Rect { y: top, height: rows, ..area }.intersection(area);
    if let Some(frame) = &state.frame {
        pen.page(buffer, page, frame, &state.album);
    }
    // Pixels would cover what is open over the page.
    if matches!(state.mode, Mode::Page | Mode::Address(_) | Mode::Find(_)) {
        state.gallery.draw(buffer, page);
    }
    let mut cursor = None;
    let caret = state.frame.as_deref().and_then(|frame| frame.caret).filter(|_| state.is_typing());
    if let Some((column, row)) = caret.filter(|caret| caret.0 < page.width && caret.1 < page.height)
    {
        cursor = Some((column, row + top));
    }
    if let Some(row) = layout.tabs {
        pen.tabs(buffer, Rect { y: row, height: 1, ..area }, state);
    }
    if let Some(row) = layout.address {
        let line = Rect { y: row, height: 1, ..area };
        cursor = pen.address(buffer, line, state).or(cursor);
    }
    if let Some(row) = layout.status {
        let line = Rect { y: row, height: 1, ..area };
        cursor = pen.status(buffer, line, state).or(cursor);
    }
    match &state.mode {
        Mode::Hints { hints, typed } => pen.hints(buffer, page, hints, typed),
        Mode::Help => pen.help(buffer, page),
        Mode::Choose(choice) => pen.choice(buffer, page, choice),
        Mode::Page | Mode::Address(_) | Mode::Find(_) => {}
    }
    if let Some(cursor) = cursor {
        picture.set_cursor_position(cursor);
    }
}

/// The colour depth used for drawing.
struct Pen {
    depth: Depth,
}

impl Pen {
    /// The style for two colours, or without colours for `reversed`.
    fn style(&self, (front, back): (Color, Color), reversed: bool) -> Style {
        let style = Style::new();
        match (self.depth.ink(front), self.depth.ink(back)) {
            (Some(front), Some(back)) => style.fg(front).bg(back),
            _ if reversed => style.add_modifier(Modifier::REVERSED),
            _ => style,
        }
    }

    fn page(&self, buffer: &mut Buffer, area: Rect, frame: &Frame, album: &Album) {
        for row in 0..area.height {
            for column in 0..area.width {
                let Some(cell) = frame.cell(column, row).filter(|cell| cell.width > 0) else {
                    continue;
                };
                // Half of a wide letter at the edge would shift the next row.
                if u16::from(cell.width) > area.width - column {
                    continue;
                }
                let kind = cell.target.and_then(|target| frame.targets.get(usize::from(target)));
                let style = self.cell(cell, kind.map(|kind| kind.kind));
                let Some(place) = buffer.cell_mut((area.x + column, area.y + row)) else {
                    continue;
                };
                place.set_symbol(if cell.text.is_empty() { " " } else { &cell.text });
                place.set_style(style);
                self.picture(place, frame, (column, row), album);
            }
        }
        self.said(buffer, area, frame, album);
    }

    fn cell(&self, cell: &Cell, kind: Option<TargetKind>) -> Style {
        let mut style = self.style((cell.foreground, cell.background), false);
        // Without colours, only this identifies a button.
        let is_button = self.depth == Depth::None && kind == Some(TargetKind::Button);
        for (is_so, modifier) in [
            (cell.bold, Modifier::BOLD),
            (cell.underline, Modifier::UNDERLINED),
            (cell.inverse || is_button, Modifier::REVERSED),
        ] {
            if is_so {
                style = style.add_modifier(modifier);
            }
        }
        style
    }

    fn tabs(&self, buffer: &mut Buffer, area: Rect, state: &State) {
        let bar = self.style(BAR, true);
        buffer.set_style(area, bar);
        for (from, to, tab) in tab_spans(&state.around.tabs, area.width) {
            let info = state.around.tabs.iter().find(|other| other.tab == tab);
            let name = info.map(|info| match () {
                () if info.crashed => "(ended)",
                () if !info.title.is_empty() => info.title.as_str(),
                () => info.url.as_str(),
            });
            let is_current = state.around.current == Some(tab);
            let style = if is_current {
                self.style(BAR_STRONG, false).add_modifier(Modifier::BOLD)
            } else {
                bar
            };
            let span = Rect { x: area.x + from, width: to - from, ..area };
            buffer.set_style(span, style);
            let name = format!(" {} ", name.unwrap_or_default());
            buffer.set_stringn(span.x, span.y, name, usize::from(span.width), style);
        }
    }

    /// Draws the address, with the host emphasized. It is our own text for the page's address, not
    /// the page's.
    fn address(&self, buffer: &mut Buffer, area: Rect, state: &State) -> Option<(u16, u16)> {
        let bar = self.style(BAR, false);
        buffer.set_style(area, bar);
        let strong = self.style(BAR_STRONG, false).add_modifier(Modifier::BOLD);
        if let Mode::Address(line) = &state.mode {
            return Some(self.line(buffer, area, "go to ", line.halves()));
        }
        let url = state.url().unwrap_or_default();
        let host = Url::parse(&url).ok().and_then(|value| value.host_str().map(str::to_owned));
        let split = host.and_then(|host| url.find(&host).map(|at| (at, at + host.len())));
        let (from, to) = split.unwrap_or((0, 0));
        let mut column = area.x;
        for (part, style) in [(&url[..from], bar), (&url[from..to], strong), (&url[to..], bar)] {
            let room = usize::from(area.right().saturating_sub(column));
            column = buffer.set_stringn(column, area.y, part, room, style).0;
        }
        None
    }

    fn status(&self, buffer: &mut Buffer, area: Rect, state: &State) -> Option<(u16, u16)> {
        let bar = self.style(BAR, true);
        buffer.set_style(area, bar);
        if let Mode::Find(line) = &state.mode {
            return Some(self.line(buffer, area, "find ", line.halves()));
        }
        let right = far(state);
        let room = usize::from(area.width).saturating_sub(right.width());
        if room > 0 {
            let at = area.right() - right.width() as u16;
            buffer.set_stringn(at, area.y, &right, right.width(), bar);
        }
        let (who, is_human) = near(state);
        let style =
            if is_human { self.style(BAR_STRONG, false).add_modifier(Modifier::BOLD) } else { bar };
        let (column, _) = buffer.set_stringn(area.x, area.y, format!(" {who} "), room, style);
        let said = state.message.as_deref().map(clean_line).unwrap_or_default();
        let room = room.saturating_sub(usize::from(column - area.x));
        buffer.set_stringn(column, area.y, format!(" {said}"), room, bar);
        None
    }

    /// Draws a line that is being edited; returns the position of its caret.
    fn line(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        what: &str,
        (before, after): (&str, &str),
    ) -> (u16, u16) {
        let style = self.style(BAR_STRONG, false);
        buffer.set_style(area, style);
        let (column, _) = buffer.set_stringn(area.x, area.y, what, usize::from(area.width), style);
        let room = usize::from(area.right().saturating_sub(column).saturating_sub(1));
        // The caret is always visible: text far before it is not.
        let mut shown = before;
        while shown.width() > room {
            let mut letters = shown.chars();
            letters.next();
            shown = letters.as_str();
        }
        let (caret, _) = buffer.set_stringn(column, area.y, shown, room, style);
        buffer.set_stringn(caret, area.y, after, room.saturating_sub(shown.width()), style);
        (caret.min(area.right().saturating_sub(1)), area.y)
    }
}

/// Who controls the page, and what programs are doing; and whether the person controls it.
fn near(state: &State) -> (String, bool) {
    match (state.is_paused, state.around.holder, &state.around.doing) {
        (true, _, _) => ("you keep the page · p hands it back".to_owned(), true),
        (_, Holder::Human, _) => ("you have the page".to_owned(), true),
        (_, Holder::Agent, Some(doing)) => (format!("a program: {doing} · p stops it"), false),
        (_, Holder::Agent, None) => ("programs may act · p keeps the page".to_owned(), false),
    }
}

/// How far the page is scrolled, how large it is, and how to get help.
fn far(state: &State) -> String {
    let scrolled = state.frame.as_ref().map(|frame| frame.scrolled).unwrap_or_default();
    let place = match scrolled.y_max {
        most if most < 1.0 => "all".to_owned(),
        most => format!("{:.0}%", 100.0 * scrolled.y / most),
    };
    let help = if state.is_typing() { "Esc leaves the field" } else { "? help" };
    format!(" {place} · {}% · {help} ", state.zoom())
}
