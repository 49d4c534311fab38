//! Networks that no other process can see. They need root, or user namespaces.

use crate::unshare::unshare;

/// Set while a test runs in its own network.
const INSIDE: &str = "WAYPOST_TEST_NETWORK";

/// Runs a test of this program again in a network namespace in which this address is local. The
/// mounts of the shell commands in `prepare` exist only there.
#[track_caller]
pub(crate) fn in_a_network(address: &str, prepare: &str, test: &str) {
    let script = format!(
        "set -e; PATH=$PATH:/usr/sbin:/sbin; {prepare}
        ip link set lo up; ip address add {address}/32 dev lo; exec \"$@\""
    );
    let mut command = unshare();
    command.args(["--net", "--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
    command.arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", test, "--nocapture"]);
    let output = command.env(INSIDE, "yes").output().expect("unshare runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Whether this process is in such a network.
pub(crate) fn is_in_a_network() -> bool {
    std::env::var_os(INSIDE).is_some()
}
