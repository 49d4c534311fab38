use waypost_flows::{FlowFile, FlowSet};

/// The YAML of a page, each block on its own.
fn blocks(page: &str) -> Vec<String> {
    let parts = page.split("```yaml\n").skip(1);
    parts.map(|it| it.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_file_of_the_cookbook_is_one() {
    let page = include_str!("../../../../docs/flows.md");
    let files = blocks(page);
    assert_eq!(files.len(), 10);
    for text in &files {
        let file = FlowFile::new("cookbook.yaml", text).unwrap_or_else(|it| panic!("{it}\n{text}"));
        assert!(file.flows().count() > 0);
        assert!(FlowSet::new([&file]).rings().is_empty(), "{text}");
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
