//! A line editor.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The maximum number of letters.
const LETTERS_MAX: usize = 8_192;

/// A text with a caret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    before: String,
    after: String,
}

impl Line {
    /// A text with the caret at its end.
    pub(crate) fn of(text: &str) -> Self {
        Self { before: text.to_owned(), after: String::new() }
    }

    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    /// The text before and after the caret.
    pub(crate) fn halves(&self) -> (&str, &str) {
        (&self.before, &self.after)
    }

    /// Inserts a text at the caret, as one line.
    pub(crate) fn insert(&mut self, text: &str) {
        let letters = text.trim_matches(['\r', '\n']).chars().filter(|c| !c.is_control());
        let room = LETTERS_MAX.saturating_sub(self.before.len() + self.after.len());
        self.before.extend(letters.take(room));
    }

    /// Applies a key to the line. Returns false if the key has no meaning there.
    pub(crate) fn take(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => self.before.clear(),
            KeyCode::Char('k') if control => self.after.clear(),
            KeyCode::Char('w') if control => {
                let kept = self.before.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.before.truncate(kept);
            }
            KeyCode::Char('a') if control => self.home(),
            KeyCode::Char('e') if control => self.end(),
            KeyCode::Char(letter) if !control && !key.modifiers.contains(KeyModifiers::ALT) => {
                self.insert(letter.encode_utf8(&mut [0; 4]));
            }
            KeyCode::Backspace => drop(self.before.pop()),
            KeyCode::Delete => {
                let mut letters = self.after.chars();
                letters.next();
                self.after = letters.as_str().to_owned();
            }
            KeyCode::Left => {
                if let Some(letter) = self.before.pop() {
                    self.after.insert(0, letter);
                }
            }
            KeyCode::Right => {
                let mut letters = self.after.chars();
                self.before.extend(letters.next());
                self.after = letters.as_str().to_owned();
            }
            KeyCode::Home => self.home(),
            KeyCode::End => self.end(),
            _ => return false,
        }
        true
    }

    fn home(&mut self) {
        self.after.insert_str(0, &self.before);
        self.before.clear();
    }

    fn end(&mut self) {
        self.before.push_str(&self.after);
        self.after.clear();
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::Line;

    #[test]
    fn a_line_is_written_as_lines_are() {
        let mut line = Line::of("example.org/ä b");
        let mut press =
            |code, modifiers| assert!(line.take(KeyEvent::new(code, modifiers)), "{code:?}");
        let none = KeyModifiers::NONE;
        press(KeyCode::Char('w'), KeyModifiers::CONTROL);
        press(KeyCode::Left, none);
        press(KeyCode::Backspace, none);
        press(KeyCode::Char('é'), none);
        press(KeyCode::Delete, none);
        press(KeyCode::Home, none);
        press(KeyCode::Char('x'), KeyModifiers::SHIFT);
        press(KeyCode::Right, none);
        assert_eq!(line.halves(), ("xe", "xample.org/é"));
        line.insert("\r\none\ntwo\u{1b}\n");
        assert_eq!(line.text(), "xeonetwoxample.org/é");
        assert!(!line.take(KeyEvent::new(KeyCode::Tab, none)));
        for key in ['a', 'k'] {
            line.take(KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL));
        }
        assert_eq!(line.text(), "");
    }
}
