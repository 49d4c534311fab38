//! Reads a flow file, checks whether an event would start the flow, and shows what the shell would get.

use std::io::Write;

use anyhow::{Context, Result, ensure};
use waypost_events::{Data, EventType};
use waypost_flows::{Facts, Kind, Truth};

const FILE: &str = r#"
flows:
  - name: auto-merge
    trigger:
      pattern: "eval:*"
      condition: data.improved == "true" && data.delta > 0.1
    actions:
      - type: command
        command: echo merging {{data.pr_number}}
"#;

fn main() -> Result<()> {
    let flow = waypost_flows::parse(FILE)?.pop().context("a flow")?;
    let kind: EventType = "eval:scored".parse()?;
    ensure!(flow.trigger.pattern.matches(&kind));

    let mut data = Data::default();
    data.insert("improved", true)?;
    data.insert("delta", 0.25)?;
    data.insert("pr_number", 7)?;
    let facts = Facts { id: 1, kind: &kind, source: "example", depth: 0, data: &data };
    let condition = flow.trigger.condition.context("a condition")?;
    let mut out = std::io::stdout();
    for finding in condition.explain(&facts) {
        writeln!(out, "{}: {:?}, {}", finding.text, finding.truth, finding.because)?;
    }
    ensure!(condition.holds(&facts) == Truth::True);

    let Kind::Command(command) = &flow.actions[0].kind else { anyhow::bail!("a command") };
    ensure!(command.script(&data, &flow.trigger.data)? == "echo merging 7");
    // A value that is more than a word for a shell fails the run before it starts.
    let mut data = Data::default();
    data.insert("pr_number", "7; rm -rf ~")?;
    let error = command.script(&data, &flow.trigger.data).err().context("an error")?;
    writeln!(out, "{error}")?;

    let error = waypost_flows::parse(&FILE.replace("==", "=")).err().context("an error")?;
    writeln!(out, "{error}")?;
    ensure!((error.line, error.column) == (6, 18));
    Ok(())
}

#[test]
fn what_it_shows_holds() -> Result<()> {
    main()
}
