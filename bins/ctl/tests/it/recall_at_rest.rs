//! The recall log in backups, and its checks and repairs while no service runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use waypost_api::{
    RecallPromptRequest, RecallRole, RecallSessionRequest, RecallTurn, RecallTurns,
    RecallTurnsRequest, routes,
};

use crate::ctl::{Ran, ran, trusting};
use crate::service::Service;

const SAID: [&str; 3] = ["Which pier is closed?", "The north pier.", "And the south pier?"];
/// Bytes of a transcript for each turn.
const TURN_BYTES: u64 = 100;

/// Records the turns from one position to another.
fn record(service: &Service, from: usize, to: usize) -> RecallTurns {
    let turn = |text: &&str| RecallTurn { role: RecallRole::User, text: (*text).into(), at: None };
    let request = RecallTurnsRequest {
        session: "s".to_owned(),
        harness: "claude".to_owned(),
        turns: SAID[from..to].iter().map(turn).collect(),
        from: from as u64 * TURN_BYTES,
        to: to as u64 * TURN_BYTES,
        ..RecallTurnsRequest::default()
    };
    service.client().call(&routes::RECORD_TURNS, &request).expect("it is recorded")
}

fn ask(service: &Service, session: &str) {
    let request = RecallPromptRequest {
        session: session.to_owned(),
        harness: "claude".to_owned(),
        prompt: "which port does the billing service use?".to_owned(),
        space: None,
    };
    service.client().call(&routes::RECALL_FOR_PROMPT, &request).expect("an answer");
}

fn offset(service: &Service) -> u64 {
    let of = RecallSessionRequest::default();
    service.client().call(&routes::GET_RECALL_SESSION.at("s"), &of).expect("it is known").offset
}

fn entries(service: &Service) -> Value {
    service.ctl(&["--json", "recall", "log"]).json()
}

fn turns(service: &Service) -> Vec<String> {
    let listed = service.ctl(&["--json", "list", "--type", "turn"]).json();
    let listed = listed.as_array().expect("a list").iter();
    listed.map(|listed| listed["content"].as_str().expect("a text").to_owned()).collect()
}

/// Runs the program where no service responds.
fn alone(folder: &Path, arguments: &[&str]) -> Ran {
    let arguments = [&["--url", "http://127.0.0.1:9"], arguments].concat();
    ran(trusting(folder, &arguments).output().expect("it runs"))
}

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join(".waypost")).expect("a folder");
    folder
}

#[test]
fn a_restored_recall_log_goes_on_where_the_backup_ends() {
    let mut service = Service::start();
    service.add("The billing service listens on port 4747");
    ask(&service, "s");
    let first = record(&service, 0, 2);
    // The user does not want this turn back.
    service.ctl(&["delete", &first.recorded[0].to_string()]).done();
    let to = tempfile::tempdir().expect("a folder");
    let (online, offline) = (to.path().join("online"), to.path().join("offline"));
    service.ctl(&["backup", &online.to_string_lossy()]).done();
    let before = entries(&service);
    // After the backup.
    record(&service, 2, 3);
    let folder = service.folder().to_owned();
    service.stop();
    let arguments = ["--trust-project", "backup", &offline.to_string_lossy()];
    let mut command = trusting(&folder, &arguments);
    command.env("WAYPOST_URL", "http://127.0.0.1:9");
    ran(command.output().expect("it runs")).done();

    for (file, recorded) in [(&online, 2), (&offline, 3)] {
        let place = project();
        let told = trusting(place.path(), &["restore", &file.to_string_lossy()]).output();
        ran(told.expect("it runs")).done();
        let restored = Service::start_at(place, |_, _| {});
        assert_eq!(entries(&restored), before);
        assert_eq!(offset(&restored), recorded as u64 * TURN_BYTES);
        assert_eq!(turns(&restored), SAID[1..recorded]);
        // A hook sends what is after the offset, and may send what is before it once more.
        assert_eq!(record(&restored, 0, recorded).recorded, Vec::<u64>::new());
        assert_eq!(record(&restored, recorded, 3).recorded.len(), 3 - recorded);
        assert_eq!(turns(&restored), SAID[1..]);
    }
}

/// Copies of a project whose recall log has a flipped bit in the record of the second session.
fn damaged(service: &Service, to: &Path) -> PathBuf {
    let copied = Command::new("cp").arg("-a").arg(service.folder()).arg(to).status();
    assert!(copied.expect("cp runs").success());
    let folder = to.join(service.folder().file_name().expect("a name"));
    let segment = folder.join(".waypost/data/recall/log").join(format!("{:020}.log", 1));
    let mut bytes = fs::read(&segment).expect("a segment");
    let name = b"second-session";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("an entry");
    bytes[at] ^= 1;
    fs::write(&segment, bytes).expect("a segment");
    folder
}

#[test]
fn a_damaged_recall_log_is_named_and_the_service_starts_once_it_is_repaired() {
    let mut service = Service::start();
    for session in ["first-session", "second-session", "third-session"] {
        ask(&service, session);
    }
    service.stop();
    let sound = alone(service.folder(), &["doctor"]);
    assert!(sound.out.contains("recall      3 records, all valid, in "), "{sound:?}");
    let to = tempfile::tempdir().expect("a folder");
    let folder = damaged(&service, to.path());

    let found = alone(&folder, &["doctor"]);
    assert_eq!(found.code, 1, "{found:?}");
    let at = found.out.find("fault   recall ").unwrap_or_else(|| panic!("{found:?}"));
    let said: Vec<&str> = found.out[at..].lines().take(2).collect();
    let place = "bad record in recall/log/00000000000000000001.log at offset ";
    assert!(said[0].contains(place), "{said:?}");
    let hint = "hint: `ctl doctor --repair` keeps every record with a valid checksum";
    assert_eq!(said[1].trim(), hint);
    let options = waypost_service::Options::for_project(&folder).expect("options");
    let refused = waypost_service::start(&options).map(drop).expect_err("it is damaged");
    assert!(format!("{refused:#}").contains(place), "{refused:#}");
    let mut backup = trusting(&folder, &["backup", &to.path().join("b").to_string_lossy()]);
    backup.env("WAYPOST_URL", "http://127.0.0.1:9");
    let refused = ran(backup.output().expect("it runs"));
    assert!(refused.code != 0 && refused.err.contains("recall/log/"), "{refused:?}");

    let repaired = alone(&folder, &["doctor", "--repair"]);
    assert_eq!(repaired.code, 0, "{repaired:?}");
    assert!(repaired.out.contains("lost: bad record in recall/log/0000"), "{repaired:?}");
    assert_eq!(alone(&folder, &["doctor"]).code, 0);

    let place = project();
    fs::rename(folder.join(".waypost/data"), place.path().join(".waypost/data")).expect("data");
    let started = Service::start_at(place, |_, _| {});
    let sessions: Vec<_> =
        (0..3).map(|number| entries(&started)[number]["session"].clone()).collect();
    assert_eq!(sessions, ["third-session".into(), "first-session".into(), Value::Null]);
}
