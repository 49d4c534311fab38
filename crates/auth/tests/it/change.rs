//! The bytes of a change.

use proptest::prelude::*;
use waypost_auth::{Contact, InvalidChange, NewToken, Scope, TokenChange};

use crate::machines::Journal;
use crate::{DAY, NOW, Place, after};

/// A change that the first release with shared tokens wrote.
const VERSION_1: &str = concat!(
    r#"{"version":1,"at":1800000000000,"tokens":[{"id":"aB3dE5fG7h","#,
    r#""digest":"0c28ad8f3bb6cb46f225083e4c082332d7ed3e10542e9cb5f8bcc58b97f43269","#,
    r#""scopes":["memory:read","browser:use"],"created":1800000000000,"expires":1800000000001,"#,
    r#""space":"notes","note":"é","revoked":1800000000002,"parent":"0123456789"}]}"#
);

/// A change of one token, and its secret part.
fn change() -> (Vec<u8>, String) {
    let (place, journal) = (Place::new(), Journal::default());
    place.open().share(NOW).unwrap();
    let store = place.open().with_shared(journal.append());
    store.set_contact(Contact::Kept);
    let new = NewToken::new([Scope::MemoryRead, Scope::EventsRead])
        .with_space("notes")
        .with_note("for the \"editor\"")
        .with_expires(after(DAY));
    let (secret, _) = store.create(new, NOW).unwrap();
    let bytes = journal.0.lock().unwrap()[0].clone();
    (bytes, secret.expose()[14..].to_owned())
}

#[test]
fn a_change_is_read_as_it_was_written_and_has_no_secret() {
    let (bytes, secret) = change();
    let read = TokenChange::decode(&bytes).unwrap();
    assert_eq!((read.at(), read.ids().count()), (NOW, 1));
    assert_eq!(read.encode(), bytes);
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains(&secret) && !text.contains(&secret[..43]), "{text}");
    assert!(text.contains("digest") && !format!("{read:?}").contains("digest"), "{read:?}");
}

#[test]
fn a_change_of_the_first_version_is_readable() {
    let change = TokenChange::decode(VERSION_1.as_bytes()).unwrap();
    assert_eq!(change.ids().map(|it| it.to_string()).collect::<Vec<_>>(), ["aB3dE5fG7h"]);
    let place = Place::new();
    place.open().adopt(&[change], after(2)).unwrap();
    let made = place.open().list().unwrap().remove(0);
    assert_eq!((made.expires, made.revoked), (Some(after(1)), Some(after(2))));
    assert_eq!((made.space.as_deref(), made.note.as_deref()), (Some("notes"), Some("é")));
    assert_eq!(made.scopes.iter().collect::<Vec<_>>(), [Scope::MemoryRead, Scope::BrowserUse]);
    assert_eq!((made.parent.unwrap().as_str(), made.local), ("0123456789", false));
}

#[test]
fn damaged_changes_are_refused_and_newer_ones_named() {
    let refused = |text: &str| match TokenChange::decode(text.as_bytes()) {
        Err(InvalidChange::Damaged { reason }) => reason,
        other => panic!("{text}: {other:?}"),
    };
    for (from, to, why) in [
        ("\"version\":1", "\"version\":0", "only form"),
        ("\"version\":1", "\"version\": 1", "only form"),
        ("\"at\":1", "\"at\":999", "only form"),
        ("\"at\":1", "\"more\":1,\"at\":1", "unknown field"),
        ("\"at\":1", "\"at\":1,\"at\":1", "duplicate field"),
        ("\"parent\"", "\"firstAdmin\":true,\"parent\"", "fields that its machine keeps"),
        ("\"parent\"", "\"local\":true,\"parent\"", "fields that its machine keeps"),
        ("\"revoked\"", "\"lastUsed\"", "fields that its machine keeps"),
        ("\"revoked\":1800000000002", "\"revoked\":null", "only form"),
        ("memory:read", "memory:reads", "is not a scope"),
        ("\"memory:read\",\"browser:use\"", "\"browser:use\",\"memory:read\"", "only form"),
        ("0c28", "0C28", "only form"),
        ("0c28", "0c2", "digest"),
        ("aB3dE5fG7h", "aB3dE5fG7", "id is malformed"),
        ("0123456789", "012345678é", "id is malformed"),
        ("}]}", "}]} ", "only form"),
        ("}]}", "}]}1", "trailing"),
    ] {
        assert!(VERSION_1.contains(from), "{from}");
        let reason = refused(&VERSION_1.replacen(from, to, 1));
        assert!(reason.contains(why), "{from} → {to}: {reason}");
    }
    let token = &VERSION_1[VERSION_1.find("[{").unwrap() + 1..VERSION_1.len() - 2];
    let twice = format!("{token},{token}");
    assert!(refused(&VERSION_1.replace(token, &twice)).contains("only form"));
    let unsorted = format!("{token},{}", token.replace("aB3dE5fG7h", "AB3dE5fG7h"));
    assert!(refused(&VERSION_1.replace(token, &unsorted)).contains("only form"));

    let newer = TokenChange::decode(br#"{"version":2,"other":[]}"#);
    assert_eq!(newer, Err(InvalidChange::Newer { found: 2, known: 1 }));
}

#[test]
fn the_state_is_cut_into_changes_of_256_tokens() {
    let place = Place::new();
    let store = place.open();
    let new = NewToken::new([Scope::MemoryRead]);
    for _ in 0..256 {
        store.create(new.clone(), NOW).unwrap();
    }
    let sizes = || -> Vec<_> {
        let state = store.shared_state(NOW).unwrap();
        state.iter().map(|state| state.ids().count()).collect()
    };
    assert_eq!(sizes(), [256]);
    store.create(new, NOW).unwrap();
    assert_eq!(sizes(), [256, 1]);
    let other = Place::new();
    other.open().adopt(&store.share(NOW).unwrap(), NOW).unwrap();
    assert_eq!(other.open().list().unwrap(), store.list().unwrap());
}

#[test]
fn flipped_bits_and_cuts_are_refused_or_another_change() {
    let (bytes, _) = change();
    for at in 0..bytes.len() {
        assert!(TokenChange::decode(&bytes[..at]).is_err(), "cut at {at}");
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            if let Ok(read) = TokenChange::decode(&damaged) {
                assert_eq!(read.encode(), damaged, "bit {bit} of byte {at}");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(TokenChange::decode(&bytes).is_err());
    }
}
