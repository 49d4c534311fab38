//! What a repository plants in the entries and the variables of agents' commands.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;
use waypost_service::TlsFiles;

use crate::ctl::{self, Ran};
use crate::mcp::Server;
use crate::service::Service;
use crate::start::{Project, text};

const QUESTION: &str = "Which port does the billing service listen on?";

/// A server that records whether anybody connects to it.
struct Stranger(TcpListener);

impl Stranger {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        Self(listener)
    }

    fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().expect("an address"))
    }

    fn has_heard_something(&self) -> bool {
        self.0.accept().is_ok()
    }
}

/// A service with a memory that answers the question, in a project whose token and prompts must stay here.
fn filled() -> Service {
    let service = Service::start();
    for subject in ["gardens", "boats", "trains", "mountains", "violins", "kitchens"] {
        service.add(&format!("Some notes about {subject}, which nobody will ask for."));
    }
    service.add("We decided that the billing service listens on port 4747.");
    service
}

fn hook(command: &mut Command, folder: &Path) -> Ran {
    let input = json!({"session_id": "s", "prompt": QUESTION, "cwd": folder});
    ctl::with_input(command, input.to_string().as_bytes())
}

const PROMPT: [&str; 4] = ["hook", "user-prompt", "--harness", "claude"];

#[test]
fn variables_send_no_prompt_and_no_token_to_a_stranger() {
    let (service, stranger) = (filled(), Stranger::new());
    let url = stranger.url();
    let planted = |command: &mut Command| {
        command.env("WAYPOST_URL", &url).env("WAYPOST_TRUST_PROJECT", "1");
        command.env("WAYPOST_TOKEN_FILE", "/nowhere").env("WAYPOST_DATA_DIR", "elsewhere");
    };
    let mut command = ctl::command(service.folder(), &PROMPT);
    planted(&mut command);
    let ran = hook(&mut command, service.folder());
    assert!(ran.out.contains("port 4747"), "{ran:?}");
    assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
    for said in [
        "WAYPOST_URL",
        "WAYPOST_TRUST_PROJECT",
        "WAYPOST_TOKEN_FILE",
        "WAYPOST_DATA_DIR",
        "config.yaml",
        "--url",
    ] {
        assert!(ran.err.contains(said), "{said}: {ran:?}");
    }
    let stop = ["hook", "stop", "--foreground", "--harness", "claude"];
    let mut command = ctl::command(service.folder(), &stop);
    planted(&mut command);
    assert_eq!(hook(&mut command, service.folder()).code, 0);

    let mut command = ctl::command(service.folder(), &["mcp"]);
    planted(&mut command);
    let mut server = Server::start(&mut command);
    for _ in 0..2 {
        let found = server.call("memory_search", &json!({"query": QUESTION}));
        assert!(text(&found).contains("port 4747"), "{found}");
    }
    let ended = server.end();
    assert_eq!(ended.err.matches("WAYPOST_URL").count(), 1, "once: {ended:?}");
    assert!(!stranger.has_heard_something());

    // An option is the user's word, and so is the user's own file.
    let arguments = [&["--url", &url][..], &PROMPT].concat();
    hook(&mut ctl::command(service.folder(), &arguments), service.folder());
    assert!(stranger.has_heard_something());
    let config = service.folder().join(".config/waypost");
    fs::create_dir_all(&config).expect("a folder");
    let root = service.folder().canonicalize().expect("a folder");
    let own = format!("projects:\n  {}: {{ url: \"{url}\" }}\n", root.display());
    fs::write(config.join("config.yaml"), own).expect("a file");
    hook(&mut ctl::command(service.folder(), &PROMPT), service.folder());
    assert!(stranger.has_heard_something());
}

#[test]
fn a_variable_with_certificates_lets_no_stranger_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let files = TlsFiles { cert: file("cert.pem"), key: file("key.pem") };
    let mut params = CertificateParams::new(Vec::new()).expect("names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = params.self_signed(&key).expect("an authority").pem();
    let issuer = Issuer::new(params, key);
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("names");
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate").pem();
    for (name, text) in
        [("ca.pem", authority), ("cert.pem", certificate), ("key.pem", key.serialize_pem())]
    {
        fs::write(file(name), text).expect("a file");
        fs::set_permissions(file(name), Permissions::from_mode(0o600)).expect("a mode");
    }
    let stranger = Service::start_with(|_, options| options.tls = Some(files));
    let url = stranger.url().replace("http://", "https://");
    let authority = file("ca.pem").display().to_string();

    let mine = filled();
    let run = |options: &[&str]| {
        let arguments = [&["--url", &url], options, &PROMPT].concat();
        let mut command = ctl::command(mine.folder(), &arguments);
        command.env("SSL_CERT_FILE", &authority);
        hook(&mut command, mine.folder()).err
    };
    let refused = run(&[]);
    assert!(refused.contains("certificate") && refused.contains("SSL_CERT_FILE"), "{refused}");
    assert!(!refused.contains("the token is"), "{refused}");
    // The other service has another token.
    let named = run(&["--ca", &authority]);
    assert!(named.contains("the token is") && !named.contains("SSL_CERT_FILE"), "{named}");
}

#[test]
fn a_variable_approves_no_flow() {
    let project = Project::new();
    let flows = project.path().join(".waypost/flows");
    fs::create_dir(&flows).expect("a folder");
    fs::write(
        flows.join("self-driving.yaml"),
        "flows:\n  - { name: planted, trigger: { pattern: \"x:*\" }, actions: [{ type: command, command: \"touch ran\" }] }\n",
    )
    .expect("a file");
    let mut command = project.command(&["mcp", "--exit-idle", "1s"]);
    command.env("WAYPOST_TRUST_PROJECT", "1");
    let mut server = Server::start(&mut command);
    let event = json!({"action": "publish", "type": "x:go", "data": {}});
    let published = server.call("events", &event);
    assert_eq!(published["isError"], false, "{published}");
    let listed = server.call("flows", &json!({"action": "list"}));
    assert!(listed.to_string().contains("approv"), "{listed}");
    let ended = server.end();
    assert!(ended.err.contains("WAYPOST_TRUST_PROJECT"), "{ended:?}");
    project.running();
    project.wait_for_end();
    assert!(!project.path().join("ran").exists());
}
