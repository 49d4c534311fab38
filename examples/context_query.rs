//! Project context for a task inside a program: no HTTP, no service, no model.

use std::fs;
use std::io::Write;
use std::time::SystemTime;

use anyhow::{Result, ensure};
use waypost_context::{Context, Kind, Options, Query, Source, TaskType, Timestamp};

fn main() -> Result<()> {
    // A project of three files; any folder can be a project.
    let project = tempfile::tempdir()?;
    let files = [
        (
            "docs/decisions/0007-lamp.md",
            "# An electric lamp\n\nOil smokes, so the lamp is electric.\n",
        ),
        ("journal/2026-11-20.md", "# 2026-11-20\n\nThe lamp failed; its fuse was replaced.\n"),
        ("src/lamp.rs", "/// Turns the lamp.\npub fn rotate_lamp(degrees: u32) {}\n"),
    ];
    for (path, text) in files {
        let path = project.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(project.path()))?;
        fs::write(path, text)?;
    }

    // The index is derived from the project, stored elsewhere, and may be deleted.
    let index = tempfile::tempdir()?;
    let context = Context::open(project.path(), index.path(), Options::default())?;
    let scanned = context.scan(now(), &|| false)?;
    ensure!(scanned.indexed == 3, "all three files are indexed");

    for task in [TaskType::Code, TaskType::Spec] {
        let answer = context.query(&Query::new("lamp").with_task(task), now())?;
        for item in &answer.items {
            let (score, path, line) = (item.score, &item.path, item.line);
            writeln!(std::io::stdout(), "{task}: {score:.3}  {path}:{line}  {}", item.title)?;
        }
        let sources = answer.items.iter().map(|item| item.source);
        ensure!(
            Source::ALL.iter().all(|it| sources.clone().any(|found| found == *it)),
            "all sources"
        );
        let first = answer.items.first().map(|item| item.kind);
        let wanted = if task == TaskType::Code { Kind::Function } else { Kind::Decision };
        ensure!(first == Some(wanted), "the task type decides the order");
    }

    // No answer contains a deleted file, even before the index is updated.
    fs::remove_file(project.path().join("src/lamp.rs"))?;
    let answer = context.query(&Query::new("rotate_lamp"), now())?;
    ensure!(answer.items.iter().all(|it| it.path != "src/lamp.rs"), "it is gone");
    context.close()?;
    Ok(())
}

/// Time is an argument.
fn now() -> Timestamp {
    SystemTime::now().into()
}

#[test]
fn what_it_shows_holds() -> Result<()> {
    main()
}
