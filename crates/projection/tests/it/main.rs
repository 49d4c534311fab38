//! A tree's behaviour through its public interface.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use waypost_projection::files::dir_bytes;
use waypost_projection::{
    Error, MARKED, Options, Tree, Unusable, Write, boot_id, remove_leftovers, set_aside,
};

const OPTIONS: Options = Options::new(1).with_cache_bytes(8 << 20);

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}

fn open(dir: &Path) -> Tree {
    Tree::open(dir, &OPTIONS, &boot_id()).expect("readable").expect("usable")
}

fn why_unusable(dir: &Path, boot: &str) -> String {
    let Unusable(why) = Tree::open(dir, &OPTIONS, boot).expect("readable").expect_err("unusable");
    why
}

fn row(key: u32, value: &str) -> Write {
    (format!("k{key:05}").into_bytes(), Some(value.as_bytes().to_vec()))
}

fn keys(tree: &Tree, prefix: &[u8]) -> Vec<String> {
    let mut keys = Vec::new();
    tree.scan(prefix, &mut |key, _| {
        keys.push(String::from_utf8_lossy(key).into_owned());
        Ok::<_, Error>(ControlFlow::Continue(()))
    })
    .expect("readable");
    keys
}

#[test]
fn rows_are_there_at_once_and_after_opening_again() {
    let dir = folder();
    let dir = dir.path().join("tree");
    let tree = open(&dir);
    for at in 0..1000 {
        tree.write(vec![row(at, "old"), row(at, "new"), (b"applied".to_vec(), Some(vec![1]))])
            .unwrap();
    }
    tree.write(vec![(b"k00007".to_vec(), None)]).unwrap();
    let look = |tree: &Tree| {
        assert_eq!(tree.get(b"k00999").unwrap().as_deref(), Some(&b"new"[..]));
        assert_eq!(tree.get(b"k00007").unwrap(), None);
        assert_eq!(keys(tree, b"k").len(), 999);
        assert_eq!(keys(tree, b"k0012").len(), 10);
        assert_eq!(keys(tree, b"a"), ["applied"]);
        tree.verify().unwrap();
        assert!(!tree.is_broken(b"applied"));
    };
    look(&tree);
    tree.close().unwrap();
    drop(tree);
    look(&open(&dir));
}

/// A tree in use is never unusable: its files must not be set aside, whatever its marker says.
#[test]
fn a_tree_in_use_is_refused_and_not_changed() {
    let dir = folder();
    let dir = dir.path().join("tree");
    let tree = open(&dir);
    tree.write(vec![row(1, "kept")]).unwrap();
    for boot in [boot_id(), "another boot".to_owned(), String::new()] {
        let error = Tree::open(&dir, &OPTIONS, &boot).expect_err("it is open");
        assert!(matches!(&error, Error::InUse(path) if *path == dir), "{error}");
    }
    tree.rebuild_at_next_open();
    assert!(matches!(Tree::open(&dir, &OPTIONS, &boot_id()), Err(Error::InUse(_))));
    assert_eq!(keys(&tree, b"k"), ["k00001"]);
    drop(tree);
    assert_eq!(why_unusable(&dir, &boot_id()), MARKED);
}

#[test]
fn a_scan_ends_where_it_is_told_and_passes_errors_on() {
    let dir = folder();
    let tree = open(&dir.path().join("tree"));
    tree.write((0..10).map(|number| row(number, "x")).collect()).unwrap();
    let mut seen = 0;
    tree.scan(b"k", &mut |_, _| {
        seen += 1;
        Ok::<_, Error>(if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })
    .unwrap();
    assert_eq!(seen, 3);
    let failed = tree.scan(b"k", &mut |_, _| Err(Error::Damaged("mine".to_owned())));
    assert_eq!(failed.unwrap_err().to_string(), "mine");
}

#[test]
fn a_tree_that_was_open_in_another_boot_is_not_used() {
    let dir = folder();
    let dir = dir.path().join("tree");
    let tree = open(&dir);
    tree.write(vec![row(1, "x")]).unwrap();
    tree.sync().unwrap();
    drop(tree);
    assert!(why_unusable(&dir, "another boot").contains("restarted"));
    assert!(why_unusable(&dir, "").contains("restarted"));
    let again = open(&dir);
    assert_eq!(keys(&again, b"k"), ["k00001"]);
    again.close().unwrap();
    drop(again);
    drop(Tree::open(&dir, &OPTIONS, "another boot").unwrap().unwrap());
}

#[test]
fn a_marked_tree_is_not_used_and_one_set_aside_makes_room() {
    let dir = folder();
    let dir = dir.path().join("tree");
    let tree = open(&dir);
    tree.write(vec![row(1, "x")]).unwrap();
    tree.rebuild_at_next_open();
    tree.close().unwrap();
    drop(tree);
    assert_eq!(why_unusable(&dir, &boot_id()), MARKED);
    set_aside(&dir).unwrap();
    assert!(dir.with_extension("aside").is_dir() && !dir.exists());
    assert!(keys(&open(&dir), b"").is_empty());
    set_aside(&dir).unwrap();
}

#[test]
fn other_versions_and_changed_values_are_damage() {
    let dir = folder();
    let dir = dir.path().join("tree");
    let tree = open(&dir);
    tree.write(vec![row(1, "x")]).unwrap();
    tree.close().unwrap();
    drop(tree);
    let newer = Options::new(2).with_cache_bytes(8 << 20);
    let tree = Tree::open(&dir, &newer, &boot_id()).unwrap().unwrap();
    assert!(matches!(tree.get(b"k00001"), Err(Error::Damaged(why)) if why.contains("version")));
    assert!(tree.verify().is_err());
    tree.close().unwrap();
    drop(tree);
    assert_eq!(why_unusable(&dir, &boot_id()), MARKED, "damage is remembered");
}

#[test]
fn a_rewrite_keeps_the_rows_and_gives_room_back() {
    let dir = folder();
    let dir = dir.path().join("tree");
    let tree = open(&dir);
    let text = "x".repeat(1000);
    for round in 0..30 {
        tree.write((0..600).map(|number| row(number, &format!("{text}{round}"))).collect())
            .unwrap();
        tree.sync().unwrap();
    }
    let before = dir_bytes(&dir);
    tree.rewrite().unwrap();
    assert_eq!(keys(&tree, b"k").len(), 600);
    assert!(dir_bytes(&dir) < before, "{} of {before}", dir_bytes(&dir));
    tree.write(vec![row(700, "x")]).unwrap();
    tree.close().unwrap();
    drop(tree);
    fs::create_dir_all(dir.with_extension("new")).unwrap();
    remove_leftovers(&dir).unwrap();
    assert!(!dir.with_extension("new").exists());
    assert_eq!(keys(&open(&dir), b"k").len(), 601);
}

#[test]
fn another_tree_is_adopted_with_what_waits_for_it() {
    let dir = folder();
    let (one, two) = (open(&dir.path().join("one")), open(&dir.path().join("two")));
    one.write(vec![row(1, "x")]).unwrap();
    two.write(vec![row(2, "x")]).unwrap();
    one.release();
    assert!(matches!(one.verify(), Err(Error::Reopening)));
    assert!(one.is_broken(b"k"));
    one.adopt(&two);
    assert_eq!(keys(&one, b"k"), ["k00002"]);
}
