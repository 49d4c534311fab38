//! The state of the terminal, and how input changes it.

mod command;

use std::collections::VecDeque;
use std::mem;

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind,
};
use waypost_browser::{
    Act, Direction, Focus, Frame, Holder, Pixels, Reference, TabId, TabInfo, TargetKind, View,
};

use self::command::is_quit;
use super::act::{Numbered, moves_focus};
use super::album::{Album, Wanted};
use super::graphics::{Gallery, Way};
use super::hint::Hint;
use super::key::pressed;
use super::layout::{Layout, tab_spans};
use super::line::Line;
use crate::address::meant;

/// How long typed text waits at most, in milliseconds, for the effect of earlier actions to show.
const HOLD_TIME_MAX_MS: u64 = 1_500;
/// The zoom at which pages have their own size.
const ZOOM: u16 = 100;

/// What is open over the page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Mode {
    Page,
    Address(Line),
    Find(Line),
    Hints { hints: Vec<Hint>, typed: String },
    Choose(Choice),
    Help,
}

/// An open list of options.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) place: (f64, f64),
    pub(crate) list: Reference,
    pub(crate) options: Vec<String>,
    pub(crate) at: usize,
}

/// The reported state of the relay.
#[derive(Debug, Clone)]
pub(crate) struct RelayState {
    pub(crate) tabs: Vec<TabInfo>,
    pub(crate) current: Option<TabId>,
    pub(crate) holder: Holder,
    pub(crate) doing: Option<String>,
}

/// An effect to carry out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    Act(Numbered),
    /// Request the page in this view.
    View(View),
    /// Request the content of these pictures.
    Look(Wanted),
    Pause,
    HandBack,
    Quit,
}

/// Everything that is shown.
#[derive(Debug)]
pub(crate) struct State {
    size: (u16, u16),
    zoom: u16,
    way: Way,
    /// The person wants to see pictures.
    has_pictures: bool,
    pub(crate) album: Album,
    pub(crate) gallery: Gallery,
    pub(crate) mode: Mode,
    pub(crate) frame: Option<Box<Frame>>,
    pub(crate) around: RelayState,
    pub(crate) message: Option<String>,
    pub(crate) is_paused: bool,
    found: String,
    /// The number of the last action.
    last: u64,
    /// Typed text waits for this action, since this time.
    held: Option<(u64, u64)>,
    waiting: VecDeque<Event>,
}

