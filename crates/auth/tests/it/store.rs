use std::time::Duration;

use waypost_auth::{Error, ErrorKind, Malformed, NewToken, Rejected, Scope, Timestamp, Token};

use crate::{DAY, MINUTE, NOW, Place, after};

fn reader() -> NewToken {
    NewToken::new([Scope::MemoryRead])
}

#[test]
fn what_was_made_is_verified_and_listed_also_after_opening_again() {
    let place = Place::new();
    let new = NewToken::new([Scope::MemoryWrite, Scope::MemoryRead])
        .with_expires(after(DAY))
        .with_space("notes")
        .with_note("for the editor");
    let (secret, made) = place.open().create(new.clone(), NOW).unwrap();
    assert_eq!((made.scopes, made.created, made.expires), (new.scopes, NOW, new.expires));

    let store = place.open();
    let verified = store.verify(secret.expose(), NOW).unwrap();
    assert_eq!((verified.id, verified.expires), (made.id, Some(after(DAY))));
    assert!(verified.allows(Scope::MemoryWrite) && verified.allows(Scope::MemoryRead));
    assert!(!verified.allows(Scope::Admin) && !verified.allows(Scope::EventsRead));
    assert_eq!(verified.space.as_deref(), Some("notes"));

    let (other, _) = store.create(reader(), NOW).unwrap();
    assert_eq!(store.verify(other.expose(), NOW).unwrap().space, None);
    let listed: Vec<_> = place.open().list().unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().any(|it| it.id == made.id && it.note == new.note));
    assert_eq!(store.get(made.id).unwrap().space, new.space);
}

#[test]
fn an_unknown_id_and_a_wrong_secret_are_refused_alike() {
    let (place, elsewhere) = (Place::new(), Place::new());
    let store = place.open();
    let (secret, made) = store.create(reader(), NOW).unwrap();
    let (foreign, _) = elsewhere.open().create(reader(), NOW).unwrap();
    assert_eq!(store.verify(foreign.expose(), NOW), Err(Rejected::Unknown));
    // The right id with the secret of another token, and a matching checksum.
    let forged = with_checksum(&format!("wp_{}_{}", made.id, &foreign.expose()[14..57]));
    assert_eq!(Token::parse(&forged).unwrap().id(), made.id);
    assert_eq!(store.verify(&forged, NOW), Err(Rejected::Unknown));
    let typo = secret.expose().replace("wp_", "wp-");
    assert_eq!(store.verify(&typo, NOW), Err(Rejected::Malformed(Malformed::Prefix)));
    assert_eq!(store.get(made.id).unwrap().last_used, None, "a refused token was not used");
}

/// Computes the last six characters, as anyone can who knows the published format.
fn with_checksum(body: &str) -> String {
    let digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut crc = u32::MAX;
    for byte in body.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    let mut rest = !crc as usize;
    let mut sum = Vec::new();
    for _ in 0..6 {
        sum.push(char::from(digits[rest % 62]));
        rest /= 62;
    }
    body.chars().chain(sum.into_iter().rev()).collect()
}

#[test]
fn a_token_ends_exactly_when_it_expires() {
    let place = Place::new();
    let store = place.open();
    let new = reader().with_expires(after(1_000));
    let (secret, made) = store.create(new, NOW).unwrap();
    assert!(store.verify(secret.expose(), after(999)).is_ok());
    let expired = Err(Rejected::Expired { at: after(1_000) });
    assert_eq!(store.verify(secret.expose(), after(1_000)), expired);
    assert_eq!(store.verify(secret.expose(), Timestamp::MAX), expired);
    assert!(made.is_active(after(999)) && !made.is_active(after(1_000)));
}

#[test]
fn revoking_invalidates_a_token_at_once_and_permanently() {
    let place = Place::new();
    let store = place.open();
    let (secret, made) = store.create(reader(), NOW).unwrap();
    assert_eq!(store.revoke(made.id, after(1)).unwrap().token.revoked, Some(after(1)));
    assert_eq!(store.revoke(made.id, after(2)).unwrap().token.revoked, Some(after(1)), "again");
    for store in [store, place.open()] {
        let revoked = Err(Rejected::Revoked { at: after(1) });
        assert_eq!(store.verify(secret.expose(), NOW), revoked);
        assert_eq!(store.get(made.id).unwrap().revoked, Some(after(1)));
    }
}

#[test]
fn unknown_ids_are_not_found() {
    let store = Place::new().open();
    let id = "0123456789".parse().unwrap();
    let not_found = |error: Error| error.kind() == ErrorKind::NotFound;
    let place = Place::new();
    assert!(not_found(store.get(id).unwrap_err()));
    let store = place.open();
    assert!(not_found(store.revoke(id, NOW).unwrap_err()));
    assert!(not_found(store.rotate(id, Duration::ZERO, NOW).unwrap_err()));
    assert!(!place.file().exists(), "a refused change writes nothing");
}

