//! The socket, `service.json`, and the port.

use std::fs::{self, Permissions};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use waypost_api::client::Client;
use waypost_api::routes;
use waypost_service::{Options, start};

use crate::client::{Answer, read};
use crate::program::{PROGRAM, Program, command};
use crate::service::Service;

/// Any user except root who does not exist on this machine.
const NOBODY: u32 = 65534;

fn data(project: &Path) -> PathBuf {
    project.join(".waypost/data")
}

fn socket(project: &Path) -> PathBuf {
    data(project).join("service.sock")
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().expect("it is there").mode() & 0o777
}

fn described(project: &Path) -> Value {
    let text = fs::read_to_string(data(project).join("service.json")).expect("service.json");
    serde_json::from_str(&text).expect("JSON")
}

fn client(project: &Path, token: Option<&str>) -> Client {
    Client::new(&format!("unix:{}", socket(project).display()), token).expect("an address")
}

fn ask(project: &Path, request: &str) -> Answer {
    let mut stream = UnixStream::connect(socket(project)).expect("it listens");
    // A rejected peer gets its response before it has sent anything.
    stream.write_all(request.as_bytes()).unwrap_or_default();
    read(&mut stream).expect("an answer")
}

#[test]
fn the_socket_serves_the_same_and_wants_the_same_token() {
    let service = Service::start();
    let project = service.folder.path();
    assert_eq!(mode(&socket(project)), 0o600);
    assert_eq!(mode(&data(project)), 0o700);
    let near = client(project, Some(&service.token));
    service.add("the keys are in the blue tin");
    assert_eq!(near.call(&routes::MEMORY_STATUS, ()).expect("a status").memories, 1);
    assert_eq!(
        near.call(&routes::MEMORY_STATUS, ()).expect("a status").url,
        Some(format!("http://{}", service.address))
    );

    let get = |path: &str| ask(project, &format!("GET {path} HTTP/1.1\r\nhost: any\r\n\r\n"));
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(get(path).status, 200, "{path}");
    }
    for path in ["/api/memory/status", "/api/memory", "/api/tokens", "/api/events", "/api/flows"] {
        get(path).problem(401);
    }
    // A page that a proxy forwards is rejected here, too.
    let page = "GET /metrics HTTP/1.1\r\nhost: x\r\norigin: https://evil.example\r\n\r\n";
    ask(project, page).problem(403);
    let twice = "GET /metrics HTTP/1.1\r\nhost: x\r\nsec-fetch-site: none\r\nsec-fetch-site: cross-site\r\n\r\n";
    ask(project, twice).problem(400);
}

#[test]
fn service_json_tells_where_it_is_until_a_clean_stop() {
    let service = Service::start();
    let project = service.folder.path().canonicalize().expect("a folder");
    let file = data(&project).join("service.json");
    assert_eq!(mode(&file), 0o600);
    let told = described(&project);
    assert_eq!(told["pid"], std::process::id());
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(told["url"], format!("http://{}", service.address));
    assert_eq!(told["socket"], socket(&project).display().to_string());
    let Service { folder, .. } = service.stopped();
    assert!(!file.exists() && !socket(folder.path()).exists());
}

#[test]
fn a_service_whose_folder_was_moved_away_stops_and_changes_nothing_of_the_next_one() {
    let folder = TempDir::new().expect("a folder");
    let first = Program::start(folder.path());
    for number in 0..5 {
        let memory = format!(r#"{{"content":"memory {number} of the first"}}"#);
        assert_eq!(first.send("POST", "/api/memory/add", memory.as_bytes()).status, 201);
    }
    fs::rename(folder.path().join(".waypost"), folder.path().join("moved")).expect("a folder");
    let second = Program::start(folder.path());
    let memory = br#"{"content":"a memory of the second"}"#;
    assert_eq!(second.send("POST", "/api/memory/add", memory).status, 201);

    let (status, log) = first.end();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("was moved, removed or replaced"), "{log}");
    assert_eq!(described(folder.path())["pid"], second.pid());
    assert!(client(folder.path(), None).call(&routes::LIVE, ()).is_ok());

    second.signal("TERM");
    let (status, log) = second.end();
    assert!(status.success(), "{log}");
    let third = Program::start(folder.path());
    assert_eq!(third.send("GET", "/api/memory/1", b"").json()["content"], "a memory of the second");
    // Nothing of the first is lost, either.
    drop(third);
    fs::remove_dir_all(folder.path().join(".waypost")).expect("a folder");
    fs::rename(folder.path().join("moved"), folder.path().join(".waypost")).expect("a folder");
    let first = Program::start(folder.path());
    assert_eq!(first.send("GET", "/api/memory/5", b"").json()["content"], "memory 4 of the first");
}

