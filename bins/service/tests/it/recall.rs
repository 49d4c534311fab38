//! Recall over HTTP: what sessions get, what is recorded, and the log of it.

use std::thread;
use std::time::SystemTime;

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_api::limits::{RECALL_PROMPT_BYTES_MAX, RECALL_TURN_BYTES_MAX, RECALL_TURNS_MAX};

use crate::client::Answer;
use crate::program::Program;
use crate::service::Service;
use crate::wait::until;

const QUESTION: &str = "Which port does the billing service listen on?";
const ANSWER: &str = "We decided that the billing service listens on port 4747.";

/// Since 1970.
fn milliseconds() -> u128 {
    SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_millis()
}

fn turn(role: &str, text: &str) -> Value {
    json!({"role": role, "text": text})
}

fn turns(session: &str, said: &[Value], from: u64, to: u64) -> Value {
    json!({"session": session, "harness": "claude", "turns": said, "from": from, "to": to})
}

impl Service {
    fn recorded(&self, body: &Value) -> Value {
        let answer = self.post("/api/recall/turns", body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    fn brief(&self, session: &str, source: &str) -> Value {
        let body = json!({"session": session, "harness": "claude", "source": source});
        let answer = self.post("/api/recall/brief", &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    fn prompt(&self, session: &str, prompt: &str) -> Value {
        let body = json!({"session": session, "harness": "claude", "prompt": prompt});
        let answer = self.post("/api/recall/prompt", &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    fn why(&self, session: &str, query: &str) -> Value {
        let answer = self.post("/api/recall/why", &json!({"session": session, "query": query}));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Other memories, so that words differ in how much they say.
    fn filled() -> Self {
        let service = Self::start();
        for subject in ["gardens", "boats", "trains", "mountains", "violins", "kitchens"] {
            service.add(&format!("Some notes about {subject}, which nobody will ask for."));
        }
        service
    }
}

fn ids(list: &Value) -> Vec<u64> {
    let list = list.as_array().expect("a list").iter();
    list.map(|item| item["id"].as_u64().expect("an id")).collect()
}

fn text(answer: &Value) -> &str {
    answer["text"].as_str().expect("a text")
}

#[test]
fn one_session_decides_and_the_next_one_knows() {
    let service = Service::filled();
    let said = [turn("user", QUESTION), turn("assistant", ANSWER)];
    let recorded = service.recorded(&turns("first", &said, 0, 900));
    assert_eq!((&recorded["skipped"], &recorded["offset"]), (&json!(0), &json!(900)));
    let [question, answer] = ids_of(&recorded)[..] else { panic!("{recorded}") };
    let memory = service.get(&format!("/api/memory/{answer}")).json();
    assert_eq!(memory["type"], "turn");
    assert_eq!(memory["session"], "first");
    assert_eq!(memory["metadata"], json!({"role": "assistant", "harness": "claude"}));
    assert!(memory["expiresAt"].is_string(), "{memory}");

    let brief = service.brief("second", "startup");
    assert!(text(&brief).contains(ANSWER) && text(&brief).contains(QUESTION), "{brief}");
    assert_eq!(ids(&brief["used"])[..2], [question, answer]);
    assert_eq!(brief["used"][1]["part"], "thread");

    // It has them; a third session gets the answer for its prompt.
    let prompt = service.prompt("second", QUESTION);
    assert_eq!((text(&prompt), &prompt["reason"]), ("", &json!("allWithheld")));
    assert_eq!(prompt["withheld"][0]["reason"], "alreadyInjected");
    let prompt = service.prompt("third", QUESTION);
    assert!(text(&prompt).contains(ANSWER), "{prompt}");
    assert!(ids(&prompt["used"]).contains(&answer));
    let again = service.prompt("third", QUESTION);
    assert_eq!(text(&again), "");

    // The log says all of that, newest first, and knows the sessions.
    let log = service.get("/api/recall").json();
    let moments: Vec<&Value> =
        log.as_array().expect("a list").iter().map(|array| &array["moment"]).collect();
    assert_eq!(moments, ["prompt", "prompt", "prompt", "start"]);
    assert_eq!(log[0]["session"], "third");
    assert!(log[0]["answerable"].as_f64() >= log[0]["threshold"].as_f64(), "{log}");
    assert!(!service.get("/api/recall").text().contains("4747"), "the log has a text");
    let of_session = service.get("/api/recall?session=second&limit=1");
    assert_eq!(ids(&of_session.json()), [prompt_entry(&log, "second")]);
    let next = of_session.header("link").expect("a next page").to_owned();
    assert!(next.starts_with("</api/recall?") && next.contains("before="), "{next}");
    assert_eq!(service.get(&format!("/api/recall?memory={answer}")).json(), log);
    let session = service.get("/api/recall/sessions/second").json();
    assert_eq!(session["injected"], brief_ids(&brief));
    assert_eq!(service.get("/api/recall/sessions/first").json()["offset"], 900);
    service.get("/api/recall/sessions/nobody").problem(404);

    let why = service.why("second", QUESTION);
    let fate = |id: u64| {
        let hits = why["hits"].as_array().expect("hits");
        hits.iter().find(|hit| hit["id"] == id).unwrap_or_else(|| panic!("{id} in {why}")).clone()
    };
    assert_eq!(fate(answer)["fate"], "injected");
    assert_eq!(fate(answer)["entry"], brief["entry"]);

    // All of it is there after a restart.
    let service = service.restart();
    assert_eq!(service.get("/api/recall").json(), log);
    assert_eq!(service.get("/api/recall/sessions/second").json(), session);
}

fn ids_of(recorded: &Value) -> Vec<u64> {
    serde_json::from_value(recorded["recorded"].clone()).expect("ids")
}

fn brief_ids(brief: &Value) -> Value {
    let mut used = ids(&brief["used"]);
    used.sort_unstable();
    json!(used)
}

fn prompt_entry(log: &Value, session: &str) -> u64 {
    let entries = log.as_array().expect("a list").iter();
    let mut of_session = entries.filter(|entry| entry["session"] == session);
    of_session.next().expect("an entry")["id"].as_u64().expect("an id")
}

#[test]
fn nothing_is_injected_when_nothing_is_relevant() {
    let service = Service::filled();
    let short = service.prompt("s", "yes, do that now");
    assert_eq!((text(&short), &short["reason"]), ("", &json!("shortPrompt")));
    let other = service.prompt("s", "How do I configure the frobnicator of the zeppelin?");
    assert_eq!((text(&other), &other["used"]), ("", &json!([])));
    assert!(["notAnswerable", "nothingFound"].contains(&other["reason"].as_str().expect("one")));
    let empty = Service::start();
    assert_eq!(empty.brief("s", "startup")["reason"], "nothingFound");
    assert_eq!(empty.prompt("s", QUESTION)["reason"], "nothingFound");
}

#[test]
fn a_brief_has_what_is_pinned_and_what_was_decided() {
    let service = Service::filled();
    for (content, kind, pinned) in [
        ("Write British English.", "note", true),
        ("Releases are signed.", "decision", false),
        ("Only an idea.", "note", false),
    ] {
        let body = json!({"content": content, "type": kind, "pinned": pinned});
        assert_eq!(service.post("/api/memory/add", &body).status, 201);
    }
    let brief = service.brief("s", "startup");
    let parts: Vec<&Value> =
        brief["used"].as_array().expect("used").iter().map(|array| &array["part"]).collect();
    assert_eq!(parts, ["pinned", "decision"]);
    assert!(text(&brief).contains("# Pinned") && text(&brief).contains("# Recent decisions"));
    assert!(!text(&brief).contains("idea"));
    // A session that is resumed has it already; one that is cleared has nothing.
    let resumed = service.brief("s", "resume");
    assert_eq!(
        (text(&resumed), &resumed["withheld"][0]["reason"]),
        ("", &json!("alreadyInjected"))
    );
    assert_eq!(ids(&service.brief("s", "clear")["used"]), ids(&brief["used"]));
}

#[test]
fn after_a_compaction_the_session_gets_its_brief_and_its_own_words_again() {
    let service = Service::filled();
    service.recorded(&turns("s", &[turn("user", QUESTION), turn("assistant", ANSWER)], 0, 10));
    // It said it itself.
    assert_eq!(service.brief("s", "startup")["used"], json!([]));
    let own = service.prompt("s", QUESTION);
    assert_eq!(own["withheld"][0]["reason"], "sameSession");
    // The harness says so before it compacts, and tells nothing afterwards: the next prompt does.
    let body = json!({"session": "s", "harness": "cursor"});
    assert_eq!(service.post("/api/recall/compaction", &body).status, 204);
    assert_eq!(service.get("/api/recall/sessions/s").json()["compacted"], true);
    let next = service.prompt("s", "ok, go on");
    assert!(text(&next).contains(ANSWER), "{next}");
    assert_eq!(service.get("/api/recall?limit=2").json()[1]["moment"], "compact");
    assert_eq!(service.get("/api/recall/sessions/s").json()["compacted"], false);
    assert_eq!(text(&service.prompt("s", "ok, go on")), "");
    // The harness says so after it has compacted.
    let brief = service.brief("s", "compact");
    assert!(text(&brief).contains(ANSWER), "{brief}");
    assert_eq!(service.get("/api/recall?limit=1").json()[0]["moment"], "compact");
}

#[test]
fn turns_are_recorded_once_and_without_secrets_and_injected_text() {
    let service = Service::filled();
    let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA1bC3dE5");
    service.recorded(&turns("a", &[turn("user", QUESTION), turn("assistant", ANSWER)], 0, 5));
    let injected = text(&service.prompt("b", QUESTION)).to_owned();
    let said = [
        turn("user", &format!("My token is {token}.")),
        turn("assistant", &format!("As told: {injected} Done.")),
        turn("user", &injected),
        turn("user", " \n"),
    ];
    let body = turns("b", &said, 0, 100);
    let recorded = service.recorded(&body);
    assert_eq!((ids_of(&recorded).len(), &recorded["skipped"]), (2, &json!(2)));
    let [user, assistant] = ids_of(&recorded)[..] else { panic!("{recorded}") };
    let content = |id: u64| service.get(&format!("/api/memory/{id}")).json()["content"].clone();
    assert_eq!(content(user), "My token is [redacted:github-token].");
    assert_eq!(content(assistant), "As told:  Done.");

    // The same range, a range that overlaps, and the whole file after it shrank.
    assert_eq!(ids_of(&service.recorded(&body)), [0; 0]);
    let more = [&said[..], &[turn("user", "And one more thing.")]].concat();
    let overlap = service.recorded(&turns("b", &more, 50, 150));
    assert_eq!((ids_of(&overlap).len(), &overlap["offset"]), (1, &json!(150)));
    let mut restarted = turns("b", &more, 0, 70);
    restarted["restart"] = json!(true);
    let again = service.recorded(&restarted);
    assert_eq!((ids_of(&again).len(), &again["offset"]), (0, &json!(70)));
    // A gap would lose what is in it.
    let gap = service.post("/api/recall/turns", &turns("b", &[], 71, 80));
    assert!(gap.problem(409).contains("up to 70"), "{}", gap.text());
}

/// The transcript was replaced by a shorter one that begins in the same way.
#[test]
fn a_deleted_turn_does_not_return_when_its_transcript_is_read_again() {
    let service = Service::start();
    let said = |text: &str, day: &str| json!({"role": "user", "text": text, "at": format!("{day}T00:00:00Z")});
    let mut all =
        vec![said("The north pier.", "2026-01-01"), said("The south pier.", "2026-01-02")];
    let recorded = ids_of(&service.recorded(&turns("s", &all, 0, 50)));
    assert_eq!(service.delete(&format!("/api/memory/{}", recorded[1])).status, 204);
    all.push(said("And the west pier?", "2100-01-01"));
    // In two parts, of which only the first one says that it is read again.
    let mut restarted = turns("s", &all[..1], 0, 20);
    restarted["restart"] = json!(true);
    assert_eq!(service.recorded(&restarted), json!({"recorded": [], "skipped": 1, "offset": 20}));
    let rest = service.recorded(&turns("s", &all[1..], 20, 40));
    assert_eq!((ids_of(&rest).len(), &rest["offset"]), (1, &json!(40)));
    let turns = service.get("/api/memory?type=turn").json();
    let contents = turns.as_array().expect("turns").iter().map(|array| &array["content"]);
    assert_eq!(contents.collect::<Vec<_>>(), ["The north pier.", "And the west pier?"]);
}

#[test]
fn a_token_that_only_reads_adds_to_the_log_at_a_pace() {
    let service = Service::start();
    let [reader, other] = ["memory:read"; 2].map(|scope| service.new_token(&[scope], None));
    let body = json!({"session": "s", "harness": "claude", "prompt": "go on"}).to_string();
    let ask =
        |token: &str, path: &str, body: &str| service.send("POST", path, token, body.as_bytes());
    // Requests that are refused for another reason count, too.
    let refused = |path: &str| {
        (0..).find_map(|count: usize| {
            let answer = ask(&reader, path, "{}");
            (answer.status == 429).then_some((count, answer))
        })
    };
    let (count, answer) = refused("/api/recall/prompt").expect("one is refused");
    assert!(count >= 600, "{count}");
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(answer.problem(429).contains("20 in each second"), "{}", answer.text());
    assert!(refused("/api/recall/brief").expect("one is refused").0 < 600);
    assert_eq!(ask(&other, "/api/recall/prompt", &body).status, 200);
    // What adds nothing is as before.
    assert_eq!(service.send("GET", "/api/recall", &reader, b"").status, 200);
}

#[test]
fn limits_are_checked_and_named() {
    let service = Service::start();
    let check = |path: &str, body: Value, pointer: &str| {
        let answer: Answer = service.post(path, &body);
        answer.field_problem(pointer);
    };
    let long = "x".repeat(RECALL_TURN_BYTES_MAX + 1);
    check("/api/recall/turns", turns("s", &[turn("user", &long)], 0, 1), "/turns/0/text");
    check("/api/recall/turns", turns("s", &[], 2, 1), "/to");
    let many = vec![turn("user", "x"); RECALL_TURNS_MAX + 1];
    check("/api/recall/turns", turns("s", &many, 0, 1), "/turns");
    let prompt = |prompt: &str| json!({"session": "s", "harness": "claude", "prompt": prompt});
    let most = "word ".repeat(RECALL_PROMPT_BYTES_MAX / 5);
    assert_eq!(service.post("/api/recall/prompt", &prompt(&most)).status, 200);
    let over = "x".repeat(RECALL_PROMPT_BYTES_MAX + 1);
    check("/api/recall/prompt", prompt(&over), "/prompt");
    check(
        "/api/recall/prompt",
        json!({"session": " ", "harness": "claude", "prompt": "x"}),
        "/session",
    );
    check("/api/recall/brief", json!({"session": "s", "harness": "Claude Code"}), "/harness");
    check("/api/recall/why", json!({"session": "s", "query": "", "limit": 51}), "/query");
    check("/api/recall/brief", json!({"session": "s", "harness": "x", "sauce": 1}), "/sauce");
    service.get("/api/recall?limit=0").field_problem("?limit");
    service.get("/api/recall?memory=0").field_problem("?memory");
    let allowed = turns("s", &vec![turn("user", "x"); RECALL_TURNS_MAX], 0, 1);
    assert_eq!(ids_of(&service.recorded(&allowed)).len(), 1);
}

#[test]
fn why_tells_what_is_later_withheld_deleted_and_unasked() {
    let service = Service::filled();
    let deleted = service.add("The billing service listens on port 1111.");
    service.prompt("s", "How do I configure the frobnicator of the zeppelin?");
    // Times are in milliseconds: what is added in that of the entry is not later.
    let asked = milliseconds();
    until(|| if milliseconds() > asked { Ok(()) } else { Err("the clock stands still") });
    let later = service.add("The billing service listens on port 2222 since the move.");
    assert_eq!(service.delete(&format!("/api/memory/{deleted}")).status, 204);
    let why = service.why("s", QUESTION);
    let fate = |id: u64| {
        let hits = why["hits"].as_array().expect("hits");
        hits.iter().find(|hit| hit["id"] == id).map(|hit| hit["fate"].clone())
    };
    assert_eq!(fate(deleted), Some(json!("deleted")), "{why}");
    assert_eq!(fate(later), Some(json!("later")), "{why}");
    let unasked = service.why("s", "notes about violins");
    assert_eq!(unasked["hits"][0]["fate"], "notConsidered", "{unasked}");
    assert_eq!(service.why("unknown", QUESTION)["entries"], 0);
}

#[test]
fn a_token_of_all_spaces_gets_each_session_that_the_log_lists() {
    let service = Service::filled();
    let (beta, gamma) = (
        service.new_token(&["memory:read", "memory:write"], Some("beta")),
        service.new_token(&["memory:read", "memory:write"], Some("gamma")),
    );
    let say = |token: &str, to: u64| {
        let body = turns("s", &[turn("user", &format!("Something up to {to}."))], 0, to);
        let answer = service.send("POST", "/api/recall/turns", token, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        let body = json!({"session": "s", "harness": "claude", "prompt": QUESTION});
        service.send("POST", "/api/recall/prompt", token, body.to_string().as_bytes()).json();
    };
    let get = |query: &str| service.get(&format!("/api/recall/sessions/s{query}"));
    let of = |query: &str| {
        let session = get(query).json();
        (session["space"].as_str().unwrap_or("none").to_owned(), session["offset"].clone())
    };
    let in_space = |space: &str, offset: u64| (space.to_owned(), json!(offset));
    get("").problem(404);
    say(&beta, 7);
    assert_eq!(service.get("/api/recall?session=s").json()[0]["space"], "beta");
    assert_eq!((of(""), of("?space=beta")), (in_space("beta", 7), in_space("beta", 7)));
    get("?space=gamma").problem(404);
    // Its own session is another one, which begins at 0.
    let nothing = turns("s", &[], 0, 0);
    assert_eq!(service.recorded(&nothing)["offset"], 0);

    say(&gamma, 8);
    let several = get("");
    assert_eq!(several.status, 422, "{}", several.text());
    let wanted = "is required: the session is in the spaces `beta`, `gamma`";
    assert_eq!(several.json()["errors"][0], json!({"pointer": "?space", "message": wanted}));
    assert_eq!(
        (of("?space=beta"), of("?space=gamma")),
        (in_space("beta", 7), in_space("gamma", 8))
    );
    assert_eq!(get("?spaec=beta").status, 422);

    service.recorded(&turns("s", &[turn("user", "Of all spaces.")], 0, 9));
    assert_eq!((of(""), of("?space=beta")), (in_space("none", 9), in_space("beta", 7)));
}

#[test]
fn a_space_bound_token_sees_only_its_own_sessions_and_memories() {
    let service = Service::filled();
    let mine = service.new_token(&["memory:read", "memory:write"], Some("mine"));
    service.recorded(&turns("s", &[turn("user", QUESTION), turn("assistant", ANSWER)], 0, 10));
    service.prompt("other", QUESTION);
    let ask = |method: &str, path: &str, body: &Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        service.send(method, path, &mine, body.as_bytes())
    };
    let prompt = json!({"session": "other", "harness": "claude", "prompt": QUESTION});
    let told = ask("POST", "/api/recall/prompt", &prompt).json();
    assert_eq!((text(&told), &told["reason"]), ("", &json!("nothingFound")));
    let listed = ask("GET", "/api/recall", &Value::Null).json();
    assert_eq!((listed.as_array().map(Vec::len), &listed[0]["space"]), (Some(1), &json!("mine")));
    ask("GET", "/api/recall/sessions/s", &Value::Null).problem(404);
    let own = turns("s", &[turn("user", "Something of mine only.")], 0, 7);
    let recorded = ask("POST", "/api/recall/turns", &own).json();
    let memory = service.get(&format!("/api/memory/{}", ids_of(&recorded)[0])).json();
    assert_eq!(memory["space"], "mine");
    assert_eq!(ask("GET", "/api/recall/sessions/s", &Value::Null).json()["offset"], 7);
    assert_eq!(service.get("/api/recall/sessions/s").json()["offset"], 10);
    ask("GET", "/api/recall/sessions/s?space=default", &Value::Null).problem(403);
    let foreign =
        json!({"session": "s", "harness": "claude", "prompt": QUESTION, "space": "default"});
    ask("POST", "/api/recall/prompt", &foreign).problem(403);
    ask("GET", "/api/recall?space=default", &Value::Null).problem(403);
}

/// `kill -9` between any two requests: acknowledged turns exist once, and the offset is never above
/// what is stored.
#[test]
fn kills_while_turns_are_recorded_lose_and_repeat_nothing() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut acknowledged = 0;
    for round in 0..6 {
        let mut program = Program::start(folder.path());
        let session = program.send("GET", "/api/recall/sessions/s", b"");
        let offset =
            if session.status == 404 { 0 } else { session.json()["offset"].as_u64().expect("one") };
        assert!(offset >= acknowledged, "{offset} is below {acknowledged}");
        let (address, token) = (program.address, program.token.clone());
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                for number in offset.. {
                    let said = [turn("user", &format!("turn number {number}"))];
                    let body = turns("s", &said, number, number + 1).to_string();
                    let bytes = crate::service::request(
                        address,
                        "POST",
                        "/api/recall/turns",
                        &token,
                        &[],
                        body.as_bytes(),
                    );
                    match crate::client::try_raw(address, &bytes) {
                        Some(answer) if answer.status == 200 => {
                            if sender.send(number + 1).is_err() {
                                return;
                            }
                        }
                        _ => return,
                    }
                }
            });
            for _ in 0..5 + round {
                acknowledged = receiver.recv().expect("it is answered");
            }
            program.kill();
            acknowledged = receiver.iter().last().unwrap_or(acknowledged);
        });
    }
    let program = Program::start(folder.path());
    let stored = program.send("GET", "/api/memory?limit=1000&type=turn", b"").json();
    let mut contents: Vec<String> = stored
        .as_array()
        .expect("memories")
        .iter()
        .map(|array| array["content"].as_str().expect("one").to_owned())
        .collect();
    let count = contents.len() as u64;
    contents.sort();
    contents.dedup();
    assert_eq!(contents.len() as u64, count, "a turn is stored twice");
    assert!(count >= acknowledged, "{count} turns of {acknowledged}");
    let offset = program.send("GET", "/api/recall/sessions/s", b"").json()["offset"].as_u64();
    assert!(offset >= Some(acknowledged) && offset <= Some(count), "{offset:?}");
}
