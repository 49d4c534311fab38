//! Names that resolve to another address the second time (DNS rebinding). The browser, the servers
//! and the resolver are in a separate network, where a public address belongs to this machine.

use std::collections::HashMap;
use std::fs;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

use crate::namespace::{in_a_network, is_in_a_network};
use crate::server::{Reply, Request, Server, page};
use crate::world::{Browser, Place};

const PUBLIC: [u8; 4] = [1, 2, 3, 4];
const LOCAL: [u8; 4] = [127, 0, 0, 1];

#[test]
fn a_name_connects_to_the_checked_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let files =
        [("resolv.conf", "nameserver 127.0.0.1\n"), ("nsswitch.conf", "hosts: files dns\n")];
    let prepare = files.map(|(name, content)| {
        let file = folder.path().join(name);
        fs::write(&file, content).expect("a file");
        format!("if [ -e /etc/{name} ]; then mount --bind {} /etc/{name}; fi;", file.display())
    });
    in_a_network("1.2.3.4", &prepare.concat(), "rebinding::in_a_network_of_its_own");
}

#[test]
fn in_a_network_of_its_own() {
    if !is_in_a_network() {
        return;
    }
    let names = Names::start();
    let outside = Server::start_at("1.2.3.4:0", site);
    let port = outside.port;
    let inside = Server::start_at(&format!("127.0.0.1:{port}"), |request| {
        if request.path == "/vectors" { site(request) } else { page("<h1>Inside</h1>") }
    });
    let place = Place::new();
    for engine in ["static", "chromium"] {
        let arguments = ["--no-mesh", "--allow", "allowed.example"];
        let browser = match engine {
            "static" => place.plain("about:blank", &arguments),
            _ => place.chromium("about:blank", &arguments),
        };
        let url = |name: &str| json!({ "url": format!("http://{name}.example:{port}/") });
        let turning = format!("turning-{engine}");
        assert_eq!(browser.done("navigate", &url(&turning))["status"], 200, "{engine}");
        if engine == "chromium" {
            // The page's next request goes to the address that the name has by then.
            browser.done("wait", &json!({ "text": "all is done", "timeout": 30_000 }));
        }
        assert_eq!(browser.done("read", &json!({}))["dom_summary"]["headings"], json!(["Outside"]));
        let refused = browser.refused("reload", &json!({}), 403);
        assert!(refused["detail"].as_str().is_some_and(|it| it.contains("127.0.0.1")), "{refused}");
        // One non-public address is enough, at any position.
        for name in ["both", "local", "mapped"] {
            browser.refused("navigate", &url(name), 403);
        }
        let redirect = json!({ "url": format!("http://steady.example:{port}/to-local") });
        browser.refused("navigate", &redirect, 403);
        assert_eq!(inside.asked(), Vec::<String>::new(), "{engine}");
        names_of_ourselves_are_refused(&browser);
        drop(browser);
        what_a_person_opened_while_it_was_public_reaches_nothing_else(engine, port, &inside);
    }
    let asked = names.asked.lock().expect("nobody panicked").clone();
    assert!(asked.iter().any(|it| it == "turning-chromium.example"), "{asked:?}");
    // The proxy resolves names: hints of a page are not followed besides it.
    assert!(!asked.iter().any(|it| it.starts_with("hinted")), "{asked:?}");
}

/// The ways in which a page can access its own host again.
const WAYS: &[&str] = &[
    "GET /v-image",
    "GET /v-frame",
    "GET /v-style",
    "POST /v-fetch",
    "GET /v-socket",
    "GET /v-popup",
];

/// The person started there, or a setting allows it, and then the name gets another address. The
/// same pages under a name that was on this machine from the start show that each way leads there.
fn what_a_person_opened_while_it_was_public_reaches_nothing_else(
    engine: &str,
    port: u16,
    inside: &Server,
) {
    let place = Place::new();
    let granted = |kind: &str| format!("http://granted-{kind}-{engine}.example:{port}/vectors");
    let allowed = format!("granted-setting-{engine}.example");
    for (kind, more) in [
        ("person", &["--allow", "allowed.example"][..]),
        ("setting", &["--allow", "allowed.example", "--allow", &allowed]),
        ("private", &["--allow", "private"]),
    ] {
        let arguments = [&["--no-mesh"], more].concat();
        let start = if kind == "person" { granted(kind) } else { "about:blank".to_owned() };
        let browser = match engine {
            "static" => place.plain(&start, &arguments),
            _ => place.chromium(&start, &arguments),
        };
        if kind != "person" {
            let gone = browser.done("navigate", &json!({ "url": granted(kind) }));
            assert_eq!(gone["status"], 200, "{kind}");
        }
        let is_live = engine == "chromium";
        if is_live {
            try_each_way(&browser);
        }
        assert_eq!(
            browser.done("read", &json!({ "scope": "h1" }))["dom_summary"]["headings"],
            json!(["Outside"])
        );
        for path in ["/v-journey", "/vectors"] {
            browser.refused("navigate", &json!({ "url": path }), 403);
        }
        let refused = browser.refused("reload", &json!({}), 403);
        assert!(
            refused["detail"].as_str().is_some_and(|it| it.contains("of another kind")),
            "{refused}"
        );
        let to = format!("http://steady.example:{port}/to-granted-{kind}-{engine}");
        browser.refused("navigate", &json!({ "url": to }), 403);
        assert_eq!(inside.asked(), Vec::<String>::new(), "{engine} {kind}");
        if is_live && kind == "person" {
            let own = Server::start_at("127.0.0.1:0", |request| {
                if request.path == "/vectors" { site(request) } else { page("<h1>Inside</h1>") }
            });
            let control = json!({ "url": format!("http://allowed.example:{}/vectors", own.port) });
            assert_eq!(browser.done("navigate", &control)["status"], 200);
            try_each_way(&browser);
            for way in WAYS {
                assert!(own.asked().iter().any(|it| it == way), "{way}: {:?}", own.asked());
            }
        }
    }
}

