//! Servers of PostgreSQL in a temporary folder: primaries, standbys, PgBouncer.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use crate::child::end_of;
use crate::wait::until;
use crate::{Journal, Settings, StoreId, long};

/// The password of the user `waypost`, which connections over TCP need.
pub(crate) const PASSWORD: &str = "pass-word-of-the-tests";

/// A server that runs, and ends with the test.
pub(crate) struct Server {
    pub(crate) folder: TempDir,
    pub(crate) port: u16,
    bin: PathBuf,
    options: Vec<String>,
    process: Option<Child>,
}

/// Where Debian installs PostgreSQL; the newest version.
pub(crate) fn bin() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("WAYPOST_TEST_POSTGRES") {
        return Some(folder.into());
    }
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    let version = |path: &PathBuf| {
        path.parent().and_then(Path::file_name).and_then(|name| name.to_str()?.parse::<u32>().ok())
    };
    folders.filter(|folder| folder.join("postgres").exists()).max_by_key(version)
}

/// A command as a user that PostgreSQL runs as: not root.
pub(crate) fn as_user(program: &Path) -> Command {
    if !geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]).arg(program);
    // The current folder may be closed to that user.
    command.current_dir("/");
    command
}

/// Gives a file to the user that PostgreSQL runs as.
pub(crate) fn give(path: &Path) {
    if geteuid().is_root() {
        // Debian's numbers of nobody and nogroup.
        chown(path, Some(65534), Some(65534)).unwrap();
    }
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    give(to);
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            give(&target);
        }
    }
}

/// A new data folder with the user and the database `waypost`, made once for all tests.
fn template(bin: &Path) -> PathBuf {
    const ROLE: &str = "CREATE ROLE waypost LOGIN PASSWORD '{}';\n\
         CREATE DATABASE waypost OWNER waypost;\n";
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(root).unwrap();
    let lock = fs::File::create(root.join("postgres.lock")).unwrap();
    lock.lock().unwrap();
    let stamp = fs::metadata(bin.join("postgres")).unwrap();
    let done = root.join(format!("postgres-{}-{}", stamp.ino(), stamp.mtime()));
    if done.exists() {
        return done;
    }
    let making = tempfile::tempdir().unwrap();
    give(making.path());
    let data = making.path().join("data");
    run(as_user(&bin.join("initdb"))
        .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"])
        .args(["--wal-segsize=1", "--no-sync", "--pgdata"])
        .arg(&data));
    let mut single = as_user(&bin.join("postgres"))
        .args(["--single", "-D"])
        .arg(&data)
        .arg("postgres")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let sql = ROLE.replace("{}", PASSWORD);
    single.stdin.take().unwrap().write_all(sql.as_bytes()).unwrap();
    assert!(end_of(&mut single).success(), "postgres --single");
    let access = "local all all trust\nlocal replication all trust\n\
                  host all all 127.0.0.1/32 scram-sha-256\n";
    fs::write(data.join("pg_hba.conf"), access).unwrap();
    let partial = done.with_extension("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial).unwrap();
    }
    copy(&data, &partial);
    fs::rename(&partial, &done).unwrap();
    done
}

impl Server {
    /// A primary; `None`, and a line about it, if PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    #[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
    pub(crate) fn start_with(options: &[&str]) -> Option<Self> {
        let Some(bin) = bin() else {
            println!("skipped: PostgreSQL is not installed; scripts/prepare test installs it");
            return None;
        };
        let folder = Self::folder();
        copy(&template(&bin), &folder.path().join("data"));
        let mut server =
            Self { folder, port: free_port(), bin, options: owned(options), process: None };
        server.run();
        Some(server)
    }

    /// A folder that PostgreSQL can use. Its path is short: it has a socket.
    fn folder() -> TempDir {
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        give(folder.path());
        folder
    }

