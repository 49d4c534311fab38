//! Tests over the repository as a whole: its layering and its documents.

mod architecture;
mod documents;

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
