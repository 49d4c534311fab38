//! What is kept on disk between openings.

use std::fs;

use waypost_context::{Context, Error, Options, Query};

use crate::fixture::shop;
use crate::world::{NOW, World};

#[test]
fn an_index_that_was_closed_answers_at_once_and_reads_nothing() {
    let mut world = shop();
    // Long after the files were written, so that their times can be relied on.
    let later = 4_000_000_000;
    world.context().scan(later, &|| false).unwrap();
    let before = world.ask(&Query::new("payment gateway order refund"));
    world.close();
    world.open();
    assert_eq!(world.ask(&Query::new("payment gateway order refund")).items, before.items);
    assert_eq!(world.context().status().rebuilt, None);
    assert_eq!(world.context().scan(later, &|| false).unwrap().indexed, 0);
    assert!(!world.context().save().unwrap());
}

#[test]
fn what_was_not_saved_is_read_again() {
    let mut world = shop();
    world.context().save().unwrap();
    world.write("docs/late.md", "# Late\n\nA page about marzipan.\n");
    world.scan();
    assert_eq!(world.paths("marzipan"), ["docs/late.md"]);
    world.abandon();
    world.open();
    assert!(world.paths("marzipan").is_empty());
    assert_eq!(world.scan().indexed, 1);
    assert_eq!(world.paths("marzipan"), ["docs/late.md"]);
}

/// What damage does to a project's answers: nothing, but that it is read again.
fn survives(damage: &dyn Fn(&World), told: bool) {
    let mut world = shop();
    let before = world.paths("payment gateway order refund");
    world.close();
    damage(&world);
    world.open();
    assert_eq!(world.context().status().rebuilt.is_some(), told);
    world.scan();
    assert_eq!(world.paths("payment gateway order refund"), before);
}

#[test]
fn a_damaged_index_is_built_anew() {
    let path = |world: &World| world.data().join("index");
    let flip = |world: &World| {
        let mut bytes = fs::read(path(world)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x20;
        fs::write(path(world), bytes).unwrap();
    };
    survives(&flip, true);
    survives(&|world| fs::write(path(world), b"").unwrap(), true);
    survives(&|world| fs::remove_file(path(world)).unwrap(), false);
}

#[test]
fn an_index_of_another_version_is_built_anew() {
    survives(
        &|world| {
            let path = world.data().join("index");
            let mut bytes = fs::read(&path).unwrap();
            let version = b"waypost-context\n".len();
            bytes[version] += 1;
            fs::write(path, bytes).unwrap();
        },
        true,
    );
}

#[test]
fn damaged_texts_are_built_anew() {
    let marker = |world: &World, text: &str| {
        fs::write(world.data().join("state/waypost-running"), text).unwrap();
    };
    survives(&|world| marker(world, "another boot"), true);
    survives(&|world| fs::remove_dir_all(world.data().join("state")).unwrap(), false);
    survives(&|world| fs::remove_dir_all(world.data()).unwrap(), false);
}

#[test]
fn another_setting_makes_another_index() {
    let mut world = shop();
    world.close();
    let mut options = Options { git: false, ..Options::default() };
    options.discovery.exclude.push("docs/".to_owned());
    let context = Context::open(&world.root(), &world.data(), options).unwrap();
    assert_eq!(context.status().files, 0);
    context.scan(NOW, &|| false).unwrap();
    let answer = context.query(&Query::new("database of orders"), NOW).unwrap();
    assert!(!answer.items.is_empty());
    assert!(answer.items.iter().all(|it| !it.path.starts_with("docs/")));
}

#[test]
fn one_process_at_a_time_has_it_open() {
    let world = shop();
    let options = Options { git: false, ..Options::default() };
    let error = Context::open(&world.root(), &world.data(), options).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
}
