//! The runtime folder: who may use it, and what happens when it is damaged.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::json;
use waypost_mesh::{Error, Mesh, Settings};

use crate::{LONG, Place, serve_echo};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_folder_and_what_is_in_it_are_this_user_s_alone() {
    let place = Place::new();
    let mesh = place.join("one");
    let _serving = serve_echo(&mesh);
    assert_eq!(mode(&place.folder()), 0o700);
    for entry in fs::read_dir(place.folder()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_folder_that_others_can_read_is_rejected_with_the_remedy() {
    let place = Place::new();
    for wrong in [0o755, 0o750, 0o701, 0o710] {
        fs::create_dir_all(place.folder()).unwrap();
        chmod(&place.folder(), wrong);
        let error = Mesh::open(&Settings::new(&place.folder(), "one")).unwrap_err();
        assert!(matches!(error, Error::Exposed { .. }), "{error}");
        assert!(error.to_string().contains(&format!("{wrong:o}")), "{error}");
        assert!(error.to_string().contains("chmod 700"), "{error}");
    }
    assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 0, "nothing was written there");
}

#[test]
fn a_folder_in_one_that_others_can_change_is_refused() {
    let place = Place::new();
    let above = place.0.path().join("waypost");
    let join = || Mesh::open(&Settings::new(&above.join("project"), "one"));
    drop(join().unwrap());
    assert_eq!(mode(&above), 0o700, "it was made for this user alone");
    chmod(&above, 0o777);
    let error = join().unwrap_err();
    assert!(matches!(&error, Error::Exposed { path, .. } if *path == above), "{error}");
    assert!(error.to_string().contains("777"), "{error}");
    // As in /tmp, nobody can exchange what is not theirs.
    chmod(&above, 0o1777);
    drop(join().unwrap());
    chmod(&above, 0o755);
    drop(join().unwrap());
    if std::os::unix::fs::chown(&above, Some(65_534), None).is_err() {
        eprintln!("skipped: only root can give folders away");
        return;
    }
    let error = join().unwrap_err();
    assert!(matches!(&error, Error::Exposed { path, .. } if *path == above), "{error}");
    assert!(error.to_string().contains("belongs to user 65534"), "{error}");
}

#[test]
fn a_folder_that_is_a_file_or_too_long_is_refused() {
    let place = Place::new();
    fs::write(place.folder(), "").unwrap();
    assert!(Mesh::open(&Settings::new(&place.folder(), "one")).is_err());
    let long = place.0.path().join("x".repeat(100));
    let error = Mesh::open(&Settings::new(&long, "one")).unwrap_err();
    assert!(matches!(error, Error::PathTooLong { bytes_max: 107, .. }), "{error}");
    // A link to a folder is treated as that folder, whose mode counts.
    let (real, link) = (place.0.path().join("real"), place.0.path().join("link"));
    fs::create_dir(&real).unwrap();
    chmod(&real, 0o755);
    symlink(&real, &link).unwrap();
    assert!(matches!(Mesh::open(&Settings::new(&link, "one")), Err(Error::Exposed { .. })));
}

#[test]
fn a_link_that_another_user_created_is_not_followed() {
    let place = Place::new();
    drop(place.join("one"));
    let above = place.0.path();
    let (parent, last) = (above.join("waypost"), above.join("project"));
    for (link, to, folder) in
        [(&parent, above, &parent.join("mesh")), (&last, &place.folder(), &last)]
    {
        symlink(to, link).unwrap();
        drop(Mesh::open(&Settings::new(folder, "own")).unwrap());
        if std::os::unix::fs::lchown(link, Some(65_534), None).is_err() {
            eprintln!("skipped: only root can give links away");
            return;
        }
        let error = Mesh::open(&Settings::new(folder, "one")).unwrap_err();
        assert!(matches!(&error, Error::Exposed { path, .. } if path == link), "{error}");
    }
}

#[test]
fn a_peer_with_a_deleted_socket_is_found_again() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    let listener = server.listen(&waypost_mesh::Pattern::all());
    for entry in fs::read_dir(place.folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "sock") {
            fs::remove_file(path).unwrap();
        }
    }
    // A peer that joins now finds no other, until the server has detected it.
    let caller = place.join("caller");
    crate::eventually("the call goes through", || {
        caller.call("echo", "say", &json!(1), LONG) == Ok(json!(1))
    });
    crate::eventually("its listener hears again", || {
        caller.broadcast("test", &json!({ "type": "tick" })).unwrap();
        listener.next(std::time::Duration::from_millis(20)).is_some()
    });
    assert_eq!(server.trouble(), None);
}

#[test]
fn peers_whose_folder_was_deleted_meet_again_in_a_new_one() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    let before = place.join("before");
    fs::remove_dir_all(place.folder()).unwrap();
    let after = place.join("after");
    for caller in [&before, &after] {
        crate::eventually("the call goes through", || {
            caller.call("echo", "say", &json!(1), LONG) == Ok(json!(1))
        });
    }
}

#[test]
fn what_a_dead_peer_left_is_cleared_and_the_living_are_not() {
    let place = Place::new();
    let alive = place.join("alive");
    let _serving = serve_echo(&alive);
    let dead = place.folder().join("0123456789ab.sock");
    drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
    for ending in ["peer", "sock.lock"] {
        fs::write(dead.with_extension(ending), "").unwrap();
    }
    let file = place.folder().join("k.sock");
    fs::write(&file, "of something else").unwrap();
    let caller = place.join("caller");
    let left = fs::read_dir(place.folder()).unwrap().filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("0123456789ab")
    });
    assert_eq!(left.count(), 0);
    assert!(file.exists());
    assert_eq!(caller.call("echo", "say", &json!(1), LONG), Ok(json!(1)));
}
