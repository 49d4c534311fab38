//! Context over HTTP: a real service with its own project.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_service::Options;

use crate::service::Service;
use crate::wait::until;

/// A private key in form only.
const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAlighthouse7Secret9Material0000000000\n-----END RSA PRIVATE KEY-----";

const FILES: &[(&str, &str)] = &[
    (
        "README.md",
        "# Beacon\n\nA lighthouse that signals ships. The lamp turns once in ten seconds.\n",
    ),
    ("AGENTS.md", "# Working here\n\nRun the tests of the lamp before each commit.\n"),
    (
        "docs/decisions/0001-oil-lamp.md",
        "---\nstatus: superseded by 0002\ndate: 2025-01-10\n---\n# Oil for the lamp\n\nThe lamp burns oil because oil is cheap.\n",
    ),
    (
        "docs/decisions/0002-electric-lamp.md",
        "---\nstatus: accepted\ndate: 2026-03-01\nsupersedes: 0001-oil-lamp.md\n---\n# Electricity for the lamp\n\nThe lamp is electric because oil smokes.\n",
    ),
    (
        "docs/guide.md",
        "# How the lamp is cleaned\n\nWipe the lens with a dry cloth every morning.\n",
    ),
    ("ROADMAP.md", "# Roadmap\n\nNext spring the lamp is automated and the keeper retires.\n"),
    ("content/launch.md", "# Opening day\n\nCome and see the lamp from the gallery.\n"),
    (
        "journal/2026-11-19.md",
        "# 2026-11-19\n\n## Lamp\n\nThe lamp failed twice; the fuse was replaced.\n",
    ),
    (".waypost/journal/2026-11-18.md", "# 2026-11-18\n\nThe foghorn was painted.\n"),
    (
        "src/lamp.rs",
        "//! The lamp of the lighthouse.\n\n/// Turns the lamp by so many degrees.\npub fn rotate_lamp(degrees: u32) -> u32 {\n    degrees % 360\n}\n\n/// What shines.\npub struct Lamp {\n    /// Its brightness.\n    pub candela: u32,\n}\n",
    ),
    ("target/debug/lamp.rs", "/// A lamp that was built.\npub fn built_lamp() {}\n"),
];

/// A project folder with these files.
fn project() -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    for (path, text) in FILES {
        write(folder.path(), path, text);
    }
    folder
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

