//! What an action needs to start: the values of its event, and for a program its folder and variables.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use waypost_events::Event;

use crate::encode::event_json;
use crate::{Action, Flow, Outcome, Program, ProjectPath, Report};

/// Variables that processes inherit from the service, if they exist.
pub const INHERITED: [&str; 8] =
    ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "SHELL", "TMPDIR"];
/// The longest value of a variable, and the longest argument. Linux rejects one of 128 KiB.
pub const WORD_BYTES_MAX: usize = (128 << 10) - 1;
/// The limit for all variables and arguments together. Linux rejects about 2 MiB.
pub const WORDS_BYTES_MAX: usize = 1536 << 10;
/// The prefix of the variables for an event's values; the key follows. No setting starts with it.
pub const EVENT_PREFIX: &str = "WAYPOST_EVENT_DATA_";
/// The other variables that a run sets for a program, except `WAYPOST_URL`, which is a setting of
/// `ctl`.
pub const RUN_VARIABLES: [&str; 6] = [
    "WAYPOST_ATTEMPT",
    "WAYPOST_EVENT_ID",
    "WAYPOST_EVENT_TYPE",
    "WAYPOST_IDEMPOTENCY_KEY",
    "WAYPOST_RUN_ID",
    "WAYPOST_TOKEN",
];

/// The parts of the service and the machine that actions see.
#[derive(Clone, Copy)]
pub struct ActionContext<'a> {
    /// The project's folder.
    pub project: &'a Path,
    /// The folder of the running program: commands are looked up there first, so that `ctl` in a
    /// flow is the one of this service.
    pub programs: &'a Path,
    /// The environment of the service. Only the variables in [`INHERITED`] are passed on.
    pub inherited: &'a [(String, String)],
    /// The URL of the service, for `WAYPOST_URL`.
    pub url: &'a str,
    /// The run's own token, for `WAYPOST_TOKEN`. It is masked in output, like secrets.
    pub token: &'a str,
    /// Looks up a secret.
    pub secret: &'a dyn Fn(&str) -> Option<String>,
    /// See [`Program::grace`].
    pub grace: Duration,
}

impl ActionContext<'_> {
    /// The secret of this name.
    pub(crate) fn secret(&self, name: &str) -> Result<String, Unready> {
        (self.secret)(name).ok_or_else(|| Unready(format!("no secret {name}")))
    }
}

impl std::fmt::Debug for ActionContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActionContext")
            .field("project", &self.project)
            .field("programs", &self.programs)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Why an action cannot start, for people. Retrying would change nothing:
/// [`Outcome::Refused`](crate::Outcome::Refused).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unready(pub(crate) String);

impl Unready {
    /// A value could be more than a word for a shell.
    pub(crate) fn not_plain(key: &str, why: &str) -> Self {
        let variable = variable(key);
        Self(format!(
            "data.{key} {why}: a value in a command is up to 1024 letters, digits, marks and _ . / : @ % + -; for another text, use exec, or \"${EVENT_PREFIX}{variable}\" in quotes; or declare its type in trigger.data, so that other events do not match"
        ))
    }
}

impl From<Unready> for Report {
    fn from(why: Unready) -> Self {
        Self::new(Outcome::Refused, why.0)
    }
}

/// An action for an event.
pub(crate) struct Call<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) action: &'a Action,
    pub(crate) event: &'a Event,
    pub(crate) run: &'a str,
    pub(crate) attempt: u32,
    pub(crate) key: &'a str,
}

