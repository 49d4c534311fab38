//! The meaning of keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use waypost_browser::{Direction, Key, Navigation};

/// The command of a key while no field takes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
    Scroll(Direction, Amount),
    Step(Navigation),
    /// A key for the page.
    Press(Key),
    Hints,
    Find,
    /// The next or the previous occurrence of the searched text.
    Again {
        backwards: bool,
    },
    /// The address line, with the current address in it or empty.
    Address {
        is_empty: bool,
    },
    Help,
    Zoom(Zoom),
    NewTab,
    CloseTab,
    OtherTab {
        backwards: bool,
    },
    /// Keeps the page for the person, or hands it back.
    Pause,
    /// Switches between pictures and their descriptions.
    Pictures,
    /// Moves the focus into the first field in view.
    Field,
    Quit,
}

/// The distance to scroll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Rows,
    Half,
    View,
    All,
}

/// The zoom step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zoom {
    In,
    Out,
    Not,
}

/// The help that `?` shows: keys and their effects. The documentation page has the same table.
pub(crate) const HELP: &[(&str, &str)] = &[
    ("f", "hints: type a label to use its element"),
    ("Tab Shift+Tab Enter", "go through the page, and use what has the focus"),
    ("i", "into the first field in view"),
    ("Esc", "out of a field, or of what is open here"),
    ("arrows j k h l", "scroll; Space PgDn PgUp by a view, d u by half, g G to the ends"),
    ("/ n N", "find a text, the next, the one before"),
    ("Ctrl+L o", "the address, or another"),
    ("Alt+Left H, Alt+Right L", "back, forward"),
    ("r F5 Ctrl+R", "reload"),
    ("+ - 0", "zoom"),
    ("m", "pictures, or what is said of them"),
    ("t x [ ]", "new tab, close it, the one before, the next"),
    ("p", "keep the page from programs; hand it back"),
    ("q Ctrl+Q Ctrl+C", "quit"),
];

/// The command of a key that works in every mode.
pub(crate) fn always(key: KeyEvent) -> Option<Command> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    Some(match key.code {
        KeyCode::Char('c' | 'q') if control => Command::Quit,
        KeyCode::Char('l') if control => Command::Address { is_empty: false },
        KeyCode::Char('r') if control => Command::Step(Navigation::Reload),
        KeyCode::Char('t') if control => Command::NewTab,
        KeyCode::F(5) => Command::Step(Navigation::Reload),
        KeyCode::F(1) => Command::Help,
        KeyCode::Left if alt => Command::Step(Navigation::Back),
        KeyCode::Right if alt => Command::Step(Navigation::Forward),
        KeyCode::PageUp if control => Command::OtherTab { backwards: true },
        KeyCode::PageDown if control => Command::OtherTab { backwards: false },
        _ => return None,
    })
}

/// The command of a key while no field takes it.
pub(crate) fn command(key: KeyEvent) -> Option<Command> {
    use Direction::{Bottom, Down, Left, Right, Top, Up};
    if let Some(command) = always(key) {
        return Some(command);
    }
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return None;
    }
    Some(match key.code {
        KeyCode::Down | KeyCode::Char('j') => Command::Scroll(Down, Amount::Rows),
        KeyCode::Up | KeyCode::Char('k') => Command::Scroll(Up, Amount::Rows),
        KeyCode::Left | KeyCode::Char('h') => Command::Scroll(Left, Amount::Rows),
        KeyCode::Right | KeyCode::Char('l') => Command::Scroll(Right, Amount::Rows),
        KeyCode::PageDown | KeyCode::Char(' ') => Command::Scroll(Down, Amount::View),
        KeyCode::PageUp => Command::Scroll(Up, Amount::View),
        KeyCode::Char('d') => Command::Scroll(Down, Amount::Half),
        KeyCode::Char('u') => Command::Scroll(Up, Amount::Half),
        KeyCode::Home | KeyCode::Char('g') => Command::Scroll(Top, Amount::All),
        KeyCode::End | KeyCode::Char('G') => Command::Scroll(Bottom, Amount::All),
        KeyCode::Char('f') => Command::Hints,
        KeyCode::Char('/') => Command::Find,
        KeyCode::Char('n') => Command::Again { backwards: false },
        KeyCode::Char('N') => Command::Again { backwards: true },
        KeyCode::Char('o') => Command::Address { is_empty: true },
        KeyCode::Char('?') => Command::Help,
        KeyCode::Char('H') => Command::Step(Navigation::Back),
        KeyCode::Char('L') => Command::Step(Navigation::Forward),
        KeyCode::Char('r') => Command::Step(Navigation::Reload),
        KeyCode::Char('+' | '=') => Command::Zoom(Zoom::In),
        KeyCode::Char('-') => Command::Zoom(Zoom::Out),
        KeyCode::Char('0') => Command::Zoom(Zoom::Not),
        KeyCode::Char('t') => Command::NewTab,
        KeyCode::Char('x') => Command::CloseTab,
        KeyCode::Char('[') => Command::OtherTab { backwards: true },
        KeyCode::Char(']') => Command::OtherTab { backwards: false },
        KeyCode::Char('p') => Command::Pause,
        KeyCode::Char('m') => Command::Pictures,
        KeyCode::Char('i') => Command::Field,
        KeyCode::Char('q') => Command::Quit,
        KeyCode::Tab | KeyCode::BackTab | KeyCode::Enter => Command::Press(pressed(key)?),
        _ => return None,
    })
}

