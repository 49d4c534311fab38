//! The commands of `ctl` that need no service: they open the stores, the approvals, or the cache of models.

mod allow;
mod backup;
mod cluster;
mod doctor;
mod failure;
mod flows;
mod model;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use waypost_cli::failure::{Failure, Result};
use waypost_cli::maintenance::{
    AllowArgs, BackupArgs, ClusterCommand, DoctorArgs, FlowsAllowArgs, FlowsCheckArgs,
    ModelCommand, RestoreArgs,
};
use waypost_cli::output::Output;
use waypost_cli::program::Program;
use waypost_cli::{Global, exit};
use waypost_context::Tracked;

/// The arguments of `ctl` for these commands. `ctl` has checked them, and has the help.
#[derive(Debug, Parser)]
#[command(name = "ctl", version)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Allow(AllowArgs),
    Backup(BackupArgs),
    #[command(subcommand)]
    Cluster(ClusterCommand),
    Doctor(DoctorArgs),
    #[command(subcommand)]
    Flows(FlowsCommand),
    #[command(subcommand)]
    Model(ModelCommand),
    Restore(RestoreArgs),
}

#[derive(Debug, Subcommand)]
enum FlowsCommand {
    Allow(FlowsAllowArgs),
    Check(FlowsCheckArgs),
}

/// Runs a command. The first of the arguments is the program's name.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Cli { global, command } = Cli::parse_from(arguments);
    waypost_cli::run(global, |program, output| command.run(program, output))
}

impl Command {
    fn run(self, program: &Program, output: &mut Output) -> Result<()> {
        match self {
            Self::Allow(args) => allow::run(program, &args, output),
            Self::Backup(args) => backup::backup(program, &args, output),
            Self::Cluster(command) => cluster::run(program, command, output),
            Self::Doctor(args) => doctor::doctor(program, &args, output),
            Self::Flows(FlowsCommand::Allow(args)) => allow::flow(program, args, output),
            Self::Flows(FlowsCommand::Check(args)) => flows::check(program, &args, output),
            Self::Model(command) => model::run(program, command, output),
            Self::Restore(args) => backup::restore(program, &args, output),
        }
    }
}

/// Rejects a store and tokens that are tracked by git: `git pull` overwrites ignored files.
fn refuse_tracked(program: &Program) -> Result<()> {
    let settings = program.preview()?;
    if settings.trust_project {
        return Ok(());
    }
    let project = program.project();
    let paths = project.private_paths(&settings.data_dir, &settings.token_file);
    let tracked = waypost_context::tracked_below(project.root(), &paths).map_err(|error| {
        Failure::of(&error)
            .while_doing("cannot check whether git tracks files of the store")
            .with_code(exit::NOT_ALLOWED)
    })?;
    match tracked {
        Tracked::Files(files) if !files.is_empty() => {
            Err(waypost_project::Error::Tracked { files }.into())
        }
        _ => Ok(()),
    }
}

/// Checks that an existing data folder is registered as this project's, and did not come with the repository.
fn check_data(program: &Program) -> Result<()> {
    program.settings()?;
    refuse_tracked(program)?;
    program.check_data()
}