#[test]
fn a_socket_that_a_kill_left_is_replaced_and_nothing_else_is() {
    let folder = TempDir::new().expect("a folder");
    let mut program = Program::start(folder.path());
    program.kill();
    assert!(UnixStream::connect(socket(folder.path())).is_err(), "nobody listens");
    assert!(socket(folder.path()).exists());
    let mut program = Program::start(folder.path());
    assert!(client(folder.path(), None).call(&routes::LIVE, ()).is_ok());
    assert_eq!(described(folder.path())["pid"], program.pid());
    program.kill();

    fs::remove_file(socket(folder.path())).expect("it is left");
    fs::write(socket(folder.path()), "mine").expect("a file");
    let log = Program::try_start(&mut command(folder.path()), |_| folder.path().to_owned())
        .err()
        .expect("it does not start");
    assert!(log.contains("service.sock is not a socket"), "{log}");
    assert_eq!(fs::read_to_string(socket(folder.path())).expect("it is left"), "mine");
}

/// Runs a closure on a thread of another user; `None` if this process may not change the user.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub(crate) fn as_nobody<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
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

#[test]
fn another_user_is_refused_at_the_socket() {
    let service = Service::start();
    let project = service.folder.path().to_owned();
    // As if every protection against other users had been removed.
    for folder in [project.clone(), project.join(".waypost"), data(&project)] {
        fs::set_permissions(folder, Permissions::from_mode(0o711)).expect("a mode");
    }
    fs::set_permissions(socket(&project), Permissions::from_mode(0o666)).expect("a mode");
    let token = service.token.clone();
    let request = format!(
        "GET /api/memory/status HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    let Some(answer) = as_nobody(move || ask(&project, &request)) else { return };
    assert!(answer.problem(403).contains("only the user of the service"));
}

#[test]
fn a_default_port_gives_way_and_an_asked_one_does_not() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let service = Service::start_with(|it| {
        it.listen = address;
        it.any_port = true;
    });
    assert_ne!(service.address.port(), address.port());
    assert_eq!(described(service.folder.path())["url"], format!("http://{}", service.address));

    let folder = TempDir::new().expect("a folder");
    let mut options = Options::for_project(folder.path()).expect("a project");
    options.listen = address;
    let error = format!("{:#}", start(&options).expect_err("the port is taken"));
    assert!(error.contains(&format!("failed to listen on {address}")), "{error}");
    assert!(!socket(folder.path()).exists() && !data(folder.path()).join("service.json").exists());
}

#[test]
fn two_projects_run_beside_each_other_without_a_word_about_ports() {
    let run = || {
        let folder = TempDir::new().expect("a folder");
        let mut command = std::process::Command::new(PROGRAM);
        command.args(["--model", "none", "--project"]).arg(folder.path());
        command.env_clear().env("WAYPOST_MESH_ENABLED", "false").env("WAYPOST_TRUST_PROJECT", "1");
        let program = Program::start_as(command, folder.path());
        (folder, program)
    };
    let (one, other) = (run(), run());
    assert_ne!(one.1.address, other.1.address);
    for (folder, program) in [&one, &other] {
        let told = described(folder.path());
        assert_eq!(told["url"], format!("http://{}", program.address));
        assert!(client(folder.path(), None).call(&routes::LIVE, ()).is_ok());
    }
}

#[test]
fn a_path_that_is_too_long_leads_to_the_runtime_folder() {
    let folder = TempDir::new().expect("a folder");
    let runtime = TempDir::new().expect("a folder");
    let long = folder.path().join("d".repeat(120));
    fs::create_dir(&long).expect("a folder");
    let mut with = command(&long);
    let program = Program::start_as(
        {
            with.env("XDG_RUNTIME_DIR", runtime.path());
            with
        },
        &long,
    );
    let path = PathBuf::from(described(&long)["socket"].as_str().expect("a path"));
    assert!(path.starts_with(runtime.path().join("waypost")), "{}", path.display());
    assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
    let near = Client::new(&format!("unix:{}", path.display()), None).expect("an address");
    assert!(near.call(&routes::LIVE, ()).is_ok());
    drop(program);
    // Without such a folder the service still runs, and reports the missing folder.
    let program = Program::start(&long);
    assert!(program.log.contains("too long for a socket"), "{}", program.log);
    assert!(described(&long).get("socket").is_none());
}
