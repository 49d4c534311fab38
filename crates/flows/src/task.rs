//! From an action and an event to a task, with every value in its place.

mod folder;
mod ready;

use std::path::{Path, PathBuf};
use std::time::Duration;

use waypost_events::{Data, Event, EventType, InvalidData, Value};

use self::folder::{executable, folder_within};
pub(crate) use self::ready::unready;
use crate::command::{VALUE_PREFIX, rules};
use crate::definition::words_of;
use crate::encode::{UPPER, event_json, object_json, percent_encoded};
use crate::webhook::Post;
use crate::{
    Action, Attempt, EmitValue, Flow, Kind, Mismatch, MissingKey, Outcome, Program, Report,
    Template, Values,
};

/// Variables that processes inherit from the service, if they exist.
pub const INHERITED: [&str; 8] =
    ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "SHELL", "TMPDIR"];
/// The longest value of a variable, and the longest argument. Linux rejects one of 128 KiB.
pub const WORD_BYTES_MAX: usize = (128 << 10) - 1;
/// The limit for all variables and arguments together. Linux rejects about 2 MiB.
pub const WORDS_BYTES_MAX: usize = 1536 << 10;
/// The prefix of the variables for an event's values; the key follows. No setting starts with it.
pub const EVENT_PREFIX: &str = "WAYPOST_EVENT_DATA_";
/// Prefixes of the variables that a run sets for a program and that are not settings; `WAYPOST_URL`
/// and `WAYPOST_TOKEN` are set in addition, for `ctl`.
pub const RUN_PREFIXES: [&str; 5] = [
    "WAYPOST_EVENT_",
    VALUE_PREFIX,
    "WAYPOST_RUN_ID",
    "WAYPOST_ATTEMPT",
    "WAYPOST_IDEMPOTENCY_KEY",
];
const SHELL: &str = "/bin/sh";

/// The parts of the service and the machine that actions see.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
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

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings")
            .field("project", &self.project)
            .field("programs", &self.programs)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// What to do for an action.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Task {
    /// Run a program, by [`run_program`](crate::run_program).
    Run(Program),
    /// Publish an event, with the attempt's lineage and idempotency key.
    Publish {
        /// Its type.
        kind: EventType,
        /// Its data.
        data: Data,
    },
    /// Post to a web hook.
    Post(Post),
    /// Add a memory. Adding the same one twice stores it once.
    AddMemory(NewMemory),
}

/// A memory to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    /// Its text.
    pub content: String,
    /// Its title, if not the first line of the text.
    pub title: Option<String>,
    /// Its type, if not `note`.
    pub kind: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its space, if not `default`.
    pub space: Option<String>,
}