/// A key as pages name it; `None` if pages have no name for it.
pub(crate) fn pressed(key: KeyEvent) -> Option<Key> {
    let name = match key.code {
        KeyCode::Enter => "Enter",
        KeyCode::Tab | KeyCode::BackTab => "Tab",
        KeyCode::Esc => "Escape",
        KeyCode::Backspace => "Backspace",
        KeyCode::Delete => "Delete",
        KeyCode::Insert => "Insert",
        KeyCode::Home => "Home",
        KeyCode::End => "End",
        KeyCode::PageUp => "PageUp",
        KeyCode::PageDown => "PageDown",
        KeyCode::Up => "ArrowUp",
        KeyCode::Down => "ArrowDown",
        KeyCode::Left => "ArrowLeft",
        KeyCode::Right => "ArrowRight",
        KeyCode::Char(letter) => return Some(held(key, Key::of(letter))),
        _ => return None,
    };
    Some(held(key, name.parse().ok()?))
}

fn held(pressed: KeyEvent, mut key: Key) -> Key {
    let is_back = pressed.code == KeyCode::BackTab;
    let parts = [
        (KeyModifiers::ALT, 1),
        (KeyModifiers::CONTROL, 2),
        (KeyModifiers::META, 4),
        (KeyModifiers::SHIFT, 8),
    ];
    for (part, value) in parts {
        if pressed.modifiers.contains(part) || (is_back && value == 8) {
            key.modifiers |= value;
        }
    }
    // Modifiers other than Shift make commands, not letters.
    if key.modifiers & !8 != 0 {
        key.text = None;
    }
    key
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::{Command, HELP, always, command, pressed};

    fn key(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
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
        for word in HELP.iter().flat_map(|it| it.0.split([' ', ','])).filter(|it| !it.is_empty()) {
            let (held, name) =
                word.split_once('+').filter(|it| !it.0.is_empty()).unwrap_or(("", word));
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
            assert!(command(key(code, modifiers)).is_some(), "{word}");
            known += 1;
        }
        assert!(known > 20, "{known}");
    }

    #[test]
    fn keys_reach_the_page_as_they_were_pressed() {
        let back = pressed(key(KeyCode::BackTab, KeyModifiers::NONE)).expect("a key");
        assert_eq!((back.name.as_str(), back.modifiers), ("Tab", 8));
        let all = pressed(key(KeyCode::Char('a'), KeyModifiers::CONTROL)).expect("a key");
        assert_eq!((all.name.as_str(), all.modifiers, all.text), ("a", 2, None));
        assert_eq!(pressed(key(KeyCode::CapsLock, KeyModifiers::NONE)), None);
        assert_eq!(always(key(KeyCode::Char('q'), KeyModifiers::NONE)), None);
        assert_eq!(always(key(KeyCode::Char('q'), KeyModifiers::CONTROL)), Some(Command::Quit));
    }
}
