//! Other users of the machine, at the port and at the socket.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde_json::json;

use crate::child::end_of;
use crate::server::{Server, page};
use crate::wait::until;
use crate::world::{Browser, Place, call};

/// The user nobody, on every system.
const OTHER: u32 = 65_534;

fn opened(place: &Place) -> (Server, Browser) {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    let browser = place.plain(&server.url("/"), &[]);
    (server, browser)
}

/// The response to a program of another user; empty if it cannot connect at all.
fn as_another_user(address: SocketAddr, request: &str) -> String {
    let script = "exec 3<>/dev/tcp/127.0.0.1/$1 && printf %s \"$2\" >&3 && cat <&3";
    let output = Command::new("bash")
        .args(["-c", script, "bash", &address.port().to_string(), request])
        .uid(OTHER)
        .gid(OTHER)
        .current_dir("/")
        .output()
        .expect("there is bash");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn programs_of_other_users_cannot_send_commands() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0);
    if !is_root {
        println!("skipped: only root can be another user");
        return;
    }
    let place = Place::new();
    let (_server, browser) = opened(&place);
    let body = json!({ "url": "http://127.0.0.1:1/" }).to_string();
    for (command, body) in [("read", ""), ("navigate", body.as_str()), ("tabs", "{}"), ("none", "")]
    {
        let request = format!(
            "POST /{command} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            browser.address,
            body.len()
        );
        let answer = as_another_user(browser.address, &request);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{command}: {answer}");
        assert!(answer.contains("application/problem+json"), "{answer}");
        assert!(answer.contains("only programs of the user that started the browser"), "{answer}");
        assert!(!answer.contains("Hello"), "{answer}");
    }
    // It had no effect, and this user can continue.
    assert_eq!(browser.done("read", &json!({}))["dom_summary"]["headings"], json!(["Hello"]));
}

/// Sends a command to the socket.
fn ask(place: &Place, command: &str, host: &str) -> String {
    let socket = place.file(".waypost/data/browser.sock");
    let mut stream = UnixStream::connect(socket).expect("it listens");
    let request = format!(
        "POST /{command} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn the_socket_accepts_the_same_commands_from_this_user_only() {
    let place = Place::new();
    let (_server, mut browser) = opened(&place);
    let socket = place.file(".waypost/data/browser.sock");
    assert!(browser.said.contains(&socket.display().to_string()), "{}", browser.said);
    assert_eq!(fs::metadata(&socket).expect("a socket").mode() & 0o777, 0o600);
    let folder = fs::metadata(place.file(".waypost/data")).expect("a folder");
    assert_eq!(folder.mode() & 0o777, 0o700);
    // A Unix socket needs no host name, so any is accepted.
    for host in ["browser", "localhost", "127.0.0.1:4748"] {
        let answer = ask(&place, "read", host);
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("Hello"), "{answer}");
    }
    let missing = ask(&place, "click", "browser");
    assert!(missing.starts_with("HTTP/1.1 422 ") && missing.contains("selector"), "{missing}");
    // A second browser gets no socket, and leaves this one alone.
    let second = place.plain("about:blank", &["--no-mesh"]);
    assert!(second.said.contains("no socket for commands"), "{}", second.said);
    drop(second);
    assert!(ask(&place, "read", "browser").starts_with("HTTP/1.1 200 "));
    browser.signal("TERM");
    browser.end();
    assert!(!socket.exists(), "it goes with the browser");
    // The socket of a killed browser is replaced; a file that is not a socket is not.
    drop(UnixListener::bind(&socket).expect("a socket that nobody answers on"));
    let (_server, third) = opened(&place);
    assert!(ask(&place, "read", "browser").starts_with("HTTP/1.1 200 "));
    call(&place.peer(), "read", &json!({})).expect("and over the mesh");
    drop(third);
    fs::write(&socket, "mine").expect("a file");
    let (_server, fourth) = opened(&place);
    assert!(fourth.said.contains("is not a socket"), "{}", fourth.said);
    drop(fourth);
    assert_eq!(fs::read_to_string(&socket).expect("a file"), "mine");
    fs::remove_file(&socket).expect("it goes");
    fs::set_permissions(place.file(".waypost/data"), fs::Permissions::from_mode(0o755))
        .expect("its owner may");
    let fifth = place.plain("about:blank", &["--no-mesh"]);
    assert!(fifth.said.contains("is accessible to others"), "{}", fifth.said);
    assert!(!socket.exists());
}

#[test]
fn commands_that_come_before_the_first_page_wait_for_it() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let server = Server::start(move |request| {
        if request.path == "/first" {
            let held = held.lock().expect("nobody panicked");
            held.recv_timeout(std::time::Duration::from_secs(60)).unwrap_or_default();
        }
        page("<h1>First</h1><a href=/next>Next</a>")
    });
    let place = Place::new();
    let url = server.url("/first");
    let mut command =
        place.command(&[&url, "--headless", "--engine", "static", "--listen", "127.0.0.1:0"]);
    let mut child = command.spawn().expect("it starts");
    let socket = place.file(".waypost/data/browser.sock");
    until(|| {
        let is_begun = socket.exists() && server.asked().iter().any(|asked| asked == "GET /first");
        is_begun.then_some(()).ok_or("it does not begin")
    });
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&place, "read", "browser"));
        let going = scope.spawn(|| ask(&place, "reload", "browser"));
        release.send(()).expect("the server waits");
        release.send(()).expect("and again, for the reload");
        for answer in [asking, going] {
            let answer = answer.join().expect("no panic");
            assert!(
                answer.starts_with("HTTP/1.1 200 ") && !answer.contains("human_in_control"),
                "{answer}"
            );
        }
    });
    child.kill().expect("it is killed");
    end_of(&mut child);
}
