//! A terminal, kept by tmux.

use std::net::SocketAddr;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::world::Place;

/// Everything is there long before.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A browser in a terminal of its own. Both end with the test.
pub(crate) struct Terminal {
    /// The folder of tmux's socket: apart, because Chromium is known by the place's.
    folder: TempDir,
    pub(crate) place: Place,
}

impl Terminal {
    /// One of so many columns and rows, in which the browser begins there.
    pub(crate) fn start(url: &str, arguments: &[&str], (columns, rows): (u16, u16)) -> Self {
        let terminal = Self { folder: tempfile::tempdir().expect("a folder"), place: Place::new() };
        let program =
            [env!("CARGO_BIN_EXE_browser"), url, "--listen", "127.0.0.1:0", "--no-sandbox"];
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut command = terminal.command(&["-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", &columns, "-y", &rows]).args(program).args(arguments);
        let started = command.output().expect("tmux is installed: scripts/prepare does it");
        assert!(started.status.success(), "{started:?}");
        terminal
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command_of("tmux".as_ref(), &["-u"]);
        command.arg("-S").arg(self.folder.path().join("tmux")).args(arguments);
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command
    }

    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let done = self.command(arguments).output().expect("tmux runs");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The same with the colours, as a terminal is told them.
    pub(crate) fn colors(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// Keys by their names, one after the other.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// A text, letter by letter.
    pub(crate) fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// A text that is pasted, as terminals send it to programs that ask for it.
    pub(crate) fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", "--", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// A click on a cell of the terminal, counted from 1, as terminals send it.
    pub(crate) fn click(&self, column: usize, row: usize) {
        for end in ["M", "m"] {
            self.type_text(&format!("\u{1b}[<0;{column};{row}{end}"));
        }
    }

    /// The screen once it shows what is looked for.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} is not shown:\n{screen}");
            thread::sleep(Duration::from_millis(30));
        }
    }

    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.until(text, |it| it.contains(text))
    }

    /// Where programs reach it over HTTP; it says so at its beginning.
    #[track_caller]
    pub(crate) fn address(&self) -> SocketAddr {
        let screen = self.shows("listening on http://");
        let rest = screen.split("listening on http://").nth(1).expect("an address");
        rest.split(' ').next().and_then(|it| it.parse().ok()).expect("an address")
    }

    /// Waits until nothing of the browser runs.
    pub(crate) fn is_gone(&self) {
        let begun = Instant::now();
        while !self.place.chromiums().is_empty() {
            assert!(begun.elapsed() < PATIENCE, "Chromium goes with its terminal");
            thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
        self.is_gone();
    }
}

/// Where a text is on a screen: column and row, counted from 1.
#[track_caller]
pub(crate) fn place_of(screen: &str, text: &str) -> (usize, usize) {
    let found =
        screen.lines().enumerate().find_map(|(row, line)| Some((line.find(text)?, row, line)));
    let (at, row, line) = found.expect(text);
    (line[..at].chars().count() + 1, row + 1)
}
