//! Draws a page without scripts.

use std::sync::Arc;
use std::time::Duration;

use super::flow::{Sheet, Span, Thing, cells_of, lay_out};
use super::{Plain, Tab};
use crate::frame::{Op, Painter, Pane};
use crate::protocol::{Reference, TabId, no_tab};
use crate::{
    Area, Color, Deadline, Focus, Frame, FrameTarget, Problem, Scrolled, Seen, TargetKind, View,
};

/// How long to wait for a change before reporting that there was none.
const HOLD: Duration = Duration::from_millis(500);
const INK: u32 = 0x0000_00FF;
const LINK: u32 = 0x0000_EEFF;
const BUTTON: u32 = 0xE0E0_E0FF;
/// Text styles.
const BOLD: u8 = 1;
const UNDERLINED: u8 = 2;
const FAINT: u8 = 4;

/// A person's view of a tab.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Increases with every visible change.
    pub(super) version: u64,
    /// The layout, and what it is for: the document, its state and the width.
    sheet: Option<((u64, u64, u16), Arc<Sheet>)>,
    /// How often a field was filled in.
    fills: u64,
    /// The first visible line.
    pub(super) top: usize,
    pub(super) view: Option<View>,
    /// The number of the element that has the focus.
    pub(super) focus: Option<u64>,
    /// Line, column and cells of the found text.
    pub(super) found: Option<(usize, usize, usize)>,
}

impl Look {
    /// Another page is shown.
    pub(super) fn begin(&mut self) {
        *self = Self { version: self.version + 1, view: self.view, ..Self::default() };
    }

    /// A field was filled in.
    pub(super) fn fill(&mut self) {
        self.fills += 1;
        self.version += 1;
    }

    pub(super) fn rows(&self) -> usize {
        self.view.map_or(1, |view| usize::from(view.rows()))
    }

    pub(super) fn scroll_to(&mut self, line: usize, lines: usize) {
        self.top = line.min(lines.saturating_sub(self.rows()));
    }

    pub(super) fn show(&mut self, line: usize, lines: usize) {
        if line < self.top || line >= self.top + self.rows() {
            self.scroll_to(line.saturating_sub(self.rows() / 2), lines);
        }
    }
}

impl Plain {
    /// The page in view, once it differs from the one that was seen.
    pub(crate) async fn frame(
        &self,
        tab: TabId,
        view: View,
        seen: Option<Seen>,
        by: Deadline,
    ) -> Result<Option<Frame>, Problem> {
        let by = by.within(HOLD);
        loop {
            let mut news = std::pin::pin!(self.news.notified());
            news.as_mut().enable();
            if let Some(frame) = self.paint(tab, view, seen)? {
                return Ok(Some(frame));
            }
            if by.of(news).await.is_err() {
                return Ok(None);
            }
        }
    }

