//! Names of keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use waypost_browser::Key;

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

/// A key as pages name it; `None` if pages have no name for it.
pub(crate) fn pressed(key: KeyEvent) -> Option<Key> {
    let mut letters = [0; 4];
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
        KeyCode::Char(letter) => letter.encode_utf8(&mut letters),
        _ => return None,
    };
    let mut modifiers = key.modifiers;
    modifiers.set(
        KeyModifiers::SHIFT,
        key.code == KeyCode::BackTab || modifiers.contains(KeyModifiers::SHIFT),
    );
    let held = [
        (KeyModifiers::ALT, "Alt+"),
        (KeyModifiers::CONTROL, "Control+"),
        (KeyModifiers::META, "Meta+"),
        (KeyModifiers::SHIFT, "Shift+"),
    ];
    let held: String =
        held.into_iter().filter(|held| modifiers.contains(held.0)).map(|held| held.1).collect();
    format!("{held}{name}").parse().ok()
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::pressed;

    #[test]
    fn keys_reach_the_page_as_they_were_pressed() {
        let key = |code, modifiers| pressed(KeyEvent::new(code, modifiers));
        let back = key(KeyCode::BackTab, KeyModifiers::NONE).expect("a key");
        assert_eq!((back.name.as_str(), back.modifiers), ("Tab", 8));
        let all = key(KeyCode::Char('a'), KeyModifiers::CONTROL).expect("a key");
        assert_eq!((all.name.as_str(), all.modifiers, all.text), ("a", 2, None));
        let plus = key(KeyCode::Char('+'), KeyModifiers::SHIFT).expect("a key");
        assert_eq!((plus.name.as_str(), plus.text.as_deref()), ("+", Some("+")));
        assert_eq!(key(KeyCode::Char(' '), KeyModifiers::NONE).expect("a key").name, " ");
        assert_eq!(key(KeyCode::CapsLock, KeyModifiers::NONE), None);
    }
}
