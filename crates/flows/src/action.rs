//! What actions do: one module for each kind, and here what all kinds have in common.

mod emit;
mod exec;
mod http;
mod memory_add;
mod values;

use std::collections::BTreeSet;
use std::path::Path;

use waypost_events::{Data, EventType};

pub use self::emit::Emit;
pub use self::exec::Exec;
pub use self::http::Http;
pub use self::memory_add::MemoryAdd;
pub use self::values::{EmitValue, Values};
use crate::task::{ActionContext, Call, Unready};
use crate::{
    Action, Attempt, Command, Condition, DataTypes, OnInterrupt, Post, Program, ProjectPath, Retry,
    Shell, Span, Template, Variables,
};

/// What an action does.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A command for the shell.
    Command(Command),
    /// A program and its arguments, without a shell.
    Exec(Exec),
    /// Publishes an event.
    Emit(Emit),
    /// Posts to a web hook.
    Http(Http),
    /// Adds a memory.
    MemoryAdd(MemoryAdd),
}

/// What to do for an action and an event.
#[derive(Debug, Clone)]
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
    AddMemory(MemoryAdd<String>),
}

impl Kind {
    /// Whether it runs a program.
    pub fn runs_program(&self) -> bool {
        match self {
            Self::Command(_) | Self::Exec(_) => true,
            Self::Emit(_) | Self::Http(_) | Self::MemoryAdd(_) => false,
        }
    }

    /// The keys of values that must be plain although the flow declares no type for them.
    pub(crate) fn undeclared<'a>(&'a self, types: &'a DataTypes) -> BTreeSet<&'a str> {
        match self {
            Self::Command(it) => it.undeclared(types).collect(),
            Self::Exec(it) => it.undeclared(types).collect(),
            Self::Emit(_) | Self::Http(_) | Self::MemoryAdd(_) => BTreeSet::new(),
        }
    }
}

impl Attempt {
    /// The task of this attempt.
    ///
    /// # Errors
    /// If it cannot start. Nothing was done then.
    pub fn task(&self, around: &ActionContext<'_>) -> Result<Task, Unready> {
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

impl Call<'_> {
    pub(crate) fn task(&self, around: &ActionContext<'_>) -> Result<Task, Unready> {
        let data = &self.event.data;
        if let Some(mismatch) = self.flow.trigger.data.mismatches(data).next() {
            return Err(Unready(format!("{mismatch} as declared in trigger.data")));
        }
        Ok(match &self.action.kind {
            Kind::Command(it) => {
                let script = it.script(data, &self.flow.trigger.data)?;
                let shell = it.shell.unwrap_or(self.flow.shell);
                let exists = |text: &&&str| Path::new(text).exists();
                let path = shell.paths().iter().find(exists).ok_or_else(|| {
                    let why = "shell: bash needs /bin/bash or /usr/bin/bash; install bash, or write shell: sh";
                    Unready(why.to_owned())
                })?;
                Task::Run(self.program(around, Path::new(path), shell.arguments(script))?)
            }
            Kind::Exec(it) => {
                let (program, arguments) = (Path::new(&it.program), it.arguments(self)?);
                Task::Run(self.program(around, program, arguments)?)
            }
            Kind::Emit(it) => Task::Publish { kind: it.event.clone(), data: it.data(data)? },
            Kind::Http(it) => Task::Post(it.post(self, around)?),
            Kind::MemoryAdd(it) => Task::AddMemory(it.memory(data)?),
        })
    }

    /// Substitutes every value of the action, and nothing else.
    pub(crate) fn check(&self) -> Result<(), Unready> {
        let data = &self.event.data;
        match &self.action.kind {
            Kind::Command(it) => it.script(data, &self.flow.trigger.data).map(drop),
            Kind::Exec(it) => it.arguments(self).map(drop),
            Kind::Emit(it) => it.data(data).map(drop),
            Kind::Http(it) => {
                it.body(self.event)?;
                it.url(self.event).map(drop)
            }
            Kind::MemoryAdd(it) => it.memory(data).map(drop),
        }
    }
}

const TIMEOUT: Span = Span(std::time::Duration::from_secs(600));

/// An action as written in the file: which fields belong together is checked after parsing, so that
/// each field that is invalid in itself is reported at its own position.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fields {
    #[serde(rename = "type")]
    kind: KindName,
    name: Option<String>,
    #[serde(rename = "if")]
    condition: Option<Condition>,
    timeout: Option<Span>,
    #[serde(default)]
    retry: Retry,
    #[serde(default)]
    on_interrupt: OnInterrupt,
    #[serde(default)]
    continue_on_error: bool,
    #[serde(default)]
    env: Variables,
    #[serde(default)]
    secrets: BTreeSet<String>,
    cwd: Option<ProjectPath>,
    command: Option<Command>,
    shell: Option<Shell>,
    exec: Option<Vec<Template>>,
    allow_dash: Option<bool>,
    event: Option<EventType>,
    data: Option<Values>,
    url: Option<Template>,
    body: Option<Values>,
    sign: Option<String>,
    content: Option<Template>,
    title: Option<Template>,
    memory_type: Option<String>,
    tags: Option<Vec<Template>>,
    space: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
enum KindName {
    #[serde(rename = "command")]
    Command,
    #[serde(rename = "exec")]
    Exec,
    #[serde(rename = "emit")]
    Emit,
    #[serde(rename = "http")]
    Http,
    #[serde(rename = "memory.add")]
    MemoryAdd,
}

impl KindName {
    fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Exec => "exec",
            Self::Emit => "emit",
            Self::Http => "http",
            Self::MemoryAdd => "memory.add",
        }
    }

    /// The fields that only actions of this type have; the first one is required.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Command => &["command", "allow_dash", "shell"],
            Self::Exec => &["exec", "allow_dash"],
            Self::Emit => &["event", "data"],
            Self::Http => &["url", "body", "sign"],
            Self::MemoryAdd => &["content", "title", "memory_type", "tags", "space"],
        }
    }
}

