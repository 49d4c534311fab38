use waypost_flows::FlowFile;

/// The YAML blocks of a page.
fn blocks(page: &str) -> Vec<String> {
    let parts = page.split("```yaml\n").skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_file_of_the_cookbook_is_one() {
    let page = include_str!("../../../../docs/flows.md");
    let files = blocks(page);
    assert_eq!(files.len(), 6);
    for text in &files {
        let file =
            FlowFile::new("cookbook.yaml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(file.flows().count() > 0);
    }
}

/// The flows of the example, and the forms in other tests and pages, as they were written before
/// there were types.
#[test]
fn what_worked_without_types_still_does() {
    let text = include_str!("../../../../examples/self-driving/self-driving.yaml");
    let file = FlowFile::new("self-driving.yaml", text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(file.flows().count(), 9);
    for command in [
        "gh pr merge {{data.pr_number}}",
        "gh pr merge {{data.pr_number}} --squash",
        "ctl emit b:c --set \"who={{data.who}}\"; echo passed on {{data.who}}; test {{data.who}} != nobody",
        "echo {{data.n}} >> numbers",
        "printf '%s\n' {{data.agent}} >> agents",
        "echo said {{data.n}}; echo complained >&2; test -e well",
        "gh pr list --state merged > summary.txt",
        "gh workflow run experiment.yml -f metric={{data.metric}}",
        "gh workflow run fix.yml -f service={{data.service}}",
        "gh issue create --title \"Friction on {{data.page}}\" --body \"{{data.message | default(\"\")}}\"",
        "gh pr review {{data.pr_number}} --request-changes --body \"{{data.blockers}} blockers\"",
        "gh issue create --title {{data.title}} --body \"from {{data.peer}}\"",
    ] {
        command
            .parse::<waypost_flows::Command>()
            .unwrap_or_else(|error| panic!("{command}: {error}"));
    }
}

#[test]
fn the_page_names_every_limit_as_it_is() {
    let page = include_str!("../../../../docs/flows.md");
    for text in [
        format!("more than {} runs led to", waypost_flows::DEPTH_MAX),
        format!("at most {} bytes", waypost_flows::CONDITION_BYTES_MAX),
        format!(
            "and {} flows, a folder {} files",
            waypost_flows::FLOWS_MAX,
            waypost_flows::FILES_MAX
        ),
        format!("the first {} KiB", waypost_flows::HEAD_BYTES_MAX >> 10),
        format!("the last {} KiB", waypost_flows::TAIL_BYTES_MAX >> 10),
    ] {
        assert!(page.contains(&text), "{text}");
    }
    for name in waypost_flows::INHERITED {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}
