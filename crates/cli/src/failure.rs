//! The reason why a command failed, a remedy, and the exit status.

use std::error::Error as StdError;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use indicatif::HumanBytes;
use serde_json::{Map, Value, json};
use waypost_api::{Problem, ProblemKind, client};

use crate::exit;

/// The result of a command.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// The reason why a command failed.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
    /// The service's response, if that is the reason.
    problem: Option<Box<Problem>>,
}

impl Failure {
    /// A failure with that message.
    pub fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code: exit::FAILED, message, causes: Vec::new(), hint: None, problem: None }
    }

    /// An invalid command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: exit::USAGE, ..Self::new(message) }
    }

    /// What the command names does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self { code: exit::NOT_FOUND, ..Self::new(message) }
    }

    /// An error with all its causes.
    pub fn of(error: &(dyn StdError + 'static)) -> Self {
        let mut failure = Self::new(error.to_string());
        let mut next = Some(error);
        while let Some(cause) = next {
            let text = cause.to_string();
            // Many errors repeat their cause in their own message.
            if !failure.message.contains(&text) && !failure.causes.contains(&text) {
                failure.causes.push(text);
            }
            if is_denied(cause) {
                failure.hint = Some(DENIED.to_owned());
            }
            next = cause.source();
        }
        failure
    }

    /// With that exit status.
    #[must_use]
    pub fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// With the status of a failure instead of a usage error.
    #[must_use]
    pub fn not_usage(self) -> Self {
        if self.code == exit::USAGE { self.with_code(exit::FAILED) } else { self }
    }

    /// With that remedy.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prefixes the message with the operation that failed.
    #[must_use]
    pub fn while_doing(mut self, what: impl Into<String>) -> Self {
        let message = std::mem::replace(&mut self.message, what.into());
        self.causes.insert(0, message);
        self
    }

    /// With another message for what the service has refused, if there is one.
    #[must_use]
    pub fn renamed(mut self, rename: impl FnOnce(&Problem) -> Option<String>) -> Self {
        let problem = self.problem.as_ref().filter(|problem| problem.detail == self.message);
        if let Some(message) = problem.and_then(|problem| rename(problem)) {
            self.message = message;
        }
        self
    }

    /// The exit status.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The causes, the nearest first.
    pub fn causes(&self) -> &[String] {
        &self.causes
    }

    /// The remedy.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The status of the service's response, if that is the reason.
    pub fn status(&self) -> Option<u16> {
        self.problem.as_ref().map(|problem| problem.status)
    }

    /// The failure as a problem of RFC 9457, with the exit status, the causes and the hint.
    pub(crate) fn to_json(&self) -> Value {
        let mut members = match self.problem.as_ref().map(serde_json::to_value) {
            Some(Ok(Value::Object(members))) => members,
            _ => Map::new(),
        };
        if self.problem.is_none() {
            members.insert("type".to_owned(), json!("about:blank"));
            members.insert("title".to_owned(), json!(exit::meaning(self.code)));
        }
        members.insert("detail".to_owned(), json!(self.message));
        members.insert("exitStatus".to_owned(), json!(self.code));
        if !self.causes.is_empty() {
            members.insert("causes".to_owned(), json!(self.causes));
        }
        if let Some(hint) = &self.hint {
            members.insert("hint".to_owned(), json!(hint));
        }
        Value::Object(members)
    }
}