    /// A standby of this server, with the name `name`.
    pub(crate) fn standby(&self, name: &str) -> Self {
        let folder = Self::folder();
        let data = folder.path().join("data");
        run(as_user(&self.bin.join("pg_basebackup"))
            .args([
                "--checkpoint=fast",
                "--write-recovery-conf",
                "--no-sync",
                "--username=postgres",
            ])
            .arg("--host")
            .arg(self.folder.path())
            .arg(format!("--port={}", self.port))
            .arg("--pgdata")
            .arg(&data));
        let source = format!(
            "\nprimary_conninfo = 'host={} port={} user=postgres application_name={name}'\n",
            self.folder.path().display(),
            self.port
        );
        let mut file =
            fs::OpenOptions::new().append(true).open(data.join("postgresql.auto.conf")).unwrap();
        file.write_all(source.as_bytes()).unwrap();
        let bin = self.bin.clone();
        let mut server =
            Self { folder, port: free_port(), bin, options: Vec::new(), process: None };
        server.run();
        server
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts it again, after recovery if it was killed.
    pub(crate) fn run(&mut self) {
        until(|| {
            let process = as_user(&self.bin.join("postgres"))
                .arg("-D")
                .arg(self.data())
                .args(["-c", "fsync=on", "-c", "listen_addresses=127.0.0.1"])
                .args(["-c", "shared_buffers=16MB", "-c", "max_connections=60"])
                .args(["-c", "log_min_messages=fatal", "-c", "logging_collector=off"])
                .arg("-c")
                .arg(format!("port={}", self.port))
                .arg("-c")
                .arg(format!("unix_socket_directories={}", self.folder.path().display()))
                .args(self.options.iter().flat_map(|option| ["-c", option]))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            self.process = Some(process);
            // Processes of a killed server may still have its memory: then it ends again.
            until(|| match self.process.as_mut().unwrap().try_wait().unwrap() {
                Some(_) => Ok(false),
                None if self.is_ready() => Ok(true),
                None => Err("the server does not start"),
            })
            .then_some(())
            .ok_or("the server ends while it starts")
        });
    }

    fn is_ready(&self) -> bool {
        let pid = self.process.as_ref().unwrap().id().to_string();
        fs::read_to_string(self.data().join("postmaster.pid")).is_ok_and(|text| {
            text.lines().next() == Some(&pid)
                && text.lines().nth(7).is_some_and(|line| line.trim() == "ready")
        })
    }

    /// Kills it as the kernel does when memory is short: the first process, and perhaps its others.
    pub(crate) fn kill(&mut self, with_others: bool) {
        let mut process = self.process.take().unwrap();
        let others = if with_others { children(process.id()) } else { Vec::new() };
        process.kill().unwrap();
        for pid in others {
            // It may have ended already.
            kill_process(pid, Signal::KILL).ok();
        }
        end_of(&mut process);
    }

    /// Shuts it down in order, which ends its connections.
    pub(crate) fn stop(&mut self) {
        let mut process = self.process.take().unwrap();
        kill_process(pid_of(process.id()), Signal::INT).unwrap();
        assert!(end_of(&mut process).success());
    }

    /// Stops or continues all its processes.
    pub(crate) fn signal(&self, signal: Signal) {
        self.signal_others(signal);
        self.signal_first(signal);
    }

    /// The same for the first process alone, which accepts connections.
    pub(crate) fn signal_first(&self, signal: Signal) {
        kill_process(pid_of(self.process.as_ref().unwrap().id()), signal).unwrap();
    }

    /// The same for all others: those of connections, and those that write in the background.
    pub(crate) fn signal_others(&self, signal: Signal) {
        for pid in children(self.process.as_ref().unwrap().id()) {
            kill_process(pid, signal).ok();
        }
    }

    /// A copy of its data, while it does not run.
    pub(crate) fn backup(&self) -> PathBuf {
        let backup = self.folder.path().join("backup");
        copy(&self.data(), &backup);
        backup
    }

    /// Replaces its data by a backup, which is used up, while it does not run.
    pub(crate) fn restore(&self, backup: &Path) {
        fs::remove_dir_all(self.data()).unwrap();
        fs::rename(backup, self.data()).unwrap();
    }

    /// Makes a standby a primary.
    pub(crate) fn promote(&self) {
        assert_eq!(self.sql("SELECT pg_promote()"), "t");
    }

    /// Runs SQL as the superuser.
    #[track_caller]
    pub(crate) fn sql(&self, sql: &str) -> String {
        run(&mut self.psql("postgres", sql))
    }

    pub(crate) fn psql(&self, user: &str, sql: &str) -> Command {
        let mut psql = self.shell(user);
        psql.arg("--command").arg(sql);
        psql
    }

    /// psql, which reads statements from its input.
    pub(crate) fn shell(&self, user: &str) -> Command {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.args(["--no-psqlrc", "--tuples-only", "--no-align", "--quiet"])
            .args(["--set", "ON_ERROR_STOP=1", "--username", user, "--dbname", "waypost"])
            .arg("--host")
            .arg(self.folder.path())
            .arg(format!("--port={}", self.port));
        psql
    }

    /// Runs `first`, which takes a lock, in a transaction of the superuser, and `last` in it once
    /// this many other sessions wait for a lock.
    pub(crate) fn lock_until(&self, first: &str, waiting: u32, last: &str) -> Child {
        let sql = format!(
            "DO $$ BEGIN {first}; LOOP EXIT WHEN {waiting} <= \
             (SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted); END LOOP; {last}; END $$"
        );
        let child = self
            .psql("postgres", &sql)
            .env("PGOPTIONS", "-c statement_timeout=60s")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        until(|| {
            let locks = self.sql(
                "SELECT count(*) FROM pg_locks WHERE granted AND pid <> pg_backend_pid() \
                 AND mode IN ('AccessExclusiveLock', 'RowShareLock') \
                 AND relation IN ('waypost.head'::regclass, 'waypost.journal'::regclass)",
            );
            (locks != "0").then_some(()).ok_or("nothing is locked")
        });
        child
    }

    /// Over the socket, without a password.
    pub(crate) fn url(&self) -> String {
        format!(
            "postgresql://waypost@/waypost?host={}&port={}",
            self.folder.path().display(),
            self.port
        )
    }

    pub(crate) fn settings(&self) -> Settings {
        settings(&self.url())
    }

    /// Lets it use TLS with a certificate for this name; returns the file of those to trust.
    pub(crate) fn certify(&self, name: &str) -> PathBuf {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let file = |name: &str, text: String| {
            let path = self.data().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            give(&path);
            path
        };
        file("server.key", made.signing_key.serialize_pem());
        let certificate = file("server.crt", made.cert.pem());
        self.sql("ALTER SYSTEM SET ssl = on");
        self.sql("SELECT pg_reload_conf()");
        until(|| (self.sql("SHOW ssl") == "on").then_some(()).ok_or("TLS is off"));
        certificate
    }

    /// A new journal.
    pub(crate) fn journal(&self) -> Arc<Journal> {
        Arc::new(Journal::create(self.settings(), new_store(), &long()).unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let pid = process.id();
        // A test may have suspended them.
        for it in children(pid).into_iter().chain([pid_of(pid)]) {
            kill_process(it, Signal::CONT).ok();
        }
        // Killed, it would leave its shared memory behind, of which the system has only so many segments.
        kill_process(pid_of(pid), Signal::QUIT).ok();
        end_of(&mut process);
    }
}

/// Settings of a URL, with the password of the tests.
pub(crate) fn settings(url: &str) -> Settings {
    Settings::parse(url, &|name| (name == "PGPASSWORD").then(|| PASSWORD.into())).unwrap()
}

/// A store that no other test has in this process.
pub(crate) fn new_store() -> StoreId {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    StoreId([NEXT.fetch_add(1, Ordering::Relaxed); 16])
}

/// A port that was free just now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn owned(options: &[&str]) -> Vec<String> {
    options.iter().map(|option| (*option).to_owned()).collect()
}

fn pid_of(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

/// The processes that a process has started.
fn children(of: u32) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").unwrap();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let after_name = stat.rsplit_once(')').map_or("", |(_, it)| it);
            after_name.split_whitespace().nth(1) == Some(&of.to_string())
        })
        .map(pid_of)
        .collect()
}
