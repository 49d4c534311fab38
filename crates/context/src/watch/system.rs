//! The system's limits on watching.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Where Linux states how many folders one user may watch.
const WATCHES_MAX: &str = "/proc/sys/fs/inotify/max_user_watches";
/// The default if it is not stated: Linux's former limit.
const WATCHES_DEFAULT: usize = 8_192;

/// File systems that others change without notice to this machine's kernel, by the numbers of
/// statfs(2) and `linux/magic.h`.
const SILENT: [(u32, &str); 13] = [
    (0x0000_6969, "NFS"),
    (0x0000_517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x7375_7245, "Coda"),
    (0x786f_4256, "VirtualBox's shared folders"),
    (0x7c7c_6673, "Parallels' shared folders"),
    (0xbacb_acbc, "VMware's shared folders"),
    (0x5346_4846, "WSL"),
];

/// Half of what this user may watch, to leave watches for other programs.
pub(super) fn watches_allowed() -> usize {
    let text = fs::read_to_string(WATCHES_MAX).ok();
    text.and_then(|it| it.trim().parse().ok()).unwrap_or(WATCHES_DEFAULT) / 2
}

/// The kind of file system that a folder is on, if it does not report all changes.
pub(super) fn silent(folder: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(folder).ok()?.f_type as u32;
    SILENT.iter().find(|(it, _)| *it == magic).map(|(_, name)| *name)
}

/// The number of the file system that a folder is on; nothing if it is not a folder (any more).
pub(super) fn device(folder: &Path) -> Option<u64> {
    fs::symlink_metadata(folder).ok().filter(|it| it.is_dir()).map(|it| it.dev())
}
