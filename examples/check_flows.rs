//! Reads a flow file, checks whether an event would start the flow, and shows what the shell would get.

use std::io::Write;

use anyhow::{Context, Result, ensure};
use waypost_events::{Data, Event, Lineage};
use waypost_flows::{Kind, Timestamp, Truth};

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
    let mut data = Data::default();
    data.insert("improved", true)?;
    data.insert("delta", 0.25)?;
    data.insert("pr_number", 7)?;
    let event = Event {
        id: 1,
        kind: "eval:scored".parse()?,
        data,
        time: Timestamp::EPOCH,
        source: "example".to_owned(),
        lineage: Lineage::default(),
        space: None,
    };
    ensure!(flow.trigger.pattern.matches(&event.kind));
    let condition = flow.trigger.condition.context("a condition")?;
    let mut out = std::io::stdout();
    for finding in condition.explain(&event) {
        writeln!(out, "{}: {:?}, {}", finding.text, finding.truth, finding.because)?;
    }
    ensure!(condition.holds(&event) == Truth::True);

    let Kind::Command(command) = &flow.actions[0].kind else { anyhow::bail!("a command") };
    ensure!(command.script(&event.data, &flow.trigger.data)? == "echo merging 7");
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
