//! Databases that cannot keep a journal, and settings that are wrong.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use super::*;
use crate::machines::machine;
use crate::server::{PASSWORD, new_store, settings};
use crate::snapshots::{get, put};

#[track_caller]
fn refused(settings: Settings, store: StoreId, expected: &str) -> Error {
    let error = Journal::open(settings, store, &long()).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
    error
}

#[test]
fn a_database_without_this_journal_is_refused() {
    let server = server!();
    let store = new_store();
    refused(server.settings(), store, "no journal in the schema waypost; create one first");
    let other = server.journal().store();
    let error = refused(server.settings(), store, &format!("no journal of the store {store}"));
    assert!(error.to_string().contains(&other.to_string()), "{error}");
    let again = Journal::create(server.settings(), other, &long()).unwrap_err();
    assert!(matches!(again, Error::Exists(it) if it == other), "{again}");
    // Another schema is another place.
    let elsewhere = server.settings().with_schema("second").unwrap();
    Journal::create(elsewhere.clone(), other, &long()).unwrap();
    server.sql("UPDATE second.head SET schema_version = 2");
    refused(elsewhere, other, "version 2, and this release supports versions up to 1");
}

#[test]
fn a_user_without_privileges_is_told_which() {
    let server = server!();
    let store = server.journal().store();
    server.sql("CREATE ROLE guest LOGIN");
    let url = server.url().replace("waypost@", "guest@");
    refused(settings(&url), store, "permission denied for schema waypost");
    server.sql("GRANT USAGE ON SCHEMA waypost TO guest");
    refused(settings(&url), store, "SELECT on waypost.head");
    server.sql("GRANT SELECT, UPDATE ON waypost.head TO guest");
    server.sql("GRANT SELECT ON waypost.journal TO guest");
    refused(settings(&url), store, "INSERT on waypost.journal");
    server.sql("GRANT INSERT ON waypost.journal TO guest");
    for (table, privileges) in [
        ("snapshot", "SELECT, INSERT, UPDATE"),
        ("snapshot_chunk", "SELECT, INSERT"),
        ("machine", "SELECT, INSERT, UPDATE"),
        ("vector", "SELECT, INSERT, UPDATE"),
        ("question", "SELECT, INSERT, UPDATE, DELETE"),
    ] {
        refused(settings(&url), store, &format!("SELECT on waypost.{table}"));
        server.sql(&format!("GRANT {privileges} ON waypost.{table} TO guest"));
    }
    let journal = Journal::open(settings(&url), store, &long()).unwrap();
    let guest = Journal::create(settings(&url), new_store(), &long()).unwrap_err();
    assert!(matches!(guest, Error::Privilege(_)), "{guest}");

    // That is enough for all that every machine does.
    let end = add(&journal, Position::start(store), &["a"]);
    assert_eq!(journal.confirm(end, &long()).unwrap().position, end);
    let snapshot = put(&journal, end, b"content");
    assert_eq!(get(&journal, &snapshot).unwrap(), b"content");
    journal.verify_snapshot(snapshot.id, &long()).unwrap();
    let machine = machine(1);
    journal.joined(&machine, &long()).unwrap();
    journal.report(&machine, &long()).unwrap();
    assert_eq!(journal.machines(&long()).unwrap().len(), 1);
    journal.forget(machine.id, &long()).unwrap();
    let (model, text) = (b"model", [1; 32]);
    let lease = Duration::from_secs(60);
    journal.claim_vectors(model, &[text], machine.id, lease, &long()).unwrap();
    journal.put_vectors(model, &[(text, vec![1])], &long()).unwrap();
    assert_eq!(journal.get_vectors(model, &[text], &long()).unwrap().len(), 1);

    // Deleting is for the machines that trim and purge.
    let lacks = |result: Result<()>, expected: &str| match result {
        Err(Error::Privilege(found)) => assert!(found.contains(expected), "{found}"),
        other => panic!("{other:?}"),
    };
    let day = Duration::from_secs(86_400);
    lacks(journal.trim(snapshot.id, &long()).map(|_| ()), "DELETE on waypost.journal");
    lacks(journal.remove_snapshot(snapshot.id, &long()), "DELETE on waypost.snapshot");
    lacks(journal.remove_unfinished(day, &long()).map(|_| ()), "table snapshot");
    lacks(journal.trim_vectors(day, &long()).map(|_| ()), "table vector");
    assert_eq!(journal.head(&long()).unwrap().base, Position::start(store));
    server.sql(
        "GRANT DELETE ON waypost.journal, waypost.snapshot, waypost.snapshot_chunk, waypost.vector \
         TO guest",
    );
    assert_eq!(journal.trim(snapshot.id, &long()).unwrap().removed, 1);
    assert_eq!(journal.trim_vectors(Duration::ZERO, &long()).unwrap(), 1);
}

