//! A process that is killed while it creates tokens: every acknowledged token exists.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use waypost_auth::{NewToken, Scope, TokenStore, ensure_admin_token_file, read_token_file};

use crate::child::end_of;
use crate::{NOW, Place};

const FOLDER: &str = "WAYPOST_AUTH_TEST_FOLDER";

/// Not a test: the process that the test below starts and kills.
#[test]
fn makes_tokens_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let store = TokenStore::open(&folder.join("auth/tokens.json")).unwrap();
    ensure_admin_token_file(&folder.join("token"), &store, NOW).unwrap();
    let mut out = std::io::stdout();
    // Bounded, in case the test process is gone.
    for _ in 0..5_000 {
        let (kept, _) = store.create(NewToken::new([Scope::MemoryRead]), NOW).unwrap();
        let (_, revoked) = store.create(NewToken::new([Scope::MemoryRead]), NOW).unwrap();
        writeln!(out, "kept {}", kept.expose()).unwrap();
        store.revoke(revoked.id, NOW).unwrap();
        writeln!(out, "revoked {}", revoked.id).unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn a_kill_loses_no_token_and_no_revocation_that_was_answered() {
    let place = Place::new();
    let (mut kept, mut revoked) = (Vec::new(), Vec::new());
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::makes_tokens_until_it_is_killed", "--nocapture"])
            .env(FOLDER, place.0.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut answered = 0;
        while answered < 3 + 2 * round {
            let line = lines.next().expect("it goes on until it is killed").unwrap();
            answered += usize::from(note(&line, &mut kept, &mut revoked));
        }
        child.kill().unwrap();
        end_of(&mut child);
        // Tokens acknowledged before the kill took effect count, too; a torn last line does not.
        for line in lines.map_while(Result::ok) {
            note(&line, &mut kept, &mut revoked);
        }
        let store = place.open();
        for secret in &kept {
            assert!(store.verify(secret, NOW).is_ok(), "round {round}");
        }
        for id in &revoked {
            assert!(store.get(*id).unwrap().revoked.is_some(), "round {round}");
        }
        let admin = read_token_file(&place.0.path().join("token")).unwrap();
        assert!(store.verify(admin.secret.expose(), NOW).unwrap().allows(Scope::Admin));
    }
    assert!(kept.len() > 50, "{}", kept.len());
}

fn note(line: &str, kept: &mut Vec<String>, revoked: &mut Vec<waypost_auth::TokenId>) -> bool {
    // The test harness may have written the start of the line.
    let words: Vec<_> = line.split_whitespace().collect();
    match words.as_slice() {
        [.., "kept", token] if waypost_auth::Token::parse(token).is_ok() => {
            kept.push((*token).to_owned());
            true
        }
        [.., "revoked", id] if id.len() == 10 => {
            revoked.push(id.parse().unwrap());
            true
        }
        _ => false,
    }
}
