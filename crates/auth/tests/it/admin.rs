use std::fs;
use std::path::PathBuf;

use waypost_auth::{
    AdminToken, Error, NewToken, Rejected, Scope, ensure_admin_token_file, read_token_file,
};

use crate::{NOW, Place, after};

fn path(place: &Place) -> PathBuf {
    place.0.path().join("token")
}

#[test]
fn the_first_start_makes_a_token_and_the_second_keeps_it() {
    let place = Place::new();
    let store = place.open();
    let made = ensure_admin_token_file(&path(&place), &store, NOW).unwrap();
    let AdminToken::Created { id } = made else { panic!("{made:?}") };
    let file = read_token_file(&path(&place)).unwrap();
    assert_eq!(file.open_mode, None);
    let verified = store.verify(file.secret.expose(), NOW).unwrap();
    assert!(verified.allows(Scope::Admin));
    assert_eq!(verified.id, id);

    let before = fs::read(path(&place)).unwrap();
    for store in [store, place.open()] {
        let kept = ensure_admin_token_file(&path(&place), &store, after(1)).unwrap();
        assert_eq!(kept, AdminToken::Kept { id, was_open: None });
    }
    assert_eq!(fs::read(path(&place)).unwrap(), before);
    assert_eq!(place.open().list().unwrap().len(), 1);
}

#[test]
fn a_lost_file_is_made_again_and_the_lost_token_revoked() {
    let place = Place::new();
    let store = place.open();
    ensure_admin_token_file(&path(&place), &store, NOW).unwrap();
    let lost = read_token_file(&path(&place)).unwrap().secret;
    let (other, _) = store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    fs::remove_file(path(&place)).unwrap();
    let made = ensure_admin_token_file(&path(&place), &store, after(1)).unwrap();
    assert!(matches!(made, AdminToken::Created { .. }), "{made:?}");
    let found = read_token_file(&path(&place)).unwrap().secret;
    assert_ne!(found, lost);
    assert!(store.verify(found.expose(), after(1)).is_ok());
    assert_eq!(store.verify(lost.expose(), after(1)), Err(Rejected::Revoked { at: after(1) }));
    assert!(store.verify(other.expose(), after(1)).is_ok(), "tokens made by hand stay");
}

#[test]
fn a_file_that_does_not_let_in_is_replaced() {
    let place = Place::new();
    let store = place.open();
    let (reader, _) = store.create(NewToken::new([Scope::MemoryRead]), NOW).unwrap();
    let (revoked, made) = store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    store.revoke(made.id, NOW).unwrap();
    let (foreign, _) = Place::new().open().create(NewToken::new([Scope::Admin]), NOW).unwrap();
    for content in [
        b"".to_vec(),
        b"wp_torn".to_vec(),
        vec![0xff; 64],
        vec![b'a'; 4096],
        reader.expose().into(),
        revoked.expose().into(),
        foreign.expose().into(),
    ] {
        fs::write(path(&place), &content).unwrap();
        let made = ensure_admin_token_file(&path(&place), &store, NOW).unwrap();
        assert!(matches!(made, AdminToken::Replaced { .. }), "{made:?}");
        let file = read_token_file(&path(&place)).unwrap();
        assert!(store.verify(file.secret.expose(), NOW).unwrap().allows(Scope::Admin));
    }
}

#[test]
fn many_first_starts_at_once_end_with_one_token_that_works() {
    let place = Place::new();
    let created = std::thread::scope(|scope| {
        let start = || ensure_admin_token_file(&path(&place), &place.open(), NOW).unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        let made = threads.into_iter().map(|thread| thread.join().unwrap());
        made.filter(|made| matches!(made, AdminToken::Created { .. })).count()
    });
    assert_eq!(created, 1);
    let store = place.open();
    assert_eq!(store.list().unwrap().len(), 1);
    let file = read_token_file(&path(&place)).unwrap();
    assert!(store.verify(file.secret.expose(), NOW).is_ok());
}

#[test]
fn a_damaged_store_is_no_reason_for_another_admin() {
    let place = Place::new();
    let store = place.open();
    ensure_admin_token_file(&path(&place), &store, NOW).unwrap();
    let before = fs::read(path(&place)).unwrap();
    fs::write(place.file(), "{").unwrap();
    let error = ensure_admin_token_file(&path(&place), &store, NOW).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    fs::remove_file(path(&place)).unwrap();
    assert!(ensure_admin_token_file(&path(&place), &store, NOW).is_err());
    assert!(!path(&place).exists());
    assert!(!before.is_empty());
}

#[test]
fn reading_a_token_file_forgives_blanks_and_nothing_else() {
    let place = Place::new();
    let (secret, _) = place.open().create(NewToken::new([Scope::MemoryRead]), NOW).unwrap();
    fs::write(path(&place), format!("\n  {}\r\n", secret.expose())).unwrap();
    assert_eq!(read_token_file(&path(&place)).unwrap().secret, secret);
    fs::write(path(&place), format!("{0}\n{0}\n", secret.expose())).unwrap();
    let error = read_token_file(&path(&place)).unwrap_err().to_string();
    assert!(!error.contains(&secret.expose()[14..]), "{error}");
    fs::remove_file(path(&place)).unwrap();
    let error = read_token_file(&path(&place)).unwrap_err();
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    );
}

#[cfg(unix)]
mod modes {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn mode(place: &Place) -> u32 {
        fs::metadata(path(place)).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_file_is_the_owners_alone_and_is_made_so_again() {
        let place = Place::new();
        let store = place.open();
        ensure_admin_token_file(&path(&place), &store, NOW).unwrap();
        assert_eq!(mode(&place), 0o600);
        fs::set_permissions(path(&place), fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(read_token_file(&path(&place)).unwrap().open_mode, Some(0o644));
        let kept = ensure_admin_token_file(&path(&place), &store, NOW).unwrap();
        assert!(matches!(kept, AdminToken::Kept { was_open: Some(0o644), .. }), "{kept:?}");
        assert_eq!(mode(&place), 0o600);
    }

    #[test]
    fn a_file_that_others_can_write_and_a_link_are_refused() {
        let place = Place::new();
        let store = place.open();
        ensure_admin_token_file(&path(&place), &store, NOW).unwrap();
        fs::set_permissions(path(&place), fs::Permissions::from_mode(0o622)).unwrap();
        let error = ensure_admin_token_file(&path(&place), &store, NOW).unwrap_err();
        assert!(matches!(error, Error::Exposed { .. }), "{error:?}");
        let target = place.0.path().join("target");
        fs::rename(path(&place), &target).unwrap();
        symlink(&target, path(&place)).unwrap();
        let error = ensure_admin_token_file(&path(&place), &store, NOW).unwrap_err();
        assert!(matches!(error, Error::NotAFile { .. }), "{error:?}");
    }
}
