//! What is stored on disk between openings.

use std::fs;

use waypost_context::{Context, Error, Options, Query, TaskType, Timestamp};

use crate::fixture::shop;
use crate::world::{NOW, World};

#[test]
fn an_index_that_was_closed_answers_at_once_and_reads_nothing() {
    let mut world = shop();
    // Long after the files were written, so that their times are reliable.
    let later = Timestamp::from_secs(4_000_000_000);
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

/// Damage must not change a project's answers; the project is read again.
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
fn a_damaged_index_is_rebuilt() {
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
fn an_index_of_another_version_is_rebuilt() {
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
fn damaged_texts_are_rebuilt() {
    let change = |world: &World, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = fs::read(world.texts()).unwrap();
        change(&mut bytes);
        fs::write(world.texts(), bytes).unwrap();
    };
    survives(&|world| change(world, &|it| it.truncate(it.len() / 2)), true);
    survives(&|world| change(world, &|it| it[0] ^= 1), true);
    survives(&|world| fs::remove_file(world.texts()).unwrap(), true);
    survives(&|world| fs::remove_dir_all(world.data()).unwrap(), false);
    // Damaged texts are read from the project.
    survives(&|world| change(world, &|it| it[20..].fill(b' ')), false);
}

#[test]
fn space_of_deleted_texts_is_freed() {
    let mut world = shop();
    let page =
        |round: usize| format!("# Marzipan\n\n{}\n", format!("{round} almonds\n").repeat(90_000));
    for round in 0..12 {
        world.write("docs/sweet.md", &page(round));
        world.context().update(&["docs/sweet.md".to_owned()], NOW, &|| false).unwrap();
    }
    let grown = fs::metadata(world.texts()).unwrap().len();
    let before = world.items("payment gateway order refund", TaskType::Code);
    assert!(world.context().save().unwrap());
    let left = fs::metadata(world.texts()).unwrap().len();
    assert!(left < grown / 8, "{left} of {grown} bytes");
    let same = |world: &World| {
        assert_eq!(world.items("payment gateway order refund", TaskType::Code), before);
        assert!(world.items("marzipan", TaskType::Content)[0].content.contains("11 almonds"));
    };
    same(&world);
    world.abandon();
    world.open();
    same(&world);
}

#[test]
fn another_setting_makes_another_index() {
    let mut world = shop();
    world.close();
    let mut options = Options::default().without_git();
    options.discovery.exclude.push("docs/".to_owned());
    let context = Context::open(&world.root(), &world.data(), options).unwrap();
    assert_eq!(context.status().files, 0);
    context.scan(NOW, &|| false).unwrap();
    let answer = context.query(&Query::new("database of orders"), NOW).unwrap();
    assert!(!answer.items.is_empty());
    assert!(answer.items.iter().all(|it| !it.path.starts_with("docs/")));
}

#[test]
fn what_an_earlier_version_kept_elsewhere_is_removed() {
    let mut world = shop();
    world.close();
    let outdated = world.data().join("state");
    fs::create_dir(&outdated).unwrap();
    fs::write(outdated.join("db"), "texts of an earlier version").unwrap();
    world.open();
    assert!(!outdated.exists());
    assert_eq!(world.context().status().rebuilt, None);
}

#[test]
fn one_process_at_a_time_has_it_open() {
    let world = shop();
    let options = Options::default().without_git();
    let refused = || {
        let opened = Context::open(&world.root(), &world.data(), options.clone());
        assert!(matches!(opened, Err(Error::InUse { .. })), "{opened:?}");
        let verified = waypost_context::verify(&world.data());
        assert!(matches!(verified, Err(Error::InUse { .. })), "{verified:?}");
    };
    refused();
    // An operator may take the file for a leftover.
    fs::remove_file(world.data().join("lock")).unwrap();
    refused();
    refused();
}
