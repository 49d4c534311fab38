//! The effects of keys while no field takes them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use waypost_browser::Direction::{self, Bottom, Down, Left, Right, Top, Up};
use waypost_browser::{Act, Navigation, TargetKind};

use super::{Effect, Mode, State, ZOOM};
use crate::terminal::graphics::Way;
use crate::terminal::hint::hints;
use crate::terminal::key::pressed;
use crate::terminal::line::Line;

/// Rows that an arrow key or a step of the wheel scrolls.
const ROWS: f64 = 3.0;
/// The share of a view that a page key scrolls: a part of the previous view stays visible.
const VIEW: f64 = 0.95;
const ZOOMS: &[u16] = &[25, 33, 50, 67, 80, 100, 125, 150, 200, 300, 400];

/// Whether a key ends the program, whatever takes the others.
pub(super) fn is_quit(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char('c' | 'q')) && key.modifiers.contains(KeyModifiers::CONTROL)
}

impl State {
    /// The effects of a key that works in every mode.
    pub(super) fn always(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        Some(match key.code {
            _ if is_quit(key) => vec![Effect::Quit],
            KeyCode::Char('l') if control => self.edit_address(),
            KeyCode::Char('r') if control => self.act(Act::Step(Navigation::Reload)),
            KeyCode::Char('t') if control => self.open_tab(),
            KeyCode::F(5) => self.act(Act::Step(Navigation::Reload)),
            KeyCode::F(1) => self.open(Mode::Help),
            KeyCode::Left if alt => self.act(Act::Step(Navigation::Back)),
            KeyCode::Right if alt => self.act(Act::Step(Navigation::Forward)),
            KeyCode::PageUp if control => self.other_tab(true),
            KeyCode::PageDown if control => self.other_tab(false),
            _ => return None,
        })
    }

