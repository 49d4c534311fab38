//! A damaged file never grants access and never causes a panic.

use std::fs;
use std::path::Path;

use waypost_auth::{
    Error, ErrorKind, NewToken, Rejected, Scope, Secret, TokenStore, read_token_file,
};

use crate::{NOW, Place};

fn with_two_tokens() -> (Place, Secret, Vec<u8>) {
    let place = Place::new();
    let store = place.open();
    let (secret, _) = store.create(NewToken::new([Scope::MemoryRead]), NOW).unwrap();
    let (_, other) = store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    store.revoke(other.id, NOW).unwrap();
    let bytes = fs::read(place.file()).unwrap();
    (place, secret, bytes)
}

#[test]
fn flipped_bits_and_cuts_are_noticed_or_harmless() {
    let (place, _, bytes) = with_two_tokens();
    let before = place.open().list().unwrap();
    let check = |damaged: &[u8], what: String| {
        fs::write(place.file(), damaged).unwrap();
        match TokenStore::open(&place.file()) {
            Ok(store) => assert_eq!(store.list().unwrap(), before, "{what}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Damaged, "{what}: {error}"),
        }
    };
    for at in 0..bytes.len() {
        // One bit of each byte: all bits of all bytes would take too long.
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        check(&damaged, format!("bit {} of byte {at}", at % 8));
    }
    for len in (0..bytes.len()).step_by(7) {
        check(&bytes[..len], format!("cut at {len}"));
    }
}

#[test]
fn a_running_store_lets_nobody_in_while_its_file_is_damaged() {
    let (place, secret, bytes) = with_two_tokens();
    let store = place.open();
    assert!(store.verify(secret.expose(), NOW).is_ok());
    for damaged in [&b""[..], b"{}", b"null", &bytes[..bytes.len() / 2], &[0xff; 100]] {
        fs::write(place.file(), damaged).unwrap();
        for _ in 0..2 {
            let refused = store.verify(secret.expose(), NOW).unwrap_err();
            assert!(matches!(refused, Rejected::Unavailable { .. }), "{refused:?}");
        }
        let error = store.create(NewToken::new([Scope::Admin]), NOW).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
        assert_eq!(fs::read(place.file()).unwrap(), damaged, "it is not written over");
        assert!(store.list().is_err() && store.revoke("0123456789".parse().unwrap(), NOW).is_err());
    }
    fs::write(place.file(), &bytes).unwrap();
    assert!(store.verify(secret.expose(), NOW).is_ok(), "it works again once it is restored");
}

#[test]
fn the_error_says_what_to_do() {
    let (place, _, _) = with_two_tokens();
    fs::write(place.file(), "{\"version\": 1, \"tokens\": []}").unwrap();
    let error = TokenStore::open(&place.file()).unwrap_err().to_string();
    assert!(error.contains("tokens.json is damaged"), "{error}");
    assert!(error.contains("missing field `checksum`"), "{error}");
    assert!(error.contains("moves it away"), "{error}");
}

#[test]
fn what_was_changed_by_hand_is_not_believed() {
    let (place, _, bytes) = with_two_tokens();
    let text = String::from_utf8(bytes).unwrap();
    for (from, to) in [("memory:read", "admin"), ("\"revoked\"", "\"expires\""), ("1800", "9800")] {
        assert!(text.contains(from));
        fs::write(place.file(), text.replace(from, to)).unwrap();
        assert!(matches!(TokenStore::open(&place.file()), Err(Error::Corrupt { .. })), "{from}");
    }
}

#[test]
fn a_newer_format_is_named() {
    let (place, _, _) = with_two_tokens();
    fs::write(place.file(), "{\"version\": 5, \"something\": \"else\"}").unwrap();
    let error = TokenStore::open(&place.file()).unwrap_err();
    assert!(matches!(error, Error::Newer { found: 5, known: 4, .. }), "{error:?}");
}

#[test]
fn a_folder_in_the_files_place_is_an_error() {
    let place = Place::new();
    fs::create_dir_all(place.file()).unwrap();
    assert!(matches!(TokenStore::open(&place.file()), Err(Error::NotAFile { .. })));
}

#[test]
fn a_pipe_or_a_socket_in_the_files_place_is_an_error_and_nothing_waits_for_it() {
    let pipe: fn(&Path) = |path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let socket: fn(&Path) = |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    for make in [pipe, socket] {
        let place = Place::new();
        fs::create_dir_all(place.file().parent().unwrap()).unwrap();
        make(&place.file());
        assert!(matches!(TokenStore::open(&place.file()), Err(Error::NotAFile { .. })));
        assert!(matches!(read_token_file(&place.file()), Err(Error::NotAFile { .. })));
    }
}

#[test]
fn rests_of_a_write_that_was_cut_short_are_ignored_and_removed() {
    let (place, secret, bytes) = with_two_tokens();
    let rest = place.file().with_file_name("tokens.json.tmp");
    for len in (0..bytes.len()).step_by(97) {
        fs::write(&rest, &bytes[..len]).unwrap();
        let store = place.open();
        assert!(store.verify(secret.expose(), NOW).is_ok());
        let (_, made) = store.create(NewToken::new([Scope::MemoryRead]), NOW).unwrap();
        store.revoke(made.id, NOW).unwrap();
        assert!(!rest.exists());
    }
}

#[cfg(unix)]
mod modes {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_file_and_its_folder_are_the_owners_alone() {
        let (place, _, _) = with_two_tokens();
        assert_eq!(mode(&place.file()), 0o600);
        assert_eq!(mode(place.file().parent().unwrap()), 0o700);
        for entry in fs::read_dir(place.file().parent().unwrap()).unwrap() {
            assert_eq!(mode(&entry.unwrap().path()) & 0o077, 0);
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_closed_to_them() {
        let (place, _, _) = with_two_tokens();
        set(&place.file(), 0o644);
        place.open();
        assert_eq!(mode(&place.file()), 0o600);
    }

    #[test]
    fn a_file_that_another_user_put_there_is_refused() {
        let (place, _, _) = with_two_tokens();
        // Only root can change a file's owner; for other users there is nothing to test.
        if std::os::unix::fs::chown(place.file(), Some(65_534), None).is_ok() {
            let error = TokenStore::open(&place.file()).unwrap_err();
            assert!(error.to_string().contains("belongs to user 65534"), "{error}");
            // Root serves a folder that belongs to another user entirely.
            std::os::unix::fs::chown(place.file().parent().unwrap(), Some(65_534), None).unwrap();
            place.open();
        }
    }

    #[test]
    fn a_file_that_others_can_write_and_a_folder_open_to_all_are_refused() {
        let (place, secret, _) = with_two_tokens();
        let running = place.open();
        let folder = place.file().parent().unwrap().to_owned();
        for (path, open, closed) in [(place.file(), 0o620, 0o600), (folder, 0o702, 0o700)] {
            set(&path, open);
            let error = TokenStore::open(&place.file()).unwrap_err();
            assert!(error.to_string().contains(&format!("chmod {closed:o}")), "{error}");
            set(&path, closed);
            place.open();
        }
        set(place.file().parent().unwrap(), 0o770);
        place.open();
        set(&place.file(), 0o666);
        let refused = running.verify(secret.expose(), NOW).unwrap_err();
        assert!(matches!(refused, Rejected::Unavailable { .. }), "a running store sees it, too");
        set(&place.file(), 0o600);
        assert!(running.verify(secret.expose(), NOW).is_ok());
    }
}
