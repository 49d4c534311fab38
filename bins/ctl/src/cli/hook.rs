//! `hook`: the commands that the hooks of agents call, and the hooks themselves.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use waypost_recall::Harness;

use super::mcp::ClientPlaceArgs;

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
    pub(crate) hook: HookArgs,
    #[command(flatten)]
    pub(crate) place: ClientPlaceArgs,
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
    pub(crate) harness: Harness,
}

/// Options of hooks that record.
#[derive(Debug, Clone, Args)]
pub(crate) struct HookRecordArgs {
    #[command(flatten)]
    pub(crate) hook: HookArgs,
    /// Record before the command ends, instead of in the background
    #[arg(long)]
    pub(crate) foreground: bool,
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
    let help = |it: Harness| match it {
        Harness::Claude => "Claude Code",
        Harness::Codex => "Codex",
        Harness::Cursor => "Cursor",
    };
    let values = Harness::ALL.map(|it| PossibleValue::new(it.as_str()).help(help(it)));
    PossibleValuesParser::new(values).try_map(|name| {
        Harness::ALL.into_iter().find(|it| it.as_str() == name).ok_or("unknown harness")
    })
}
