//! The example that talks to a running service.

use std::path::Path;
use std::process::Command;

use crate::program::Program;

#[test]
fn the_example_with_curl_runs_against_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/http.sh");
    let output = Command::new("bash")
        .arg(script)
        .env("WAYPOST_URL", format!("http://{}", program.address))
        .env("WAYPOST_TOKEN_FILE", folder.path().join(".waypost/token"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert_eq!(said.lines().count(), 7, "{said}");
    assert!(said.contains("\"supersededBy\""), "{said}");
}
