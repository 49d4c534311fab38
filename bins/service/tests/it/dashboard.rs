//! The dashboard's files and how a page gets its token.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use waypost_auth::{NewToken, Scope, TokenStore};

use crate::client::{Answer, raw};
use crate::flow_hooks::hmac_sha256;
use crate::service::{Service, send};
use crate::wait::until;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
/// What a visit of the page may cost.
const COMPRESSED_BYTES_MAX: usize = 100_000;

/// The files of the page, with their paths.
fn files() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboard");
    let mut found: Vec<_> = fs::read_dir(folder)
        .expect("the folder of the page")
        .map(|entry| entry.expect("a file").path())
        .map(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
            let path_of =
                if name == "index.html" { "/".to_owned() } else { format!("/dashboard/{name}") };
            (path_of, fs::read(&path).expect("a file"))
        })
        .collect();
    found.sort();
    assert!(found.len() > 10);
    found
}

/// A request without a token.
fn ask(
    service: &Service,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n{}\r\n{body}",
        service.address,
        body.len(),
        lines.concat(),
    );
    raw(service.address, head.as_bytes())
}

fn get(service: &Service, path: &str, headers: &[(&str, &str)]) -> Answer {
    ask(service, "GET", path, headers, "")
}

fn own(service: &Service) -> String {
    format!("http://{}", service.address)
}

fn code(service: &Service, body: &Value) -> String {
    let answer = service.post("/api/dashboard/codes", body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.json()["url"], format!("{}/", own(service)));
    answer.json()["code"].as_str().expect("a code").to_owned()
}

/// An exchange as the page's script sends it.
fn exchange(service: &Service, code: &str) -> Answer {
    let origin = own(service);
    let headers = [("origin", origin.as_str()), ("sec-fetch-site", "same-origin")];
    exchange_with(service, &headers, code)
}

fn exchange_with(service: &Service, headers: &[(&str, &str)], code: &str) -> Answer {
    ask(service, "POST", "/api/dashboard/token", headers, &json!({ "code": code }).to_string())
}

#[test]
fn every_file_is_served_without_a_token_and_with_all_protections() {
    let service = Service::start();
    for (path, content) in files() {
        let answer = get(&service, &path, &[]);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.body == content, "{path}");
        for (name, value) in [
            ("content-security-policy", POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-frame-options", "DENY"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-cache"),
            ("vary", "accept-encoding"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path} {name}");
        }
        for none in ["set-cookie", "access-control-allow-origin", "content-encoding"] {
            assert_eq!(answer.header(none), None, "{path} {none}");
        }
        let kind = match path.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(answer.header("content-type"), Some(kind), "{path}");
        let head = ask(&service, "HEAD", &path, &[], "");
        assert_eq!((head.status, head.header("etag")), (200, answer.header("etag")), "{path}");
        assert_eq!(
            ask(&service, "POST", &path, &[], "").problem(405),
            "this path accepts only GET,HEAD"
        );
    }
    get(&service, "/dashboard/none.js", &[]).problem(401);
    get(&service, "/dashboard/", &[]).problem(401);
    get(&service, "/index.html", &[]).problem(401);
}

#[test]
fn files_are_compressed_small_and_confirmed_when_unchanged() {
    let service = Service::start();
    let mut total = 0;
    for (path, content) in files() {
        let packed = get(&service, &path, &[("accept-encoding", "br, gzip;q=0.8")]);
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{path}");
        assert!(packed.body.starts_with(&[0x1f, 0x8b]) && packed.body.len() < content.len() + 32);
        total += packed.body.len();
        for accepted in ["gzip;q=0", "identity", "x-gzip", "gzip;q=x"] {
            let plain = get(&service, &path, &[("accept-encoding", accepted)]);
            assert_eq!(plain.header("content-encoding"), None, "{accepted}");
            assert!(plain.body == content, "{path} {accepted}");
        }
        let etag = packed.header("etag").expect("an ETag").to_owned();
        for known in [etag.clone(), format!("W/{etag}"), format!("\"x\", {etag}"), "*".to_owned()] {
            let same = get(&service, &path, &[("if-none-match", &known)]);
            assert_eq!((same.status, same.body.len()), (304, 0), "{path} {known}");
            assert_eq!(same.header("content-security-policy"), Some(POLICY));
        }
        assert_eq!(get(&service, &path, &[("if-none-match", "\"other\"")]).status, 200);
    }
    assert!(total <= COMPRESSED_BYTES_MAX, "{total} bytes");
}

