//! Paired machines over TLS on the loopback address: each machine is a separate runtime folder and
//! pairing folder.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use waypost_mesh::{
    Allow, CallError, Error, Far, Mesh, Origin, Pairing, Pattern, Rights, Settings,
};

use crate::hostile::ask;
use crate::{LONG, Place, now, now_ms, serve_echo};

/// A machine: where its peers meet, and its pairing.
pub(crate) struct Machine {
    pub(crate) place: Place,
    pub(crate) pairing: PathBuf,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        let pairing = place.0.path().join("pairing");
        Self { place, pairing }
    }

    pub(crate) fn join(&self, name: &str, listens: bool) -> Mesh {
        let far = Far::new(&self.pairing).with_listens(listens);
        Mesh::open(&Settings::new(&self.place.folder(), name).with_far(far)).unwrap()
    }

    /// Creates the authority, at a separate address.
    pub(crate) fn found(&self, name: &str) -> Pairing {
        Pairing::found(&self.pairing, name, &free_address(), now()).unwrap()
    }
}

/// An address that stays unused while nothing listens there: the system does not assign such ports
/// to connecting clients, and each test process uses others.
pub(crate) fn free_address() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = std::process::id() * 8 + NEXT.fetch_add(1, Ordering::Relaxed);
        let address = format!("127.0.0.1:{}", 10_000 + next % 20_000);
        if TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

pub(crate) fn rights(calls: &[&str]) -> Rights {
    let calls: Vec<_> = calls.iter().map(|call| Allow::parse(call).unwrap()).collect();
    Rights::default().with_calls(calls).with_events(true)
}

pub(crate) fn pair(pairing: &mut Pairing, name: &str, calls: &[&str], bundle: &Path) {
    pairing.pair(name, rights(calls), bundle, now()).unwrap();
}

/// Edits the list of a machine by hand.
pub(crate) fn edit(pairing: &Path, change: impl FnOnce(&mut Value)) {
    let file = pairing.join("paired.json");
    let mut list: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    change(&mut list);
    std::fs::write(file, list.to_string()).unwrap();
}

/// The program's own TLS, as a client with the certificate of a pairing or without one.
pub(crate) fn raw(
    pairing: &Path,
    address: &str,
    protocol: Option<&str>,
    has_certificate: bool,
) -> std::io::Result<impl Read + Write> {
    let mut roots = RootCertStore::empty();
    let file = |name: &str| pairing.join(name);
    let certificate = |name: &str| CertificateDer::from_pem_file(file(name)).unwrap();
    roots.add(certificate("authority.pem")).unwrap();
    let builder =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder =
        builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let mut config = if has_certificate {
        let key = PrivateKeyDer::from_pem_file(file("machine.key")).unwrap();
        builder.with_client_auth_cert(vec![certificate("machine.pem")], key).unwrap()
    } else {
        builder.with_no_client_auth()
    };
    config.alpn_protocols =
        protocol.into_iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let host = ServerName::try_from("127.0.0.1").unwrap();
    let session = ClientConnection::new(Arc::new(config), host).unwrap();
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LONG))?;
    Ok(StreamOwned::new(session, stream))
}

const PROTOCOL: Option<&str> = Some("waypost-mesh/2");

/// Calls until the machines have connected.
fn call(mesh: &Mesh, command: &str) -> Result<Value, CallError> {
    call_of(mesh, "echo", command)
}

pub(crate) fn call_of(mesh: &Mesh, target: &str, command: &str) -> Result<Value, CallError> {
    let mut outcome = None;
    crate::eventually("the machines meet", || {
        let called = mesh.call(target, command, &json!(1), LONG);
        let met = !matches!(called, Err(CallError::Offline(_)));
        outcome = Some(called);
        met
    });
    outcome.unwrap()
}

