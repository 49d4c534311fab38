//! Drawing a page without scripts, and what a person does to it by its cells.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::flow::{Sheet, Span, Thing, cells_of, lay_out};
use super::page::name_of;
use super::{Plain, Tab, no_tab, unsupported};
use crate::engine::{
    Action, DialogAnswer, Direction, Done, Element, Hit, Reference, TabId, Target,
};
use crate::frame::{Op, Painter, Pane};
use crate::{
    Area, Color, Deadline, Focus, Frame, FrameTarget, Key, Problem, Scrolled, Seen, TargetKind,
    View,
};

/// How long a change is waited for before the answer is that there was none.
const HOLD: Duration = Duration::from_millis(500);
const INK: u32 = 0x0000_00FF;
const LINK: u32 = 0x0000_EEFF;
const BUTTON: u32 = 0xE0E0_E0FF;
/// How texts are drawn.
const BOLD: u8 = 1;
const UNDERLINED: u8 = 2;
const FAINT: u8 = 4;

/// How a person looks at a tab.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Rises with everything that makes it look different.
    version: u64,
    /// What was laid out: of which document, in which state, and how wide.
    sheet: Option<((u64, u64, u16), Arc<Sheet>)>,
    /// How often something was filled in.
    fills: u64,
    /// The line at the top.
    top: usize,
    view: Option<View>,
    /// The number of the element that has the focus.
    focus: Option<u64>,
    /// Line, column and cells of what was found.
    found: Option<(usize, usize, usize)>,
}

impl Look {
    /// Another page is shown.
    pub(super) fn begin(&mut self) {
        *self = Self { version: self.version + 1, view: self.view, ..Self::default() };
    }

    /// Something was filled in.
    pub(super) fn fill(&mut self) {
        self.fills += 1;
        self.version += 1;
    }

    fn rows(&self) -> usize {
        self.view.map_or(1, |it| usize::from(it.rows()))
    }

    fn scroll_to(&mut self, line: usize, lines: usize) {
        self.top = line.min(lines.saturating_sub(self.rows()));
    }

    fn show(&mut self, line: usize, lines: usize) {
        if line < self.top || line >= self.top + self.rows() {
            self.scroll_to(line.saturating_sub(self.rows() / 2), lines);
        }
    }
}

