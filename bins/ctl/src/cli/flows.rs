//! Commands about flows.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use waypost_api::RunState;

#[derive(Debug, Subcommand)]
pub(crate) enum FlowsCommand {
    /// List flows and flow files, and how they are doing
    #[command(after_help = "Example:\n  ctl flows list")]
    List,
    Check(FlowsCheckArgs),
    Test(FlowsTestArgs),
    Runs(FlowsRunsArgs),
    /// Show a run, with what its programs wrote
    #[command(after_help = "Example:\n  ctl flows show auto-merge.12")]
    Show(RunArgs),
    /// Have a run that failed go on with the action that it was at
    #[command(after_help = "Example:\n  ctl flows retry auto-merge.12")]
    Retry(RunArgs),
    /// End a run, whatever it does or waits for
    #[command(after_help = "Example:\n  ctl flows cancel auto-merge.12")]
    Cancel(RunArgs),
    Replay(FlowsReplayArgs),
    /// Tell what each flow makes of an event
    #[command(after_help = "Example:\n  ctl flows why 12")]
    Why(FlowsWhyArgs),
    Allow(FlowsAllowArgs),
    Pause(FlowsPauseArgs),
    /// Take a paused flow up again
    #[command(after_help = "Example:\n  ctl flows resume auto-merge")]
    Resume(FlowArgs),
}

/// Say what is wrong with flow files, by line and column
///
/// Needs no service. Without files those of the project are checked.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows check .waypost/flows/self-driving.yaml")]
pub(crate) struct FlowsCheckArgs {
    /// The files; `-` is standard input
    pub(crate) files: Vec<PathBuf>,
}

/// Tell what a flow would do for an event; nothing is done
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl flows test auto-merge eval:scored --data improved=true,pr_number=412"
)]
pub(crate) struct FlowsTestArgs {
    /// The flow
    pub(crate) flow: String,
    /// What would have happened, as `namespace:name`
    pub(crate) event: String,
    /// What there would be to say, as `key=value,key=value`; may be repeated
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub(crate) data: Vec<String>,
    /// One key and its value, with everything in it as it is; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// List runs, the newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows runs --flow auto-merge --state failed")]
pub(crate) struct FlowsRunsArgs {
    /// Only of this flow
    #[arg(long)]
    pub(crate) flow: Option<String>,
    /// Only in this state: quiet, retrying, queued, running, succeeded, failed, dead, skipped, cancelled
    #[arg(long, value_parser = state)]
    pub(crate) state: Option<RunState>,
    /// How many at most
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) limit: Option<u64>,
}

fn state(text: &str) -> Result<RunState, String> {
    RunState::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = RunState::ALL.iter().map(|it| it.as_str()).collect();
        format!("a state is one of {}", names.join(", "))
    })
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The run, as `flow.event`
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct FlowArgs {
    /// The flow
    pub(crate) flow: String,
}

/// Run a flow for past events
///
/// The events are decided anew, by the flow as it is in force now. Says for how many events it would run, and asks.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl flows replay training-capture --after 100 --dry-run\n  ctl flows replay training-capture --after 100 --yes"
)]
pub(crate) struct FlowsReplayArgs {
    /// The flow
    pub(crate) flow: String,
    /// Events after this one; by default all that are kept
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<u64>,
    /// Up to and with this one; by default the last one
    #[arg(long, value_name = "ID")]
    pub(crate) until: Option<u64>,
    /// Only tell for how many events it would run
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FlowsWhyArgs {
    /// The event
    pub(crate) event: u64,
}

/// Approve a flow file and the programs that it names
///
/// Shows what is new or has changed, asks, and records exactly what it showed, as `ctl allow` does. With --url it is the
/// service there that records it, which needs a token with the scope admin.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows allow self-driving.yaml")]
pub(crate) struct FlowsAllowArgs {
    /// The file's name in `.waypost/flows/`
    pub(crate) file: String,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Do not ask, but approve only contents with this SHA-256; once for each file
    #[arg(long, value_name = "HEX", conflicts_with = "yes")]
    pub(crate) sha256: Vec<String>,
}

/// Begin nothing of a flow; its runs wait
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows pause auto-merge --why 'the host is down'")]
pub(crate) struct FlowsPauseArgs {
    /// The flow
    pub(crate) flow: String,
    /// Why
    #[arg(long)]
    pub(crate) why: Option<String>,
}
