//! Commands about flows.

use clap::{Args, Subcommand};
use waypost_api::RunState;
use waypost_api::limits::LIMIT_MAX;

use super::names::names;
use crate::maintenance::FlowsCheckArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum FlowsCommand {
    /// List flows and flow files with their state
    #[command(after_help = "Example:\n  ctl flows list")]
    List,
    Check(FlowsCheckArgs),
    Test(FlowsTestArgs),
    Runs(FlowsRunsArgs),
    /// Show a run with the output of its programs
    #[command(after_help = "Example:\n  ctl flows show auto-merge.12")]
    Show(RunArgs),
    /// Resume a failed run at the failed action
    #[command(after_help = "Example:\n  ctl flows retry auto-merge.12")]
    Retry(RunArgs),
    /// Cancel a waiting or running run
    #[command(after_help = "Example:\n  ctl flows cancel auto-merge.12")]
    Cancel(RunArgs),
    Replay(FlowsReplayArgs),
    /// Explain for each flow whether an event triggers it
    #[command(after_help = "Example:\n  ctl flows why 12")]
    Why(FlowsWhyArgs),
    Allow(FlowsAllowArgs),
    Pause(FlowsPauseArgs),
    /// Resume a paused flow
    #[command(after_help = "Example:\n  ctl flows resume auto-merge")]
    Resume(FlowArgs),
}

/// Show what a flow would do for an event, without doing it
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl flows test auto-merge eval:scored --data improved=true,pr_number=412"
)]
pub(crate) struct FlowsTestArgs {
    /// Name of the flow
    pub(crate) flow: String,
    /// The event's type, as `namespace:name`
    pub(crate) event: String,
    /// The event's data, as `key=value,key=value`; may be repeated
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub(crate) data: Vec<String>,
    /// One key and its value, with any commas and quotes in it; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// List runs, newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows runs --flow auto-merge --state failed")]
pub(crate) struct FlowsRunsArgs {
    /// Only runs of this flow
    #[arg(long)]
    pub(crate) flow: Option<String>,
    /// Only runs in this state
    #[arg(long, value_parser = names::<RunState>())]
    pub(crate) state: Option<RunState>,
    /// Maximum number of results
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Id of the run, as `flow.event`
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct FlowArgs {
    /// Name of the flow
    pub(crate) flow: String,
}

/// Run a flow for past events
///
/// Evaluates the events again with the current definition of the flow. Shows how many events would trigger it, and asks
/// for confirmation.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl flows replay training-capture --after 100 --dry-run\n  ctl flows replay training-capture --after 100 --yes"
)]
pub(crate) struct FlowsReplayArgs {
    /// Name of the flow
    pub(crate) flow: String,
    /// Only events after this one [default: all stored events]
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<u64>,
    /// Up to and including this event [default: the newest]
    #[arg(long, value_name = "ID")]
    pub(crate) until: Option<u64>,
    /// Only show how many events would trigger the flow
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FlowsWhyArgs {
    /// Id of the event
    pub(crate) event: u64,
}

/// Approve a flow file and the programs it names
///
/// Shows what is new or changed, asks for confirmation, and approves exactly what it showed, as `ctl allow` does. With
/// --url, that service records the approval, which needs a token with the scope admin.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows allow self-driving.yaml")]
pub(crate) struct FlowsAllowArgs {
    /// The file's name in `.waypost/flows/`
    pub(crate) file: String,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Approve without asking, but only contents with this SHA-256; once for each file
    #[arg(long, value_name = "HEX", conflicts_with = "yes")]
    pub(crate) sha256: Vec<String>,
}

/// Pause a flow; new runs wait
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl flows pause auto-merge --why 'the host is down'")]
pub(crate) struct FlowsPauseArgs {
    /// Name of the flow
    pub(crate) flow: String,
    /// Reason, shown by `ctl flows list`
    #[arg(long)]
    pub(crate) why: Option<String>,
}