impl Service {
    /// The response to a request for context.
    fn context(&self, asked: &Value) -> Value {
        let answer = self.post("/api/context", asked);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// The answer once it is as wanted.
    fn context_when(&self, asked: &Value, wanted: impl Fn(&Value) -> bool) -> Value {
        until(|| {
            let answer = self.context(asked);
            if wanted(&answer) { Ok(answer) } else { Err(answer) }
        })
    }

    /// Waits until the whole project is indexed.
    fn indexed(&self) -> Value {
        let scan = self.post("/api/context/rescan", &json!({}));
        assert_eq!(scan.status, 200, "{}", scan.text());
        scan.json()
    }
}

fn indexed() -> Service {
    let service = Service::start_in(project(), |_| {});
    service.indexed();
    service
}

fn paths(answer: &Value) -> Vec<&str> {
    let items = answer["items"].as_array().expect("an array");
    items.iter().map(|item| item["path"].as_str().expect("a path")).collect()
}

fn has(answer: &Value, path: &str) -> bool {
    paths(answer).contains(&path)
}

#[test]
fn one_query_finds_journals_documents_and_code_headers() {
    let service = indexed();
    let answer = service.context(&json!({"query": "lamp"}));
    for path in ["journal/2026-11-19.md", "docs/decisions/0002-electric-lamp.md", "src/lamp.rs"] {
        assert!(has(&answer, path), "{path}: {answer}");
    }
    assert!(!has(&answer, "target/debug/lamp.rs"), "{answer}");
    for field in ["indexedAt", "pending", "truncated", "skipped", "durationMs"] {
        assert!(!answer[field].is_null(), "{field}: {answer}");
    }
    let items = answer["items"].as_array().expect("an array");
    let scores: Vec<f64> =
        items.iter().map(|item| item["score"].as_f64().expect("a score")).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(scores.iter().all(|it| (0.0..=1.0).contains(it)), "{scores:?}");

    let found = service.context(&json!({"query": "rotate_lamp", "taskType": "code"}));
    let first = &found["items"][0];
    assert_eq!((&first["source"], &first["type"]), (&json!("code"), &json!("function")));
    assert_eq!((&first["path"], &first["endLine"]), (&json!("src/lamp.rs"), &json!(6)));
    assert!(first["title"].as_str().is_some_and(|it| it.ends_with("rotate_lamp")), "{first}");
    let content = first["content"].as_str().expect("a text");
    assert!(content.contains("Turns the lamp") && content.contains("-> u32"), "{content}");
    assert!(!content.contains("% 360"), "the body is not shown: {content}");
    assert!(first["why"].as_array().is_some_and(|it| !it.is_empty()), "{first}");
}

#[test]
fn each_task_has_its_own_order_and_shuts_nothing_out() {
    let service = indexed();
    // The score of a file relative to that of the code.
    let worth = |task: &str, path: &str| {
        let answer = service.context(&json!({"query": "lamp", "taskType": task}));
        let score = |path: &str| {
            let items = answer["items"].as_array().expect("an array");
            let item = items.iter().find(|item| item["path"] == path);
            item.unwrap_or_else(|| panic!("{path}: {answer}"))["score"].as_f64().expect("a score")
        };
        score(path) / score("src/lamp.rs")
    };
    for (task, path) in [
        ("spec", "docs/decisions/0002-electric-lamp.md"),
        ("content", "docs/guide.md"),
        ("strategy", "journal/2026-11-19.md"),
    ] {
        assert!(worth(task, path) > worth("code", path), "{task}: {path}");
    }
    let position = |path: &str| {
        let answer = service.context(&json!({"query": "lamp oil", "taskType": "spec"}));
        paths(&answer).iter().position(|other| *other == path).expect("it is found")
    };
    let newer = position("docs/decisions/0002-electric-lamp.md");
    assert!(newer < position("docs/decisions/0001-oil-lamp.md"), "the superseded one is below");
}

#[test]
fn without_a_query_it_is_what_matters_now() {
    let service = indexed();
    for asked in [json!({}), json!({"query": ""}), json!({"query": "  \n"}), json!({"query": null})]
    {
        let answer = service.context(&asked);
        assert!(has(&answer, "AGENTS.md"), "{asked}: {answer}");
        assert!(has(&answer, "journal/2026-11-19.md"), "{asked}: {answer}");
    }
    let nothing = service.send("POST", "/api/context", &service.token, b"");
    assert_eq!(nothing.status, 200, "a body may be left out: {}", nothing.text());
}

#[test]
fn sources_types_paths_and_limits_narrow_an_answer() {
    let service = indexed();
    let of = |asked: Value| service.context(&asked);
    let journals = of(json!({"query": "lamp", "sources": ["journal"]}));
    assert_eq!(paths(&journals), ["journal/2026-11-19.md"]);
    let decisions = of(json!({"query": "lamp", "types": ["decision"]}));
    assert!(paths(&decisions).iter().all(|it| it.starts_with("docs/decisions/")), "{decisions}");
    assert_eq!(paths(&decisions).len(), 2);
    let below = of(json!({"query": "lamp", "paths": ["docs/g*.md", "src"]}));
    assert!(has(&below, "docs/guide.md") && has(&below, "src/lamp.rs"), "{below}");
    let inside = |text: &&str| text.starts_with("src/") || *text == "docs/guide.md";
    assert!(paths(&below).iter().all(inside), "{below}");
    assert_eq!(paths(&of(json!({"query": "lamp", "maxItems": 2}))).len(), 2);
    let small = of(json!({"query": "lamp", "maxTokens": 60}));
    let tokens = small["items"].as_array().expect("an array").iter();
    assert!(tokens.map(|it| it["tokens"].as_u64().expect("tokens")).sum::<u64>() <= 60);
    assert_eq!(small["truncated"], true, "{small}");
}

#[test]
fn a_saved_file_is_found_and_a_deleted_one_is_not() {
    let service = indexed();
    let root = service.folder.path().to_owned();
    write(&root, "docs/foghorn.md", "# Foghorn\n\nThe foghorn sounds in mist.\n");
    let asked = json!({"query": "foghorn"});
    service.context_when(&asked, |service| has(service, "docs/foghorn.md"));
    write(&root, "docs/foghorn.md", "# Foghorn\n\nIt was sold to a museum.\n");
    service.context_when(&asked, |service| service.to_string().contains("museum"));
    // A new folder is watched from the moment it exists.
    write(&root, "docs/new/deep/siren.md", "# Siren\n\nThe siren is tested on Mondays.\n");
    service
        .context_when(&json!({"query": "siren"}), |service| has(service, "docs/new/deep/siren.md"));
    write(&root, ".waypost/journal/2026-11-20.md", "# 2026-11-20\n\nThe bell was cast.\n");
    let of_bells = json!({"query": "bell", "sources": ["journal"]});
    service.context_when(&of_bells, |service| has(service, ".waypost/journal/2026-11-20.md"));
    fs::rename(root.join("docs/foghorn.md"), root.join("docs/horn.md")).expect("it moves");
    service.context_when(&asked, |service| {
        has(service, "docs/horn.md") && !has(service, "docs/foghorn.md")
    });
    fs::remove_file(root.join("docs/horn.md")).expect("it is there");
    // A deleted file leaves at once: each response has only files that existed at that time.
    assert!(!has(&service.context(&asked), "docs/horn.md"));
}

#[test]
fn a_change_of_what_is_ignored_takes_files_out_and_in() {
    let service = indexed();
    let root = service.folder.path().to_owned();
    let asked = json!({"query": "lamp lens cleaned"});
    assert!(has(&service.context(&asked), "docs/guide.md"));
    write(&root, ".gitignore", "/docs/guide.md\n");
    assert!(!has(&service.context(&asked), "docs/guide.md"), "whether or not it was told yet");
    service.context_when(&json!({"query": "lamp"}), |_| {
        service.get("/api/context/status").json()["files"] == 9
    });
    write(&root, ".gitignore", "/docs/guide.md\n/build-notes/\n!/docs/guide.md\n");
    service.context_when(&asked, |service| has(service, "docs/guide.md"));
}

#[test]
fn it_answers_while_the_first_index_is_built_and_takes_it_up_after_a_restart() {
    let folder = project();
    for number in 0..300 {
        let text = format!("/// Step {number} of the stairs.\npub fn stair_{number}() {{}}\n");
        write(folder.path(), &format!("src/stairs/s{number}.rs"), &text);
    }
    let service = Service::start_in(folder, |_| {});
    let asked = json!({"query": "stair_299", "taskType": "code"});
    // In any state there is a response, and it says whether files are pending.
    let early = service.context(&asked);
    assert!(early["pending"].is_u64(), "{early}");
    let late = service.context_when(&asked, |service| has(service, "src/stairs/s299.rs"));
    assert_eq!(late["items"][0]["path"], "src/stairs/s299.rs");
    let scan = service.indexed();
    assert_eq!((&scan["found"], &scan["indexed"]), (&json!(310), &json!(0)), "{scan}");
    let service = service.restart();
    let again = service.context(&asked);
    assert_eq!(again["items"][0]["path"], "src/stairs/s299.rs", "before any scan: {again}");
    let scan = service.indexed();
    assert_eq!((&scan["indexed"], &scan["removed"]), (&json!(0), &json!(0)), "{scan}");
}

#[test]
fn a_rescan_finds_what_nobody_told() {
    let service = Service::start_in(project(), |it| {
        it.context.watch = waypost_project::WatchMode::Off;
    });
    let first = service.indexed();
    assert_eq!(first["found"], 10, "{first}");
    let root = service.folder.path();
    write(root, "docs/foghorn.md", "# Foghorn\n\nThe foghorn sounds in mist.\n");
    fs::remove_file(root.join("docs/guide.md")).expect("it is there");
    let second = service.indexed();
    assert_eq!((&second["indexed"], &second["removed"]), (&json!(1), &json!(1)), "{second}");
    assert!(has(&service.context(&json!({"query": "foghorn"})), "docs/foghorn.md"));
    let status = service.get("/api/context/status").json();
    assert_eq!(status["watch"], json!({"mode": "off"}));
    assert_eq!(status["lastScan"]["removed"], 1, "{status}");
}

#[test]
fn secrets_are_in_no_answer() {
    let folder = project();
    write(folder.path(), ".env", "LAMP_PASSWORD=lighthouse7Secret\n");
    write(folder.path(), "certs/lamp.pem", KEY);
    write(folder.path(), "docs/keys.md", &format!("# Keys of the lamp\n\n{KEY}\n\nKeep them.\n"));
    let service = Service::start_in(folder, |_| {});
    service.indexed();
    for query in ["lamp keys", "lighthouse7Secret", "MIIEpAIBAAKCAQEA", "password", "certs"] {
        let answer = service.post("/api/context", &json!({"query": query, "maxItems": 200}));
        let text = answer.text();
        assert!(!text.contains("7Secret") && !text.contains("MIIEp"), "{query}: {text}");
        assert!(!has(&answer.json(), ".env") && !has(&answer.json(), "certs/lamp.pem"), "{text}");
    }
    let keys = service.context(&json!({"query": "keys of the lamp"}));
    assert!(has(&keys, "docs/keys.md"), "the rest of the document is there: {keys}");
    let status = service.get("/api/context/status");
    assert!(!status.text().contains("7Secret"), "{}", status.text());
    let status = status.json();
    assert_eq!(status["skipped"]["secret"]["files"], 2, "{status}");
    assert!(status["redactions"].as_object().is_some_and(|it| !it.is_empty()), "{status}");
}

#[cfg(unix)]
#[test]
fn nothing_outside_the_project_is_read() {
    use std::os::unix::fs::symlink;
    let outside = TempDir::new().expect("a temporary folder");
    write(outside.path(), "outside.md", "# Outside\n\nA kraken lives out there.\n");
    let folder = project();
    symlink(outside.path(), folder.path().join("docs/linked")).expect("a link");
    symlink(outside.path().join("outside.md"), folder.path().join("kraken.md")).expect("a link");
    let service = Service::start_in(folder, |_| {});
    service.indexed();
    let of_krakens = json!({"query": "kraken", "maxItems": 200});
    let text = service.context(&of_krakens).to_string();
    assert!(!text.contains("lives out there") && !text.contains("kraken.md"), "{text}");
    // A file that was replaced by a link is not read either.
    let guide = service.folder.path().join("docs/guide.md");
    fs::remove_file(&guide).expect("it is there");
    symlink(outside.path().join("outside.md"), &guide).expect("a link");
    service.indexed();
    let text = service.context(&of_krakens).to_string();
    assert!(!text.contains("lives out there"), "{text}");
    for glob in ["../**", "/etc/**", "docs/../../x", "{a,..}/b", "~/x", "C:\\x"] {
        let asked = json!({"query": "kraken", "paths": ["docs/**", glob]});
        service.post("/api/context", &asked).field_problem("/paths/1");
    }
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    let service = Service::start_in(project(), |_| {});
    let wrong = [
        (json!({"query": "x".repeat(8193)}), "/query", "the limit is 8192"),
        (json!({"query": 7}), "/query", "a string"),
        (json!({"maxItems": 0}), "/maxItems", "between 1 and 200"),
        (json!({"maxItems": 201}), "/maxItems", "between 1 and 200"),
        (json!({"maxItems": "30"}), "/maxItems", "whole number"),
        (json!({"maxTokens": 0}), "/maxTokens", "between 1 and"),
        (json!({"taskType": "cod"}), "/taskType", "did you mean `code`"),
        (json!({"taskType": "cooking"}), "/taskType", "`strategy`"),
        (json!({"sources": ["journals"]}), "/sources/0", "did you mean `journal`"),
        (json!({"types": ["decision", "funktion"]}), "/types/1", "did you mean `function`"),
        (json!({"types": ["diary"]}), "/types/0", "daily"),
        (json!({"paths": [""]}), "/paths/0", "not be blank"),
        (json!({"paths": ["src/[a"]}), "/paths/0", "unclosed character class"),
        (json!({"max_items": 3}), "/max_items", "did you mean `maxItems`"),
    ];
    for (asked, pointer, said) in wrong {
        let problem = service.post("/api/context", &asked).field_problem(pointer);
        assert!(problem.contains(said), "{asked}: {problem}");
    }
    let full = json!({"query": "lamp", "maxItems": 200, "maxTokens": 1_000_000, "taskType": "general", "sources": ["journal", "knowledge", "code"], "types": null, "paths": null});
    assert_eq!(service.post("/api/context", &full).status, 200);
}

#[test]
fn memories_take_part_when_they_are_named() {
    let service = indexed();
    let kept = service.add("The keeper of the lamp likes chess.");
    let sent = json!({"content": "The lamp is insured.", "type": "contract", "space": "office"});
    let other = service.post("/api/memory/add", &sent).json()["id"].as_u64().expect("an id");
    let long = "lamp\n".repeat(1000);
    let long = service.add(&long);
    let path = |id: u64| format!("/api/memory/{id}");
    let off = service.context(&json!({"query": "lamp"}));
    assert!(!off.to_string().contains("/api/memory/"), "off unless asked for: {off}");

    let both = json!({"query": "lamp", "sources": ["knowledge", "memory"], "maxItems": 200});
    let answer = service.context(&both);
    assert!(has(&answer, &path(kept)) && has(&answer, "docs/guide.md"), "{answer}");
    assert!(!has(&answer, "src/lamp.rs"), "{answer}");
    let items = answer["items"].as_array().expect("an array");
    let memory = items.iter().find(|item| item["path"] == path(kept)).expect("it is found");
    assert_eq!((&memory["source"], &memory["type"]), (&json!("memory"), &json!("note")));
    assert!(memory.get("line").is_none() && memory["updatedAt"].is_string(), "{memory}");
    let scores: Vec<f64> =
        items.iter().map(|item| item["score"].as_f64().expect("a score")).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let cut = items.iter().find(|item| item["path"] == path(long)).expect("it is found");
    assert_eq!(cut["truncated"], true, "{cut}");
    assert!(cut["content"].as_str().is_some_and(|it| it.len() <= 2000), "{cut}");

    let alone = json!({"query": "lamp", "sources": ["memory"], "types": ["contract"]});
    assert_eq!(paths(&service.context(&alone)), [path(other)]);
    let few = json!({"query": "lamp", "sources": ["memory"], "maxTokens": 20});
    assert_eq!(service.context(&few)["truncated"], true);

    // A token without access to memories gets none here.
    let reader = service.new_token(&["context:read"], None);
    let denied = service.send("POST", "/api/context", &reader, both.to_string().as_bytes());
    assert!(denied.problem(403).contains("memory:read"));
    let bound = service.new_token(&["context:read", "memory:read"], Some("office"));
    let seen = service.send("POST", "/api/context", &bound, both.to_string().as_bytes()).json();
    assert!(has(&seen, &path(other)) && !has(&seen, &path(kept)), "{seen}");
}

#[test]
fn a_home_is_not_indexed_unless_that_is_wanted() {
    let is_home = |options: &mut Options| options.context.is_home = true;
    let service = Service::start_in(project(), is_home);
    let status = service.get("/api/context/status").json();
    assert_eq!((&status["status"], &status["files"]), (&json!("off"), &json!(0)));
    assert!(status["why"].as_str().is_some_and(|it| it.contains("context.allow_home")), "{status}");
    let refused = service.post("/api/context", &json!({"query": "lamp"})).problem(409);
    assert!(refused.contains("home"), "{refused}");
    service.post("/api/context/rescan", &json!({})).problem(409);
    let id = service.add("the lamp");
    let memories = service.context(&json!({"query": "lamp", "sources": ["memory"]}));
    assert_eq!(paths(&memories), [format!("/api/memory/{id}")], "memories are there all the same");
    let service = service.restart_with(|service| {
        service.context.is_home = true;
        service.context.allow_home = true;
    });
    service.indexed();
    assert!(has(&service.context(&json!({"query": "lamp"})), "src/lamp.rs"));
    let service = service.restart_with(|service| service.context.enabled = false);
    let why = service.post("/api/context", &json!({})).problem(409);
    assert!(why.contains("context.enabled"), "{why}");
}

#[test]
fn settings_say_what_is_indexed() {
    let folder = project();
    write(folder.path(), "notes/adr/lens.md", "# The lens\n\nThe lens is of glass.\n");
    let service = Service::start_in(folder, |it| {
        it.context.include = vec!["target/debug/**".to_owned()];
        it.context.exclude = vec!["content/**".to_owned()];
        it.context.types = vec![("decision".to_owned(), "notes/adr/**".to_owned())];
    });
    service.indexed();
    let answer = service.context(&json!({"query": "lamp", "maxItems": 200}));
    assert!(has(&answer, "target/debug/lamp.rs") && !has(&answer, "content/launch.md"), "{answer}");
    let lens = service.context(&json!({"query": "lens", "types": ["decision"]}));
    assert_eq!(lens["items"][0]["path"], "notes/adr/lens.md", "{lens}");
    let mut options = Options::for_project(service.folder.path()).expect("a project folder");
    options.data_dir = service.folder.path().join("another");
    options.context.types = vec![("decison".to_owned(), "x/**".to_owned())];
    let error = waypost_service::start(&options).expect_err("there is no such type");
    assert!(format!("{error:#}").contains("context.types"), "{error:#}");
}

#[test]
fn operators_see_it() {
    let service = indexed();
    let status = loop {
        // Recently written files are checked twice.
        let status = service.get("/api/context/status").json();
        if status["status"] == "ready" {
            break status;
        }
    };
    assert_eq!((&status["files"], &status["pending"]), (&json!(10), &json!(0)), "{status}");
    assert_eq!((&status["chunks"]["decision"], &status["truncated"]), (&json!(2), &json!(false)));
    let metrics = service.get("/metrics").text();
    assert!(metrics.lines().any(|it| it == "waypost_context_files 10"), "{metrics}");
    let text = status.to_string();
    let folder = service.folder.path().to_string_lossy().into_owned();
    assert!(!text.contains(&folder), "a path of the server is told: {text}");
}

#[test]
fn the_types_of_the_wire_are_those_of_the_index() {
    let known: Vec<&str> = waypost_api::CONTEXT_TYPES.to_vec();
    let of_index: Vec<&str> = waypost_context::Kind::ALL.iter().map(|it| it.name()).collect();
    assert_eq!(known, of_index);
}
