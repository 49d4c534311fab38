use std::fs;
use std::path::Path;

use crate::Case;

#[test]
fn docs_settings_md_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let page = waypost_project::reference();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/settings.md is stale; run `UPDATE_EXPECT=1 cargo test -p waypost-project` and commit it"
    );
}

#[test]
fn the_example_in_it_is_right_and_shows_the_defaults() {
    let page = waypost_project::reference();
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let values = |config: &str| -> Vec<_> {
        let case = Case::new(config);
        let root = case.folder.path().canonicalize().unwrap().display().to_string();
        let rows = case.resolve().unwrap().table();
        rows.into_iter().map(|row| (row.key, row.value.replace(&root, ""))).collect()
    };
    assert_eq!(values(example), values(""));
}
