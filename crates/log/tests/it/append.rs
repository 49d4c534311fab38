use waypost_log::{Log, Options, Record};

#[test]
fn an_answered_append_is_there_after_opening_again() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (log, _) = Log::open(dir.path(), &Options::default()).expect("an empty folder opens");
    for payload in [&b"one"[..], b"", b"three"] {
        log.append(Record { kind: 7, version: 2, payload }).expect("there is room");
    }
    drop(log);
    let (log, recovery) = Log::open(dir.path(), &Options::default()).expect("it opens again");
    assert_eq!(recovery.truncated_bytes, 0);
    let entries: Vec<_> = log.entries_after(0).map(|it| it.expect("readable")).collect();
    let payloads: Vec<&[u8]> = entries.iter().map(|it| it.payload.as_slice()).collect();
    assert_eq!(payloads, [&b"one"[..], b"", b"three"]);
    assert!(entries.iter().all(|it| it.kind == 7 && it.version == 2));
    assert_eq!(log.read(2).expect("readable"), Some(entries[1].clone()));
    assert_eq!(log.last_sequence(), 3);
}