/// An error of standard output or input.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // The reader of the output has closed it.
        let code =
            if error.kind() == io::ErrorKind::BrokenPipe { exit::DONE } else { exit::FAILED };
        Self::of(&error).with_code(code)
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        use client::Error;
        if let Error::Output { source } = error {
            return source.into();
        }
        let mut failure = Self::of(&error);
        match &error {
            Error::Refused(problem) => {
                failure.problem = Some(problem.clone());
                failure.code = match problem.status {
                    // The fields are arguments of the command line.
                    422 => exit::USAGE,
                    401 | 403 => exit::NOT_ALLOWED,
                    404 => exit::NOT_FOUND,
                    503 if problem.known_kind() == Some(ProblemKind::NoPeer) => exit::NOT_REACHABLE,
                    _ => exit::FAILED,
                };
                let hint = problem.known_kind().and_then(hint_for).map(str::to_owned);
                let id = problem.request_id.as_ref();
                hint.or_else(|| id.map(|id| cause_of(id))).into_iter().fold(failure, Self::with_hint)
            }
            Error::NotReachable { .. } => failure
                .with_code(exit::NOT_REACHABLE)
                .with_hint("start the service (`service`), or pass its address with --url"),
            Error::NoAnswer { .. } => failure.with_code(exit::NOT_REACHABLE).with_hint(NO_ANSWER),
            Error::Closed { .. } => failure.with_code(exit::NOT_REACHABLE).with_hint(
                "the service may have completed all or part of the request; check its log and `ctl status`",
            ),
            Error::NotUnderstood { .. } => failure
                .with_code(exit::NOT_REACHABLE)
                .with_hint("another program may listen there: pass the service's address with --url"),
            Error::Untrusted { .. } => failure.with_code(exit::NOT_ALLOWED).with_hint(
                "omit the address to use the socket of this project's service, or ask that user",
            ),
            Error::Certificate { source, .. } => {
                let why = source.to_string();
                let hint = if why.contains("CaUsedAsEndEntity") {
                    "the service uses the certificate of an authority as its own; create one that an authority signed, as docs/operating.md shows, and pass the authority's with --ca FILE"
                } else if why.contains("NotValidForName") {
                    "use an address with a name that is in the certificate"
                } else if why.contains("Expired") {
                    "renew the certificate of the service"
                } else {
                    "pass the certificate of the authority that signed it with --ca FILE"
                };
                failure.with_code(exit::NOT_ALLOWED).with_hint(hint)
            }
            Error::Scheme { url } if url.starts_with("https:") => {
                failure.with_code(exit::USAGE).with_hint("use an address with http://")
            }
            Error::Scheme { .. } => failure.with_code(exit::USAGE).with_hint("use an address with https://"),
            Error::Plain { .. } => failure
                .with_code(exit::NOT_ALLOWED)
                .with_hint("use https: set tls.cert and tls.key for the service, or put a TLS proxy in front of it"),
            Error::Address { .. } | Error::Authorities { .. } => failure.with_code(exit::USAGE),
            Error::Token => failure.with_code(exit::NOT_ALLOWED),
            _ => failure,
        }
    }
}

/// Where to find the cause of an error inside the service.
fn cause_of(request_id: &str) -> String {
    format!(
        "look for request id {request_id} in the service's log; `ctl doctor` checks the stored data"
    )
}

/// The remedy for a problem, if the service's message does not name it.
fn hint_for(kind: ProblemKind) -> Option<&'static str> {
    Some(match kind {
        ProblemKind::TokenMissing => {
            "no token was sent, because no token file exists: the first start of the service creates `.waypost/token`; or pass one with --token-file"
        }
        ProblemKind::TokenRefused => {
            "it may be another project's token: pass a file with --token-file; `ctl doctor` checks the one in use"
        }
        ProblemKind::ScopeMissing => {
            "use a token with that scope: an admin creates one with `ctl token create --scope SCOPE`"
        }
        ProblemKind::SpaceBound => "use a token that is not bound to that space",
        ProblemKind::ReindexRunning => "try again when it has finished",
        ProblemKind::KeyReused => "use another --idempotency-key for a different event",
        ProblemKind::FlowPending => "review and approve it: `ctl allow`",
        ProblemKind::RunNotFailed | ProblemKind::RunEnded => "see `ctl flows show RUN`",
        ProblemKind::FileChanged => "review it again: `ctl flows allow FILE`",
        ProblemKind::NoPeer => "`ctl mesh peers` lists peers and the targets they serve",
        ProblemKind::NoModel => {
            "`ctl model pull` downloads a model; `--mode lexical` searches without one"
        }
        ProblemKind::DiskFull => {
            "free space on the service's disk, then try again; `ctl status` says how much is free"
        }
        // The problem says what to do.
        ProblemKind::AlreadyDone
        | ProblemKind::WebPage
        | ProblemKind::NoContext
        | ProblemKind::NoBrowser => return None,
    })
}

