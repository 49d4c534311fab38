//! A zenoh router in a separate process, started like `zenohd`: in the folder that pairing created,
//! with the configuration file in it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use waypost_mesh::Pairing;
use zenoh::Wait as _;

use crate::child::end_of;
use crate::far::{Machine, free_address, pair, rights};
use crate::{LONG, now, now_ms};

/// The variable that makes this program a router.
const ROUTES: &str = "WAYPOST_MESH_TEST_ROUTES";
const FILE: &str = "zenohd.json5";

/// Not a test: the process that the tests start and kill.
#[test]
fn routes_until_it_is_killed() {
    if std::env::var_os(ROUTES).is_none() {
        return;
    }
    let config = zenoh::Config::from_file(FILE).unwrap();
    let _router = zenoh::open(config).wait().unwrap();
    println!("routing");
    // Bounded, in case the test process is gone.
    std::thread::park_timeout(2 * LONG);
}

pub(crate) struct Router(Child);

impl Router {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "routing::routes_until_it_is_killed", "--nocapture"])
            .env(ROUTES, "")
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let router = Self(child);
        assert!(lines.any(|line| line.unwrap().ends_with("routing")));
        router
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        drop(self.0.kill());
        end_of(&mut self.0);
    }
}

/// A machine that pairs others, a machine that it paired, and the files for a router between them.
/// They know each other's names, but only the router's address.
pub(crate) struct Meeting {
    pub(crate) home: Machine,
    pub(crate) laptop: Machine,
    pub(crate) pairing: Pairing,
    pub(crate) address: String,
    pub(crate) folder: PathBuf,
}

impl Meeting {
    /// With the commands that the laptop may call at home.
    pub(crate) fn new(calls: &[&str]) -> Self {
        let (home, laptop) = (Machine::new(), Machine::new());
        let mut pairing = home.found("home");
        let (address, folder) = (free_address(), home.place.0.path().join("meeting"));
        let router = rights(&[]).with_router(address.clone());
        pairing.pair("meeting", router, &folder, now()).unwrap();
        pair(&mut pairing, "laptop", calls, &laptop.pairing);
        let mut this = Self { home, laptop, pairing, address, folder };
        edit(&this.laptop.pairing, |list| list["connect"] = json!([]));
        this.write();
        this
    }

    /// Another machine that home pairs, which also knows only the router's address.
    pub(crate) fn pair(&mut self, name: &str, calls: &[&str]) -> Machine {
        let machine = Machine::new();
        pair(&mut self.pairing, name, calls, &machine.pairing);
        edit(&machine.pairing, |list| list["connect"] = json!([]));
        self.write();
        machine
    }

    /// Writes the router's configuration for the present list.
    pub(crate) fn write(&mut self) {
        std::fs::write(self.folder.join(FILE), self.pairing.router("meeting").unwrap()).unwrap();
    }

    pub(crate) fn route(&self) -> Router {
        Router::start(&self.folder)
    }

    pub(crate) fn edit_router(&self, change: impl FnOnce(&mut Value)) {
        edit_file(&self.folder.join(FILE), change);
    }
}

/// Edits the list of a machine by hand.
pub(crate) fn edit(pairing: &Path, change: impl FnOnce(&mut Value)) {
    edit_file(&pairing.join("paired.json"), change);
}

fn edit_file(file: &Path, change: impl FnOnce(&mut Value)) {
    let mut list: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    change(&mut list);
    std::fs::write(file, list.to_string()).unwrap();
}

/// A client of the router with a machine's certificate, bypassing the crate.
pub(crate) struct Raw(zenoh::Session);

impl Raw {
    pub(crate) fn open(pairing: &Path, address: &str) -> zenoh::Result<Self> {
        let file = |name: &str| pairing.join(name);
        let config = json!({
            "mode": "client",
            "connect": { "endpoints": [format!("tls/{address}")], "timeout_ms": 0, "exit_on_failure": true },
            "scouting": { "multicast": { "enabled": false } },
            "transport": { "link": { "tls": {
                "root_ca_certificate": file("authority.pem"), "enable_mtls": true,
                "connect_certificate": file("machine.pem"), "connect_private_key": file("machine.key"),
            } } },
        });
        let config = zenoh::Config::from_json5(&config.to_string())?;
        Ok(Self(zenoh::open(config).wait()?))
    }

    /// How many replies with a result a call with that key gets.
    pub(crate) fn ask(&self, key: &str, id: char) -> usize {
        let payload = json!({
            "v": 1, "id": id.to_string().repeat(32), "from": "raw", "expires": now_ms() + 60_000,
            "argument": 1,
        });
        let get = self.0.get(key).payload(payload.to_string()).timeout(Duration::from_secs(1));
        let replies = get.wait().unwrap().into_iter();
        let read = |it: zenoh::query::Reply| {
            let sample = it.into_result().ok()?;
            serde_json::from_slice::<Value>(&sample.payload().to_bytes()).ok()
        };
        replies.filter_map(read).filter(|it| it.get("result").is_some()).count()
    }

    /// Broadcasts an event with that key.
    pub(crate) fn tell(&self, key: &str, id: char) {
        let notice = json!({
            "v": 1, "id": id.to_string().repeat(32), "from": "raw", "at": 0,
            "event": { "type": "mesh:task" },
        });
        let put = self.0.put(key.to_owned(), notice.to_string());
        put.congestion_control(zenoh::qos::CongestionControl::Block).wait().unwrap();
    }

    /// How many presence keys it sees.
    pub(crate) fn sees(&self) -> usize {
        let live = self.0.liveliness().get("mesh/waypost/live/**").timeout(Duration::from_secs(1));
        live.wait().unwrap().into_iter().filter(|it| it.result().is_ok()).count()
    }
}