#[test]
fn a_paired_machine_may_do_what_was_allowed_until_it_is_revoked() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &["echo/say", "echo/who"], &laptop.pairing);
    let server = home.join("server", true);
    assert_eq!(server.trouble(), None);
    let _serving = serve_echo(&server);
    let caller = laptop.join("caller", false);
    assert_eq!(call(&caller, "say"), Ok(json!(1)));
    // The certificate proves the caller, not the envelope.
    assert_eq!(call(&caller, "who"), Ok(json!({ "origin": "laptop", "says": "caller" })));
    assert!(matches!(call(&caller, "fail"), Err(CallError::Denied(_))));
    let nobody = caller.call("nobody", "say", &Value::Null, LONG);
    assert!(matches!(nobody, Err(CallError::Offline(_))), "{nobody:?}");
    // A target on the same machine takes precedence, and needs no rights.
    let near = laptop.place.join("near");
    let _near = near.serve("echo", |_| Ok(json!("near"))).unwrap();
    crate::eventually("the near one answers", || call(&caller, "fail") == Ok(json!("near")));
    drop(near);

    assert!(pairing.revoke("laptop").unwrap());
    assert!(!pairing.revoke("laptop").unwrap());
    crate::eventually("it is denied", || {
        matches!(caller.call("echo", "say", &json!(1), LONG), Err(CallError::Denied(_)))
    });
    // The same for a peer that joins again with the same certificate.
    let again = laptop.join("again", false);
    crate::eventually("it is denied", || {
        matches!(again.call("echo", "say", &json!(1), LONG), Err(CallError::Denied(_)))
    });
    let renewed = pairing.pair("laptop", rights(&[]), &laptop.place.0.path().join("b"), now());
    assert!(matches!(renewed, Err(Error::Invalid(_))));
}

#[test]
fn events_and_presence_cross_and_say_where_they_come_from() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &[], &laptop.pairing);
    let server = home.join("server", true);
    let _serving = serve_echo(&server);
    let heard = server.listen(&Pattern::parse("mesh:*").unwrap());
    let other = laptop.join("other", false);
    let mut event = None;
    crate::eventually("the event is heard", || {
        other.broadcast("ctl", &json!({ "type": "mesh:task", "title": "t" })).unwrap();
        event = heard.next(Duration::from_millis(50));
        event.is_some()
    });
    let event = event.unwrap();
    assert_eq!(event.from.origin, Origin::Machine("laptop".into()));
    assert_eq!((event.from.says.as_str(), &event.body["title"]), ("other", &json!("t")));
    crate::eventually("the server is seen from the other machine", || {
        let peers = other.peers();
        let server = peers.iter().find(|peer| peer.name == "server");
        server.is_some_and(|server| {
            server.origin == Origin::Machine("home".into()) && server.targets == ["echo"]
        })
    });
}

#[test]
fn a_certificate_of_another_authority_and_none_at_all_open_nothing() {
    let (home, stranger, laptop) = (Machine::new(), Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &["echo/*"], &laptop.pairing);
    let address = pairing.address().unwrap().to_owned();
    let server = home.join("server", true);
    let _serving = serve_echo(&server);
    // Another authority is also named home, and its laptop has the same name.
    let mut theirs =
        Pairing::found(&stranger.place.0.path().join("ca"), "home", &address, now()).unwrap();
    pair(&mut theirs, "laptop", &["echo/*"], &stranger.pairing);
    let intruder = stranger.join("intruder", false);
    let good = laptop.join("caller", false);
    assert_eq!(call(&good, "say"), Ok(json!(1)));
    let called = intruder.call("echo", "say", &json!(1), LONG);
    assert!(matches!(called, Err(CallError::Offline(_))), "{called:?}");
    assert_eq!(intruder.peers().len(), 1, "it sees itself alone");
    // One that trusts the right authority, and has no certificate to present.
    let asked = raw(&laptop.pairing, &address, PROTOCOL, false)
        .and_then(|raw| ask(raw, "GET", "/peer", ""));
    assert!(asked.is_err(), "{asked:?}");
    assert_eq!(call(&good, "say"), Ok(json!(1)));
}