#[test]
fn a_server_without_fsync_is_refused() {
    let Some(server) = server::Server::start_with(&["fsync=off"]) else { return };
    let error = Journal::create(server.settings(), new_store(), &long()).unwrap_err();
    assert!(matches!(error, Error::Unsafe { setting: "fsync", .. }), "{error}");
    assert!(error.to_string().contains("fsync = off, which loses acknowledged writes"), "{error}");
}

#[test]
fn no_message_shows_a_password() {
    let server = server!();
    let store = server.journal().store();
    let url = format!("postgresql://waypost@127.0.0.1:{}/waypost", server.port);
    Journal::open(settings(&url), store, &long()).unwrap();

    let wrong = "a-wrong-password";
    let settings = Settings::parse(&url, &|it| (it == "PGPASSWORD").then(|| wrong.into())).unwrap();
    assert!(!format!("{settings:?}").contains(wrong));
    let error = refused(settings, store, "password authentication failed for user \"waypost\"");
    assert!(!format!("{error:?} {error}").contains(wrong));
    let none = Settings::parse(&url, &|_| None).unwrap();
    refused(none, store, "password missing");

    for url in ["postgresql://a:secret@h/d", "postgresql://a@h/d?password=secret"] {
        let error = Settings::parse(url, &|_| None).unwrap_err().to_string();
        assert!(error.contains("put it into ~/.pgpass") && !error.contains("secret"), "{error}");
    }
}

