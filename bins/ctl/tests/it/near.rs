//! How the program finds its service, and to whom it sends a token.

use std::fs::{self, Permissions};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;

use crate::ctl::run;
use crate::service::Service;

/// Any user except root who does not exist on this machine.
const NOBODY: u32 = 65534;

#[test]
fn the_project_s_own_service_is_found_at_its_socket() {
    // Both listen on other ports, as after `--listen 127.0.0.1:5555`.
    let (one, other) = (Service::start(), Service::start());
    one.add("of the first");
    for (service, memories) in [(&one, 1), (&other, 0)] {
        let status = run(service.folder(), &["--json", "status"]).json();
        assert_eq!(status["memories"], memories);
        assert_eq!(status["url"], service.url());
        let shown = run(service.folder(), &["status"]).done();
        assert!(shown.contains(&format!("at {}", service.url())), "{shown}");
    }
    // Streams use the same connection.
    run(one.folder(), &["emit", "a:b", "--data", "k=v"]).done();
    let tail = ["--json", "events", "tail", "--pattern", "a:b", "--after", "0", "--limit", "1"];
    assert_eq!(run(one.folder(), &tail).json()["data"]["k"], "v");
    let exported = run(one.folder(), &["export"]).done();
    assert!(exported.contains("of the first"), "{exported}");
}

#[test]
fn without_a_service_nothing_else_is_asked() {
    let folder = project();
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut command = crate::ctl::command(folder.path(), &["status"]);
    command.env("WAYPOST_LISTEN", port.local_addr().expect("an address").to_string());
    let ran = crate::ctl::ran(command.output().expect("it runs"));
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(
        ran.err.contains("data/service.sock") && ran.err.contains("start the service"),
        "{ran:?}"
    );
    port.set_nonblocking(true).expect("a listener");
    assert!(port.accept().is_err(), "nobody came");
}

#[test]
fn plain_http_stays_within_the_machine() {
    let folder = project();
    for url in ["http://192.0.2.1:4747", "http://waypost.example"] {
        let ran = run(folder.path(), &["--url", url, "status"]);
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(ran.err.contains("in the clear") && ran.err.contains("https"), "{ran:?}");
    }
}

#[test]
fn a_port_of_another_user_gets_no_token() {
    let (told, heard) = mpsc::channel();
    let (bound, address) = mpsc::channel();
    let server = std::thread::spawn(move || {
        as_nobody(move || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            bound.send(listener.local_addr().expect("an address")).expect("the test waits");
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).expect("it ends");
            told.send(bytes).expect("the test waits");
        })
    });
    let Ok(address) = address.recv() else { return };
    let url = format!("http://{address}");
    let service = Service::start();
    let ran = run(service.folder(), &["--url", &url, "status"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("user 65534") && ran.err.contains("no token was sent"), "{ran:?}");
    let heard = heard.recv_timeout(Duration::from_secs(60)).expect("it was connected");
    assert_eq!(heard, b"");
    server.join().expect("it does not panic");
}

#[test]
fn a_socket_of_another_user_gets_no_token() {
    let folder = project();
    let data = folder.path().join(".waypost/data");
    fs::create_dir(&data).expect("a folder");
    for open in [folder.path().to_owned(), data.clone()] {
        fs::set_permissions(open, Permissions::from_mode(0o777)).expect("a mode");
    }
    let socket = data.join("service.sock");
    let Some(_listener) = as_nobody(move || UnixListener::bind(socket).expect("a socket")) else {
        return;
    };
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).expect("a mode");
    let ran = run(folder.path(), &["status"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("user 65534"), "{ran:?}");
}