impl Fields {
    /// The given fields that belong to one type of action.
    fn special(&self) -> Vec<&'static str> {
        [
            ("command", self.command.is_some()),
            ("shell", self.shell.is_some()),
            ("exec", self.exec.is_some()),
            ("allow_dash", self.allow_dash.is_some()),
            ("event", self.event.is_some()),
            ("data", self.data.is_some()),
            ("url", self.url.is_some()),
            ("body", self.body.is_some()),
            ("sign", self.sign.is_some()),
            ("content", self.content.is_some()),
            ("title", self.title.is_some()),
            ("memory_type", self.memory_type.is_some()),
            ("tags", self.tags.is_some()),
            ("space", self.space.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, there)| there.then_some(name))
        .collect()
    }

    pub(crate) fn action(mut self) -> Result<Action, String> {
        let name = self.kind.name();
        let known = self.kind.fields();
        if let Some(other) = self.special().into_iter().find(|special| !known.contains(special)) {
            return Err(format!(
                "an action of type {name} has no field {other}; expected {}",
                known.join(", ")
            ));
        }
        let missing = format!("an action of type {name} needs {}", known[0]);
        let kind = self.kind()?.ok_or(missing)?;
        if self.retry.max > 100 || !(1.0..=100.0).contains(&self.retry.factor) {
            return Err("retry: max is 0 to 100 and factor 1 to 100".to_owned());
        }
        Ok(Action {
            name: self.name,
            condition: self.condition,
            kind,
            timeout: self.timeout.unwrap_or(TIMEOUT),
            retry: self.retry,
            on_interrupt: self.on_interrupt,
            continue_on_error: self.continue_on_error,
            env: self.env,
            secrets: self.secrets,
            cwd: self.cwd,
        })
    }

    /// Nothing if the field is missing that defines what is done.
    fn kind(&mut self) -> Result<Option<Kind>, String> {
        let allow_dash = self.allow_dash.unwrap_or(false);
        Ok(match self.kind {
            KindName::Command => {
                let command = self.command.take();
                command.map(|command| {
                    Kind::Command(Command { allow_dash, shell: self.shell, ..command })
                })
            }
            KindName::Exec => {
                let exec = self.exec.take().map(|words| Exec::new(words, allow_dash));
                exec.transpose()?.map(Kind::Exec)
            }
            KindName::Emit => {
                let data = self.data.take().unwrap_or_default();
                let emit = self.event.take().map(|event| Emit::new(event, data));
                emit.transpose()?.map(Kind::Emit)
            }
            KindName::Http => {
                let http =
                    self.url.take().map(|url| Http::new(url, self.body.take(), self.sign.take()));
                http.transpose()?.map(Kind::Http)
            }
            KindName::MemoryAdd => self.content.take().map(|content| {
                Kind::MemoryAdd(MemoryAdd {
                    content,
                    title: self.title.take(),
                    kind: self.memory_type.take(),
                    tags: self.tags.take().unwrap_or_default(),
                    space: self.space.take(),
                })
            }),
        })
    }
}