impl From<waypost_project::Error> for Failure {
    fn from(error: waypost_project::Error) -> Self {
        use waypost_project::Error;
        let failure = Self::of(&error);
        match &error {
            Error::Pending(_) => failure
                .with_code(exit::NOT_ALLOWED)
                .with_hint("look at the file and approve it: `ctl allow`"),
            Error::Unregistered { .. } => failure
                .with_code(exit::NOT_ALLOWED)
                .with_hint("`ctl allow --data` registers the data folder"),
            Error::SameData { project, .. } => failure.with_code(exit::NOT_ALLOWED).with_hint(format!(
                "work in {}; if this path is to replace it, unmount or remove that one first, then run `ctl allow --data` again",
                project.display()
            )),
            Error::Tracked { .. } => failure
                .with_code(exit::NOT_ALLOWED)
                .with_hint("afterwards, `ctl allow --data` registers the data folder"),
            Error::Newer { .. } => failure.with_hint(NEWER),
            Error::NoState | Error::Untrusted { .. } => failure.with_code(exit::NOT_ALLOWED),
            Error::Config { .. } | Error::Value { .. } | Error::Conflict { .. } => {
                failure.with_hint("`docs/settings.md` lists every setting and its valid values")
            }
            Error::Exposed { .. } => failure.with_code(exit::NOT_ALLOWED),
            Error::Io { path, source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                match of_other_user(path) {
                    Some(hint) => failure.with_code(exit::NOT_ALLOWED).with_hint(hint),
                    None => failure,
                }
            }
            Error::Io { path, source, .. } if is_full(source) => failure.with_hint(of_full_disk(path, None)),
            error => error.remedy().into_iter().fold(failure, Failure::with_hint),
        }
    }
}

impl From<waypost_auth::Error> for Failure {
    fn from(error: waypost_auth::Error) -> Self {
        match &error {
            waypost_auth::Error::NotFound { .. } => Self::of(&error).with_code(exit::NOT_FOUND),
            _ => Self::of(&error),
        }
    }
}

/// The remedy for a service that runs and does not answer.
const NO_ANSWER: &str = "the service is suspended, overloaded or waiting for its disk: look at its log and its process, or restart it";
/// The remedy if a file, or the nearest folder that this user can see, belongs to another user.
pub fn of_other_user(path: &Path) -> Option<String> {
    let own = rustix::process::geteuid().as_raw();
    let seen = |path: &Path| Some((path.to_owned(), path.symlink_metadata().ok()?.uid()));
    let (path, uid) = path.ancestors().find_map(seen)?;
    (uid != own && own != 0).then(|| {
        format!(
            "{} belongs to user {uid}: ask that user for a token and an address of the service, and pass them with --token-file and --url; or work in a project of your own (--project)",
            path.display()
        )
    })
}

/// The remedy for a file that this user may not read or write.
const DENIED: &str = "if the file is yours, `chmod u+rwX` it and the folders above it; if it belongs to another user, only that user can";

/// Whether the system refused access to a file.
fn is_denied(error: &(dyn StdError + 'static)) -> bool {
    let of_log = || error.downcast_ref::<Arc<io::Error>>().map(AsRef::as_ref);
    let error = error.downcast_ref::<io::Error>().or_else(of_log);
    error.is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Whether a write failed because the disk is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The remedy for a full disk, on which a file of about that many bytes was to be written. Small files
/// have no number.
pub fn of_full_disk(file: &Path, bytes: Option<u64>) -> String {
    let there = file.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let free = waypost_log::free_bytes(there).map_or_else(
        |_| String::new(),
        |free| format!("{} are free on the disk of {}; ", HumanBytes(free), there.display()),
    );
    let needed =
        bytes.map_or_else(|| "less than 1 MiB".to_owned(), |bytes| HumanBytes(bytes).to_string());
    format!("the disk is full: {free}this needs {needed}")
}

/// The remedy for what a newer release wrote.
pub const NEWER: &str = "use the release that wrote it, or a newer one";