impl State {
    pub(crate) fn new(size: (u16, u16), around: RelayState, way: Way) -> Self {
        Self {
            size,
            zoom: ZOOM,
            way,
            has_pictures: true,
            album: Album::default(),
            gallery: Gallery::default(),
            mode: Mode::Page,
            frame: None,
            around,
            message: None,
            is_paused: false,
            found: String::new(),
            last: 0,
            held: None,
            waiting: VecDeque::new(),
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::of(self.size.1)
    }

    pub(crate) fn zoom(&self) -> u16 {
        self.zoom
    }

    /// The page's part of the terminal.
    pub(crate) fn view(&self) -> View {
        let pictures = self.has_pictures && self.way != Way::Off;
        View::new(self.size.0, self.layout().page.1, self.zoom).with_pictures(pictures)
    }

    /// The page has changed.
    pub(crate) fn show(&mut self, frame: Box<Frame>) -> Vec<Effect> {
        let wanted = self.album.show(&frame);
        self.frame = Some(frame);
        wanted.map(Effect::Look).into_iter().collect()
    }

    /// Pictures were captured.
    pub(crate) fn see(&mut self, pixels: Vec<Pixels>) -> Vec<Effect> {
        let wanted = self.album.take(pixels, self.frame.as_deref());
        wanted.map(Effect::Look).into_iter().collect()
    }

    /// Prepares pictures that have not moved for long enough to be sent to the terminal.
    pub(crate) fn tend(&mut self, now: u64) {
        if let (Way::Pixels(sent), Some(frame)) = (self.way, &self.frame) {
            self.gallery.tend(sent, frame, &self.album, now);
        }
    }

    /// Whether typed text goes to a field of the page.
    pub(crate) fn is_typing(&self) -> bool {
        let focus = self.frame.as_ref().and_then(|frame| frame.focus);
        self.mode == Mode::Page && matches!(focus, Some(Focus::Text | Focus::Secret))
    }

    /// An action is done, or enough time has passed that typed text no longer waits.
    pub(crate) fn go_on(&mut self, done: Option<(u64, Option<String>)>, now: u64) -> Vec<Effect> {
        if let Some((number, message)) = done {
            if message.is_some() {
                self.message = message;
            }
            self.held = self.held.filter(|held| number < held.0);
        }
        self.held = self.held.filter(|held| now < held.1 + HOLD_TIME_MAX_MS);
        let mut effects = Vec::new();
        while self.held.is_none()
            && let Some(event) = self.waiting.pop_front()
        {
            effects.append(&mut self.take(event, now));
        }
        effects
    }

    /// Handles input.
    pub(crate) fn take(&mut self, event: Event, now: u64) -> Vec<Effect> {
        if let Event::Resize(columns, rows) = event {
            self.size = (columns, rows);
            return vec![Effect::View(self.view())];
        }
        if let Event::Key(key) = event {
            if key.kind == KeyEventKind::Release {
                return Vec::new();
            }
            if is_quit(key) {
                return vec![Effect::Quit];
            }
        }
        if self.held.is_some() {
            self.waiting.push_back(event);
            return Vec::new();
        }
        let effects = match event {
            Event::Key(key) => self.key(key),
            Event::Paste(text) => self.paste(&text),
            Event::Mouse(mouse) => self.mouse(mouse),
            _ => Vec::new(),
        };
        for effect in &effects {
            if let Effect::Act((number, act)) = effect
                && moves_focus(act)
            {
                self.held = Some((*number, now));
            }
        }
        effects
    }

    fn act(&mut self, act: Act) -> Vec<Effect> {
        self.last += 1;
        self.message = None;
        vec![Effect::Act((self.last, act))]
    }

    fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        match mem::replace(&mut self.mode, Mode::Page) {
            Mode::Page if self.is_typing() => self.typed(key),
            Mode::Page => self.command(key).unwrap_or_else(|| match pressed(key) {
                Some(pressed) if key.code == KeyCode::Esc => self.act(Act::Press(pressed)),
                _ => Vec::new(),
            }),
            Mode::Address(line) => {
                self.written(line, key, Mode::Address, |text| Act::Go(meant(&text)))
            }
            Mode::Find(line) => {
                let found = line.text();
                let effects = self.written(line, key, Mode::Find, |text| Act::Find(text, false));
                if !effects.is_empty() {
                    self.found = found;
                }
                effects
            }
            Mode::Hints { hints, typed } => self.hinted(hints, typed, key),
            Mode::Choose(choice) => self.chosen(choice, key),
            Mode::Help => Vec::new(),
        }
    }

    /// A key for the focused field.
    fn typed(&mut self, key: KeyEvent) -> Vec<Effect> {
        if let Some(effects) = self.always(key) {
            return effects;
        }
        let Some(pressed) = pressed(key) else { return Vec::new() };
        if key.code == KeyCode::Esc {
            let mut effects = self.act(Act::Press(pressed));
            effects.append(&mut self.act(Act::Unfocus));
            return effects;
        }
        match (key.code, pressed.text.is_some()) {
            (KeyCode::Char(letter), true) => self.act(Act::Type(letter.to_string())),
            _ => self.act(Act::Press(pressed)),
        }
    }

