//! Files that cannot be read, and an index that goes away.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use waypost_context::{Query, TaskType};

use crate::fixture::shop;
use crate::world::{NOW, World};

#[test]
fn what_is_not_text_is_left_out_and_counted() {
    let world = World::new();
    world.write("docs/good.md", "# Apples\n\nRed and round.\n");
    fs::write(world.root().join("docs/binary.md"), b"# Apples\0\x01\x02\n").unwrap();
    fs::write(world.root().join("docs/latin.md"), b"# \xc4pfel\n\nApples\n").unwrap();
    fs::write(world.root().join("docs/large.py"), vec![b'a'; 600 << 10]).unwrap();
    fs::File::create(world.root().join("docs/huge.md")).unwrap().set_len(1 << 30).unwrap();
    let fifo = world.root().join("docs/fifo.md");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    symlink("/etc/hostname", world.root().join("docs/outside.md")).unwrap();
    symlink("loop.md", world.root().join("docs/loop.md")).unwrap();
    let report = world.scan();
    assert_eq!(report.indexed, 1);
    assert_eq!(world.paths("apples"), ["docs/good.md"]);
    let status = world.context().status();
    let skipped = |reason: &str| status.skipped.get(reason).copied().unwrap_or(0);
    assert!(skipped("binary") >= 1, "{:?}", status.skipped);
    assert!(skipped("link") >= 2 && skipped("special") == 1, "{:?}", status.skipped);
    let answer = world.ask(&Query::new("apples"));
    assert_eq!(answer.skipped, status.skipped.values().sum::<u64>());
    // They are not tried again as long as they are the same.
    assert_eq!(world.scan().indexed, 0);
}

#[test]
fn a_link_out_of_the_project_is_not_followed_when_it_takes_a_file_s_place() {
    let world = World::new();
    world.write("docs/a.md", "# Apples\n\nRed and round.\n");
    world.scan();
    let secret = world.data().join("secret.md");
    fs::write(&secret, "# Apples\n\nA secret.\n").unwrap();
    world.remove("docs/a.md");
    symlink(&secret, world.root().join("docs/a.md")).unwrap();
    assert!(world.paths("apples").is_empty());
    world.context().update(&["docs/a.md".to_owned()], NOW).unwrap();
    assert!(world.paths("apples").is_empty());
    assert_eq!(world.context().status().files, 0);
}

#[test]
fn paths_that_climb_change_nothing() {
    let world = World::new();
    world.write("docs/a.md", "# Apples\n\nRed and round.\n");
    fs::write(world.root().parent().unwrap().join("outside.md"), "# Apples\n").unwrap();
    world.scan();
    let paths = ["../outside.md", "/etc/passwd", "docs/../../outside.md", "", "."];
    let paths: Vec<String> = paths.iter().map(|it| String::from(*it)).collect();
    world.context().update(&paths, NOW).unwrap();
    assert_eq!(world.context().status().files, 1);
}

#[test]
fn texts_that_are_deleted_while_it_is_open_come_from_the_files() {
    let world = shop();
    fs::remove_dir_all(world.data().join("state")).unwrap();
    let items = world.items("draw_barcode", TaskType::Code);
    assert!(items[0].content.contains("quiet zones"), "{items:?}");
}

#[test]
fn a_file_rewritten_a_thousand_times_is_never_half_there() {
    let world = World::new();
    let text = |number: usize| format!("# Apples {number}\n\nRound {number} and red {number}.\n");
    world.write("docs/a.md", &text(0));
    world.scan();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..1000 {
                world.write("docs/new", &text(number));
                world.rename("docs/new", "docs/a.md");
            }
        });
        for _ in 0..200 {
            world.context().update(&["docs/a.md".to_owned()], NOW).unwrap();
            for item in world.items("apples", TaskType::General) {
                let number = item.title.rsplit(' ').next().unwrap();
                assert!(item.content.contains(&format!("red {number}.")), "{item:?}");
            }
        }
    });
    world.context().update(&["docs/a.md".to_owned()], NOW).unwrap();
    let items = world.items("apples", TaskType::General);
    assert!(items[0].content.contains("red 999."), "{items:?}");
}

#[test]
fn odd_names_are_indexed_or_counted() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    world.write("docs/a\nb.md", "# Apples\n\nWith a line in their name.\n");
    world.write("docs/a\u{1b}[31m.md", "# Apples\n\nWith an escape in their name.\n");
    let bad = world.root().join("docs").join(OsStr::from_bytes(b"bad\xff.md"));
    fs::write(bad, "# Apples\n\nNo UTF-8.\n").unwrap();
    world.scan();
    assert_eq!(world.paths("apples").len(), 2);
    assert_eq!(world.context().status().skipped["name"], 1);
}
