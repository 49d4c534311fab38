//! `flows test`: shows what a flow would do.

use clap::Args;
use waypost_api::{FlowTestRequest, PlannedAction, routes};
use waypost_cli::failure::Result;
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;

use super::explain;
use crate::commands::events;

/// Show what a flow would do for an event, without doing it
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl flows test auto-merge eval:scored --data improved=true,pr_number=412"
)]
pub(crate) struct FlowsTestArgs {
    /// Name of the flow
    flow: String,
    /// The event's type, as `namespace:name`
    event: String,
    /// The event's data, as `key=value,key=value`; may be repeated
    #[arg(long, value_name = "KEY=VALUE,...")]
    data: Vec<String>,
    /// One key and its value, with any commas and quotes in it; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

pub(super) fn test(program: &Program, args: &FlowsTestArgs, output: &mut Output) -> Result<()> {
    let data = events::data(&args.data, &args.set)?;
    let request = FlowTestRequest { kind: args.event.clone(), data };
    let tested = program.client()?.call(&routes::TEST_FLOW.at(&args.flow), &request)?;
    if output.json(&tested)? {
        return Ok(());
    }
    if let Some(failure) = &tested.failure {
        let would = "the run would fail before its first action: ";
        output.styled(&[(Look::Bad, would), (Look::Plain, failure)])?;
        return explain(&tested.why, output);
    }
    explain(&tested.why, output)?;
    for (idx, action) in tested.actions.iter().enumerate() {
        let name = action.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        let condition = action.condition.as_ref().map(|condition| format!(", if: {condition}"));
        let head = format!("action {}{name}{}", idx + 1, condition.unwrap_or_default());
        output.styled(&[(Look::Bold, &head)])?;
        show(action, output)?;
    }
    Ok(())
}

fn show(action: &PlannedAction, output: &mut Output) -> Result<()> {
    if let Some(problem) = &action.problem {
        output.styled(&[(Look::Bad, "  it could not start: "), (Look::Plain, problem)])?;
    }
    for (verb, object) in action.sentences() {
        let verb = format!("  {verb} ");
        if object.contains('\n') {
            output.styled(&[(Look::Dim, &verb)])?;
            output.text(&indented(&object))?;
        } else {
            output.styled(&[(Look::Dim, &verb), (Look::Plain, &object)])?;
        }
    }
    if let Some(program) = &action.program {
        for argument in &program.arguments {
            output.text(&indented(argument))?;
        }
        let own = |name: &str| name.starts_with("WAYPOST_");
        for (name, value) in program.variables.iter().filter(|(name, _)| own(name)) {
            let line = format!("  {name}={value}");
            output.styled(&[(Look::Dim, &line)])?;
        }
    }
    Ok(())
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}