    fn paint(&self, tab: TabId, view: View, seen: Option<Seen>) -> Result<Option<Frame>, Problem> {
        let mut state = self.state.lock();
        let known = state.tabs.get_mut(&tab).ok_or_else(|| no_tab(tab))?;
        let version = known.look.version;
        if seen.is_some_and(|seen| seen.version == version && seen.view == view) {
            return Ok(None);
        }
        known.look.view = Some(view);
        let sheet = known.sheet(view.columns());
        let document = known.page().map_or(0, |page| page.document);
        let look = &mut known.look;
        look.scroll_to(look.top, sheet.lines.len());
        let (width, height) = view.cell();
        let mut painter = Painter::new(view, (width, height), Color(255, 255, 255));
        let clip = Area { left: 0.0, top: 0.0, right: f64::INFINITY, bottom: f64::INFINITY };
        let targets = painter.add_targets(sheet.things.iter().map(|thing| FrameTarget {
            kind: thing.kind,
            reference: Reference { document, element: thing.number },
            options: thing.options.clone(),
            areas: Vec::new(),
        }));
        let pane = Pane { left: 0.0, top: 0.0, clip, targets, document };
        let focused = sheet.things.iter().position(|thing| Some(thing.number) == look.focus);
        let mut caret = None;
        let lines = sheet.lines.iter().enumerate().skip(look.top).take(look.rows());
        for (at, line) in lines {
            let row = (at - look.top) as f64;
            for span in line {
                for op in self.ops(span, row, (width, height), &sheet.things) {
                    painter.paint(&op, &pane);
                }
                if span.style.thing.is_some() && span.style.thing == focused {
                    let end = if span.style.is_faint { 0 } else { cells_of(&span.text) };
                    caret = Some(((span.column + end) as f64 * width, (row + 0.5) * height));
                    if focused.is_some_and(|focused| !sheet.things[focused].kind.is_field()) {
                        let area = cells((width, height), span.column, span.cells, row);
                        painter.paint(&Op::Selected(area), &pane);
                    }
                }
            }
            if let Some((_, column, found)) = look.found.filter(|found| found.0 == at) {
                let area = cells((width, height), column, found, row);
                painter.paint(&Op::Selected(area), &pane);
            }
        }
        let focus = focused.map(|focused| match sheet.things[focused].kind {
            TargetKind::Text => Focus::Text,
            TargetKind::Secret => Focus::Secret,
            _ => Focus::Control,
        });
        let caret = caret.filter(|_| matches!(focus, Some(Focus::Text | Focus::Secret)));
        let scrolled = Scrolled {
            y: look.top as f64 * height,
            y_max: sheet.lines.len().saturating_sub(look.rows()) as f64 * height,
            ..Scrolled::default()
        };
        Ok(Some(painter.finish((version, false), caret, focus, scrolled)))
    }

    /// The drawing operations of a piece of a line.
    fn ops(&self, span: &Span, row: f64, (width, height): (f64, f64), things: &[Thing]) -> Vec<Op> {
        let area = cells((width, height), span.column, span.cells, row);
        let Area { left, top, right, bottom } = area;
        let target = span.style.thing.and_then(|thing| i64::try_from(thing).ok()).unwrap_or(-1);
        let kind = span.style.thing.and_then(|thing| things.get(thing)).map(|thing| thing.kind);
        let mut ops = Vec::new();
        if kind == Some(TargetKind::Button) {
            ops.push(Op::Fill(area, BUTTON, target));
        }
        if kind.is_some() {
            ops.push(Op::Own(area, target));
        }
        let is_link = kind == Some(TargetKind::Link);
        let how = [(span.style.is_bold, BOLD), (is_link, UNDERLINED), (span.style.is_faint, FAINT)];
        let how = how.into_iter().filter(|how| how.0).map(|how| how.1).sum();
        let text = self.secrets.mask(&span.text);
        let color = if is_link { LINK } else { INK };
        ops.push(Op::Text(left, f64::midpoint(top, bottom), color, how, text, left, right, target));
        ops
    }
}

/// The area of cells of a row.
fn cells((width, height): (f64, f64), column: usize, cells: usize, row: f64) -> Area {
    let (left, right) = (column as f64 * width, (column + cells) as f64 * width);
    Area { left, top: row * height, right, bottom: (row + 1.0) * height }
}

impl Tab {
    /// The page as lines of this width; the layout is cached.
    pub(super) fn sheet(&mut self, columns: u16) -> Arc<Sheet> {
        let document = self.page().map_or(0, |page| page.document);
        let key = (document, self.look.fills, columns);
        if let Some((_, sheet)) = self.look.sheet.as_ref().filter(|sheet| sheet.0 == key) {
            return Arc::clone(sheet);
        }
        let sheet = self.page().map(|page| lay_out(&page.open(), usize::from(columns)));
        let sheet = Arc::new(sheet.unwrap_or_default());
        self.look.sheet = Some((key, Arc::clone(&sheet)));
        sheet
    }
}