impl Plain {
    /// The page in view, once it is another than the one that was seen.
    pub(super) async fn draw(
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
        if seen.is_some_and(|it| it.version == version && it.view == view) {
            return Ok(None);
        }
        known.look.view = Some(view);
        let sheet = known.sheet(view.columns());
        let document = known.page().map_or(0, |it| it.document);
        let look = &mut known.look;
        look.scroll_to(look.top, sheet.lines.len());
        let (width, height) = view.cell();
        let mut painter = Painter::new(view, (width, height), Color(255, 255, 255));
        let clip = Area { left: 0.0, top: 0.0, right: f64::INFINITY, bottom: f64::INFINITY };
        let targets = painter.add_targets(sheet.things.iter().map(|it| FrameTarget {
            kind: it.kind,
            reference: Reference { document, element: it.number },
            options: it.options.clone(),
            areas: Vec::new(),
        }));
        let pane = Pane { left: 0.0, top: 0.0, clip, targets };
        let focused = sheet.things.iter().position(|it| Some(it.number) == look.focus);
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
                    if focused.is_some_and(|it| !sheet.things[it].kind.is_field()) {
                        let (left, right) = (span.column, span.column + span.cells);
                        let sides = (
                            left as f64 * width,
                            row * height,
                            right as f64 * width,
                            (row + 1.0) * height,
                        );
                        painter.paint(&Op::selected(sides), &pane);
                    }
                }
            }
            if let Some((_, column, cells)) = look.found.filter(|it| it.0 == at) {
                let (left, right) = (column as f64 * width, (column + cells) as f64 * width);
                let sides = (left, row * height, right, (row + 1.0) * height);
                painter.paint(&Op::selected(sides), &pane);
            }
        }
        let focus = focused.map(|it| match sheet.things[it].kind {
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

    /// How a piece of a line is drawn.
    fn ops(&self, span: &Span, row: f64, (width, height): (f64, f64), things: &[Thing]) -> Vec<Op> {
        let (left, right) = (span.column as f64 * width, (span.column + span.cells) as f64 * width);
        let (top, bottom) = (row * height, (row + 1.0) * height);
        let target = span.style.thing.and_then(|it| i64::try_from(it).ok()).unwrap_or(-1);
        let kind = span.style.thing.and_then(|it| things.get(it)).map(|it| it.kind);
        let mut ops = Vec::new();
        if kind == Some(TargetKind::Button) {
            ops.push(Op::Fill(left, top, right, bottom, BUTTON, target));
        }
        if kind.is_some() {
            ops.push(Op::Own(left, top, right, bottom, target));
        }
        let is_link = kind == Some(TargetKind::Link);
        let how = [(span.style.is_bold, BOLD), (is_link, UNDERLINED), (span.style.is_faint, FAINT)];
        let how = how.into_iter().filter(|it| it.0).map(|it| it.1).sum();
        let text = self.secrets.mask(&span.text);
        let color = if is_link { LINK } else { INK };
        ops.push(Op::Text(left, f64::midpoint(top, bottom), color, how, text, left, right, target));
        ops
    }

    /// What is at a place of the view, or has the focus.
    pub(super) fn hit_thing(
        &self,
        tab: TabId,
        place: Option<(f64, f64)>,
    ) -> Result<Option<Hit>, Problem> {
        let Some((number, _)) = self.thing(tab, place)? else { return Ok(None) };
        self.with_page(tab, |page| {
            let open = page.open();
            Ok(open.by_number(number).map(|element| {
                let is_field = matches!(name_of(element), "input" | "textarea" | "select");
                let text = if is_field { String::new() } else { super::page::text_of(element) };
                let element_shown = Element {
                    tag: name_of(element).to_owned(),
                    class: element.attr("class").unwrap_or_default().chars().take(200).collect(),
                    text: text.chars().take(60).collect(),
                    selector: open.selector_of(element),
                };
                Hit { element: element_shown, secret: is_field && open.is_secret(element) }
            }))
        })
    }

    fn thing(
        &self,
        tab: TabId,
        place: Option<(f64, f64)>,
    ) -> Result<Option<(u64, TargetKind)>, Problem> {
        let mut state = self.state.lock();
        let known = state.tabs.get_mut(&tab).ok_or_else(|| no_tab(tab))?;
        let Some(view) = known.look.view else { return Err(unsupported("a place in the view")) };
        let sheet = known.sheet(view.columns());
        let thing = match place {
            None => sheet.things.iter().find(|it| Some(it.number) == known.look.focus),
            Some((x, y)) => {
                let (width, height) = view.cell();
                let (column, row) = ((x / width).floor(), (y / height).floor());
                let line = sheet.lines.get(known.look.top + row.max(0.0) as usize);
                let spans = line.map(Vec::as_slice).unwrap_or_default();
                let at = column.max(0.0) as usize;
                let span = spans.iter().find(|it| (it.column..it.column + it.cells).contains(&at));
                span.and_then(|it| it.style.thing).and_then(|it| sheet.things.get(it))
            }
        };
        Ok(thing.map(|it| (it.number, it.kind)))
    }

    /// What a person does by cells and keys.
    pub(super) async fn do_by_hand(
        &self,
        tab: TabId,
        action: Action,
        by: Deadline,
    ) -> Result<Done, Problem> {
        let reference = |number| -> Result<Option<Target>, Problem> {
            let document = self.with_page(tab, |page| Ok(page.document))?;
            Ok(Some(Target::Ref(Reference { document, element: number })))
        };
        let then = match action {
            Action::ClickAt { x, y } => {
                let thing = self.thing(tab, Some((x, y)))?;
                self.look(tab, |look, _| look.focus = thing.map(|it| it.0))?;
                thing
                    .filter(|it| !it.1.is_field())
                    .map(|it| (it.0, Action::Click(DialogAnswer::default())))
            }
            Action::Insert(text) => {
                let typed = Action::Type { text, append: true, submit: false };
                self.thing(tab, None)?.filter(|it| it.1.is_field()).map(|it| (it.0, typed))
            }
            Action::Press(key) => self.press(tab, key)?,
            Action::Unfocus => {
                self.look(tab, |look, _| look.focus = None)?;
                None
            }
            Action::Scroll { direction, share } => {
                self.look(tab, |look, sheet| scroll(look, sheet.lines.len(), direction, share))?;
                None
            }
            Action::Find { text, backwards } => {
                let found = self.look(tab, |look, sheet| find(look, sheet, &text, backwards))?;
                return Ok(Map::from_iter([("found".to_owned(), Value::Bool(found))]));
            }
            _ => return Err(unsupported("that")),
        };
        match then {
            Some((number, action)) => {
                Box::pin(self.do_action(tab, reference(number)?, action, by)).await
            }
            None => Ok(Done::new()),
        }
    }

    /// What a key does to what has the focus.
    fn press(&self, tab: TabId, key: Key) -> Result<Option<(u64, Action)>, Problem> {
        let focused = self.thing(tab, None)?;
        match (key.name.as_str(), focused) {
            ("Tab", _) => {
                let is_back = key.modifiers & 8 != 0;
                self.look(tab, |look, sheet| step(look, sheet, is_back))?;
                Ok(None)
            }
            ("Enter", Some((number, kind)))
                if kind == TargetKind::Text || kind == TargetKind::Secret =>
            {
                Ok(Some((number, Action::Press(key))))
            }
            ("Enter" | " ", Some((number, kind))) if !kind.is_field() => {
                Ok(Some((number, Action::Click(DialogAnswer::default()))))
            }
            ("Backspace", Some((number, kind))) if kind.is_field() => {
                let mut text = self.with_page(tab, |page| {
                    let open = page.open();
                    Ok(open.by_number(number).map(|it| open.value(it)).unwrap_or_default())
                })?;
                text.pop();
                Ok(Some((number, Action::Type { text, append: false, submit: false })))
            }
            _ => Ok(None),
        }
    }

    /// Changes how a tab is looked at.
    fn look<T>(
        &self,
        tab: TabId,
        change: impl FnOnce(&mut Look, &Sheet) -> T,
    ) -> Result<T, Problem> {
        let mut state = self.state.lock();
        let known = state.tabs.get_mut(&tab).ok_or_else(|| no_tab(tab))?;
        let Some(view) = known.look.view else { return Err(unsupported("a place in the view")) };
        let sheet = known.sheet(view.columns());
        let done = change(&mut known.look, &sheet);
        known.look.version += 1;
        drop(state);
        self.news.notify_waiters();
        Ok(done)
    }
}

impl Tab {
    /// The page in lines of so many cells; laid out once.
    fn sheet(&mut self, columns: u16) -> Arc<Sheet> {
        let document = self.page().map_or(0, |it| it.document);
        let key = (document, self.look.fills, columns);
        if let Some((_, sheet)) = self.look.sheet.as_ref().filter(|it| it.0 == key) {
            return Arc::clone(sheet);
        }
        let sheet = self.page().map(|it| lay_out(&it.open(), usize::from(columns)));
        let sheet = Arc::new(sheet.unwrap_or_default());
        self.look.sheet = Some((key, Arc::clone(&sheet)));
        sheet
    }
}

fn scroll(look: &mut Look, lines: usize, direction: Direction, share: f64) {
    let step = (look.rows() as f64 * share).round().max(1.0) as usize;
    let to = match direction {
        Direction::Up => look.top.saturating_sub(step),
        Direction::Down => look.top + step,
        Direction::Top => 0,
        Direction::Bottom => lines,
        Direction::Left | Direction::Right => look.top,
    };
    look.scroll_to(to, lines);
}

/// The focus goes to the next thing, or the one before.
fn step(look: &mut Look, sheet: &Sheet, is_back: bool) {
    let at = sheet.things.iter().position(|it| Some(it.number) == look.focus);
    let last = sheet.things.len().saturating_sub(1);
    let next = match (at, is_back) {
        (None, false) => 0,
        (None, true) => last,
        (Some(at), false) => {
            if at == last {
                0
            } else {
                at + 1
            }
        }
        (Some(at), true) => at.checked_sub(1).unwrap_or(last),
    };
    if let Some(thing) = sheet.things.get(next) {
        look.focus = Some(thing.number);
        look.show(thing.line, sheet.lines.len());
    }
}

/// Goes to the next line that has a text, or to the one before, round the page.
fn find(look: &mut Look, sheet: &Sheet, text: &str, backwards: bool) -> bool {
    let wanted = text.to_lowercase();
    let total = sheet.lines.len();
    let begin = look.found.map_or(look.top, |it| it.0);
    let is_new = look.found.is_none();
    let steps = if is_new { 0..total } else { 1..total + 1 };
    let lines = steps.map(|it| {
        let it = it % total;
        if backwards { (begin + total - it) % total } else { (begin + it) % total }
    });
    for line in lines {
        let mut shown = String::new();
        for span in &sheet.lines[line] {
            while cells_of(&shown) < span.column {
                shown.push(' ');
            }
            shown.push_str(&span.text);
        }
        if let Some(at) = shown.to_lowercase().find(&wanted) {
            let before = shown.to_lowercase();
            look.found = Some((line, cells_of(&before[..at]), cells_of(text)));
            look.show(line, total);
            return true;
        }
    }
    look.found = None;
    false
}
