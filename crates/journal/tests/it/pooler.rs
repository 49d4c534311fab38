//! PgBouncer in transaction mode, which gives each transaction another session.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use waypost_journal::Contender;

use super::*;
use crate::machines::machine;
use crate::server::{Server, as_user, free_port, give, settings};
use crate::snapshots::{content, get, put};
use crate::wait::until;

struct Pooler {
    port: u16,
    process: Child,
}

impl Pooler {
    fn start(server: &Server) -> Option<Self> {
        let program = Path::new("/usr/sbin/pgbouncer");
        if !program.exists() {
            println_skipped();
            return None;
        }
        let port = free_port();
        let folder = server.folder.path().display();
        let file = server.folder.path().join("pgbouncer.ini");
        // Two sessions for everything, and defaults that an append must not depend on.
        let text = format!(
            "[databases]\n\
             waypost = host={folder} port={} user=waypost dbname=waypost \
             connect_query='SET synchronous_commit = off'\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n\
             logfile = /dev/null\npidfile = {folder}/pgbouncer.pid\n",
            server.port
        );
        fs::write(&file, text).unwrap();
        give(&file);
        let process = as_user(program)
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pooler = Self { port, process };
        until(|| std::net::TcpStream::connect(("127.0.0.1", port)).map(|_| ()));
        Some(pooler)
    }

    fn url(&self) -> String {
        format!("postgresql://waypost@127.0.0.1:{}/waypost", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.process.kill().ok();
        child::end_of(&mut self.process);
    }
}

#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn println_skipped() {
    println!("skipped: PgBouncer is not installed; scripts/prepare test installs it");
}

#[test]
fn everything_works_through_pgbouncer() {
    let server = server!();
    let Some(pooler) = Pooler::start(&server) else { return };
    let journal = server.journal();
    let open =
        || Arc::new(Journal::open(settings(&pooler.url()), journal.store(), &long()).unwrap());
    thread::scope(|scope| {
        for writer in 0..3 {
            let journal = open();
            scope.spawn(move || {
                let mut lease = Contender::new(Duration::from_secs(60)).unwrap();
                let mut after = Position::start(journal.store());
                for step in 0..8 {
                    let text = format!("{writer}-{step}");
                    // Appends, and commits under the lock, of three writers.
                    after = loop {
                        let outcome = if step % 2 == 0 {
                            journal.append(after, &records(after, &[&text]), None, &long())
                        } else {
                            let guard = journal.lock(&long()).unwrap();
                            let after = guard.position();
                            guard.append(after, &records(after, &[&text]), None, &long())
                        };
                        match outcome.unwrap() {
                            Outcome::Appended(end) => break end,
                            Outcome::Moved(end) => after = end,
                            other @ Outcome::Fenced(_) => panic!("{other:?}"),
                        }
                    };
                    journal.contend(&mut lease, &long()).unwrap();
                }
            });
        }
    });
    let through = open();
    let rows = all(&through).unwrap();
    assert_eq!(rows, all(&journal).unwrap());
    let mut found = texts(&rows);
    found.sort();
    let expected: Vec<String> =
        (0..3).flat_map(|number| (0..8).map(move |step| format!("{number}-{step}"))).collect();
    assert_eq!(found, expected);
    assert!(through.head(&long()).unwrap().lease_epoch >= 1);

    // Polling finds what others append.
    thread::scope(|scope| {
        let found = scope.spawn(|| through.wait(24, &long()).unwrap());
        let end = add(&journal, rows[23].position(), &["polled"]);
        assert_eq!(found.join().unwrap().position, end);
    });
}

#[test]
fn snapshots_machines_and_vectors_work_through_pgbouncer() {
    let server = server!();
    let Some(pooler) = Pooler::start(&server) else { return };
    let direct = server.journal();
    let journal = Journal::open(settings(&pooler.url()), direct.store(), &long()).unwrap();
    let end = add(&direct, Position::start(direct.store()), &["a", "b"]);
    assert_eq!(journal.confirm(end, &long()).unwrap().position, end);
    let content = content(2_500_000);
    let first = put(&journal, end, &content);
    assert!(get(&journal, &first).unwrap() == content);
    assert_eq!(journal.trim(first.id, &long()).unwrap().removed, 2);
    put(&journal, end, b"second");
    journal.remove_snapshot(first.id, &long()).unwrap();
    assert_eq!(journal.remove_unfinished(Duration::ZERO, &long()).unwrap(), 0);
    let machine = machine(1);
    journal.joined(&machine, &long()).unwrap();
    journal.report(&machine, &long()).unwrap();
    assert_eq!(journal.machines(&long()).unwrap()[0].counter, 2);
    let (model, texts) = (b"model", [[1; 32], [2; 32]]);
    let lease = Duration::from_secs(60);
    let claimed = journal.claim_vectors(model, &texts, machine.id, lease, &long()).unwrap();
    assert_eq!(claimed.claimed.len(), 2);
    journal.put_vectors(model, &[(texts[0], vec![1])], &long()).unwrap();
    assert_eq!(journal.get_vectors(model, &texts, &long()).unwrap(), [(texts[0], vec![1])]);
    assert_eq!(journal.trim_vectors(Duration::ZERO, &long()).unwrap(), 2);
}
