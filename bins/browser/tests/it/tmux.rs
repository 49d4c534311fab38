//! A terminal provided by tmux.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::wait::until;
use crate::world::Place;

/// Everything appears long before this.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A browser in a separate terminal. Both end with the test.
pub(crate) struct Terminal {
    /// The folder of tmux's socket: separate, because Chromium's processes are identified by the
    /// place's folder.
    folder: TempDir,
    pub(crate) place: Place,
}

impl Terminal {
    /// A terminal of this size, with a browser that starts at the address.
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

    /// The same with the colours, as escape sequences.
    pub(crate) fn colors(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// Presses keys by their names, one after the other.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a text, letter by letter.
    pub(crate) fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Pastes a text, as terminals send it to programs with bracketed paste enabled.
    pub(crate) fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", "--", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// Clicks on a cell of the terminal, counted from 1, as terminals send it.
    pub(crate) fn click(&self, column: usize, row: usize) {
        for end in ["M", "m"] {
            self.type_text(&format!("\u{1b}[<0;{column};{row}{end}"));
        }
    }

    /// The screen once it satisfies the condition.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        until(|| {
            let screen = self.screen();
            if is_there(&screen) { Ok(screen) } else { Err(format!("{what} in\n{screen}")) }
        })
    }

    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.until(text, |it| it.contains(text))
    }

    /// Its HTTP address for programs, which it prints at its start.
    #[track_caller]
    pub(crate) fn address(&self) -> SocketAddr {
        let screen = self.shows("listening on http://");
        let rest = screen.split("listening on http://").nth(1).expect("an address");
        rest.split(' ').next().and_then(|part| part.parse().ok()).expect("an address")
    }

    /// Waits until no process of the browser runs.
    pub(crate) fn is_gone(&self) {
        self.place.until_no_chromium();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
        self.is_gone();
    }
}

/// The position of a text on a screen: column and row, counted from 1.
#[track_caller]
pub(crate) fn place_of(screen: &str, text: &str) -> (usize, usize) {
    let found =
        screen.lines().enumerate().find_map(|(row, line)| Some((line.find(text)?, row, line)));
    let (at, row, line) = found.expect(text);
    (line[..at].chars().count() + 1, row + 1)
}