/// Text of others is shown through `textContent` only, nothing comes from elsewhere, and nothing is
/// kept beyond the tab.
#[test]
fn the_files_have_no_markup_from_text_no_code_from_text_and_no_address_elsewhere() {
    let forbidden = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "srcdoc",
        "createContextualFragment",
        "setHTML",
        "eval(",
        "Function(",
        "setAttribute(\"on",
        "javascript:",
        "localStorage",
        "indexedDB",
        "document.cookie",
        "serviceWorker",
        "@import",
        "import(",
        "postMessage",
        "window.open",
        "target=",
    ];
    for (path, content) in files() {
        let text = String::from_utf8(content).expect("the files are text");
        for word in forbidden {
            assert!(!text.contains(word), "{path} contains {word}");
        }
        let without = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        assert!(!without.contains("://"), "{path} has the address of another host");
        assert!(!without.contains("\"//") && !without.contains("url("), "{path}");
        if path == "/" {
            // Neither inline scripts nor inline styles: the policy would block them.
            assert!(!text.contains("<style") && !text.contains(" style=") && !text.contains(" on"));
            assert_eq!(text.matches("<script").count(), 1);
        }
    }
}

#[test]
fn each_module_that_a_file_imports_is_served() {
    let files = files();
    let mut imports = 0;
    for (path, content) in &files {
        let text = String::from_utf8_lossy(content);
        for line in text.lines().filter(|line| line.starts_with("import ")) {
            let name =
                line.split('"').nth(1).and_then(|part| part.strip_prefix("./")).expect("a module");
            imports += 1;
            assert!(
                files.iter().any(|(it, _)| *it == format!("/dashboard/{name}")),
                "{path}: {name}"
            );
        }
    }
    assert!(imports > 10);
}

#[test]
fn a_link_elsewhere_opens_the_page_but_nothing_else() {
    let service = Service::start();
    let visit = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    assert_eq!(get(&service, "/", &visit).status, 200);
    // A frame, a script of another page, a request of its script.
    let frame = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "iframe"),
    ];
    get(&service, "/", &frame).problem(403);
    let script = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "no-cors"),
        ("sec-fetch-dest", "script"),
    ];
    get(&service, "/", &script).problem(403);
    get(&service, "/dashboard/app.js", &script).problem(403);
    get(&service, "/dashboard/app.js", &visit).problem(403);
    get(&service, "/api/memory", &visit).problem(403);
    let posted = [&visit[..], &[("origin", "https://evil.example")]].concat();
    ask(&service, "POST", "/", &posted, "").problem(403);
    // A rebound name stays one.
    let rebound = raw(service.address, b"GET / HTTP/1.1\r\nhost: evil.example\r\nsec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\nconnection: close\r\n\r\n");
    rebound.problem(421);
}

#[test]
fn only_its_own_page_sends_requests_with_an_origin() {
    let service = Service::start();
    let port = service.address.port();
    let add = |headers: &[(&str, &str)]| {
        send(
            service.address,
            "POST",
            "/api/memory/add",
            &service.token,
            headers,
            br#"{"content":"x"}"#,
        )
    };
    let origin = own(&service);
    assert_eq!(add(&[("origin", &origin)]).status, 201);
    assert_eq!(add(&[("origin", &origin), ("sec-fetch-site", "same-origin")]).status, 200);
    let others = [
        format!("https://127.0.0.1:{port}"),
        format!("http://localhost:{port}"),
        format!("http://[::1]:{port}"),
        "http://127.0.0.1".to_owned(),
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}.evil.example"),
        format!("127.0.0.1:{port}"),
        "null".to_owned(),
        String::new(),
    ];
    for other in others {
        add(&[("origin", &other)]).problem(403);
    }
    for site in ["cross-site", "same-site", "none"] {
        add(&[("origin", &origin), ("sec-fetch-site", site)]).problem(403);
    }
    // The page of a name that is not ours.
    let head = format!(
        "GET /api/memory HTTP/1.1\r\nhost: evil.example:{port}\r\norigin: http://evil.example:{port}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
        service.token
    );
    raw(service.address, head.as_bytes()).problem(421);
}