#[test]
fn a_paired_machine_that_forges_its_name_is_ignored() {
    let (home, laptop, desk) = (Machine::new(), Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &["echo/say"], &laptop.pairing);
    pair(&mut pairing, "desk", &["echo/*"], &desk.pairing);
    let server = home.join("server", true);
    let _serving = serve_echo(&server);
    let address = pairing.address().unwrap();
    let ask = |path: &str, body: &str| {
        let raw = raw(&laptop.pairing, address, PROTOCOL, true).unwrap();
        ask(raw, if body.is_empty() { "GET" } else { "POST" }, path, body).unwrap()
    };
    let (_, about) = ask("/peer", "");
    let request = |id: char| {
        let id = id.to_string().repeat(32);
        json!({
            "v": 2, "id": id, "from": "desk", "to": about["id"], "expires": now_ms() + 60_000,
            "argument": 1, "origin": "desk",
        })
    };
    // The certificate says who calls, whatever the envelope says.
    let (status, said) = ask("/call/echo/say", &request('a').to_string());
    assert_eq!((status, &said["result"]), (200, &json!(1)));
    for (path, id) in [("/call/echo/who", 'b'), ("/call/echo/*", 'c'), ("/call/**", 'd')] {
        let (status, said) = ask(path, &request(id).to_string());
        assert!([400, 403].contains(&status), "{path}: {said}");
    }
}

#[test]
fn a_machine_of_an_earlier_release_is_told_apart_from_one_that_is_away() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &["echo/say"], &laptop.pairing);
    let server = home.join("server", true);
    let address = pairing.address().unwrap();
    // The transport of earlier releases agreed on no protocol.
    let mut old = raw(&laptop.pairing, address, None, true).unwrap();
    assert!(old.write_all(b"hello").and_then(|()| old.read_to_end(&mut Vec::new())).is_err());
    let trouble = || server.trouble().unwrap_or_default();
    crate::eventually("it is said", || trouble().contains("laptop: it is not of this release"));
    // And the other way round: something accepts connections, and does not speak TLS.
    let other = free_address();
    let _listener = TcpListener::bind(&other).unwrap();
    edit(&laptop.pairing, |list| list["connect"] = json!([other]));
    let caller = laptop.join("caller", false);
    let Err(CallError::Offline(why)) = caller.call("echo", "say", &json!(1), LONG) else {
        panic!("it was called");
    };
    assert!(why.contains("it does not respond"), "{why}");
}

#[test]
fn a_machine_without_an_address_is_called_over_the_link_that_it_opened() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &[], &laptop.pairing);
    edit(&laptop.pairing, |list| list["machines"][0]["calls"] = json!(["back/*"]));
    let server = home.join("server", true);
    let other = laptop.join("other", false);
    let heard = other.listen(&Pattern::all());
    let together = Arc::new(std::sync::Barrier::new(4));
    let meet = Arc::clone(&together);
    let _back = other
        .serve("back", move |call| {
            if call.command == "meet" {
                meet.wait();
            }
            Ok(json!({ "origin": call.caller.origin.to_string() }))
        })
        .unwrap();
    assert_eq!(call_of(&server, "back", "who"), Ok(json!({ "origin": "home" })));
    // Several calls at once need several connections.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(call_of(&server, "back", "meet").is_ok()));
        }
    });
    let denied = server.call("other", "who", &json!(1), LONG);
    assert!(matches!(denied, Err(CallError::Offline(_))), "{denied:?}");
    server.broadcast("test", &json!({ "type": "tick" })).unwrap();
    let event = heard.next(LONG).unwrap();
    assert_eq!(event.from.origin, Origin::Machine("home".into()));
    let peers = server.peers();
    assert!(peers.iter().any(|it| it.origin == Origin::Machine("laptop".into())), "{peers:?}");
}