#[test]
fn a_rotated_token_hands_over() {
    let place = Place::new();
    let store = place.open();
    let new = reader().with_space("notes");
    let (old, first) = store.create(new, NOW).unwrap();
    let (new, second) = store.rotate(first.id, Duration::from_secs(5), NOW).unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!(second.space.as_deref(), Some("notes"));
    assert_eq!(second.expires, None);
    assert!(store.verify(old.expose(), after(4_999)).is_ok(), "both work for a while");
    assert!(store.verify(new.expose(), after(4_999)).is_ok());
    assert_eq!(
        store.verify(old.expose(), after(5_000)),
        Err(Rejected::Expired { at: after(5_000) })
    );

    let (third, _) = store.rotate(second.id, Duration::ZERO, NOW).unwrap();
    assert_eq!(store.verify(new.expose(), NOW), Err(Rejected::Revoked { at: NOW }));
    assert!(store.verify(third.expose(), NOW).is_ok());
    assert!(matches!(store.rotate(second.id, Duration::ZERO, NOW), Err(Error::Ended { .. })));
    let (_, endless) = store.rotate(first.id, Duration::MAX, NOW).unwrap();
    assert_eq!(endless.expires, Some(after(5_000)), "the new one ends when the old one was to end");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    let store = place.open();
    let long = |chars: usize| "é".repeat(chars);
    for (field, new) in [
        ("scopes", NewToken::new([])),
        ("expires", reader().with_expires(NOW)),
        ("expires", reader().with_expires(Timestamp::MIN)),
        ("space", reader().with_space(String::new())),
        ("space", reader().with_space("a\u{1b}[2J")),
        ("space", reader().with_space(long(129))),
        ("space", NewToken::new([Scope::Admin]).with_space("a")),
        ("note", reader().with_note("two\nlines")),
        ("note", reader().with_note(long(257))),
    ] {
        match store.create(new, NOW) {
            Err(Error::Invalid { field: at, reason }) => {
                assert_eq!(at, field);
                assert!(!reason.is_empty());
            }
            other => panic!("{field}: {other:?}"),
        }
    }
    assert!(!place.file().exists());
    let edge = reader().with_note(long(256)).with_space(long(128));
    store.create(edge, NOW).unwrap();
}

#[test]
fn the_last_use_is_kept_in_minutes_and_written_when_asked() {
    let place = Place::new();
    let store = place.open();
    let (secret, made) = store.create(reader(), NOW).unwrap();
    let written = std::fs::read(place.file()).unwrap();
    assert!(!store.flush().unwrap(), "nothing to write yet");
    store.verify(secret.expose(), after(MINUTE + 59_999)).unwrap();
    store.verify(secret.expose(), NOW).unwrap();
    assert_eq!(store.get(made.id).unwrap().last_used, Some(after(MINUTE)), "never goes back");
    assert_eq!(std::fs::read(place.file()).unwrap(), written, "checking a token writes nothing");
    assert!(store.flush().unwrap());
    assert!(!store.flush().unwrap());
    assert_eq!(place.open().get(made.id).unwrap().last_used, Some(after(MINUTE)));
}

#[test]
fn tokens_that_ended_are_forgotten_after_a_month() {
    let place = Place::new();
    let store = place.open();
    let (_, revoked) = store.create(reader(), NOW).unwrap();
    store.revoke(revoked.id, NOW).unwrap();
    let expiring = reader().with_expires(after(DAY));
    let (_, expiring) = store.create(expiring, NOW).unwrap();
    let (_, endless) = store.create(reader(), NOW).unwrap();
    let listed = || -> Vec<_> { store.list().unwrap().into_iter().map(|item| item.id).collect() };

    store.create(reader(), after(30 * DAY - 1)).unwrap();
    assert_eq!(listed().len(), 4);
    store.create(reader(), after(30 * DAY)).unwrap();
    assert!(!listed().contains(&revoked.id) && listed().contains(&expiring.id));
    store.create(reader(), after(31 * DAY)).unwrap();
    assert!(!listed().contains(&expiring.id) && listed().contains(&endless.id));
}

#[test]
fn a_token_that_was_verified_works_until_it_is_revoked_or_expires_also_by_another_process() {
    let place = Place::new();
    let (store, other) = (place.open(), place.open());
    let expiring = reader().with_expires(after(10));
    let (_, expiring) = store.create(expiring, NOW).unwrap();
    let (_, kept) = store.create(reader(), NOW).unwrap();
    assert!(store.works(expiring.id, after(9)) && store.works(kept.id, after(9)));
    assert!(!store.works(expiring.id, after(10)), "its time is over");
    other.revoke(kept.id, NOW).unwrap();
    assert!(!store.works(kept.id, NOW));
    std::fs::write(store.path(), b"no tokens").unwrap();
    assert!(!store.works(expiring.id, NOW), "a file that cannot be read lets nobody in");
}
