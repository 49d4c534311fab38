//! The terminal itself: taken over, and restored however the program ends.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic;

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// The terminal while the program uses it.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    /// Takes over the terminal.
    pub(crate) fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        let taken =
            execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste);
        let terminal =
            taken.and_then(|()| Terminal::new(CrosstermBackend::new(BufWriter::new(io::stdout()))));
        match terminal {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws the changes.
    pub(crate) fn draw(&mut self, paint: impl FnOnce(&mut ratatui::Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(paint)?;
        self.terminal.backend_mut().flush()
    }

    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// A failure here cannot be reported: there is no terminal to report it to.
fn give_back() {
    let left = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    left.unwrap_or_default();
    disable_raw_mode().unwrap_or_default();
}
