//! A person's actions on a page without scripts, by cells and keys.

use super::Plain;
use super::flow::{Sheet, cells_of};
use super::frame::Look;
use super::page::name_of;
use crate::protocol::{
    Action, DialogAnswer, Direction, Done, Element, Hit, Reference, TabId, Target, no_tab,
    unsupported,
};
use crate::{Deadline, Key, Problem, TargetKind};

impl Plain {
    /// The thing at a position in the view, or with the focus.
    pub(crate) fn hit(
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
        let Some(view) = known.look.view else {
            return Err(unsupported("a position in the view"));
        };
        let sheet = known.sheet(view.columns());
        let thing = match place {
            None => sheet.things.iter().find(|thing| Some(thing.number) == known.look.focus),
            Some((x, y)) => {
                let (width, height) = view.cell();
                let (column, row) = ((x / width).floor(), (y / height).floor());
                let line = sheet.lines.get(known.look.top + row.max(0.0) as usize);
                let spans = line.map(Vec::as_slice).unwrap_or_default();
                let at = column.max(0.0) as usize;
                let span =
                    spans.iter().find(|span| (span.column..span.column + span.cells).contains(&at));
                span.and_then(|span| span.style.thing).and_then(|thing| sheet.things.get(thing))
            }
        };
        Ok(thing.map(|thing| (thing.number, thing.kind)))
    }

    /// Performs an action by cells and keys.
    pub(super) async fn act_by_hand(
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
                self.look(tab, |look, _| look.focus = thing.map(|thing| thing.0))?;
                thing
                    .filter(|thing| !thing.1.is_field())
                    .map(|thing| (thing.0, Action::Click(DialogAnswer::default())))
            }
            Action::Insert(text) => {
                let typed = Action::Type { text, append: true, submit: false };
                self.thing(tab, None)?
                    .filter(|thing| thing.1.is_field())
                    .map(|thing| (thing.0, typed))
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
                return Ok(Done { found, ..Done::default() });
            }
            _ => return Err(unsupported("this action")),
        };
        match then {
            Some((number, action)) => Box::pin(self.act(tab, reference(number)?, action, by)).await,
            None => Ok(Done::default()),
        }
    }

    /// The effect of a key on the focused thing.
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
                    Ok(open.by_number(number).map(|number| open.value(number)).unwrap_or_default())
                })?;
                text.pop();
                Ok(Some((number, Action::Type { text, append: false, submit: false })))
            }
            _ => Ok(None),
        }
    }

    /// Changes the view of a tab.
    fn look<T>(
        &self,
        tab: TabId,
        change: impl FnOnce(&mut Look, &Sheet) -> T,
    ) -> Result<T, Problem> {
        let mut state = self.state.lock();
        let known = state.tabs.get_mut(&tab).ok_or_else(|| no_tab(tab))?;
        let Some(view) = known.look.view else {
            return Err(unsupported("a position in the view"));
        };
        let sheet = known.sheet(view.columns());
        let done = change(&mut known.look, &sheet);
        known.look.version += 1;
        drop(state);
        self.news.notify_waiters();
        Ok(done)
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

/// Moves the focus to the next or the previous thing.
fn step(look: &mut Look, sheet: &Sheet, is_back: bool) {
    let at = sheet.things.iter().position(|thing| Some(thing.number) == look.focus);
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

/// Goes to the next or the previous line that contains a text, and wraps around.
pub(super) fn find(look: &mut Look, sheet: &Sheet, text: &str, backwards: bool) -> bool {
    let wanted = text.to_lowercase();
    let total = sheet.lines.len();
    let begin = look.found.map_or(look.top, |found| found.0);
    let is_new = look.found.is_none();
    let steps = if is_new { 0..total } else { 1..total + 1 };
    let lines = steps.map(|it| {
        let it = it % total;
        if backwards { (begin + total - it) % total } else { (begin + it) % total }
    });
    for line in lines {
        let (mut shown, mut cells) = (String::new(), 0);
        for span in &sheet.lines[line] {
            shown.extend(std::iter::repeat_n(' ', span.column.saturating_sub(cells)));
            shown.push_str(&span.text);
            cells = cells.max(span.column) + cells_of(&span.text);
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
