//! Namespaces for tests: disks, mounts and networks that no other process can see. They need root, or
//! user namespaces.

use std::process::Command;

/// `unshare`, with the options to create namespaces.
pub(crate) fn unshare() -> Command {
    let mut command = Command::new("unshare");
    // Root needs no user namespace, and may not be allowed to create one.
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0);
    if !is_root {
        command.args(["--user", "--map-root-user"]);
    }
    command
}
