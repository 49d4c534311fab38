//! A small project, with something to show in every view.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use waypost_api::client::Client;
use waypost_api::{
    AddRequest, AllowRequest, EventData, FlowFileTexts, LinkKind, LinkRequest, PatchRequest,
    PauseRequest, PublishRequest, RecallBriefRequest, RecallPromptRequest, RunState, RunsRequest,
    Scalar, routes,
};

use crate::wait::until;

/// The files of the project.
const FILES: [(&str, &str); 7] = [
    (
        "README.md",
        "# Ledger\n\nLedger keeps the accounts of small shops.\n\n## Run it\n\n`make serve` starts the server on port 4747. The login redirects to the page that was asked for.\n",
    ),
    (
        "docs/deploy.md",
        "# Deploy\n\nA release is deployed to staging first, and to production by hand.\n\n## Roll back\n\n`make rollback` starts the release before. The database stays as it is.\n",
    ),
    (
        "docs/login.md",
        "# Login\n\nThe login checks the password, sets the session, and redirects to the page that was asked for.\nA redirect to another host is refused.\n",
    ),
    (
        "src/login.py",
        "from session import start\n\n\ndef login(user, password, wanted):\n    \"\"\"Checks the password and redirects to the page that was asked for.\"\"\"\n    if not user.check(password):\n        return refuse(\"wrong password\")\n    return redirect(start(user), safe(wanted))\n\n\ndef safe(wanted):\n    \"\"\"A path on this host; anything else leads to the first page.\"\"\"\n    return wanted if wanted.startswith(\"/\") and not wanted.startswith(\"//\") else \"/\"\n",
    ),
    (
        "src/session.py",
        "def start(user):\n    \"\"\"Starts a session of twelve hours.\"\"\"\n    return Session(user, hours=12)\n",
    ),
    ("tools/deploy.sh", "set -eu\nmake build\nrsync --archive dist/ staging:/srv/ledger/\n"),
    (
        ".waypost/flows/review.yaml",
        "flows:\n  - name: review\n    description: Checks each change before a person reads it\n    trigger:\n      pattern: \"change:opened\"\n      condition: data.branch != \"main\"\n    actions:\n      - type: command\n        command: echo checking {{data.branch}}; test {{data.branch}} != broken\n  - name: notes\n    description: Keeps the result of each build\n    trigger: { pattern: \"build:*\" }\n    actions:\n      - type: memory.add\n        content: \"The build of {{data.branch}} {{data.result}}.\"\n        tags: [build]\n",
    ),
];
/// A flow file that was approved, and its change that was not.
const DEPLOY: &str = "flows:\n  - name: deploy\n    description: Deploys what was merged\n    trigger:\n      pattern: \"change:merged\"\n    actions:\n      - type: command\n        command: sh tools/deploy.sh\n";
const DEPLOY_CHANGED: &str = "flows:\n  - name: deploy\n    description: Deploys what was merged\n    trigger:\n      pattern: \"change:merged\"\n      condition: data.branch == \"main\"\n    actions:\n      - type: command\n        command: sh tools/deploy.sh\n        timeout: 5m\n";

/// Day, title, type, tags, content. The first is changed later.
const MEMORIES: [(&str, &str, &str, &[&str], &str); 12] = [
    (
        "10-01",
        "Port of the server",
        "decision",
        &["config", "network"],
        "The server listens on port 4000.",
    ),
    (
        "11-02",
        "Port of the server, changed",
        "decision",
        &["config", "network"],
        "The server listens on port 4747, because 4000 is taken on the build machine.",
    ),
    (
        "10-03",
        "Login redirects",
        "decision",
        &["login", "security"],
        "The login redirects only to paths of its own host: a redirect to another host was used for phishing.",
    ),
    (
        "10-07",
        "Staging refresh",
        "fact",
        &["database"],
        "The staging database is refreshed from production every Monday at 03:00.",
    ),
    (
        "11-09",
        "Staging refresh",
        "fact",
        &["database"],
        "The staging database is refreshed from production every Tuesday at 03:00.",
    ),
    (
        "10-12",
        "API authentication",
        "decision",
        &["api"],
        "Every request to the API carries a bearer token in the Authorization header.",
    ),
    (
        "10-14",
        "API authentication",
        "decision",
        &["api"],
        "Every request to the API carries a bearer token in the Authorization header, always.",
    ),
    (
        "10-15",
        "Sessions last twelve hours",
        "decision",
        &["login"],
        "A session of the login lasts twelve hours, and ends when the password changes.",
    ),
    (
        "10-20",
        "Rollback keeps the database",
        "fact",
        &["deploy"],
        "A rollback starts the release before and leaves the database as it is; migrations must work with both.",
    ),
    (
        "11-11",
        "Slow invoices",
        "note",
        &["performance"],
        "The list of invoices was slow for shops with more than 10,000 of them; an index on the date made it fast.",
    ),
    ("11-15", "Deploys on Friday", "preference", &["deploy"], "Do not deploy on Friday afternoon."),
    (
        "11-18",
        "Style of commits",
        "preference",
        &["style"],
        "Commit messages are imperative sentences of at most 72 characters.",
    ),
];

