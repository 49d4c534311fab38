//! The list of machines.

use waypost_journal::{ErrorKind, MACHINE_TEXT_BYTES_MAX, MachineId, MachineReport, Reported};

use super::*;
use crate::wait::until;

pub(crate) fn machine(id: u8) -> MachineReport {
    MachineReport {
        id: MachineId([id; 16]),
        name: format!("machine {id}"),
        release: "1.0.0".to_owned(),
        feature: 3,
        seq: 0,
        purged: 0,
        removed: 0,
        base: 0,
        flows: None,
        fault: None,
    }
}

#[test]
fn machines_are_listed_with_what_they_reported_last() {
    let server = server!();
    let journal = server.journal();
    server.journal().joined(&machine(9), &long()).unwrap();
    let (mut first, second) = (machine(1), machine(2));
    journal.joined(&first, &long()).unwrap();
    journal.joined(&second, &long()).unwrap();
    journal.report(&MachineReport { seq: 11, ..first.clone() }, &long()).unwrap();
    first = MachineReport {
        seq: 12,
        purged: 5,
        release: "1.1.0".to_owned(),
        flows: Some([7; 32]),
        fault: Some("it differs".to_owned()),
        ..first
    };
    journal.report(&first, &long()).unwrap();
    // What was purged or applied stays so.
    journal.report(&MachineReport { purged: 4, seq: 3, ..first.clone() }, &long()).unwrap();
    let found = journal.machines(&long()).unwrap();
    let reports: Vec<_> = found.iter().map(|found| found.report.clone()).collect();
    assert_eq!(reports, [first, second.clone()]);
    assert_eq!(found.iter().map(|it| it.counter).collect::<Vec<_>>(), [4, 1]);
    assert!(found.iter().all(|it| it.incarnation == 1 && it.silent <= it.joined));
    // Of two processes that report as one machine, the one that was overtaken writes nothing.
    let report = |counter| journal.report_after(counter, &second, &long()).unwrap();
    assert_eq!(report(Some(1)), Reported::Counted(2));
    assert_eq!(report(Some(1)), Reported::Overtaken(2));
    assert_eq!(report(Some(2)), Reported::Counted(3));
    assert_eq!(report(None), Reported::Counted(4));

    // By the server's clock.
    server.sql("UPDATE waypost.machine SET seen = seen - interval '8 days'");
    let silent = journal.machines(&long()).unwrap()[1].silent;
    assert!(silent >= Duration::from_secs(8 * 86_400), "{silent:?}");
    journal.report(&second, &long()).unwrap();
    let silent = journal.machines(&long()).unwrap()[1].silent;
    assert!(silent < Duration::from_secs(86_400), "{silent:?}");
    server.sql("UPDATE waypost.machine SET seen = seen + interval '1 day'");
    assert_eq!(journal.machines(&long()).unwrap()[1].silent, Duration::ZERO);
}

#[test]
fn the_feature_level_rises_when_all_machines_can_read_it_and_never_falls() {
    let server = server!();
    let journal = server.journal();
    assert_eq!((journal.feature(), journal.raise_feature(&long()).unwrap()), (1, 1));
    let new = MachineReport { feature: 3, ..machine(1) };
    let mut old = MachineReport { feature: 1, ..machine(2) };
    journal.joined(&old, &long()).unwrap();
    journal.joined(&new, &long()).unwrap();
    assert_eq!(journal.raise_feature(&long()).unwrap(), 1, "one machine has the older release");
    old.feature = 2;
    journal.report(&old, &long()).unwrap();
    assert_eq!(journal.raise_feature(&long()).unwrap(), 2);
    let error = journal.joined(&MachineReport { feature: 1, ..machine(3) }, &long()).unwrap_err();
    assert!(matches!(error, Error::Feature { found: 2, supported: 1 }), "{error}");
    assert_eq!(journal.machines(&long()).unwrap().len(), 2);
    // A machine that does not return does not hold the others up.
    journal.forget(old.id, &long()).unwrap();
    assert_eq!(journal.raise_feature(&long()).unwrap(), 3);
    let again = Journal::open(server.settings(), journal.store(), &long()).unwrap();
    assert_eq!(again.feature(), 3);
    let error = journal.joined(&old, &long()).unwrap_err();
    assert!(matches!(error, Error::Feature { found: 3, supported: 2 }), "{error}");
}

#[test]
fn tables_of_the_first_databases_get_what_they_lack() {
    let server = server!();
    let store = server.journal().store();
    server.sql("ALTER TABLE waypost.head DROP COLUMN feature");
    server.sql("ALTER TABLE waypost.machine DROP COLUMN removed");
    server.sql("ALTER TABLE waypost.machine DROP COLUMN flows");
    server.sql("ALTER TABLE waypost.machine DROP COLUMN fault");
    server.sql("DROP TABLE waypost.question");
    let journal = Journal::open(server.settings(), store, &long()).unwrap();
    assert_eq!(journal.feature(), 1);
    journal.joined(&machine(1), &long()).unwrap();
    assert_eq!(journal.machines(&long()).unwrap()[0].report, machine(1));
}

#[test]
fn a_machine_that_was_forgotten_must_join_again() {
    let server = server!();
    let journal = server.journal();
    let (first, never) = (machine(1), machine(2));
    journal.joined(&first, &long()).unwrap();
    journal.forget(first.id, &long()).unwrap();
    journal.forget(first.id, &long()).unwrap();
    assert_eq!(journal.machines(&long()).unwrap(), []);
    for machine in [&first, &never] {
        let error = journal.report(machine, &long()).unwrap_err();
        assert!(matches!(error, Error::Forgotten(id) if id == machine.id), "{error}");
        assert_eq!(error.kind(), ErrorKind::Behind);
    }
    journal.joined(&first, &long()).unwrap();
    journal.report(&first, &long()).unwrap();
    assert_eq!(journal.machines(&long()).unwrap().len(), 1);
}

#[test]
fn a_text_of_a_machine_has_a_limit() {
    let server = server!();
    let journal = server.journal();
    let named = |name: String| journal.joined(&MachineReport { name, ..machine(1) }, &long());
    named("x".repeat(MACHINE_TEXT_BYTES_MAX)).unwrap();
    for name in ["x".repeat(MACHINE_TEXT_BYTES_MAX + 1), "a\0".to_owned()] {
        let error = named(name).unwrap_err();
        assert!(
            error.to_string().contains("the name of a machine has at most 128 bytes"),
            "{error}"
        );
    }
    let release = "x".repeat(MACHINE_TEXT_BYTES_MAX + 1);
    let error = journal.joined(&MachineReport { release, ..machine(1) }, &long()).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    let error = journal.joined(&MachineReport { feature: 1 << 31, ..machine(1) }, &long());
    assert!(matches!(error, Err(Error::Invalid(_))), "{error:?}");
}

/// A report does not wait for standbys, and joining does.
#[test]
fn a_report_does_not_wait_for_standbys() {
    let Some((primary, mut standby)) = standby::pair() else { return };
    let journal = primary.journal();
    let first = machine(1);
    journal.joined(&first, &long()).unwrap();
    standby.kill(true);
    journal.report(&first, &long()).unwrap();
    let soon = Until::within(Duration::from_millis(500));
    let error = journal.joined(&machine(2), &soon).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Retry, "{error}");
    standby.run();
    until(|| journal.joined(&machine(2), &long()));
}
