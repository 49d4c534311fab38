//! Tests over the repository as a whole: its layering, its import cycles, its
//! growing families, its documents and its build.

mod architecture;
mod changes;
mod chaos;
mod cycles;
mod documents;
mod exhaustive;
mod hygiene;
mod profiles;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the root").to_owned()
}

/// What a program prints, run in the root.
fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo and git can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("programs print UTF-8")
}

/// The files that git keeps whose names end like this.
fn tracked(ending: &str) -> Vec<PathBuf> {
    let listed = output_of("git", &["ls-files", "-z"]);
    let files: Vec<PathBuf> = listed
        .split('\0')
        .filter(|part| !part.is_empty() && part.ends_with(ending))
        .map(PathBuf::from)
        .filter(|part| root().join(part).is_file())
        .collect();
    assert!(!files.is_empty(), "git keeps files that end in {ending:?}");
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).expect("documents and sources can be read")
}
