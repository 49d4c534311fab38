//! The page in a terminal, for the person.
//!
//! This thread draws and handles input; the page is queried and changed in separate tasks, so that
//! neither waits for the other.

mod act;
mod album;
mod color;
mod graphics;
mod hint;
mod key;
mod layout;
mod line;
mod paint;
mod screen;
mod state;

use std::env;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use crossterm::event::{self, Event};
use tokio::runtime::Runtime;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{Receiver, UnboundedSender, unbounded_channel};
use tokio::sync::{broadcast, watch};
use waypost_browser::{AuthState, Frame, Pixels, Relay, View, clean_line};
use waypost_project::BrowserPictures;

use self::act::Numbered;
use self::album::Wanted;
use self::color::Depth;
use self::graphics::Way;
use self::screen::Screen;
use self::state::{Effect, RelayState, State};

/// The pause between two frames, for at most twenty per second.
const REST: Duration = Duration::from_millis(50);
/// The pause between two captures of pictures.
const LOOK_REST: Duration = Duration::from_millis(100);
/// The pause between attempts when the page cannot be drawn.
const RETRY: Duration = Duration::from_millis(300);
/// How often to check who controls the page, whatever happens.
const TICK: Duration = Duration::from_millis(200);

/// An event for the terminal.
pub(crate) enum Happening {
    /// Input of the person.
    Input(Event),
    /// The page looks different.
    Frame(Box<Frame>),
    /// So much was seen of its pictures.
    Pixels(Vec<Pixels>),
    /// An act is done; with what is to be said of it.
    Done(u64, Option<String>),
    /// A message to show.
    News(String),
    /// It is time to end: because of a signal, or because the terminal is gone.
    End,
}

/// Checks whether there is a terminal to show pages in.
pub(crate) fn check() -> anyhow::Result<()> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(());
    }
    bail!("no terminal to show the page in: start the browser in one, or pass --headless")
}

/// Shows the page until the person quits, the terminal is gone, or it is time to stop.
pub(crate) fn run(
    runtime: &Runtime,
    relay: &Arc<Relay>,
    pictures: BrowserPictures,
    news: Receiver<String>,
    stop: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let variable = |name: &str| env::var(name).ok();
    let depth = Depth::of(variable);
    let mut screen = Screen::take().context("the terminal cannot be used")?;
    let size = screen.size().context("the terminal has no size")?;
    let way = Way::of(pictures, depth, variable, graphics::ask);
    let mut state = State::new(size, around(relay), way);
    let (tell, happenings) = mpsc::channel();
    let (views, view) = watch::channel(state.view());
    let (acts, queue) = unbounded_channel();
    let (looks, wanted) = watch::channel(None);
    let tasks = [
        runtime.spawn(look(Arc::clone(relay), wanted, way.dots(), tell.clone())),
        runtime.spawn(pull(Arc::clone(relay), view.clone(), tell.clone())),
        runtime.spawn(act::work(Arc::clone(relay), queue, view, tell.clone())),
        runtime.spawn(hear(news, stop, tell.clone())),
        runtime.spawn(overhear(relay.events(), tell.clone())),
    ];
    let is_over = Arc::new(AtomicBool::new(false));
    let keys = listen(tell, Arc::clone(&is_over)).context("no thread for the keyboard")?;
    let hands = Hands { relay, acts, views, looks };

    let begun = Instant::now();
    let now = || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    'shown: loop {
        state.around = around(relay);
        state.tend(now());
        // A terminal that accepts no output is gone.
        if screen.draw(|screen| paint::paint(screen, &state, depth)).is_err() {
            break;
        }
        let first = match happenings.recv_timeout(TICK) {
            Ok(happening) => Some(happening),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        for happening in first.into_iter().chain(happenings.try_iter()) {
            let effects = match happening {
                Happening::Input(event) => state.take(event, now()),
                Happening::Frame(frame) => state.show(frame),
                Happening::Pixels(pixels) => state.see(pixels),
                Happening::Done(number, said) => state.go_on(Some((number, said)), now()),
                Happening::News(line) => {
                    state.message = Some(clean_line(&line));
                    Vec::new()
                }
                Happening::End => break 'shown,
            };
            if hands.carry_out(effects).is_none() {
                break 'shown;
            }
        }
        if hands.carry_out(state.go_on(None, now())).is_none() {
            break;
        }
    }
    drop(screen);
    is_over.store(true, Ordering::Relaxed);
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    // It ends soon by itself; nothing needs it any more.
    drop(keys);
    Ok(())
}

/// What carries out effects.
struct Hands<'a> {
    relay: &'a Relay,
    acts: UnboundedSender<Numbered>,
    views: watch::Sender<View>,
    looks: watch::Sender<Option<Wanted>>,
}