#[test]
fn a_code_is_exchanged_once_and_for_a_token_that_expires() {
    let service = Service::start();
    let code = code(&service, &json!({}));
    let answer = exchange(&service, &code);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let info = &answer.json()["info"];
    assert_eq!((&info["scopes"], &info["note"]), (&json!(["admin"]), &json!("the dashboard")));
    let [created, expires] = ["createdAt", "expiresAt"].map(|it| {
        info[it]
            .as_str()
            .and_then(|text| text.parse::<waypost_time::Timestamp>().ok())
            .expect("a time")
    });
    let seconds = expires.saturating_duration_since(created).as_secs();
    assert!((12 * 3600 - 5..=12 * 3600).contains(&seconds), "{seconds}");
    let token = answer.json()["token"].as_str().expect("a token").to_owned();
    assert_eq!(service.send("GET", "/api/memory/status", &token, b"").status, 200);

    // Who used it second may be its owner: the first one loses access, too.
    let detail = exchange(&service, &code).problem(410);
    assert!(detail.contains("used before") && detail.contains("ctl open"), "{detail}");
    service.send("GET", "/api/memory/status", &token, b"").problem(401);
    exchange(&service, &code).problem(410);
}

#[test]
fn wrong_codes_and_other_origins_get_no_token_and_do_not_use_a_code_up() {
    let service = Service::start();
    let code = code(&service, &json!({}));
    let origin = own(&service);
    let mut wrong = code.clone();
    wrong.replace_range(..1, if code.starts_with('a') { "b" } else { "a" });
    for wrong in [wrong.as_str(), "", &code[1..], "x".repeat(10_000).as_str()] {
        let detail = exchange(&service, wrong).problem(401);
        assert!(detail.contains("ctl open"), "{detail}");
    }
    let foreign: [&[(&str, &str)]; 6] = [
        &[],
        &[("sec-fetch-site", "same-origin")],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", &origin), ("sec-fetch-site", "cross-site")],
        &[("origin", &origin), ("origin", &origin)],
    ];
    for headers in foreign {
        let answer = exchange_with(&service, headers, &code);
        assert!([400, 403].contains(&answer.status), "{headers:?}: {}", answer.text());
    }
    for body in ["", "{}", "[]", r#"{"code":1}"#, r#"{"code":"x","more":1}"#] {
        let headers = [("origin", origin.as_str())];
        let status = ask(&service, "POST", "/api/dashboard/token", &headers, body).status;
        assert!([400, 422].contains(&status), "{body}: {status}");
    }
    assert_eq!(exchange(&service, &code).status, 201);
}

#[test]
fn only_administrators_create_codes_and_may_give_less_away() {
    let service = Service::start();
    let all = ["memory:read", "memory:write", "context:read", "events:read", "flows:run"];
    let token = service.new_token(&all, None);
    let refused = service.send("POST", "/api/dashboard/codes", &token, b"{}").problem(403);
    assert!(refused.contains("admin"), "{refused}");
    ask(&service, "POST", "/api/dashboard/codes", &[], "{}").problem(401);

    let reader = code(&service, &json!({"scopes": ["memory:read"], "space": "team"}));
    let answer = exchange(&service, &reader).json();
    assert_eq!(answer["info"]["scopes"], json!(["memory:read"]));
    assert_eq!(answer["info"]["space"], "team");
    let token = answer["token"].as_str().expect("a token");
    service.send("GET", "/api/tokens", token, b"").problem(403);

    service.post("/api/dashboard/codes", &json!({"space": "team"})).field_problem("/space");
    let admin = json!({"scopes": ["admin", "memory:read"], "space": "team"});
    service.post("/api/dashboard/codes", &admin).field_problem("/space");
    service.post("/api/dashboard/codes", &json!({"scopes": ["all"]})).problem(422);
    service.post("/api/dashboard/codes", &json!({"scopes": []})).field_problem("/scopes");
    let browser = json!({"scopes": ["memory:read", "browser:use"], "space": "team"});
    service.post("/api/dashboard/codes", &browser).field_problem("/space");
    service.post("/api/tokens", &browser).field_problem("/space");

    // Not longer than the token of the request.
    let soon = json!({"scopes": ["admin"], "expiresAt": in_an_hour()});
    let short = service.post("/api/tokens", &soon).json();
    let opened = service.send(
        "POST",
        "/api/dashboard/codes",
        short["token"].as_str().expect("a token"),
        b"",
    );
    let code = opened.json()["code"].as_str().expect("a code").to_owned();
    assert_eq!(exchange(&service, &code).json()["info"]["expiresAt"], short["info"]["expiresAt"]);
}

