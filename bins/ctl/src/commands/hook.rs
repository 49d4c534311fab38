//! `hook`: what the hooks of agents call. It must never disturb the agent: it always exits with 0,
//! prints nothing on any failure, and ends in time, whatever waits.

mod input;
mod install;
mod record;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use waypost_api::{RecallBriefRequest, RecallCompactionRequest, RecallPromptRequest, routes};
use waypost_cli::Global;
use waypost_cli::exit;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::output::{Color, Output};
use waypost_cli::program::Program;
use waypost_recall::Harness;

use self::input::Input;
use crate::client_files::{Action, ClientPlaceArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Add the hooks to an agent's configuration file
    ///
    /// Replaces hooks that an earlier `install` wrote. Another hook that runs `ctl hook`, such as `A=1 ctl hook stop`, is
    /// shown, and nothing is changed without `--keep`. The rest of the file stays as it is, with comments.
    #[command(
        after_help = "Examples:\n  ctl hook install --harness claude\n  ctl --project ~/notes hook install --harness codex --user --dry-run"
    )]
    Install {
        #[command(flatten)]
        args: HookInstallArgs,
        /// Keep hooks that run `ctl hook` and that `install` did not write, instead of ours for the same event
        #[arg(long)]
        keep: bool,
    },
    /// Remove the hooks from an agent's configuration file
    #[command(after_help = "Example:\n  ctl hook remove --harness claude")]
    Remove(HookInstallArgs),
    #[command(flatten)]
    Event(HookEvent),
}

#[derive(Debug, Args)]
pub(crate) struct HookInstallArgs {
    #[command(flatten)]
    hook: HookArgs,
    #[command(flatten)]
    place: ClientPlaceArgs,
}

/// What happens in a session. Each reads the hook's JSON from standard input, and always exits with 0.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum HookEvent {
    /// Print the brief for a session that starts
    ///
    /// Prints nothing on any failure, and after one second.
    #[command(
        after_help = "Example:\n  echo '{\"session_id\":\"a\",\"source\":\"startup\"}' | ctl hook session-start --harness claude"
    )]
    SessionStart(HookArgs),
    /// Print memories that answer a prompt and that the session does not have
    ///
    /// Prints nothing if nothing is relevant, on any failure, and after 300 ms.
    #[command(
        after_help = "Example:\n  echo '{\"session_id\":\"a\",\"prompt\":\"which port does the service use?\"}' | ctl hook user-prompt --harness claude"
    )]
    UserPrompt(HookArgs),
    /// Record what was said since the last time, in the background
    #[command(
        after_help = "Example:\n  echo '{\"session_id\":\"a\",\"transcript_path\":\"/tmp/a.jsonl\"}' | ctl hook stop --harness claude"
    )]
    Stop(HookRecordArgs),
    /// Record what was said, and give the brief again after the compaction
    #[command(
        after_help = "Example:\n  echo '{\"session_id\":\"a\",\"transcript_path\":\"/tmp/a.jsonl\"}' | ctl hook pre-compact --harness claude"
    )]
    PreCompact(HookRecordArgs),
    /// Record what was said since the last time, in the background
    #[command(
        after_help = "Example:\n  echo '{\"session_id\":\"a\",\"transcript_path\":\"/tmp/a.jsonl\"}' | ctl hook session-end --harness claude"
    )]
    SessionEnd(HookRecordArgs),
}

/// Options of all hooks.
#[derive(Debug, Clone, Args)]
pub(crate) struct HookArgs {
    /// Program that calls the hook
    #[arg(long, value_name = "HARNESS", value_parser = harnesses())]
    harness: Harness,
}

/// Options of hooks that record.
#[derive(Debug, Clone, Args)]
pub(crate) struct HookRecordArgs {
    #[command(flatten)]
    hook: HookArgs,
    /// Record before the command ends, instead of in the background
    #[arg(long)]
    foreground: bool,
}

impl HookEvent {
    /// Its name on the command line.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::SessionStart(_) => "session-start",
            Self::UserPrompt(_) => "user-prompt",
            Self::Stop(_) => "stop",
            Self::PreCompact(_) => "pre-compact",
            Self::SessionEnd(_) => "session-end",
        }
    }

    /// The program that calls the hook.
    pub(crate) fn harness(&self) -> Harness {
        match self {
            Self::SessionStart(args) | Self::UserPrompt(args) => args.harness,
            Self::Stop(args) | Self::PreCompact(args) | Self::SessionEnd(args) => args.hook.harness,
        }
    }
}

