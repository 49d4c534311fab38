//! Starts a Chromium, and ends it with all processes that it started.

use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;

use super::profile::Profile;
use crate::{Problem, ProblemKind};

/// The usual program names of Chromium and its relatives.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// The shell moves both pipes to where Chromium expects them (3 and 4), and tells the kernel to end
/// Chromium when the thread that started it ends.
const SCRIPT: &str = "command -v setpriv >/dev/null && set -- setpriv --pdeathsig KILL -- \"$@\"
exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// The flags that Chromium always gets. It opens no port, and requests and sends only what a page
/// asked for, as far as flags can achieve that (the proxy rejects the rest).
const FLAGS: &[&str] = &[
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--no-service-autorun",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-features=AutofillServerCommunication,BackForwardCache,CertificateTransparencyComponentUpdater,\
     DialMediaRouteProvider,InterestFeedContentSuggestions,MediaRouter,OptimizationHints,Prerender2,Translate",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--force-color-profile=srgb",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--proxy-bypass-list=<-loopback>",
    "--use-mock-keychain",
];

/// The size of the view until a person views the page, in CSS pixels.
pub(super) const VIEW: (u32, u32) = (1280, 800);

/// How a Chromium is started.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChromiumSettings {
    /// The program.
    pub program: PathBuf,
    /// Chromium's own sandbox. It refuses to run as root with it.
    pub sandbox: bool,
    /// Where cookies and storage are kept; without it, a fresh folder that is removed at the end.
    pub profile: Option<PathBuf>,
    /// Where a fresh folder is created.
    pub temporary: PathBuf,
}

impl ChromiumSettings {
    /// With the sandbox and a fresh profile in `temporary`.
    #[must_use]
    pub fn new(program: PathBuf, temporary: PathBuf) -> Self {
        Self { program, sandbox: true, profile: None, temporary }
    }

    /// Sets whether Chromium's own sandbox is used.
    #[must_use]
    pub fn with_sandbox(self, sandbox: bool) -> Self {
        Self { sandbox, ..self }
    }

    /// Sets where cookies and storage are kept.
    #[must_use]
    pub fn with_profile(self, profile: PathBuf) -> Self {
        Self { profile: Some(profile), ..self }
    }
}

/// The first Chromium or Chrome in a search path in the format of `PATH`.
#[must_use]
pub fn find_chromium(path: &OsStr) -> Option<PathBuf> {
    let mut candidates = std::env::split_paths(path)
        .flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)));
    candidates.find(|candidate| candidate.is_file())
}

/// A running Chromium. It ends, with its whole process group, when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    /// `None` once it was reaped: its number may then belong to another process.
    group: Arc<Mutex<Option<Pid>>>,
    /// Resolves once it has ended and its fresh profile is removed.
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

impl Process {
    pub(super) fn kill(&self) {
        let group = self.group.lock();
        if let Some(group) = *group {
            // A process that has ended needs no signal.
            kill_process_group(group, Signal::KILL).unwrap_or_default();
        }
    }

    /// Returns the receiver for its end, once.
    pub(super) fn ended(&self) -> Option<oneshot::Receiver<()>> {
        self.ended.lock().take()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Our ends of both pipes.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) to: OwnedFd,
    pub(super) from: OwnedFd,
}

/// Starts the process.
pub(super) async fn start(
    settings: &ChromiumSettings,
    proxy: SocketAddr,
) -> Result<(Process, Ends), Problem> {
    if settings.sandbox && rustix::process::geteuid().is_root() {
        let detail = "Chromium does not run as root with its sandbox: use another account, or give \
                      --no-sandbox if every page is trusted";
        return Err(Problem::new(ProblemKind::Unavailable, detail));
    }
    let failed = |error: &io::Error| {
        let detail = format!("cannot start {}: {error}", settings.program.display());
        Problem::new(ProblemKind::Unavailable, detail)
    };
    let profile = Profile::open(settings).map_err(|error| failed(&error))?;
    let (their_read, our_write) = io::pipe().map_err(|error| failed(&error))?;
    let (our_read, their_write) = io::pipe().map_err(|error| failed(&error))?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "sh"]).arg(&settings.program).args(FLAGS);
    command.arg(format!("--proxy-server=http://{proxy}"));
    command.arg(format!("--user-data-dir={}", profile.path.display()));
    command.arg(format!("--window-size={},{}", VIEW.0, VIEW.1));
    if !settings.sandbox {
        command.arg("--no-sandbox");
    }
    command.process_group(0).stdin(their_read).stdout(their_write).stderr(Stdio::null());

    let (spawned, started) = oneshot::channel();
    let (gone, ended) = oneshot::channel();
    let group = Arc::new(Mutex::new(None));
    let shared = group.clone();
    // The kernel ends Chromium with the thread that started it, so that thread does nothing else
    // and lives as long as Chromium.
    let begun = thread::Builder::new().name("chromium".to_owned()).spawn(move || {
        let child = command.spawn();
        drop(command);
        let child = child.inspect(|child| *shared.lock() = Some(Pid::from_child(child)));
        let told = child.as_ref().map(|_| ()).map_err(|error| io::Error::from(error.kind()));
        let is_wanted = spawned.send(told).is_ok();
        if let Ok(child) = child {
            reap(child, &shared, is_wanted);
        }
        profile.end();
        // There may be no receiver.
        gone.send(()).unwrap_or_default();
    });
    begun.map_err(|error| failed(&error))?;
    let process = Process { group, ended: Mutex::new(Some(ended)) };
    match started.await {
        Ok(Ok(())) => Ok((process, Ends { to: our_write.into(), from: our_read.into() })),
        Ok(Err(error)) => Err(failed(&error)),
        Err(_) => Err(failed(&io::Error::from(io::ErrorKind::BrokenPipe))),
    }
}

/// Waits for the end, then ends the rest of the group while its number is still its own.
fn reap(mut child: Child, group: &Mutex<Option<Pid>>, is_wanted: bool) {
    let pid = Pid::from_child(&child);
    if !is_wanted {
        kill_process_group(pid, Signal::KILL).unwrap_or_default();
    }
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
    let mut group = group.lock();
    kill_process_group(pid, Signal::KILL).unwrap_or_default();
    child.wait().map(drop).unwrap_or_default();
    *group = None;
}
