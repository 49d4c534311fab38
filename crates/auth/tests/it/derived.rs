//! Tokens that are derived from others.

use std::fs;
use std::path::Path;
use std::time::Duration;

use waypost_auth::{
    AdminToken, Error, NewToken, Rejected, Scope, TokenId, TokenStore, ensure_admin_token_file,
};

use crate::{NOW, Place, after};

/// A file that a release before derived tokens wrote, and its token.
const VERSION_1: &str = r#"{
  "version": 1,
  "checksum": "7e36efd04405ac7ad3a4dab7ccfbe72a3f2da14b58e3db99688ce3acceca5f7c",
  "tokens": [
    {
      "id": "aB3dE5fG7h",
      "digest": "0c28ad8f3bb6cb46f225083e4c082332d7ed3e10542e9cb5f8bcc58b97f43269",
      "scopes": [
        "admin"
      ],
      "created": 1800000000000,
      "note": "the first start's admin token",
      "firstAdmin": true
    }
  ]
}
"#;
const TOKEN_1: &str =
    concat!("wp_aB3dE5fG7h_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "3f6rAm");

fn from(parent: TokenId) -> NewToken {
    NewToken::new([Scope::Admin]).with_parent(parent)
}

/// The version that the file has now.
fn version(file: &Path) -> u64 {
    let text = fs::read_to_string(file).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("\"version\": ")).unwrap();
    line.trim_end_matches(',').parse().unwrap()
}

#[test]
fn revoking_a_token_revokes_those_derived_from_it() {
    let place = Place::new();
    let store = place.open();
    let (_, root) = store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    let (other, _) = store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    let (first, child) = store.create(from(root.id), NOW).unwrap();
    let (second, grandchild) = store.create(from(child.id), NOW).unwrap();
    let (_, over) = store.create(from(root.id).with_expires(after(1)), NOW).unwrap();
    assert_eq!((root.parent, grandchild.parent), (None, Some(child.id)));

    let mut done = store.revoke(root.id, after(2)).unwrap();
    done.derived.sort();
    let mut expected = vec![child.id, grandchild.id];
    expected.sort();
    assert_eq!(done.derived, expected, "without the expired one");
    assert_eq!(store.revoke(root.id, after(3)).unwrap().derived, []);
    for store in [store, place.open()] {
        for secret in [&first, &second] {
            let revoked = Err(Rejected::Revoked { at: after(2) });
            assert_eq!(store.verify(secret.expose(), after(2)), revoked);
        }
        assert!(store.verify(other.expose(), after(2)).is_ok());
        assert_eq!(store.get(child.id).unwrap().parent, Some(root.id));
        assert_eq!(store.get(over.id).unwrap().revoked, None);
    }
}

#[test]
fn revoking_a_derived_token_leaves_its_parent() {
    let store = Place::new();
    let store = store.open();
    let (secret, root) = store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    let (_, child) = store.create(from(root.id), NOW).unwrap();
    assert_eq!(store.revoke(child.id, NOW).unwrap().derived, []);
    assert!(store.verify(secret.expose(), NOW).is_ok());
}

#[test]
fn nothing_is_derived_from_a_token_that_has_ended() {
    let place = Place::new();
    let store = place.open();
    let ended = |result: Result<_, Error>, id| matches!(result, Err(Error::Ended { id: result }) if result == id);
    let soon = NewToken::new([Scope::Admin]).with_expires(after(10));
    let (_, short) = store.create(soon, NOW).unwrap();
    let (_, child) = store.create(from(short.id), NOW).unwrap();
    assert_eq!(child.expires, Some(after(10)), "not longer than its parent");
    let (_, child) = store.create(from(short.id).with_expires(after(5)), NOW).unwrap();
    assert_eq!(child.expires, Some(after(5)));
    assert!(ended(store.create(from(short.id), after(10)), short.id));

    let (_, revoked) = store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    store.revoke(revoked.id, NOW).unwrap();
    assert!(ended(store.create(from(revoked.id), NOW), revoked.id));
    let unknown: TokenId = "0123456789".parse().unwrap();
    let error = store.create(from(unknown), NOW).unwrap_err();
    assert!(matches!(error, Error::NotFound { id } if id == unknown), "{error:?}");
    assert_eq!(store.list().unwrap().len(), 4);
}