impl Call<'_> {
    pub(crate) fn program(
        &self,
        around: &ActionContext<'_>,
        program: &Path,
        arguments: Vec<String>,
    ) -> Result<Program, Unready> {
        let folder = self.action.cwd.as_ref().or(self.flow.cwd.as_ref());
        let folder = folder_within(around.project, folder)?;
        let mut secrets = vec![around.token.to_owned()];
        let variables = self.variables(around, &mut secrets)?;
        let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
        let path: PathBuf = executable(program, path.unwrap_or_default(), &folder)?;
        check_size(&arguments, &variables)?;
        Ok(Program {
            path,
            arguments,
            variables,
            folder,
            input: event_json(self.event).into_bytes(),
            timeout: self.action.timeout.0,
            grace: around.grace,
            secrets,
        })
    }

    /// The whole environment. Later entries replace earlier ones, and the service's own variables
    /// replace all others.
    fn variables(
        &self,
        around: &ActionContext<'_>,
        secrets: &mut Vec<String>,
    ) -> Result<Vec<(String, String)>, Unready> {
        let mut all = Environment::default();
        for (name, value) in around.inherited {
            let is_locale = name == "LANG" || name == "LC_ALL";
            if INHERITED.contains(&name.as_str()) && (!is_locale || is_utf8(value)) {
                all.set(name, value.clone());
            }
        }
        for (name, value) in self.flow.env.0.iter().chain(&self.action.env.0) {
            all.set(name, value.clone());
        }
        for name in self.flow.secrets.union(&self.action.secrets) {
            let value = around.secret(name)?;
            secrets.push(value.clone());
            all.set(name, value);
        }
        let own = around.programs.display().to_string();
        let path = match all.get("PATH") {
            Some(path) if !path.is_empty() => format!("{own}:{path}"),
            _ => format!("{own}:/usr/local/bin:/usr/bin:/bin"),
        };
        all.set("PATH", path);
        // The value of a_b counts, not that of a-b.
        let (other, own): (Vec<_>, Vec<_>) =
            self.event.data.iter().partition(|(name, _)| name.contains('-'));
        for (name, value) in other.into_iter().chain(own) {
            all.set(&format!("{EVENT_PREFIX}{}", variable(name)), value.to_string());
        }
        for (name, value) in [
            ("WAYPOST_EVENT_ID", self.event.id.to_string()),
            ("WAYPOST_EVENT_TYPE", self.event.kind.to_string()),
            ("WAYPOST_RUN_ID", self.run.to_owned()),
            ("WAYPOST_ATTEMPT", self.attempt.to_string()),
            ("WAYPOST_IDEMPOTENCY_KEY", self.key.to_owned()),
            ("WAYPOST_URL", around.url.to_owned()),
            ("WAYPOST_TOKEN", around.token.to_owned()),
        ] {
            all.set(name, value);
        }
        Ok(all.0)
    }
}

/// A key as a part of the name of a variable.
fn variable(key: &str) -> String {
    key.replace('-', "_")
}

/// Whether the texts of a locale are UTF-8, or ASCII. A shell with another one reads other
/// characters.
fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    matches!(locale.as_str(), "" | "c" | "posix")
        || locale.contains("utf-8")
        || locale.contains("utf8")
}

/// Names, each once.
#[derive(Default)]
struct Environment(Vec<(String, String)>);

impl Environment {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &str, value: String) {
        self.0.retain(|(it, _)| it != name);
        self.0.push((name.to_owned(), value));
    }
}

fn check_size(arguments: &[String], variables: &[(String, String)]) -> Result<(), Unready> {
    let variables = variables.iter().map(|(name, value)| name.len() + 1 + value.len());
    // Each word has a terminating byte and a pointer.
    let words = arguments.iter().map(String::len).chain(variables).map(|len| len + 9);
    let (mut all, mut longest) = (0, 0);
    for word in words {
        all += word;
        longest = longest.max(word);
    }
    for (bytes, limit) in [(longest, WORD_BYTES_MAX), (all, WORDS_BYTES_MAX)] {
        if bytes > limit {
            let why =
                format!("the variables and arguments have {bytes} bytes; the limit is {limit}");
            return Err(Unready(why));
        }
    }
    Ok(())
}

/// A folder within the project, also after every symbolic link is followed.
fn folder_within(project: &Path, folder: Option<&ProjectPath>) -> Result<PathBuf, Unready> {
    let text = folder.map_or(".", ProjectPath::as_str);
    let wrong = |problem: &str| Unready(format!("cwd: {text} {problem}"));
    let project = project.canonicalize().map_err(|error| wrong(&format!("not found: {error}")))?;
    let folder = project.join(text);
    let folder = folder.canonicalize().map_err(|error| wrong(&format!("not found: {error}")))?;
    if !folder.starts_with(&project) {
        return Err(wrong("is outside the project"));
    }
    if folder.is_dir() { Ok(folder) } else { Err(wrong("is not a folder")) }
}

/// The file of a program: it is looked up here, because a lookup by the system in a changed `PATH`
/// costs a fork.
fn executable(program: &Path, path: &str, folder: &Path) -> Result<PathBuf, Unready> {
    let is_executable = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    let found = if program.components().count() > 1 || program.is_absolute() {
        Some(folder.join(program)).filter(is_executable)
    } else {
        let folders = path.split(':').filter(|part| part.starts_with('/'));
        folders.map(|folder| Path::new(folder).join(program)).find(is_executable)
    };
    found.ok_or_else(|| Unready(format!("no program {} in PATH", program.display())))
}

/// The first action that would run for the event and cannot, because of the event's values, and
/// why. Only the event has values for actions, so this is known before the first one starts.
pub(crate) fn unready(flow: &Flow, event: &Event) -> Option<String> {
    (0_u16..).zip(&flow.actions).find_map(|(step, action)| {
        let call = Call { flow, action, event, run: "", attempt: 1, key: "" };
        let checked = if action.runs_for(event) { call.check() } else { Ok(()) };
        checked.err().map(|why| format!("{}: {why}", named(action, step)))
    })
}

/// An action for people.
pub(crate) fn named(action: &Action, step: u16) -> String {
    match &action.name {
        Some(name) => format!("action {} ({name})", step + 1),
        None => format!("action {}", step + 1),
    }
}
