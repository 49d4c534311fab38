//! One server of PostgreSQL in a temporary folder, with `fsync`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::{Signal, geteuid};

use crate::process::{Process, run, until};

const PORT: &str = "5432";
/// No checkpoint by time or size falls into some rounds and not into others.
const SETTINGS: [&str; 5] = [
    "listen_addresses=",
    "max_connections=200",
    "shared_buffers=256MB",
    "max_wal_size=16GB",
    "checkpoint_timeout=1h",
];

/// A server that runs, and ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    folder: PathBuf,
    bin: PathBuf,
    process: Process,
}

impl Server {
    /// Creates and starts one in this folder, which the user of PostgreSQL must be able to enter.
    pub(crate) fn start(folder: PathBuf) -> Result<Self> {
        let bin = bin().context("PostgreSQL is not installed; `scripts/prepare test` does that")?;
        fs::create_dir_all(&folder)?;
        if geteuid().is_root() {
            // Debian's numbers of nobody and nogroup.
            chown(&folder, Some(65534), Some(65534))?;
        }
        let data = folder.join("data");
        run(as_user(&bin.join("initdb"))
            .args(["--auth=trust", "--username=waypost", "--encoding=UTF8", "--locale=C"])
            .arg("--pgdata")
            .arg(&data))?;
        let mut command = as_user(&bin.join("postgres"));
        command.arg("-D").arg(&data).args(["-c", &format!("port={PORT}")]);
        command.args(["-c", &format!("unix_socket_directories={}", folder.display())]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        let log = folder.join("log");
        // Fast shutdown.
        let process = Process::start(&mut command, &log, Signal::INT)?;
        let mut server = Self { folder, bin, process };
        until("PostgreSQL starts", Duration::from_millis(50), || {
            server.process.check()?;
            Ok(server.sql("postgres", "SELECT 1").ok())
        })?;
        Ok(server)
    }

    /// Creates a database.
    pub(crate) fn create(&self, database: &str) -> Result<()> {
        self.sql("postgres", &format!("CREATE DATABASE {database}")).map(drop)
    }

    /// The result of a statement: rows in lines, columns with `|` between them.
    pub(crate) fn sql(&self, database: &str, statement: &str) -> Result<String> {
        let mut command = as_user(&self.bin.join("psql"));
        command.arg("--host").arg(&self.folder);
        command.args(["--port", PORT, "--username=waypost", "--dbname", database]);
        command.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"]);
        run(command.args(["--set=ON_ERROR_STOP=1", "--command", statement]))
    }

    /// The URL for a service.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgresql://waypost@/{database}?host={}&port={PORT}", self.folder.display())
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{PORT}"))
    }

    /// The version, for the report.
    pub(crate) fn version(&self) -> Result<String> {
        self.sql("postgres", "SHOW server_version")
    }
}

/// Where Debian installs PostgreSQL; the newest version.
fn bin() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    let version = |path: &PathBuf| {
        path.parent().and_then(Path::file_name).and_then(|name| name.to_str()?.parse::<u32>().ok())
    };
    folders.filter(|folder| folder.join("postgres").exists()).max_by_key(version)
}

/// A command as a user that PostgreSQL runs as: not root.
fn as_user(program: &Path) -> Command {
    if !geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]).arg(program);
    // The current folder may be closed to that user.
    command.current_dir("/");
    command
}

/// A temporary folder that other users can enter.
pub(crate) fn folder() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711))?;
    Ok(folder)
}