#[test]
fn a_rotated_token_takes_those_derived_from_it_along() {
    let place = Place::new();
    let store = place.open();
    let (_, root) = store.create(NewToken::new([Scope::Admin]), NOW).unwrap();
    let (secret, child) = store.create(from(root.id), NOW).unwrap();
    let (_, next) = store.rotate(root.id, Duration::from_secs(5), NOW).unwrap();
    assert_eq!(next.parent, None);
    assert!(store.verify(secret.expose(), after(4_999)).is_ok());
    let expired = Err(Rejected::Expired { at: after(5_000) });
    assert_eq!(store.verify(secret.expose(), after(5_000)), expired);

    // A derived token stays one.
    let (secret, next) = store.rotate(child.id, Duration::ZERO, NOW).unwrap();
    assert_eq!(next.parent, Some(root.id));
    store.revoke(root.id, after(1)).unwrap();
    let revoked = Err(Rejected::Revoked { at: after(1) });
    assert_eq!(store.verify(secret.expose(), after(1)), revoked);
}

#[test]
fn a_lost_admin_token_takes_those_derived_from_it_along() {
    let place = Place::new();
    let store = place.open();
    let file = place.file().with_file_name("token");
    let AdminToken::Created { id } = ensure_admin_token_file(&file, &store, NOW).unwrap() else {
        panic!("the first start creates a token")
    };
    let (secret, _) = store.create(from(id), NOW).unwrap();
    assert!(store.verify(secret.expose(), NOW).is_ok());
    fs::remove_file(&file).unwrap();
    ensure_admin_token_file(&file, &store, after(1)).unwrap();
    let revoked = Err(Rejected::Revoked { at: after(1) });
    assert_eq!(store.verify(secret.expose(), after(1)), revoked);
}

#[test]
fn a_file_of_an_earlier_release_opens_and_stays_readable_for_it_without_derived_tokens() {
    let place = Place::new();
    place.open().create(NewToken::new([Scope::Admin]), NOW).unwrap();
    fs::write(place.file(), VERSION_1).unwrap();
    let store = place.open();
    let verified = store.verify(TOKEN_1, NOW).unwrap();
    assert_eq!(store.get(verified.id).unwrap().parent, None);
    assert!(store.flush().unwrap());
    assert_eq!(version(&place.file()), 1);
    store.create(from(verified.id), NOW).unwrap();
    assert_eq!(version(&place.file()), 2);
    assert!(place.open().verify(TOKEN_1, NOW).is_ok());
    place.open().create(NewToken::new([Scope::FlowsRun]), NOW).unwrap();
    assert_eq!(version(&place.file()), 2);
    let (browser, _) = place.open().create(NewToken::new([Scope::BrowserUse]), NOW).unwrap();
    assert_eq!(version(&place.file()), 3);
    assert!(place.open().verify(browser.expose(), NOW).unwrap().allows(Scope::BrowserUse));

    // Version 1 has no such field, and neither has such a scope.
    let text = fs::read_to_string(place.file()).unwrap();
    for earlier in [1, 2] {
        let changed = format!("\"version\": {earlier}");
        fs::write(place.file(), text.replace("\"version\": 3", &changed)).unwrap();
        let error = TokenStore::open(&place.file()).unwrap_err();
        assert!(matches!(&error, Error::Corrupt { .. }), "{error:?}");
        let expected = format!("format {earlier} lacks what is in it");
        assert!(error.to_string().contains(&expected), "{error}");
    }
}