fn try_each_way(browser: &Browser) {
    browser.done("wait", &json!({ "text": "all is done", "timeout": 60_000 }));
    // Popups need a click.
    browser.done("click", &json!({ "selector": "button" }));
    browser.done("wait", &json!({ "networkIdle": true, "timeout": 30_000 }));
}

/// A person may allow a name, but not the browser's own port.
fn names_of_ourselves_are_refused(browser: &Browser) {
    let own = format!("http://allowed.example:{}/read", browser.address.port());
    let refused = browser.refused("navigate", &json!({ "url": own }), 403);
    assert!(
        refused["detail"].as_str().is_some_and(|it| it.contains("Waypost itself")),
        "{refused}"
    );
}

fn site(request: &Request) -> Option<Reply> {
    let host = request.headers.get("host")?;
    match request.path.as_str() {
        "/" => page(
            "<h1>Outside</h1><link rel=dns-prefetch href=//hinted-a.example>
            <link rel=preconnect href=//hinted-b.example><script>
            const socket = new Promise((done) => {
              new WebSocket(`ws://${location.host}/socket`).onerror = done;
            });
            const more = fetch('/more', { method: 'POST', body: 'x' }).catch(() => 0);
            Promise.all([socket, more]).then(() => document.body.append('all is done'));
            </script>",
        ),
        "/vectors" => page(
            "<h1>Outside</h1><img src=/v-image><iframe src=/v-frame></iframe>
            <link rel=stylesheet href=/v-style><button onclick=\"window.open('/v-popup')\">Open</button><script>
            const socket = new Promise((done) => {
              const it = new WebSocket(`ws://${location.host}/v-socket`);
              it.onerror = done;
            });
            const more = fetch('/v-fetch', { method: 'POST', body: 'x' }).catch(() => 0);
            Promise.all([socket, more]).then(() => document.body.append('all is done'));
            </script>",
        ),
        _ if request.path.starts_with("/to-granted") => {
            let port = host.rsplit(':').next()?;
            let name = request.path.strip_prefix("/to-")?;
            let to = format!("http://{name}.example:{port}/v-redirect");
            Some((302, vec![("location".to_owned(), to)], String::new()))
        }
        "/to-local" => {
            let to = format!("http://local.{}/", host.split_once('.')?.1);
            Some((302, vec![("location".to_owned(), to)], String::new()))
        }
        _ => None,
    }
}

/// A resolver: its queries, in order. It ends with the test.
struct Names {
    asked: Arc<Mutex<Vec<String>>>,
}

impl Names {
    fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:53").expect("the port of resolvers");
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            let mut packet = [0; 512];
            let mut answers = HashMap::new();
            while let Ok((length, client)) = socket.recv_from(&mut packet) {
                // A question that is sent again has the same id, and gets the same answer.
                let answer = answers.entry(packet[..length].to_vec()).or_insert_with_key(|entry| {
                    answer(entry, &mut log.lock().expect("nobody panicked"))
                });
                socket.send_to(answer, client).expect("it is sent");
            }
        });
        Self { asked }
    }
}

/// RFC 1035, section 4: the question repeated, and the addresses of its name, with a TTL of zero.
fn answer(question: &[u8], asked: &mut Vec<String>) -> Vec<u8> {
    let (mut name, mut at) = (String::new(), 12);
    while question[at] != 0 {
        let end = at + 1 + usize::from(question[at]);
        name.push_str(&String::from_utf8_lossy(&question[at + 1..end]));
        name.push('.');
        at = end;
    }
    let name = name.trim_end_matches('.').to_owned();
    let kind = question[at + 2];
    let addresses: Vec<Vec<u8>> = match (kind, name.split(['-', '.']).next()) {
        (1, Some("turning" | "granted")) if asked.contains(&name) => vec![LOCAL.to_vec()],
        (1, Some("turning" | "granted" | "steady")) => vec![PUBLIC.to_vec()],
        (1, Some("both")) => vec![PUBLIC.to_vec(), LOCAL.to_vec()],
        (1, Some("local" | "allowed")) => vec![LOCAL.to_vec()],
        // ::ffff:127.0.0.1, an IPv4 address in IPv6.
        (28, Some("mapped")) => vec![[&[0; 10][..], &[255; 2], &LOCAL].concat()],
        _ => Vec::new(),
    };
    if kind == 1 {
        asked.push(name);
    }
    let count = u8::try_from(addresses.len()).expect("a few");
    let mut answer = question[..2].to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, count, 0, 0, 0, 0]);
    answer.extend(&question[12..at + 5]);
    for address in addresses {
        let length = u8::try_from(address.len()).expect("4 or 16");
        answer.extend([0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 0, 0, length]);
        answer.extend(address);
    }
    answer
}
