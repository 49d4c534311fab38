//! A browser on the mesh of a service.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use waypost_api::routes;
use waypost_project::MeshSettings;
use waypost_service::Options;

use crate::child::end_of;
use crate::service::Service;
use crate::wait::until;

/// Lets the service join the mesh on which the programs of its project meet.
pub(crate) fn on_the_mesh(folder: &Path, options: &mut Options) {
    options.mesh = Some(MeshSettings {
        enabled: true,
        folder: folder.join(".waypost/data/mesh"),
        pairing_dir: folder.join(".waypost/data/pairing"),
        listen: false,
        human_events: false,
    });
}

/// Serves a page with a link to itself at every path. It ends with the test.
fn serve_pages() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let length = client.read(&mut head).unwrap_or_default();
            let head = String::from_utf8_lossy(&head[..length]);
            let path = head.split(' ').nth(1).unwrap_or_default();
            let page = format!("<title>Harbour</title><h1>{path}</h1><a href=/berths>Berths</a>");
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len());
            // A client that leaves needs no answer.
            client.write_all(answer.as_bytes()).unwrap_or_default();
        }
    });
    address
}

/// The program `browser`, which ends with the test.
pub(crate) struct Browser(Child);

impl Browser {
    /// One on the mesh of the service.
    pub(crate) fn open(service: &Service) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_ctl")).with_file_name("browser");
        let mut command = Command::new(program);
        command.args([&serve_pages().to_string(), "--headless", "--engine", "static"]);
        command.args(["--listen", "127.0.0.1:0"]).current_dir(service.folder()).env_clear();
        command.env("HOME", service.folder()).env("WAYPOST_TRUST_PROJECT", "1");
        let browser = command.stderr(Stdio::null()).spawn().expect("`browser` is built");
        let browser = Self(browser);
        until(|| {
            let found = service.client().call(&routes::LIST_BROWSERS, ()).expect("a list");
            if found.is_empty() { Err("no browser is on the mesh") } else { Ok(()) }
        });
        browser
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without Chromium, nothing remains.
        self.0.kill().expect("it is killed");
        end_of(&mut self.0);
    }
}