fn in_an_hour() -> String {
    let hour = Duration::from_secs(3600);
    waypost_time::Timestamp::from(SystemTime::now()).saturating_add(hour).to_string()
}

/// Creates an admin token; returns it and its id.
fn administrator(service: &Service, expires_at: Option<String>) -> (String, String) {
    let mut asked = json!({"scopes": ["admin"]});
    if let Some(at) = expires_at {
        asked["expiresAt"] = at.into();
    }
    let made = service.post("/api/tokens", &asked).json();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    (text(&made["token"]), text(&made["info"]["id"]))
}

/// A code that this token asks for.
fn code_of(service: &Service, token: &str) -> String {
    let answer = service.send("POST", "/api/dashboard/codes", token, b"");
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["code"].as_str().expect("a code").to_owned()
}

fn status_with(service: &Service, token: &Value) -> u16 {
    let token = token.as_str().expect("a token");
    service.send("GET", "/api/memory/status", token, b"").status
}

#[test]
fn a_code_is_worth_nothing_once_its_token_is_revoked() {
    let service = Service::start();
    let (token, id) = administrator(&service, None);
    let code = code_of(&service, &token);
    let before = service.get("/api/tokens").json();
    let revoked = service.delete(&format!("/api/tokens/{id}"));
    assert_eq!((revoked.status, revoked.json()), (200, json!({"derived": []})));
    for _ in 0..2 {
        let detail = exchange(&service, &code).problem(410);
        assert!(detail.contains("revoked") && detail.contains("ctl open"), "{detail}");
    }
    let count = |value: &Value| value.as_array().expect("tokens").len();
    assert_eq!(count(&service.get("/api/tokens").json()), count(&before), "no token was created");
}

#[test]
fn a_dashboard_ends_with_the_token_that_opened_it() {
    let service = Service::start();
    let (token, id) = administrator(&service, None);
    let first = exchange(&service, &code_of(&service, &token)).json();
    assert_eq!(first["info"]["parent"], id);
    // A dashboard may open another one, and has a code that nobody has used yet.
    let first_token = first["token"].as_str().expect("a token");
    let second = exchange(&service, &code_of(&service, first_token)).json();
    let pending = code_of(&service, first_token);
    assert_eq!(second["info"]["parent"], first["info"]["id"]);
    // One of somebody else.
    let own = exchange(&service, &code(&service, &json!({}))).json();

    let revoked = service.delete(&format!("/api/tokens/{id}")).json();
    let mut derived: Vec<_> = revoked["derived"].as_array().expect("ids").clone();
    let mut expected = [first["info"]["id"].clone(), second["info"]["id"].clone()];
    derived.sort_by_key(ToString::to_string);
    expected.sort_by_key(ToString::to_string);
    assert_eq!(derived, expected);
    for ended in [&first, &second] {
        assert_eq!(status_with(&service, &ended["token"]), 401);
        let list = service.get("/api/tokens").json();
        let list = list.as_array().expect("tokens");
        let listed = list.iter().find(|item| item["id"] == ended["info"]["id"]).expect("listed");
        assert!(listed["revokedAt"].is_string() && listed["parent"].is_string(), "{listed}");
    }
    exchange(&service, &pending).problem(410);
    assert_eq!(status_with(&service, &own["token"]), 200);
}

#[test]
fn a_dashboard_of_the_first_admin_token_ends_with_it() {
    let service = Service::start();
    let opened = exchange(&service, &code(&service, &json!({}))).json();
    let pending = code(&service, &json!({}));
    let id = opened["info"]["parent"].as_str().expect("a parent");
    assert_eq!(service.token.split('_').nth(1), Some(id));
    let (other, _) = administrator(&service, None);
    assert_eq!(service.delete(&format!("/api/tokens/{id}")).status, 200);
    assert_eq!(status_with(&service, &opened["token"]), 401);
    exchange(&service, &pending).problem(410);
    assert_eq!(status_with(&service, &other.into()), 200, "it was not derived");
}

#[test]
fn a_code_is_worth_nothing_once_its_token_has_expired() {
    let service = Service::start();
    let now = waypost_time::Timestamp::from(SystemTime::now());
    let end = now.saturating_add(Duration::from_secs(2));
    let (token, _) = administrator(&service, Some(end.to_string()));
    let code = code_of(&service, &token);
    let opened = exchange(&service, &code_of(&service, &token)).json();
    assert_eq!(opened["info"]["expiresAt"], end.to_string());
    until(|| match service.send("GET", "/api/memory/status", &token, b"").status {
        401 => Ok(()),
        other => Err(other),
    });
    let detail = exchange(&service, &code).problem(410);
    assert!(detail.contains("has expired") && detail.contains("ctl open"), "{detail}");
    assert_eq!(status_with(&service, &opened["token"]), 401);
}