    fn written(
        &mut self,
        mut line: Line,
        key: KeyEvent,
        again: fn(Line) -> Mode,
        act: fn(String) -> Act,
    ) -> Vec<Effect> {
        match key.code {
            KeyCode::Esc => Vec::new(),
            KeyCode::Enter if line.text().trim().is_empty() => Vec::new(),
            KeyCode::Enter => self.act(act(line.text())),
            _ => {
                line.take(key);
                self.mode = again(line);
                Vec::new()
            }
        }
    }

    fn hinted(&mut self, hints: Vec<Hint>, mut typed: String, key: KeyEvent) -> Vec<Effect> {
        match key.code {
            KeyCode::Char(letter) => typed.push(letter.to_ascii_lowercase()),
            KeyCode::Backspace => drop(typed.pop()),
            _ => return Vec::new(),
        }
        if let Some(hint) = hints.iter().find(|hint| hint.label == typed) {
            return self.use_at(hint.column, hint.row);
        }
        if hints.iter().any(|hint| hint.label.starts_with(&typed)) {
            self.mode = Mode::Hints { hints, typed };
        }
        Vec::new()
    }

    fn chosen(&mut self, mut choice: Choice, key: KeyEvent) -> Vec<Effect> {
        let last = choice.options.len().saturating_sub(1);
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => choice.at = choice.at.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => choice.at = (choice.at + 1).min(last),
            KeyCode::Home => choice.at = 0,
            KeyCode::End => choice.at = last,
            KeyCode::Enter => {
                let Choice { place, list, mut options, at } = choice;
                let choice = options.swap_remove(at);
                return self.act(Act::Choose { place, list, choice });
            }
            _ => return Vec::new(),
        }
        self.mode = Mode::Choose(choice);
        Vec::new()
    }

    /// Uses the element at a cell of the page.
    fn use_at(&mut self, column: u16, row: u16) -> Vec<Effect> {
        let Some(frame) = &self.frame else { return Vec::new() };
        let place = frame.point(column, row);
        let target = frame.cell(column, row).and_then(|cell| cell.target);
        let target = target.and_then(|target| frame.targets.get(usize::from(target)));
        if let Some(list) =
            target.filter(|target| target.kind == TargetKind::Select && !target.options.is_empty())
        {
            let (list, options) = (list.reference, list.options.clone());
            self.mode = Mode::Choose(Choice { place, list, options, at: 0 });
            return Vec::new();
        }
        self.act(Act::Click(place.0, place.1))
    }

    /// A pasted text is text, whatever it contains: it goes into a field or a line, or nowhere.
    fn paste(&mut self, text: &str) -> Vec<Effect> {
        if self.is_typing() {
            // Terminals send line ends as the key that types them.
            let lines = text.replace("\r\n", "\n").replace('\r', "\n");
            let is_text = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
            return self.act(Act::Type(lines.chars().filter(is_text).collect()));
        }
        if let Mode::Address(line) | Mode::Find(line) = &mut self.mode {
            line.insert(text);
        }
        Vec::new()
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        let layout = self.layout();
        let page_row = layout.page_row(mouse.row);
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                self.mode = Mode::Page;
                if let Some(row) = page_row {
                    self.use_at(mouse.column, row)
                } else if layout.address == Some(mouse.row) {
                    self.edit_address()
                } else if layout.tabs == Some(mouse.row) {
                    let spans = tab_spans(&self.around.tabs, self.size.0);
                    let at = spans.iter().find(|span| (span.0..span.1).contains(&mouse.column));
                    at.map(|at| self.act(Act::Tab(at.2))).unwrap_or_default()
                } else {
                    Vec::new()
                }
            }
            MouseEventKind::ScrollDown if page_row.is_some() => self.scroll_rows(Direction::Down),
            MouseEventKind::ScrollUp if page_row.is_some() => self.scroll_rows(Direction::Up),
            _ => Vec::new(),
        }
    }

    /// The address of the current tab.
    pub(crate) fn url(&self) -> Option<String> {
        let current = self.around.current?;
        self.around.tabs.iter().find(|tab| tab.tab == current).map(|tab| tab.url.clone())
    }
}