#[test]
fn a_password_file_is_read_like_that_of_libpq() {
    let server = server!();
    let store = server.journal().store();
    let file = server.folder.path().join("pgpass");
    fs::write(&file, format!("# ours\n127.0.0.1:*:waypost:waypost:{PASSWORD}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let url = format!("postgresql://waypost@127.0.0.1:{}/waypost", server.port);
    let path = file.clone();
    let settings =
        Settings::parse(&url, &|it| (it == "PGPASSFILE").then(|| path.clone().into())).unwrap();
    Journal::open(settings.clone(), store, &long()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    refused(settings.clone(), store, "run chmod 600 on it");
    fs::remove_file(&file).unwrap();
    refused(settings, store, "failed to read the passwords in");
}

#[test]
fn a_wrong_url_is_explained() {
    let check = |url: &str, expected: &str| {
        let error = Settings::parse(url, &|_| None).unwrap_err().to_string();
        assert!(error.contains(expected), "{url}: {error}");
    };
    check("mysql://a@h/d", "must begin with postgresql://");
    check("postgresql://h/d", "names no user");
    check("postgresql://a@/d", "names no host");
    check("postgresql://a@h,,i/d?sslmode=disable", "names no host");
    check("postgresql://a@h:0/d?sslmode=disable", "a port is a number from 1 to 65535");
    check("postgresql://a@h/d", "needs sslrootcert=FILE");
    check("postgresql://a@h/d?sslmode=require", "use verify-full with sslrootcert=FILE");
    check("postgresql://a@h/d?sslmod=disable", "unknown parameter «sslmod»");
    check("postgresql://a@h/d?connect_timeout=0", "a number of seconds from 1 to 600");
    check("postgresql://a@h/d?sslrootcert=/nowhere.pem", "/nowhere.pem");
    check("postgresql://a@h/d?host=/tmp", "names hosts twice");
    check("postgresql://a@h%ff/d", "no UTF-8");
    for url in ["postgresql://a@localhost", "postgres://a@[::1]:5433/d?application_name=x"] {
        Settings::parse(url, &|_| None).unwrap();
    }
    for schema in ["", "Way", "1a", "a\"b", "pg_a", &"x".repeat(41)] {
        let settings = Settings::parse("postgresql://a@localhost", &|_| None).unwrap();
        assert!(settings.with_schema(schema).is_err(), "{schema}");
    }
}

#[test]
fn the_name_and_the_certificate_of_a_server_are_verified() {
    let server = server!();
    let store = server.journal().store();
    let trusted = server.certify("localhost");
    let url = |host: &str, roots: &std::path::Path| {
        let port = server.port;
        let roots = roots.display();
        settings(&format!(
            "postgresql://waypost@{host}:{port}/waypost?sslmode=verify-full&sslrootcert={roots}"
        ))
    };
    let journal = Journal::open(url("localhost", &trusted), store, &long()).unwrap();
    add(&journal, Position::start(store), &["over TLS"]);
    let used = "SELECT count(*) FROM pg_stat_ssl WHERE ssl AND pid <> pg_backend_pid()";
    assert_eq!(server.sql(used), "1");
    refused(url("127.0.0.1", &trusted), store, "certificate");
    let other = server.folder.path().join("other.pem");
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(&other, certificate.cert.pem()).unwrap();
    refused(url("localhost", &other), store, "certificate");
    server.sql("ALTER SYSTEM SET ssl = off");
    server.sql("SELECT pg_reload_conf()");
    wait::until(|| (server.sql("SHOW ssl") == "off").then_some(()).ok_or("TLS is on"));
    refused(url("localhost", &trusted), store, "server does not support TLS");
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    let port = server::free_port();
    let url = format!("postgresql://waypost@127.0.0.1:{port}/waypost");
    let error = refused(settings(&url), new_store(), &format!("127.0.0.1:{port}: "));
    assert!(matches!(error, Error::Unreachable(_)), "{error}");
}

#[test]
fn a_password_with_a_question_mark_is_not_quoted() {
    for url in ["postgresql://a:pass?word@host/db", "postgresql://a:1?word=2&sslmode=word@host/db"]
    {
        let error = Settings::parse(url, &|_| None).unwrap_err().to_string();
        assert!(!error.contains("word@") && !error.contains("«word"), "{error}");
        assert!(error.contains("%40"), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_of_a_url_is_quoted_in_full(text in "(postgres(ql)?://)?\\PC{0,40}(:[a-z]{12}@)?\\PC{0,20}") {
        if let Err(error) = Settings::parse(&text, &|_| None) {
            let error = error.to_string();
            let secret = text.split_once(':').and_then(|(_, it)| it.split_once(':'))
                .and_then(|(_, it)| it.split_once('@'));
            if let Some((secret, _)) = secret && secret.len() == 12 {
                assert!(!error.contains(secret), "{error}");
            }
        }
    }
}

/// Any program of this machine can listen on the port of a database that is stopped.
#[test]
fn no_server_without_tls_gets_the_password_in_cleartext() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let fake = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut startup = [0; 1024];
        let length = stream.read(&mut startup).unwrap();
        assert!(length > 8 && startup[4..8] == [0, 3, 0, 0], "the first message");
        stream.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 3]).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        rest
    });
    let url = format!("postgresql://waypost@127.0.0.1:{port}/waypost");
    let error = Journal::open(settings(&url), new_store(), &long()).unwrap_err();
    assert!(error.to_string().contains("it was not sent"), "{error}");
    let rest = fake.join().unwrap();
    assert_eq!(rest, b"", "it got something after it had asked");
}
