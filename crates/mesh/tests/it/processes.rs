//! Two processes, one of them killed.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use waypost_mesh::{CallError, Mesh, Settings};

use crate::child::end_of;
use crate::hostile::ask;
use crate::{LONG, Place, serve_echo};

const FOLDER: &str = "WAYPOST_MESH_TEST_FOLDER";

/// Not a test: the process that the tests below start and kill.
#[test]
fn serves_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mesh = Mesh::open(&Settings::new(Path::new(&folder), "child")).unwrap();
    let _serving = serve_echo(&mesh);
    let _hang = mesh
        .serve("hang", |_| {
            println!("called");
            std::thread::park_timeout(LONG);
            Ok(Value::Null)
        })
        .unwrap();
    println!("serving");
    // Bounded, in case the test process is gone.
    std::thread::park_timeout(2 * LONG);
}

struct Server {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Server {
    fn start(place: &Place) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::serves_until_it_is_killed", "--nocapture"])
            .env(FOLDER, place.folder())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut server = Self { child, lines };
        server.wait_for("serving");
        server
    }

    fn wait_for(&mut self, text: &str) {
        assert!(self.lines.by_ref().any(|line| line.unwrap().ends_with(text)));
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        end_of(&mut self.child);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        end_of(&mut self.child);
    }
}

#[test]
fn another_process_answers_and_another_takes_over_when_it_is_killed() {
    let place = Place::new();
    let mut first = Server::start(&place);
    let caller = place.join("caller");
    let say = |n: usize| caller.call("echo", "say", &json!(n), LONG);
    assert_eq!(say(1), Ok(json!(1)));
    let taken = caller.serve("echo", |_| Ok(Value::Null)).unwrap_err();
    assert!(taken.to_string().contains(&format!("child, process {}", first.child.id())), "{taken}");
    first.kill();
    crate::eventually("it is known to be gone", || matches!(say(2), Err(CallError::Offline(_))));
    let _second = Server::start(&place);
    crate::eventually("the second is called", || say(3) == Ok(json!(3)));
    let sockets = std::fs::read_dir(place.folder()).unwrap().filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "sock")
    });
    assert_eq!(sockets.count(), 2, "what the first left was cleared");
}

#[test]
fn a_peer_that_is_killed_while_it_is_called_is_offline_and_nobody_waits_for_the_deadline() {
    let place = Place::new();
    let mut server = Server::start(&place);
    let caller = place.join("caller");
    std::thread::scope(|scope| {
        let called =
            scope.spawn(|| caller.call("hang", "now", &Value::Null, Duration::from_secs(150)));
        server.wait_for("called");
        server.kill();
        let outcome = called.join().unwrap();
        assert!(matches!(outcome, Err(CallError::Offline(_))), "{outcome:?}");
    });
}

#[test]
fn peers_that_join_at_once_all_see_each_other() {
    let place = Place::new();
    let meshes: Vec<Mesh> = std::thread::scope(|scope| {
        let joining: Vec<_> = (0..6)
            .map(|n| {
                scope.spawn({
                    let place = &place;
                    move || place.join(&format!("peer-{n}"))
                })
            })
            .collect();
        joining.into_iter().map(|joining| joining.join().unwrap()).collect()
    });
    for mesh in &meshes {
        crate::eventually("six are seen", || mesh.peers().len() == 6);
    }
}

/// The variable that makes this program another user's.
const SOCKET: &str = "WAYPOST_MESH_TEST_SOCKET";

/// Not a test: the process that the test below starts as another user.
#[test]
fn asks_at_a_socket() {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    let stream = UnixStream::connect(socket).unwrap();
    println!("asked: {:?}", ask(stream, "GET", "/peer", "").map(|(status, _)| status));
}

#[test]
fn another_user_gets_no_answer_even_in_an_open_folder() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can be another user");
        return;
    }
    let place = Place::new();
    let _server = place.join("server");
    let socket = std::fs::read_dir(place.folder()).unwrap().next().unwrap().unwrap().path();
    for (path, mode) in [(place.0.path(), 0o755), (&place.folder(), 0o755), (&socket, 0o666)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let asked = |user: u32| {
        let mut command = Command::new("/proc/self/exe");
        command.args(["--exact", "processes::asks_at_a_socket", "--nocapture"]);
        let output = command.env(SOCKET, &socket).uid(user).gid(user).current_dir("/").output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    };
    assert!(asked(0).contains("asked: Ok(200)"), "{}", asked(0));
    assert!(asked(65_534).contains("asked: Err"), "{}", asked(65_534));
}

/// The network sockets of a process, according to the system's own lists.
#[cfg(target_os = "linux")]
fn network_sockets(pid: u32) -> Vec<String> {
    let own: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .filter_map(|target| {
            Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    assert!(!own.is_empty(), "it has those of the mesh");
    let lists = ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"];
    let lines = lists.iter().flat_map(|list| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{list}")).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    lines
        .filter(|line| {
            line.split_whitespace().nth(9).is_some_and(|word| own.iter().any(|o| o == word))
        })
        .collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_peer_that_is_not_paired_has_no_socket_of_the_network() {
    let place = Place::new();
    let server = Server::start(&place);
    let caller = place.join("caller");
    assert_eq!(caller.call("echo", "say", &json!(1), LONG), Ok(json!(1)));
    assert_eq!(network_sockets(server.child.id()), Vec::<String>::new());
}
