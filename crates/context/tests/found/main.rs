//! The crate's public API: discovery and extraction.

mod code;
mod discovery;
mod documents;
mod hostile;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use waypost_context::{
    Discovery, Extract, Extractor, Found, Root, Rules, Skip, Timestamp, Walk, read, walk,
};

/// 2026-06-01.
const NOW: Timestamp = Timestamp::from_secs(1_780_272_000);

/// A project with these files.
fn project(files: &[(&str, &str)]) -> (TempDir, Root) {
    let dir = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        write(dir.path(), path, text.as_bytes());
    }
    let root = Root::open(dir.path()).expect("it opens");
    (dir, root)
}

fn write(dir: &Path, path: &str, bytes: &[u8]) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    fs::write(path, bytes).expect("a file");
}

fn rules() -> Rules {
    Rules::new(&Discovery::default()).expect("the default compiles")
}

fn walked(root: &Root, rules: &Rules) -> Walk {
    let walk = walk(root, rules, &|| false).expect("it is listed");
    // `one` decides about each path as the walk does.
    for found in &walk.found {
        assert_eq!(rules.one(root, &found.path).as_ref(), Ok(found));
    }
    for (why, paths) in &walk.samples {
        for path in paths.iter().filter(|_| !matches!(why, Skip::Name | Skip::Limit)) {
            assert!(rules.one(root, path).is_err(), "{path} is left out: {why}");
        }
    }
    walk
}

fn paths(walk: &Walk) -> Vec<&str> {
    walk.found.iter().map(|found| found.path.as_str()).collect()
}

fn taken(files: &[(&str, &str)]) -> Extract {
    let (_dir, root) = project(files);
    let rules = rules();
    let found = rules.one(&root, files[0].0).expect("it is found");
    extracted(&root, &rules, &found).expect("it is read")
}

fn extracted(root: &Root, rules: &Rules, found: &Found) -> Result<Extract, Skip> {
    let (bytes, _) = read(root, found, rules.limits())?;
    Extractor::new().extract(found, &bytes, NOW)
}

/// The chunks, formatted for comparison.
fn page(extract: &Extract) -> String {
    let mut page = String::new();
    for chunk in &extract.chunks {
        let date =
            chunk.date.map_or(String::new(), |date| format!(" @{}", date.as_secs() / 86_400));
        let (from, to) = (chunk.line, chunk.end_line);
        writeln!(page, "[{from}-{to}] {} {}{date}", chunk.kind, chunk.title).expect("a string");
        for line in chunk.content.lines() {
            writeln!(page, "{}", format!("    {line}").trim_end()).expect("a string");
        }
    }
    page
}
