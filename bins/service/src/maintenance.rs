//! The commands of `ctl` that need no service: they open the stores, the approvals, or the cache of models.

mod allow;
mod backup;
mod cluster;
mod doctor;
mod failure;
mod flows;
mod model;

use waypost_ctl::failure::Result;
use waypost_ctl::maintenance::Maintenance;
use waypost_ctl::output::Output;
use waypost_ctl::program::Program;

pub(crate) fn run(program: &Program, command: Maintenance, output: &mut Output) -> Result<()> {
    match command {
        Maintenance::Allow(args) => allow::run(program, &args, output),
        Maintenance::Backup(args) => backup::backup(program, &args, output),
        Maintenance::Cluster(command) => cluster::run(program, command, output),
        Maintenance::Doctor(args) => doctor::doctor(program, &args, output),
        Maintenance::FlowsCheck(args) => flows::check(program, &args, output),
        Maintenance::Model(command) => model::run(program, command, output),
        Maintenance::Restore(args) => backup::restore(program, &args, output),
    }
}