impl Hands<'_> {
    /// Returns `None` when it is time to end.
    fn carry_out(&self, effects: Vec<Effect>) -> Option<()> {
        for effect in effects {
            match effect {
                Effect::Act(act) => self.acts.send(act).ok()?,
                Effect::View(view) => drop(self.views.send_replace(view)),
                Effect::Look(wanted) => drop(self.looks.send_replace(Some(wanted))),
                Effect::Pause => self.relay.pause(),
                Effect::HandBack => self.relay.hand_back(),
                Effect::Quit => return None,
            }
        }
        Some(())
    }
}

fn around(relay: &Relay) -> RelayState {
    let (tabs, current) = relay.shown_tabs();
    RelayState { tabs, current, holder: relay.holder(), doing: relay.doing() }
}

/// Requests frames as they change.
async fn pull(relay: Arc<Relay>, mut view: watch::Receiver<View>, tell: Sender<Happening>) {
    let mut seen = None;
    let mut trouble = String::new();
    loop {
        let begun = tokio::time::Instant::now();
        let wanted = *view.borrow_and_update();
        let frame = tokio::select! {
            frame = relay.frame(wanted, seen) => frame,
            changed = view.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let told = match frame {
            Ok(None) => Ok(()),
            Ok(Some(frame)) => {
                trouble.clear();
                seen = Some(frame.seen);
                tell.send(Happening::Frame(Box::new(frame)))
            }
            Err(problem) => {
                seen = None;
                tokio::time::sleep(RETRY).await;
                // Report a repeated problem only once.
                if problem.detail == trouble {
                    continue;
                }
                trouble.clone_from(&problem.detail);
                tell.send(Happening::News(problem.detail))
            }
        };
        if told.is_err() {
            return;
        }
        tokio::time::sleep_until(begun + REST).await;
    }
}

/// Captures the requested pictures, in parallel to the frames, which do not wait for them.
async fn look(
    relay: Arc<Relay>,
    mut wanted: watch::Receiver<Option<Wanted>>,
    dots: (u16, u16),
    tell: Sender<Happening>,
) {
    while wanted.changed().await.is_ok() {
        let begun = tokio::time::Instant::now();
        let Some(Wanted { seen, keys }) = wanted.borrow_and_update().clone() else { continue };
        // After a failure, the pictures are captured again with the next frame.
        if let Ok(pixels) = relay.pictures(seen, &keys, dots).await
            && tell.send(Happening::Pixels(pixels)).is_err()
        {
            return;
        }
        tokio::time::sleep_until(begun + LOOK_REST).await;
    }
}

/// Forwards the news, and the signal to stop.
async fn hear(
    mut news: Receiver<String>,
    mut stop: watch::Receiver<bool>,
    tell: Sender<Happening>,
) {
    let passing = async {
        while let Some(line) = news.recv().await {
            tell.send(Happening::News(line)).unwrap_or_default();
        }
        // There will be no more news; the end is still to come.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = passing => {}
        _ = stop.wait_for(|it| *it) => tell.send(Happening::End).unwrap_or_default(),
    }
}

/// Forwards actions of the page that a person would see in a window.
async fn overhear(
    mut events: broadcast::Receiver<waypost_browser::Event>,
    tell: Sender<Happening>,
) {
    loop {
        let line = match events.recv().await {
            Ok(event) => remark(&event),
            Err(RecvError::Lagged(_)) => None,
            Err(RecvError::Closed) => return,
        };
        let told = line.map_or(Ok(()), |line| tell.send(Happening::News(line)));
        if told.is_err() {
            return;
        }
    }
}

/// The message to the person about an event; none if its effect is visible anyway.
fn remark(event: &waypost_browser::Event) -> Option<String> {
    use waypost_browser::Event::{AuthChanged, Dialog, Download};
    match event {
        Dialog { dialog } => {
            let answer = if dialog.accepted { "yes" } else { "no" };
            Some(format!("the page says: {} (answered with {answer})", dialog.message))
        }
        Download { download } => Some(format!("blocked a download of {}", download.name)),
        AuthChanged(change) => Some(match change.state {
            AuthState::Authenticated => "you seem to be logged in".to_owned(),
            _ => "you seem to be logged out".to_owned(),
        }),
        _ => None,
    }
}

/// Reads the person's input, on a separate thread, because reading from the terminal blocks.
fn listen(tell: Sender<Happening>, is_over: Arc<AtomicBool>) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            let happening = match event::poll(TICK) {
                Ok(false) => continue,
                Ok(true) => event::read().map_or(Happening::End, Happening::Input),
                Err(_) => Happening::End,
            };
            let is_end = matches!(happening, Happening::End);
            if tell.send(happening).is_err() || is_end {
                return;
            }
        }
    })
}