/// Why an action cannot start. Retrying would change nothing:
/// [`Outcome::Refused`](crate::Outcome::Refused).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unready {
    /// The event lacks a value that the action needs.
    #[error(transparent)]
    Missing(#[from] MissingKey),
    /// A secret does not exist.
    #[error("no secret {0}")]
    Secret(String),
    /// The folder does not exist, or is not within the project.
    #[error("cwd: {folder} {problem}")]
    Folder {
        /// As written in the flow.
        folder: String,
        /// The problem.
        problem: String,
    },
    /// The program does not exist.
    #[error("no program {0} in PATH")]
    Program(String),
    /// A value would be read as an option.
    #[error(
        "{place} starts with -, because of an event's value: put -- before it, or write allow_dash: true in the action"
    )]
    Dash {
        /// The word.
        place: String,
    },
    /// A value is not of the type that the flow declares.
    #[error("{0}, not {kind} as declared in trigger.data", kind = .0.kind)]
    Type(Mismatch),
    /// A value would change where a URL leads.
    #[error("data.{0} is a dot segment of the URL, which would change its path")]
    DotSegment(String),
    /// The system would refuse to start it.
    #[error("the variables and arguments have {bytes} bytes; the limit is {limit}")]
    TooLarge {
        /// The size of one word, or of all.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The data of an event would be invalid.
    #[error("data of the event to publish: {0}")]
    Data(#[from] InvalidData),
}

impl From<Unready> for Report {
    fn from(why: Unready) -> Self {
        Self::new(Outcome::Refused, why.to_string())
    }
}

impl Attempt {
    /// The task of this attempt.
    ///
    /// # Errors
    /// If it cannot start. Nothing was done then.
    pub fn task(&self, around: &Surroundings<'_>) -> Result<Task, Unready> {
        let call = Call {
            flow: self.flow(),
            action: self.action(),
            event: &self.event,
            run: &self.id.run.to_string(),
            attempt: self.id.attempt,
            key: &self.idempotency_key,
        };
        call.task(around)
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
    pub(crate) fn task(&self, around: &Surroundings<'_>) -> Result<Task, Unready> {
        let data = &self.event.data;
        if let Some(mismatch) = self.flow.trigger.data.mismatches(data).next() {
            return Err(Unready::Type(mismatch));
        }
        match &self.action.kind {
            Kind::Command(command) => {
                let arguments = vec!["-c".to_owned(), command.script().to_owned()];
                self.program(around, Path::new(SHELL), arguments, command.checked_variables(data)?)
            }
            Kind::Exec { program, arguments, allow_dash } => {
                let arguments = self.arguments(program, arguments, *allow_dash)?;
                self.program(around, Path::new(program), arguments, Vec::new())
            }
            Kind::Emit { event, data: values } => {
                Ok(Task::Publish { kind: event.clone(), data: self.emitted(values)? })
            }
            Kind::Http { url, body, sign } => self.post(around, url, body.as_ref(), sign.as_ref()),
            Kind::MemoryAdd { content, title, kind, tags, space } => {
                Ok(Task::AddMemory(NewMemory {
                    content: content.render(data)?,
                    title: title.as_ref().map(|it| it.render(data)).transpose()?,
                    kind: kind.clone(),
                    tags: tags.iter().map(|it| it.render(data)).collect::<Result<_, _>>()?,
                    space: space.clone(),
                }))
            }
        }
    }

    fn value(&self, value: &EmitValue) -> Result<Value, MissingKey> {
        Ok(match value {
            EmitValue::Text(text) => text.render(&self.event.data)?.into(),
            EmitValue::Number(number) => Value::Number(*number),
        })
    }

    fn emitted(&self, values: &Values) -> Result<Data, Unready> {
        let mut data = Data::default();
        for (name, value) in &values.0 {
            data.insert(name, self.value(value)?)?;
        }
        Ok(data)
    }

    fn arguments(
        &self,
        program: &str,
        words: &[Template],
        allow_dash: bool,
    ) -> Result<Vec<String>, Unready> {
        let texts = words.iter().map(|it| it.render(&self.event.data));
        let texts = texts.collect::<Result<Vec<String>, MissingKey>>()?;
        let leads = rules::leads(&words_of(program, words, &self.flow.trigger.data));
        let dashed = leads.iter().find(|(idx, _)| texts[idx - 1].starts_with('-'));
        match dashed.filter(|_| !allow_dash) {
            Some((idx, _)) => Err(Unready::Dash { place: format!("argument {idx}") }),
            None => Ok(texts),
        }
    }

    fn post(
        &self,
        around: &Surroundings<'_>,
        url: &Template,
        body: Option<&Values>,
        sign: Option<&String>,
    ) -> Result<Task, Unready> {
        let body = self.body(body)?;
        let secret = sign.map(|it| secret(around, it)).transpose()?;
        let url = self.url(url)?;
        let (id, timeout) = (self.key.to_owned(), self.action.timeout.0);
        Ok(Task::Post(Post { url, id, body, secret, timeout }))
    }

    fn body(&self, body: Option<&Values>) -> Result<String, MissingKey> {
        let Some(values) = body else { return Ok(event_json(self.event)) };
        let values = values.0.iter().map(|(name, it)| Ok((name.as_str(), self.value(it)?)));
        Ok(object_json(&values.collect::<Result<Vec<_>, MissingKey>>()?))
    }

    /// The URL with its values escaped. A value that is a whole segment of the path cannot be `.`
    /// or `..`, which are not names and cannot be escaped (RFC 3986, section 3.3).
    fn url(&self, url: &Template) -> Result<String, Unready> {
        let text = url.render_with(&self.event.data, |it| percent_encoded(&it, UPPER))?;
        let path = text.split(['?', '#']).next().unwrap_or_default();
        let is_dots = path.split('/').any(|it| it == "." || it == "..");
        match url.references().next() {
            Some(first) if is_dots => Err(Unready::DotSegment(first.key.clone())),
            _ => Ok(text),
        }
    }

    fn program(
        &self,
        around: &Surroundings<'_>,
        program: &Path,
        arguments: Vec<String>,
        values: Vec<(String, String)>,
    ) -> Result<Task, Unready> {
        let folder = self.action.cwd.as_ref().or(self.flow.cwd.as_ref());
        let folder = folder_within(around.project, folder)?;
        let mut secrets = vec![around.token.to_owned()];
        let variables = self.variables(around, values, &mut secrets)?;
        let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
        let path: PathBuf = executable(program, path.unwrap_or_default(), &folder)?;
        check_size(&arguments, &variables)?;
        Ok(Task::Run(Program {
            path,
            arguments,
            variables,
            folder,
            input: event_json(self.event).into_bytes(),
            timeout: self.action.timeout.0,
            grace: around.grace,
            secrets,
        }))
    }

    /// The whole environment. Later entries replace earlier ones, and the service's own variables
    /// replace all others.
    fn variables(
        &self,
        around: &Surroundings<'_>,
        values: Vec<(String, String)>,
        secrets: &mut Vec<String>,
    ) -> Result<Vec<(String, String)>, Unready> {
        let mut all = Environment::default();
        for (name, value) in around.inherited {
            if INHERITED.contains(&name.as_str()) {
                all.set(name, value.clone());
            }
        }
        for (name, value) in self.flow.env.0.iter().chain(&self.action.env.0) {
            all.set(name, value.clone());
        }
        for name in self.flow.secrets.union(&self.action.secrets) {
            let value = secret(around, name)?;
            secrets.push(value.clone());
            all.set(name, value);
        }
        let own = around.programs.display().to_string();
        let path = match all.get("PATH") {
            Some(path) if !path.is_empty() => format!("{own}:{path}"),
            _ => format!("{own}:/usr/local/bin:/usr/bin:/bin"),
        };
        all.set("PATH", path);
        for (name, value) in self.event.data.iter() {
            // Others are not valid variable names; they are in the event on standard input.
            if !name.contains('-') {
                all.set(&format!("{EVENT_PREFIX}{name}"), value.to_string());
            }
        }
        for (name, value) in values {
            all.set(&name, value);
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

fn secret(around: &Surroundings<'_>, name: &str) -> Result<String, Unready> {
    (around.secret)(name).ok_or_else(|| Unready::Secret(name.to_owned()))
}

fn check_size(arguments: &[String], variables: &[(String, String)]) -> Result<(), Unready> {
    let variables = variables.iter().map(|(name, value)| name.len() + 1 + value.len());
    // Each word has a terminating byte and a pointer.
    let words = arguments.iter().map(String::len).chain(variables).map(|it| it + 9);
    let (mut all, mut longest) = (0, 0);
    for word in words {
        all += word;
        longest = longest.max(word);
    }
    for (bytes, limit) in [(longest, WORD_BYTES_MAX), (all, WORDS_BYTES_MAX)] {
        if bytes > limit {
            return Err(Unready::TooLarge { bytes, limit });
        }
    }
    Ok(())
}