/// The response must not be the 401 that ends the calls of a revoked token.
#[test]
fn a_dashboard_that_signs_out_or_revokes_its_parent_gets_the_response() {
    let service = Service::start();
    for _ in 0..20 {
        let (token, id) = administrator(&service, None);
        let opened = exchange(&service, &code_of(&service, &token)).json();
        let other = exchange(&service, &code_of(&service, &token)).json();
        let own = opened["token"].as_str().expect("a token");
        let signed_out = opened["info"]["id"].as_str().expect("an id");
        let answer = service.send("DELETE", &format!("/api/tokens/{signed_out}"), own, b"");
        assert_eq!((answer.status, answer.json()), (200, json!({"derived": []})));

        let own = other["token"].as_str().expect("a token");
        let answer = service.send("DELETE", &format!("/api/tokens/{id}"), own, b"");
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json(), json!({"derived": [other["info"]["id"]]}));
        assert_eq!(status_with(&service, &other["token"]), 401);
    }
}

fn proof(service: &Service, id: &str, nonce: &str) -> Answer {
    let body = json!({"id": id, "nonce": nonce}).to_string();
    ask(service, "POST", "/api/dashboard/proof", &[], &body)
}

/// What the page compares a proof with.
fn expected(secret: &str, nonce: &str) -> Value {
    let proof = hmac_sha256(secret.as_bytes(), nonce.as_bytes());
    let digits: Vec<String> = proof.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"proof": digits.concat()})
}

#[test]
fn only_the_start_that_opened_a_dashboard_proves_it_and_accepts_its_token() {
    let service = Service::start();
    let code = code(&service, &json!({}));
    let id = code.split('_').next().expect("an id");
    assert_eq!(proof(&service, id, "a nonce").json(), expected(&code, "a nonce"));
    let token = exchange(&service, &code).json()["token"].as_str().expect("a token").to_owned();
    let of_token = token.split('_').nth(1).expect("an id");
    for (id, secret) in [(id, &code), (of_token, &token)] {
        assert_eq!(proof(&service, id, "another").json(), expected(secret, "another"));
    }
    // Nobody else has a proof: an administrator's token does not open a page.
    let administrator = service.token.split('_').nth(1).expect("an id");
    for unknown in [administrator, "", "aaaaaaaaaa", &token] {
        assert!(proof(&service, unknown, "a nonce").problem(404).contains("ctl open"));
    }
    let long = json!({"id": of_token, "nonce": "n".repeat(129)}).to_string();
    ask(&service, "POST", "/api/dashboard/proof", &[], &long).field_problem("/nonce");
    let page = [("origin", "https://evil.example")];
    ask(&service, "POST", "/api/dashboard/proof", &page, "{}").problem(403);

    let service = service.restart();
    for id in [id, of_token] {
        proof(&service, id, "a nonce").problem(404);
    }
    exchange(&service, &code).problem(401);
    assert_eq!(status_with(&service, &json!(token)), 401);
    let tokens = service.get("/api/tokens").json();
    let tokens = tokens.as_array().expect("tokens");
    let listed = tokens.iter().find(|token| token["id"] == of_token).expect("it is listed");
    assert!(listed["revokedAt"].is_string(), "{listed}");
}

/// As another machine of a cluster, or a release before this rule, may have created it.
#[test]
fn a_derived_token_that_this_start_did_not_issue_is_rejected() {
    let service = Service::start();
    let tokens = TokenStore::open(&service.folder.path().join(".waypost/data/tokens.json"));
    let tokens = tokens.expect("the tokens");
    let now = waypost_time::Timestamp::from(SystemTime::now());
    let parent = service.token.split('_').nth(1).and_then(|part| part.parse().ok()).expect("an id");
    let of_dashboard = NewToken::new([Scope::Admin]).with_parent(parent);
    for (new, status) in [(NewToken::new([Scope::Admin]), 200), (of_dashboard, 401)] {
        let (secret, _) = tokens.create(new, now).expect("it is created");
        assert_eq!(status_with(&service, &json!(secret.expose())), status);
    }
}