fn harnesses() -> impl TypedValueParser<Value = Harness> {
    let help = |harness: Harness| match harness {
        Harness::Claude => "Claude Code",
        Harness::Codex => "Codex",
        Harness::Cursor => "Cursor",
    };
    let values = Harness::ALL.map(|it| PossibleValue::new(it.as_str()).help(help(it)));
    PossibleValuesParser::new(values).try_map(|name| {
        Harness::ALL.into_iter().find(|it| it.as_str() == name).ok_or("unknown harness")
    })
}

/// The time of a hook for which the user waits before an answer.
const PROMPT_TIME_MAX: Duration = Duration::from_millis(300);
/// The time of the other hooks.
const START_TIME_MAX: Duration = Duration::from_secs(1);
/// The time of recording, in the background.
const RECORD_TIME_MAX: Duration = Duration::from_secs(120);

/// Edits an agent's configuration file.
pub(super) fn run(program: &Program, command: HookCommand, output: &mut Output) -> Result<()> {
    match command {
        HookCommand::Install { args, keep } => {
            install::edit(program, &args, Action::Install { is_keeping: keep }, output)
        }
        HookCommand::Remove(args) => install::edit(program, &args, Action::Remove, output),
        // Answered before: a hook needs no project.
        HookCommand::Event(_) => Ok(()),
    }
}

/// Answers a hook. `started` is when the program started.
pub(crate) fn answer(mut global: Global, event: HookEvent, started: Instant) -> ExitCode {
    // The hook may go to another folder.
    for path in [&mut global.project, &mut global.token_file, &mut global.ca].into_iter().flatten()
    {
        if let Ok(absolute) = std::path::absolute(&*path) {
            *path = absolute;
        }
    }
    let (name, limit) = (event.name(), limit(&event));
    let mut output = Output::new(false, global.color);
    let (sender, receiver) = mpsc::sync_channel(1);
    let work = move || {
        // The receiver is gone once the time is over.
        drop(sender.send(respond(&global, &event, started + limit)));
    };
    let answer = match std::thread::Builder::new().name("hook".to_owned()).spawn(work) {
        Ok(_) => receiver.recv_timeout(limit.saturating_sub(started.elapsed())),
        Err(error) => Ok(Err(Failure::of(&error))),
    };
    let problem = match answer {
        Ok(Ok(Some(answer))) => {
            let line = format!("{answer}\n");
            let written = output.raw().write_all(line.as_bytes()).and_then(|()| output.finish());
            written.err().map(Failure::from)
        }
        Ok(Ok(None)) => None,
        Ok(Err(failure)) => Some(failure),
        Err(_) => Some(Failure::new(format!("did not end within {limit:?}"))),
    };
    if let Some(problem) = problem {
        let causes = problem.causes().iter().map(String::as_str);
        let all: Vec<&str> = std::iter::once(problem.message()).chain(causes).collect();
        output.note(&format!("ctl hook {name}: {}", all.join(": ")));
    }
    // Ends the thread, too.
    ExitCode::from(exit::DONE)
}

/// Whether a command line that is not valid is meant for a hook: then the agent must not see a
/// failure, and some take exit code 2 as a reason to stop.
pub(crate) fn is_meant(arguments: &[OsString], error: &clap::Error) -> bool {
    let Some(at) = arguments.iter().position(|argument| argument == "hook") else { return false };
    let of_people = ["install", "remove", "help", "--help", "-h"];
    match arguments.get(at + 1) {
        Some(next) => !of_people.iter().any(|name| next == *name),
        // Or it is a value, such as in `ctl get hook`.
        None => is_incomplete(error) && error.render().to_string().contains("Usage: ctl hook"),
    }
}

