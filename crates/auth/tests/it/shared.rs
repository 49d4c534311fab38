//! One file and several stores, as in several processes.

use std::fs;

use waypost_auth::{NewToken, Rejected, Scope};

use crate::{MINUTE, NOW, Place, after};

fn reader() -> NewToken {
    NewToken::new([Scope::MemoryRead])
}

#[test]
fn what_one_store_changes_the_other_sees_at_once() {
    let place = Place::new();
    let (service, ctl) = (place.open(), place.open());
    for round in 0..50 {
        let (secret, made) = ctl.create(reader(), NOW).unwrap();
        assert!(service.verify(secret.expose(), NOW).is_ok(), "round {round}");
        service.revoke(made.id, NOW).unwrap();
        assert_eq!(ctl.verify(secret.expose(), NOW), Err(Rejected::Revoked { at: NOW }));
    }
    assert_eq!(ctl.list().unwrap(), service.list().unwrap());
}

#[test]
fn uses_that_are_not_written_yet_survive_a_change_by_another() {
    let place = Place::new();
    let (service, ctl) = (place.open(), place.open());
    let (secret, made) = service.create(reader(), NOW).unwrap();
    service.verify(secret.expose(), after(MINUTE)).unwrap();
    ctl.create(reader(), NOW).unwrap();
    assert!(service.get(made.id).unwrap().last_used.is_some_and(|used| used > after(-MINUTE)));
    assert!(service.flush().unwrap());
    assert!(ctl.get(made.id).unwrap().last_used.is_some_and(|used| used > after(-MINUTE)));
}

#[test]
fn no_change_is_lost_when_many_change_at_once() {
    let place = Place::new();
    let stores: Vec<_> = (0..4).map(|_| place.open()).collect();
    let secrets: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = stores
            .iter()
            .flat_map(|store| [store, store])
            .map(|store| {
                scope.spawn(move || -> Vec<_> {
                    (0..6).map(|_| store.create(reader(), NOW).unwrap().0).collect()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(secrets.len(), 48);
    for store in stores {
        assert_eq!(store.list().unwrap().len(), 48);
        assert!(secrets.iter().all(|secret| store.verify(secret.expose(), NOW).is_ok()));
    }
}

#[test]
fn a_file_that_goes_away_takes_every_token_along() {
    let place = Place::new();
    let store = place.open();
    let (secret, _) = store.create(reader(), NOW).unwrap();
    let kept = fs::read(place.file()).unwrap();
    fs::remove_file(place.file()).unwrap();
    assert_eq!(store.verify(secret.expose(), NOW), Err(Rejected::Unknown));
    fs::write(place.file(), kept).unwrap();
    assert!(store.verify(secret.expose(), NOW).is_ok());
}
