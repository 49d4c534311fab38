//! The effects of commands.

use waypost_browser::{Act, Direction, TargetKind};

use super::{Effect, Mode, State, ZOOM};
use crate::terminal::graphics::Way;
use crate::terminal::hint::hints;
use crate::terminal::key::{Amount, Command, Zoom};
use crate::terminal::line::Line;

/// Rows that an arrow key or a step of the wheel scrolls.
const ROWS: f64 = 3.0;
const ZOOMS: &[u16] = &[25, 33, 50, 67, 80, 100, 125, 150, 200, 300, 400];

impl State {
    pub(super) fn scroll(&mut self, direction: Direction, amount: Amount) -> Vec<Effect> {
        let is_across = matches!(direction, Direction::Left | Direction::Right);
        let view = self.view();
        let cells = if is_across { view.columns() } else { view.rows() };
        let share = match amount {
            Amount::Rows => (ROWS / f64::from(cells)).min(1.0),
            Amount::Half => 0.5,
            Amount::View | Amount::All => 0.95,
        };
        self.act(Act::Scroll(direction, share))
    }

    /// Executes the command of a key.
    pub(super) fn command(&mut self, command: Command) -> Vec<Effect> {
        match command {
            Command::Scroll(direction, amount) => self.scroll(direction, amount),
            Command::Step(journey) => self.act(Act::Step(journey)),
            Command::Press(key) => self.act(Act::Press(key)),
            Command::Hints => {
                let hints = self.frame.as_deref().map(hints).unwrap_or_default();
                if hints.is_empty() {
                    self.message = Some("nothing in view can be used".to_owned());
                } else {
                    self.mode = Mode::Hints { hints, typed: String::new() };
                }
                Vec::new()
            }
            Command::Find => self.open(Mode::Find(Line::default())),
            Command::Again { backwards } if !self.found.is_empty() => {
                self.act(Act::Find(self.found.clone(), backwards))
            }
            Command::Again { .. } => Vec::new(),
            Command::Address { is_empty } => {
                let url = self.url().filter(|_| !is_empty).unwrap_or_default();
                self.open(Mode::Address(Line::of(&url)))
            }
            Command::Help => self.open(Mode::Help),
            Command::Zoom(zoom) => self.zoom_to(zoom),
            Command::NewTab => {
                let effects = self.act(Act::Open);
                self.mode = Mode::Address(Line::default());
                effects
            }
            Command::CloseTab => self.act(Act::Close),
            Command::OtherTab { backwards } => self.other_tab(backwards),
            Command::Pause => {
                self.is_paused = !self.is_paused;
                vec![if self.is_paused { Effect::Pause } else { Effect::HandBack }]
            }
            Command::Pictures => self.switch_pictures(),
            Command::Field => {
                let frame = self.frame.as_deref();
                let is_field = |kind| matches!(kind, TargetKind::Text | TargetKind::Secret);
                let place = frame.and_then(|frame| {
                    let mut places = frame.places().into_iter();
                    places.find(|it| is_field(frame.targets()[usize::from(it.2)].kind))
                });
                place.map(|it| self.use_at(it.0, it.1)).unwrap_or_default()
            }
            Command::Quit => vec![Effect::Quit],
        }
    }

    fn open(&mut self, mode: Mode) -> Vec<Effect> {
        self.message = None;
        self.mode = mode;
        Vec::new()
    }

    fn zoom_to(&mut self, zoom: Zoom) -> Vec<Effect> {
        let next = match zoom {
            Zoom::In => ZOOMS.iter().find(|it| **it > self.zoom),
            Zoom::Out => ZOOMS.iter().rev().find(|it| **it < self.zoom),
            Zoom::Not => Some(&ZOOM),
        };
        self.zoom = next.copied().unwrap_or(self.zoom);
        vec![Effect::View(self.view())]
    }

    fn switch_pictures(&mut self) -> Vec<Effect> {
        if self.way == Way::Off {
            let said = "no pictures here (--pictures)";
            self.message = Some(said.to_owned());
            return Vec::new();
        }
        self.has_pictures = !self.has_pictures;
        vec![Effect::View(self.view())]
    }

    fn other_tab(&mut self, backwards: bool) -> Vec<Effect> {
        let tabs = &self.around.tabs;
        let at = tabs.iter().position(|it| Some(it.tab) == self.around.current);
        let Some(at) = at.filter(|_| tabs.len() > 1) else { return Vec::new() };
        let step = if backwards { tabs.len() - 1 } else { 1 };
        let tab = tabs[(at + step) % tabs.len()].tab;
        self.act(Act::Tab(tab))
    }
}