#[test]
fn a_target_that_two_machines_serve_is_not_called() {
    let (home, desk, laptop) = (Machine::new(), Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    for (name, machine) in [("desk", &desk), ("laptop", &laptop)] {
        pair(&mut pairing, name, &[], &machine.pairing);
        edit(&machine.pairing, |list| list["machines"][0]["calls"] = json!(["echo/*"]));
    }
    let caller = home.join("caller", true);
    let (first, second) = (desk.join("first", false), laptop.join("second", false));
    let (_first, _second) = (serve_echo(&first), serve_echo(&second));
    crate::eventually("both are there", || caller.peers().len() == 3);
    let Err(CallError::Failed(problem)) = call(&caller, "say") else { panic!("it was called") };
    assert_eq!(problem.code, "ambiguous");
    assert!(problem.detail.contains("desk and laptop"), "{problem}");
}

#[test]
fn a_list_with_a_router_of_an_earlier_release_is_read_and_says_so() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &["echo/say"], &laptop.pairing);
    let router =
        json!({ "name": "meeting", "router": true, "address": "[::1]:7447", "events": true });
    edit(&laptop.pairing, |list| {
        list["machines"].as_array_mut().unwrap().push(router);
    });
    let server = home.join("server", true);
    let _serving = serve_echo(&server);
    let caller = laptop.join("caller", false);
    assert_eq!(call(&caller, "say"), Ok(json!(1)));
    assert!(caller.trouble().is_some_and(|it| it.contains("meeting: this release")));
}

#[test]
fn a_second_listener_of_a_machine_connects_only_and_says_so() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &[], &laptop.pairing);
    let first = home.join("first", true);
    let second = home.join("second", true);
    assert_eq!(first.trouble(), None);
    assert!(second.trouble().is_some());
}

#[test]
fn a_machine_that_is_paired_while_it_runs_needs_no_restart() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let server = home.join("server", true);
    let _serving = serve_echo(&server);
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &["echo/say"], &laptop.pairing);
    let caller = laptop.join("caller", false);
    assert_eq!(call(&caller, "say"), Ok(json!(1)));
}

#[test]
fn what_is_allowed_while_machines_run_needs_no_restart() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &["echo/say"], &laptop.pairing);
    let server = home.join("server", true);
    let _serving = serve_echo(&server);
    let caller = laptop.join("caller", false);
    let denied = call(&caller, "who");
    assert!(matches!(denied, Err(CallError::Denied(_))), "{denied:?}");
    edit(&home.pairing, |list| {
        list["machines"][0]["calls"] = json!(["echo/say", "echo/who"]);
    });
    crate::eventually("it is allowed", || call(&caller, "who").is_ok());
}

#[test]
fn keys_and_lists_that_others_may_read_are_refused() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &[], &laptop.pairing);
    for folder in [&home.pairing, &laptop.pairing] {
        assert_eq!(std::fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(
                std::fs::metadata(&path).unwrap().mode() & 0o777,
                0o600,
                "{}",
                path.display()
            );
        }
    }
    assert!(!laptop.pairing.join("authority.key").exists(), "only one machine can pair others");
    for file in ["machine.key", "paired.json"] {
        let path = laptop.pairing.join(file);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Pairing::open(&laptop.pairing), Err(Error::Exposed { .. })), "{file}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    // Opening a pipe would wait for its writer.
    for file in ["machine.key", "machine.pem", "authority.pem", "paired.json"] {
        let (path, aside) = (laptop.pairing.join(file), laptop.pairing.join("aside"));
        std::fs::rename(&path, &aside).unwrap();
        let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&path).status();
        assert!(made.unwrap().success());
        assert!(matches!(Pairing::open(&laptop.pairing), Err(Error::Damaged { .. })), "{file}");
        std::fs::rename(&aside, &path).unwrap();
    }
    let mut theirs = Pairing::open(&laptop.pairing).unwrap().unwrap();
    let other = laptop.place.0.path().join("other");
    let refused = theirs.pair("desk", rights(&[]), &other, now());
    assert!(refused.unwrap_err().to_string().contains("authority's key"));
    for name in ["local", "Home", "a/b", ""] {
        let refused = pairing.pair(name, rights(&[]), &other, now());
        assert!(matches!(refused, Err(Error::Invalid(_))), "{name}");
    }
}