#[test]
fn in_a_project_of_another_user_the_advice_is_to_ask_that_user() {
    let folder = project();
    let token = folder.path().join(".waypost/token");
    fs::write(&token, "x").expect("a file");
    fs::set_permissions(&token, Permissions::from_mode(0o600)).expect("a mode");
    // A place from which the other user can run the programs.
    let programs = TempDir::new().expect("a folder");
    let program = programs.path().join("ctl");
    let built = Path::new(env!("CARGO_BIN_EXE_ctl"));
    for name in ["ctl", "service"] {
        fs::copy(built.with_file_name(name), programs.path().join(name)).expect("a copy");
    }
    for open in [folder.path(), &folder.path().join(".waypost"), programs.path()] {
        fs::set_permissions(open, Permissions::from_mode(0o755)).expect("a mode");
    }
    for arguments in [&["status"][..], &["search", "x"], &["doctor"]] {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(folder.path()).env_clear().env("HOME", "/nonexistent");
        match command.uid(NOBODY).gid(NOBODY).output() {
            Ok(output) => {
                let ran = crate::ctl::ran(output);
                let said = format!("{}{}", ran.out, ran.err);
                assert_ne!(ran.code, 0, "{said}");
                assert!(said.contains("belongs to user 0: ask that user"), "{said}");
                assert!(!said.contains("remove it") && !said.contains("remove the file"), "{said}");
            }
            // Only root can become another user.
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
        }
    }
}

#[test]
fn a_project_that_another_user_put_above_is_refused_by_name() {
    let shared = TempDir::new().expect("a folder");
    fs::set_permissions(shared.path(), Permissions::from_mode(0o1777)).expect("a mode");
    let waypost = shared.path().join(".waypost");
    fs::create_dir(&waypost).expect("a folder");
    let work = shared.path().join("work");
    fs::create_dir(&work).expect("a folder");
    let name = waypost.display().to_string();
    if chown(&waypost, Some(NOBODY), Some(NOBODY)).is_ok() {
        for command in [&["status"][..], &["config", "show"], &["emit", "a:b"]] {
            let ran = run(&work, command);
            assert_eq!(ran.code, 4, "{command:?}: {ran:?}");
            assert!(ran.err.contains(&name) && ran.err.contains("user 65534"), "{ran:?}");
        }
        chown(&waypost, Some(0), Some(0)).expect("root may");
    } else {
        println!("skipped: only root can give files away");
    }
    fs::set_permissions(&waypost, Permissions::from_mode(0o777)).expect("a mode");
    let ran = run(&work, &["status"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains(&name) && ran.err.contains("is writable by others"), "{ran:?}");
    // In a folder like /tmp, one's own project is valid.
    fs::set_permissions(&waypost, Permissions::from_mode(0o755)).expect("a mode");
    assert_eq!(run(&work, &["status"]).code, 5);
}

#[test]
fn a_token_file_of_another_user_is_refused_by_name() {
    let service = Service::start();
    let file = service.folder().join(".waypost/token");
    let name = file.display().to_string();
    let refused = |says: &str| {
        let ran = run(service.folder(), &["status"]);
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(ran.err.contains(&name) && ran.err.contains(says), "{ran:?}");
    };
    fs::set_permissions(&file, Permissions::from_mode(0o602)).expect("a mode");
    refused("is writable by others");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a mode");
    if chown(&file, Some(NOBODY), None).is_ok() {
        refused("user 65534");
        chown(&file, Some(0), None).expect("root may");
    } else {
        println!("skipped: only root can give files away");
    }
    // A checkout can contain a link to another project's token; only a named link is followed.
    let elsewhere = service.folder().join("token");
    fs::rename(&file, &elsewhere).expect("a file");
    symlink(&elsewhere, &file).expect("a link");
    refused("not a regular file");
    run(service.folder(), &["--token-file", ".waypost/token", "status"]).done();
}

fn project() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir(folder.path().join(".waypost")).expect("a folder");
    assert!(Path::new(folder.path()).is_absolute());
    folder
}

/// Runs a closure on a thread of another user; `None` if this process may not change the user.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn as_nobody<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let done = std::thread::spawn(move || become_nobody().then(work)).join();
    let done = done.expect("it does not panic");
    if done.is_none() {
        println!("skipped: only root can act as another user");
    }
    done
}

/// For this thread only: libc's own function would change all threads.
#[expect(unsafe_code, reason = "std has no such call")]
fn become_nobody() -> bool {
    // SAFETY: the arguments are three numbers, and no pointers.
    unsafe { libc::syscall(libc::SYS_setresuid, 0, NOBODY, 0) == 0 }
}
