//! What no file can bring any more, but a store may have from an earlier release.

use super::*;
use crate::record::BodyText;
use crate::{DEFAULT_KIND, Patch, StoreOptions};

#[test]
fn a_change_of_the_last_version_is_refused_and_not_lost() {
    let dir = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(dir.path(), StoreOptions::default()).expect("it opens");
    let (id, at) = (MemoryId::new(1).expect("an id"), Timestamp::from_millis(0));
    let text = check::body_text(BodyText {
        content: "before".to_owned(),
        kind: DEFAULT_KIND.to_owned(),
        ..BodyText::default()
    });
    let text = Some(text.expect("it is valid"));
    let body = Body { space: DEFAULT_SPACE.to_owned(), created_at: at, text };
    let versions = vec![ImportVersion { line: 2, version: u32::MAX, valid_from: at, body }];
    let units = vec![ImportUnit::Memory { id, versions, deletion: None, document: None }];
    let ids = Arc::default();
    for outcome in store.writer.submit(vec![Command::Import { units, ids }]) {
        outcome.expect("an import");
    }
    let patch = Patch { content: Some("after".to_owned()), ..Patch::default() };
    let error = store.update(id, patch, at).expect_err("there is no version after it");
    assert_eq!(error.kind(), crate::ErrorKind::Invalid);
    assert!(error.to_string().contains("4294967295"), "{error}");
    let kept = store.get(id).expect("it stays");
    assert_eq!((kept.version, kept.content.as_str()), (u32::MAX, "before"));
}