/// Creates the files of the project. The flow file is the one to be approved first.
pub(crate) fn create(project: &Path) -> Result<()> {
    for (name, content) in FILES.into_iter().chain([(".waypost/flows/deploy.yaml", DEPLOY)]) {
        let path = project.join(name);
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(path, content)?;
    }
    Ok(())
}

/// Fills the service; returns the memory that has versions and links.
pub(crate) fn fill(client: &Client, project: &Path) -> Result<u64> {
    for file in ["review.yaml", "deploy.yaml"] {
        allow(client, &client.call(&routes::GET_FLOW_FILE.at(file), ())?)?;
    }
    let mut ids = Vec::new();
    for (day, title, kind, tags, content) in MEMORIES {
        let memory = AddRequest {
            title: Some(title.to_owned()),
            content: content.to_owned(),
            kind: Some(kind.to_owned()),
            tags: tags.iter().map(ToString::to_string).collect(),
            created_at: Some(format!("2026-{day}T10:00:00Z").parse()?),
            metadata: BTreeMap::from([("source".to_owned(), Scalar::String("review".to_owned()))]),
            ..AddRequest::default()
        };
        ids.push(client.store(&routes::ADD_MEMORY, &memory)?.into_inner().memory.id.get());
    }
    let changed = ids[2];
    let content = "The login redirects only to paths of its own host.\nA redirect to another host was used for phishing in September.\nThe function `safe` in src/login.py decides.";
    client.call(
        &routes::UPDATE_MEMORY.at(changed),
        PatchRequest { content: Some(content.to_owned()), ..PatchRequest::default() },
    )?;
    client.call(
        &routes::UPDATE_MEMORY.at(changed),
        PatchRequest { pinned: Some(true), ..PatchRequest::default() },
    )?;
    let links = [
        (1, 0, LinkKind::Updates),
        (7, 2, LinkKind::PartOf),
        (2, 5, LinkKind::RelatedTo),
        (8, 7, LinkKind::RelatedTo),
        (9, 8, LinkKind::CausedBy),
        (10, 8, LinkKind::RelatedTo),
        (10, 9, LinkKind::Contradicts),
    ];
    for (from, to, kind) in links {
        client.store(&routes::ADD_LINK, LinkRequest { from: ids[from], to: ids[to], kind })?;
    }
    embedded(client);
    recall(client)?;
    events(client)?;
    client.call(
        &routes::PAUSE_FLOW.at("notes"),
        PauseRequest { why: Some("the disk of the build machine is replaced".to_owned()) },
    )?;
    fs::write(project.join(".waypost/flows/deploy.yaml"), DEPLOY_CHANGED)?;
    until(|| {
        let status = client.call(&routes::MEMORY_STATUS, ()).map_err(|error| error.to_string())?;
        if status.pending_approval.len() == 1 {
            Ok(())
        } else {
            Err("no file is pending".to_owned())
        }
    });
    Ok(changed)
}

fn allow(client: &Client, file: &FlowFileTexts) -> Result<()> {
    let programs =
        file.programs.iter().map(|program| (program.file.clone(), program.hash.clone())).collect();
    client.call(
        &routes::ALLOW_FLOW_FILE.at(&file.name),
        AllowRequest { hash: file.hash.clone(), programs },
    )?;
    Ok(())
}

/// Waits until every memory has its vector, if there is a model.
fn embedded(client: &Client) {
    until(|| match client.call(&routes::MEMORY_STATUS, ()) {
        Ok(it) if it.pending_embeddings > 0 => Err(format!("{} vectors", it.pending_embeddings)),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    });
}

fn recall(client: &Client) -> Result<()> {
    let session = "2026-11-23-login".to_owned();
    let harness = "claude-code".to_owned();
    client.call(
        &routes::BRIEF_SESSION,
        RecallBriefRequest {
            session: session.clone(),
            harness: harness.clone(),
            source: Some("startup".to_owned()),
            space: None,
        },
    )?;
    for prompt in [
        "Where does the login redirect to after the password was checked?",
        "Which port does the server listen on, and why was it changed?",
        "yes",
    ] {
        client.call(
            &routes::RECALL_FOR_PROMPT,
            RecallPromptRequest {
                session: session.clone(),
                harness: harness.clone(),
                prompt: prompt.to_owned(),
                space: None,
            },
        )?;
    }
    Ok(())
}

fn events(client: &Client) -> Result<()> {
    let text = |text: &str| Scalar::String(text.to_owned());
    let all = [
        ("change:opened", "login-redirect", "opened"),
        ("build:done", "login-redirect", "passed after 3 attempts"),
        ("change:opened", "broken", "opened"),
        ("build:done", "broken", "failed in test_invoices"),
        ("change:opened", "faster-invoices", "opened"),
        ("build:done", "faster-invoices", "passed"),
        ("change:opened", "main", "opened"),
    ];
    for (kind, branch, result) in all {
        let data = vec![("branch".to_owned(), text(branch)), ("result".to_owned(), text(result))];
        client.publish(&PublishRequest { kind: kind.to_owned(), data: EventData(data) }, None)?;
    }
    until(|| {
        let runs = client
            .call(&routes::LIST_RUNS, RunsRequest::default())
            .map_err(|error| error.to_string())?;
        let ended =
            runs.iter().filter(|run| matches!(run.state, RunState::Succeeded | RunState::Failed));
        if ended.count() == 6 { Ok(()) } else { Err(format!("{runs:?}")) }
    });
    Ok(())
}
