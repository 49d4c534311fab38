//! Finds a project's folder and resolves its settings: flag, else variable, else file, else default.

use std::fs;
use std::io::Write;

use anyhow::{Result, ensure};
use waypost_project::{Flag, Origin, Project, Settings, Sources};

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let deep = folder.path().join("src/deep");
    fs::create_dir_all(&deep)?;
    fs::create_dir(folder.path().join(".waypost"))?;
    fs::write(folder.path().join(".waypost/config.yaml"), "log:\n  level: warn\n")?;

    // The nearest parent folder with `.waypost`, else with `.git`, else the start folder.
    let project = Project::find(&deep)?;
    ensure!(project.config_file().exists(), "the file that was just written");

    // Flags and variables are arguments: the library reads neither.
    let settings = Settings::resolve(
        &Sources::new(&project, &deep, &|name| {
            (name == "WAYPOST_MODEL_FETCH").then(|| "false".into())
        })
        .with_flags(&[Flag::new("listen", "--listen", "127.0.0.1:5000")]),
    )?;
    for row in settings.table().iter().take(4) {
        writeln!(std::io::stdout(), "{:12} {} (from {:?})", row.key, row.value, row.origin)?;
    }

    ensure!(settings.listen.port() == 5000, "the flag comes first");
    ensure!(!settings.model.fetch, "then the variable");
    ensure!(settings.log.level == "warn", "then the file");
    ensure!(settings.origin("data_dir") == Some(&Origin::Default), "then the default");
    Ok(())
}

#[test]
fn what_it_shows_holds() -> Result<()> {
    main()
}