#[test]
fn machines_meet_once_the_cause_of_an_error_is_gone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    let bundle = laptop.place.0.path().join("bundle");
    pair(&mut pairing, "laptop", &["echo/say"], &bundle);
    let server = home.join("server", true);
    let _serving = serve_echo(&server);
    let caller = laptop.join("caller", false);
    let trouble_of = |mesh: &Mesh, why: &str| {
        crate::eventually("it says why", || mesh.trouble().is_some_and(|it| it.contains(why)));
    };
    let chmod = |machine: &Machine, mode: u32| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(machine.pairing.join("machine.key"), mode).unwrap();
    };
    // The list arrives before the other files.
    let aside = bundle.with_file_name("machine.pem");
    std::fs::rename(bundle.join("machine.pem"), &aside).unwrap();
    std::fs::rename(&bundle, &laptop.pairing).unwrap();
    trouble_of(&caller, "machine.pem");
    chmod(&laptop, 0o644);
    std::fs::rename(&aside, laptop.pairing.join("machine.pem")).unwrap();
    trouble_of(&caller, "chmod 600");
    chmod(&laptop, 0o600);
    assert_eq!(call(&caller, "say"), Ok(json!(1)));
    assert_eq!(caller.trouble(), None);
    // Without links, nothing listens.
    chmod(&home, 0o644);
    edit(&home.pairing, |_| ());
    trouble_of(&server, "chmod 600");
    let address = pairing.address().unwrap();
    crate::eventually("the port is closed", || TcpStream::connect(address).is_err());
    chmod(&home, 0o600);
    assert_eq!(call(&caller, "say"), Ok(json!(1)));
}

#[test]
fn a_machine_with_many_connections_locks_no_other_out() {
    let (home, laptop, desk) = (Machine::new(), Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    for (name, machine) in [("desk", &desk), ("laptop", &laptop)] {
        pair(&mut pairing, name, &["echo/say"], &machine.pairing);
    }
    let address = pairing.address().unwrap().to_owned();
    let server = home.join("server", true);
    let _serving = serve_echo(&server);
    let flood = || -> Vec<_> {
        let connect = |_| {
            let mut stream = raw(&laptop.pairing, &address, PROTOCOL, true).ok()?;
            stream.write_all(b"GET /peer HTTP/1.1\r\nhost: mesh\r\n\r\n").ok()?;
            Some(stream)
        };
        (0..256).filter_map(connect).collect()
    };
    for is_revoked in [false, true] {
        if is_revoked {
            assert!(pairing.revoke("laptop").unwrap());
            crate::eventually("it is revoked", || {
                let raw = raw(&laptop.pairing, &address, PROTOCOL, true).unwrap();
                ask(raw, "GET", "/peer", "").is_ok_and(|(status, _)| status == 403)
            });
        }
        let flood = flood();
        let caller = desk.join("caller", false);
        let called = caller.call("echo", "say", &json!(1), LONG);
        assert_eq!(called, Ok(json!(1)), "{is_revoked}");
        drop((flood, caller));
    }
}

#[test]
fn a_call_whose_permission_is_removed_meanwhile_is_not_denied() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    pair(&mut pairing, "laptop", &["slow/*"], &laptop.pairing);
    let server = home.join("server", true);
    let (begun, begins) = std::sync::mpsc::channel();
    let _serving = server.serve("slow", move |call| {
        if call.command == "down" {
            begun.send(()).unwrap();
            std::thread::park_timeout(LONG);
        }
        Ok(Value::Null)
    });
    let caller = laptop.join("caller", false);
    for is_revoked in [false, true] {
        edit(&home.pairing, |list| list["machines"][0]["calls"] = json!(["slow/*"]));
        crate::eventually("it is allowed", || {
            caller.call("slow", "up", &Value::Null, LONG).is_ok()
        });
        let called = std::thread::scope(|scope| {
            let called = scope.spawn(|| caller.call("slow", "down", &Value::Null, LONG));
            begins.recv_timeout(LONG).unwrap();
            if is_revoked {
                pairing.revoke("laptop").unwrap();
            } else {
                edit(&home.pairing, |list| list["machines"][0]["calls"] = json!([]));
            }
            called.join().unwrap()
        });
        assert!(matches!(called, Err(CallError::Offline(_))), "{called:?}");
    }
}
