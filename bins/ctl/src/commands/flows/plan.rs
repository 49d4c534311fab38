//! `flows test`: shows what a flow would do.

use std::io;

use waypost_api::{FlowTestRequest, PlannedAction};

use super::explain;
use crate::cli::FlowsTestArgs;
use crate::commands::events;
use crate::failure::Result;
use crate::output::{Look, Output};
use crate::program::Program;

pub(super) fn test(program: &Program, args: &FlowsTestArgs, output: &mut Output) -> Result<()> {
    let data = events::data(&args.data, &args.set)?;
    let request = FlowTestRequest { kind: args.event.clone(), data };
    let tested = program.client()?.test_flow(&args.flow, &request)?;
    if output.is_json() {
        output.document(&tested)?;
        return Ok(());
    }
    explain(&tested.why, output)?;
    for (idx, action) in tested.actions.iter().enumerate() {
        let name = action.name.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        let condition = action.condition.as_ref().map(|it| format!(", if: {it}"));
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
    if let Some(program) = &action.program {
        output.styled(&[(Look::Dim, "  runs "), (Look::Plain, &program.path)])?;
        for argument in &program.arguments {
            output.text(&indented(argument))?;
        }
        let own = |name: &str| name.starts_with("WAYPOST_");
        for (name, value) in program.variables.iter().filter(|(name, _)| own(name)) {
            let line = format!("  {name}={value}");
            output.styled(&[(Look::Dim, &line)])?;
        }
    }
    if let Some(event) = &action.event {
        let data = serde_json::to_string(&event.data).map_err(io::Error::from)?;
        let line = format!("  publishes {} {data}", event.kind);
        output.line(&line)?;
    }
    if let Some(post) = &action.post {
        output.line(&format!("  posts to {}: {}", post.url, post.body))?;
    }
    if let Some(memory) = &action.memory {
        output.line("  adds a memory:")?;
        output.text(&indented(&memory.content))?;
    }
    Ok(())
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|it| format!("    {it}")).collect();
    lines.join("\n")
}