    /// The effects of a key for the program.
    pub(super) fn command(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        if let Some(effects) = self.always(key) {
            return Some(effects);
        }
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return None;
        }
        Some(match key.code {
            KeyCode::Down | KeyCode::Char('j') => self.scroll_rows(Down),
            KeyCode::Up | KeyCode::Char('k') => self.scroll_rows(Up),
            KeyCode::Left | KeyCode::Char('h') => self.scroll_rows(Left),
            KeyCode::Right | KeyCode::Char('l') => self.scroll_rows(Right),
            KeyCode::PageDown | KeyCode::Char(' ') => self.act(Act::Scroll(Down, VIEW)),
            KeyCode::PageUp => self.act(Act::Scroll(Up, VIEW)),
            KeyCode::Char('d') => self.act(Act::Scroll(Down, 0.5)),
            KeyCode::Char('u') => self.act(Act::Scroll(Up, 0.5)),
            KeyCode::Home | KeyCode::Char('g') => self.act(Act::Scroll(Top, VIEW)),
            KeyCode::End | KeyCode::Char('G') => self.act(Act::Scroll(Bottom, VIEW)),
            KeyCode::Char('f') => self.show_hints(),
            KeyCode::Char('/') => self.open(Mode::Find(Line::default())),
            KeyCode::Char('n') => self.find_again(false),
            KeyCode::Char('N') => self.find_again(true),
            KeyCode::Char('o') => self.open(Mode::Address(Line::default())),
            KeyCode::Char('?') => self.open(Mode::Help),
            KeyCode::Char('H') => self.act(Act::Step(Navigation::Back)),
            KeyCode::Char('L') => self.act(Act::Step(Navigation::Forward)),
            KeyCode::Char('r') => self.act(Act::Step(Navigation::Reload)),
            KeyCode::Char('+' | '=') => self.zoom_to(ZOOMS.iter().find(|zoom| **zoom > self.zoom)),
            KeyCode::Char('-') => self.zoom_to(ZOOMS.iter().rev().find(|zoom| **zoom < self.zoom)),
            KeyCode::Char('0') => self.zoom_to(Some(&ZOOM)),
            KeyCode::Char('t') => self.open_tab(),
            KeyCode::Char('x') => self.act(Act::Close),
            KeyCode::Char('[') => self.other_tab(true),
            KeyCode::Char(']') => self.other_tab(false),
            KeyCode::Char('p') => {
                self.is_paused = !self.is_paused;
                vec![if self.is_paused { Effect::Pause } else { Effect::HandBack }]
            }
            KeyCode::Char('m') => self.switch_pictures(),
            KeyCode::Char('i') => self.enter_field(),
            KeyCode::Char('q') => vec![Effect::Quit],
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Enter => self.act(Act::Press(pressed(key)?)),
            _ => return None,
        })
    }

    /// Scrolls by a few rows, or as many columns.
    pub(super) fn scroll_rows(&mut self, direction: Direction) -> Vec<Effect> {
        let view = self.view();
        let cells = if matches!(direction, Left | Right) { view.columns() } else { view.rows() };
        self.act(Act::Scroll(direction, (ROWS / f64::from(cells)).min(1.0)))
    }

    /// Opens the address line with the current address.
    pub(super) fn edit_address(&mut self) -> Vec<Effect> {
        let url = self.url().unwrap_or_default();
        self.open(Mode::Address(Line::of(&url)))
    }

    fn show_hints(&mut self) -> Vec<Effect> {
        let hints = self.frame.as_deref().map(hints).unwrap_or_default();
        if hints.is_empty() {
            self.message = Some("nothing in view can be used".to_owned());
        } else {
            self.mode = Mode::Hints { hints, typed: String::new() };
        }
        Vec::new()
    }

    fn find_again(&mut self, backwards: bool) -> Vec<Effect> {
        if self.found.is_empty() {
            return Vec::new();
        }
        self.act(Act::Find(self.found.clone(), backwards))
    }

    fn open_tab(&mut self) -> Vec<Effect> {
        let effects = self.act(Act::Open);
        self.mode = Mode::Address(Line::default());
        effects
    }

    /// Moves the focus into the first field in view.
    fn enter_field(&mut self) -> Vec<Effect> {
        let frame = self.frame.as_deref();
        let is_field = |kind| matches!(kind, TargetKind::Text | TargetKind::Secret);
        let place = frame.and_then(|frame| {
            let mut places = frame.places().into_iter();
            places.find(|place| is_field(frame.targets[usize::from(place.2)].kind))
        });
        place.map(|place| self.use_at(place.0, place.1)).unwrap_or_default()
    }

    fn open(&mut self, mode: Mode) -> Vec<Effect> {
        self.message = None;
        self.mode = mode;
        Vec::new()
    }

    fn zoom_to(&mut self, zoom: Option<&u16>) -> Vec<Effect> {
        self.zoom = zoom.copied().unwrap_or(self.zoom);
        vec![Effect::View(self.view())]
    }

    fn switch_pictures(&mut self) -> Vec<Effect> {
        if self.way == Way::Off {
            self.message = Some("no pictures here (--pictures)".to_owned());
            return Vec::new();
        }
        self.has_pictures = !self.has_pictures;
        vec![Effect::View(self.view())]
    }

    fn other_tab(&mut self, backwards: bool) -> Vec<Effect> {
        let tabs = &self.around.tabs;
        let at = tabs.iter().position(|tab| Some(tab.tab) == self.around.current);
        let Some(at) = at.filter(|_| tabs.len() > 1) else { return Vec::new() };
        let step = if backwards { tabs.len() - 1 } else { 1 };
        let tab = tabs[(at + step) % tabs.len()].tab;
        self.act(Act::Tab(tab))
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use waypost_browser::Holder;

    use super::is_quit;
    use crate::terminal::graphics::Way;
    use crate::terminal::key::HELP;
    use crate::terminal::state::{RelayState, State};

    fn key(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    fn state() -> State {
        let around =
            RelayState { tabs: Vec::new(), current: None, holder: Holder::Agent, doing: None };
        State::new((80, 24), around, Way::Off)
    }

    #[test]
    fn every_key_of_the_help_does_something() {
        let named = |name: &str| match name {
            "arrows" => Some(KeyCode::Up),
            "Tab" => Some(KeyCode::Tab),
            "Enter" => Some(KeyCode::Enter),
            "Left" => Some(KeyCode::Left),
            "Right" => Some(KeyCode::Right),
            "F5" => Some(KeyCode::F(5)),
            _ => name.chars().next().filter(|_| name.chars().count() == 1).map(KeyCode::Char),
        };
        let mut known = 0;
        for word in
            HELP.iter().flat_map(|help| help.0.split([' ', ','])).filter(|part| !part.is_empty())
        {
            let (held, name) =
                word.split_once('+').filter(|parts| !parts.0.is_empty()).unwrap_or(("", word));
            let modifiers = match held {
                "Ctrl" => KeyModifiers::CONTROL,
                "Alt" => KeyModifiers::ALT,
                "Shift" => KeyModifiers::SHIFT,
                _ => KeyModifiers::NONE,
            };
            let name = if held == "Ctrl" { name.to_lowercase() } else { name.to_owned() };
            if name == "Esc" {
                continue;
            }
            let code = named(&name).unwrap_or_else(|| panic!("{word} is a key"));
            assert!(state().command(key(code, modifiers)).is_some(), "{word}");
            known += 1;
        }
        assert!(known > 20, "{known}");
    }

    #[test]
    fn only_with_control_the_program_ends_while_a_field_has_the_focus() {
        assert!(is_quit(key(KeyCode::Char('q'), KeyModifiers::CONTROL)));
        assert!(!is_quit(key(KeyCode::Char('q'), KeyModifiers::NONE)));
    }
}
