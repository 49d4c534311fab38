//! Pictures in terminals: as blocks in tmux, and in the way that other terminals say they support.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::child::end_of;
use crate::server::{Reply, Request, Server, page};
use crate::tmux::Terminal;
use crate::wait::until;
use crate::world::Place;

/// 24 pixels of red above 24 of blue: a row and a half each.
fn site(request: &Request) -> Option<Reply> {
    let flag = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 10 10' preserveAspectRatio='none'>
        <rect width='10' height='5' fill='red'/><rect y='5' width='10' height='5' fill='blue'/></svg>";
    match request.path.as_str() {
        "/flag.svg" => {
            let headers = vec![("content-type".to_owned(), "image/svg+xml".to_owned())];
            Some((200, headers, flag.to_owned()))
        }
        "/" => page(
            "<body style='margin:0'><img src=/flag.svg style='width:160px;height:48px;display:block' alt='A flag'>
             <h1>Below it</h1>",
        ),
        _ => None,
    }
}

/// Half a cell of red over half a cell of blue, as escape sequences.
fn has_halves(screen: &str) -> bool {
    let mut rows = screen.lines().filter(|line| line.contains('▀'));
    rows.any(|row| row.contains("38;2;255;0;0") && row.contains("48;2;0;0;255"))
}

#[test]
fn a_picture_is_shown_in_halves_of_cells_as_long_as_the_person_wants_it() {
    let server = Server::start(site);
    let terminal = Terminal::start(&server.url("/"), &["--no-mesh"], (80, 24));
    terminal.shows("Below it");
    terminal.until("the picture", |_| has_halves(&terminal.colors()));
    let row = terminal.screen().lines().nth(3).map(str::to_owned);
    assert_eq!(row.as_deref().map(|it| it.chars().filter(|it| *it == '▀').count()), Some(20));
    terminal.press(&["m"]);
    let screen = terminal.shows("[A flag]");
    assert!(!screen.contains('▀'), "{screen}");
    terminal.press(&["m"]);
    terminal.until("the picture again", |_| has_halves(&terminal.colors()));
    drop(terminal);

    let terminal = Terminal::start(&server.url("/"), &["--no-mesh", "--pictures", "off"], (80, 24));
    terminal.shows("[A flag]");
    // The greeting appears once the page has loaded completely, and would replace the next message.
    terminal.shows("listening on");
    terminal.press(&["m"]);
    let screen = terminal.shows("no pictures here");
    assert!(!screen.contains('▀'), "{screen}");
}

/// A terminal that is only a pipe: it answers with the given text, or nothing.
struct Bare {
    _place: Place,
    child: Child,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Bare {
    fn start(url: &str, pictures: &str, term: &str) -> Self {
        let place = Place::new();
        let run = format!(
            "stty cols 80 rows 24; exec {} {url} --listen 127.0.0.1:0 --no-sandbox --no-mesh --pictures {pictures}",
            env!("CARGO_BIN_EXE_browser")
        );
        let mut command = place.command_of(Path::new("script"), &["-qec", &run, "/dev/null"]);
        command.env("TERM", term).env("COLORTERM", "truecolor").env("SHELL", "/bin/sh");
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("script is there: it is of every Debian");
        let mut out = child.stdout.take().expect("it is piped");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&shown);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                into.lock().expect("no panic").extend_from_slice(&bytes[..count]);
            }
        });
        Self { _place: place, child, shown }
    }

    fn say(&mut self, text: &str) {
        let stdin = self.child.stdin.as_mut().expect("it is piped");
        stdin.write_all(text.as_bytes()).expect("it reads");
        stdin.flush().expect("it reads");
    }

    #[track_caller]
    fn until_shown(&self, text: &str) {
        until(|| {
            let shown = String::from_utf8_lossy(&self.shown.lock().expect("no panic")).into_owned();
            if shown.contains(text) { Ok(()) } else { Err(format!("{text:?} in {shown:?}")) }
        });
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // Quits; `script` ends with it.
        self.say("q");
        drop(self.child.stdin.take());
        end_of(&mut self.child);
    }
}

#[test]
fn pixels_are_sent_as_the_terminal_says_or_the_person_wants() {
    let server = Server::start(site);
    let url = server.url("/");
    let answer = "\x1b[6;16;8t\x1b[?62;4;22c";
    let cases = [
        // It reports support for sixels.
        ("auto", "xterm-256color", answer, "\x1bP"),
        ("auto", "xterm-kitty", "\x1b[6;16;8t\x1b[?62c", "\x1b_Gq=2,i="),
        ("iterm", "xterm-256color", "", "\x1b]1337;File=inline=1"),
        // It reports nothing at all, or no sixels.
        ("auto", "xterm-256color", "", "▀"),
        ("auto", "xterm-256color", "\x1b[6;16;8t\x1b[?62;22c", "▀"),
    ];
    for (pictures, term, answer, expected) in cases {
        let mut terminal = Bare::start(&url, pictures, term);
        terminal.until_shown("\x1b[c");
        if !answer.is_empty() {
            terminal.say(answer);
        }
        terminal.until_shown("Below it");
        terminal.until_shown(expected);
    }
}
