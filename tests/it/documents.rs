//! Documents keep their promises: links lead somewhere, commands exist, invariants have their test.

use std::fs;
use std::path::Path;

use crate::{read, root, tracked};

#[test]
fn relative_links_in_markdown_lead_to_files() {
    let mut broken = Vec::new();
    for document in tracked(".md") {
        let text = read(&document);
        for target in link_targets(&text) {
            let path = target.split('#').next().unwrap_or_default();
            let is_elsewhere =
                path.is_empty() || path.contains("://") || path.starts_with("mailto:");
            let folder = document.parent().unwrap_or(Path::new(""));
            if !is_elsewhere && !root().join(folder).join(path).exists() {
                broken.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn scripts_that_documents_tell_to_run_exist_and_may_run() {
    let mut told = 0;
    for document in tracked(".md") {
        for command in commands(&read(&document)) {
            let program = command.split_whitespace().next().unwrap_or_default();
            if let Some(path) = program.strip_prefix("./") {
                let file = root().join(path);
                assert!(file.is_file(), "{} tells to run {program}", document.display());
                assert!(is_executable(&file), "{program} is not executable");
                told += 1;
            }
        }
    }
    assert!(told > 0, "the README tells to run at least one script");
}

#[test]
fn recipes_that_documents_name_are_in_the_justfile() {
    let justfile = read(Path::new("justfile"));
    let recipes: Vec<&str> = justfile
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '\t', '[']))
        .filter_map(|line| line.split_once(':'))
        .filter_map(|(head, _)| head.split_whitespace().next())
        .collect();
    for document in tracked(".md") {
        for command in commands(&read(&document)) {
            if let Some(recipe) = command.strip_prefix("just ") {
                let recipe = recipe.split_whitespace().next().unwrap_or_default();
                assert!(recipes.contains(&recipe), "{}: just {recipe}", document.display());
            }
        }
    }
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let architecture = read(Path::new("docs/architecture.md"));
    let sources: String = tracked(".rs").iter().map(|tracked| read(tracked)).collect();
    let mut invariants = 0;
    for line in architecture.lines().filter(|line| line.starts_with("| A")) {
        invariants += 1;
        assert!(
            line.starts_with(&format!("| A{invariants} |")),
            "A{invariants} is not here: {line}"
        );
        let kept_by = line.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let named: Vec<&str> = kept_by.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test is named: {line}");
        for test in named {
            assert!(sources.contains(&format!("fn {test}(")), "no test {test}: {line}");
        }
    }
    assert!(invariants > 0, "docs/architecture.md has no invariants");
}

#[test]
fn what_is_tried_against_the_browser_names_tests_that_exist() {
    let browser = read(Path::new("docs/browser.md"));
    let sources: String = tracked(".rs").iter().map(|tracked| read(tracked)).collect();
    let table =
        browser.split("## Hostile pages").nth(1).and_then(|part| part.split("\n## ").next());
    let rows: Vec<&str> =
        table.unwrap_or_default().lines().filter(|line| line.contains("| `")).collect();
    for row in &rows {
        for test in row.split('`').skip(1).step_by(2) {
            assert!(sources.contains(&format!("fn {test}(")), "no test {test}: {row}");
        }
    }
    assert!(rows.len() >= 16, "{} rows", rows.len());
}

/// Which registry or mirror serves packages is the reader's setting; only the lock file names one.
#[test]
fn no_file_names_a_package_registry() {
    let registries: Vec<String> = [["crates", "io"], ["pypi", "org"], ["pythonhosted", "org"]]
        .iter()
        .map(|parts| parts.join("."))
        .collect();
    let mut found = Vec::new();
    for file in tracked("") {
        let is_lock = file.file_name().is_some_and(|name| name == "Cargo.lock");
        let Ok(text) = fs::read_to_string(root().join(&file)) else { continue };
        if !is_lock && let Some(host) = registries.iter().find(|registry| text.contains(*registry))
        {
            found.push(format!("{} names {host}", file.display()));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// The targets of inline links outside code blocks.
fn link_targets(markdown: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut is_code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if !is_code {
            let ends = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            targets.extend(ends);
        }
    }
    targets
}

/// The commands of console blocks, without their prompt.
fn commands(markdown: &str) -> Vec<&str> {
    markdown.lines().filter_map(|line| line.trim_start().strip_prefix("$ ")).collect()
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}