/// Whether the subcommand is missing: then the error is the help.
fn is_incomplete(error: &clap::Error) -> bool {
    use clap::error::ErrorKind;
    let kinds = [ErrorKind::MissingSubcommand, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
    kinds.contains(&error.kind())
}

/// Says in one line what is wrong with a hook's command line. The agent must not see a failure.
pub(crate) fn refuse(error: &clap::Error) -> ExitCode {
    let text = if is_incomplete(error) {
        "a subcommand is missing; `ctl hook --help` lists them".to_owned()
    } else {
        error.render().to_string()
    };
    let text = text.trim_start().trim_start_matches("error: ");
    let is_help =
        |text: &&str| text.starts_with("Usage:") || text.starts_with("For more information");
    let said: Vec<&str> =
        text.lines().take_while(|line| !is_help(line)).flat_map(str::split_whitespace).collect();
    Output::new(false, Color::Never).note(&format!("ctl hook: {}", said.join(" ")));
    ExitCode::from(exit::DONE)
}

fn limit(event: &HookEvent) -> Duration {
    match event {
        HookEvent::UserPrompt(_) => PROMPT_TIME_MAX,
        HookEvent::Stop(args) | HookEvent::PreCompact(args) | HookEvent::SessionEnd(args)
            if args.foreground =>
        {
            RECORD_TIME_MAX
        }
        _ => START_TIME_MAX,
    }
}

/// The JSON to print, if any.
fn respond(global: &Global, event: &HookEvent, deadline: Instant) -> Result<Option<Value>> {
    let input = Input::read()?;
    if input.is_of_sub_agent() {
        return Ok(None);
    }
    if global.project.is_none() {
        input.enter_folder();
    }
    let harness = event.harness();
    let args = match event {
        HookEvent::SessionStart(_) | HookEvent::UserPrompt(_) => None,
        HookEvent::Stop(args) | HookEvent::PreCompact(args) | HookEvent::SessionEnd(args) => {
            Some(args)
        }
    };
    if let Some(args) = args
        && !args.foreground
        && !matches!(event, HookEvent::PreCompact(_))
    {
        // In the background, no reader sees an error.
        input.session()?;
        record::in_background(global, event.name(), harness, &input)?;
        return Ok(None);
    }
    let program = Program::of_agent(global.clone())?;
    let settings = program.settings()?.recall;
    let left = deadline.saturating_duration_since(Instant::now());
    let client = || Ok::<_, Failure>(program.client()?.with_answer_time_max(left));
    let (session, harness_name) = (input.session()?.to_owned(), harness.as_str().to_owned());
    match event {
        HookEvent::SessionStart(_) if settings.inject => {
            let source = input.source();
            let request =
                RecallBriefRequest { session, harness: harness_name, source, space: None };
            let brief = client()?.call(&routes::BRIEF_SESSION, &request)?;
            Ok(context(harness, "SessionStart", &brief.text))
        }
        HookEvent::UserPrompt(_) if settings.inject => {
            let prompt = input.prompt()?;
            let request =
                RecallPromptRequest { session, harness: harness_name, prompt, space: None };
            let recalled = client()?.call(&routes::RECALL_FOR_PROMPT, &request)?;
            Ok(context(harness, "UserPromptSubmit", &recalled.text))
        }
        HookEvent::SessionStart(_) | HookEvent::UserPrompt(_) => Ok(None),
        HookEvent::PreCompact(args) => {
            if settings.inject {
                let request =
                    RecallCompactionRequest { session, harness: harness_name, space: None };
                client()?.call(&routes::NOTE_COMPACTION, &request)?;
            }
            if args.foreground {
                record::now(&program, harness, &input)?;
            } else {
                // The background needs not note the compaction once more.
                record::in_background(global, "stop", harness, &input)?;
            }
            Ok(None)
        }
        HookEvent::Stop(_) | HookEvent::SessionEnd(_) => {
            record::now(&program, harness, &input)?;
            Ok(None)
        }
    }
}

/// A text for the model, as that harness takes it from a hook.
fn context(harness: Harness, event: &str, text: &str) -> Option<Value> {
    if text.is_empty() {
        return None;
    }
    Some(match (harness, event) {
        (Harness::Claude | Harness::Codex, _) => json!({
            "hookSpecificOutput": { "hookEventName": event, "additionalContext": text },
        }),
        (Harness::Cursor, "UserPromptSubmit") => {
            json!({ "continue": true, "additional_context": text })
        }
        (Harness::Cursor, _) => json!({ "additional_context": text }),
    })
}
