//! Unreadable files, and a deleted index.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

use waypost_context::{Options, Query, TaskType};

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
    // They are not retried until they change.
    assert_eq!(world.scan().indexed, 0);
}

/// The uid of the user without privileges on Linux.
const NOBODY: u32 = 65_534;

#[test]
fn what_may_not_be_read_is_left_out_and_counted() {
    if rustix::process::geteuid().is_root() {
        // Root can read everything: run this test again as a user who cannot.
        let mut test = Command::new("/proc/self/exe");
        test.args(["faults::what_may_not_be_read_is_left_out_and_counted", "--exact"]);
        let output = test.uid(NOBODY).gid(NOBODY).current_dir("/").output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    let world = World::new();
    for path in ["docs/good.md", "docs/shut.md", "shut/a.md"] {
        world.write(path, "# Apples\n\nRed and round.\n");
    }
    let set = |path: &str, mode: u32| {
        fs::set_permissions(world.root().join(path), Permissions::from_mode(mode)).unwrap();
    };
    set("docs/shut.md", 0);
    set("shut", 0);
    assert_eq!(world.scan().indexed, 1);
    assert_eq!(world.paths("apples"), ["docs/good.md"]);
    assert_eq!(world.context().status().skipped["unreadable"], 2);
    set("docs/shut.md", 0o600);
    set("shut", 0o700);
    world.scan();
    assert_eq!(world.context().status().files, 3);
    assert!(!world.context().status().skipped.contains_key("unreadable"));
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
    world.context().update(&["docs/a.md".to_owned()], NOW, &|| false).unwrap();
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
    let paths: Vec<String> = paths.iter().map(|path| String::from(*path)).collect();
    world.context().update(&paths, NOW, &|| false).unwrap();
    assert_eq!(world.context().status().files, 1);
}

#[test]
fn texts_that_are_damaged_while_it_is_open_come_from_the_files() {
    let world = shop();
    fs::File::options().write(true).open(world.texts()).unwrap().set_len(0).unwrap();
    let items = world.items("draw_barcode", TaskType::Code);
    assert!(items[0].content.contains("quiet zones"), "{items:?}");
}

#[test]
fn a_file_rewritten_a_thousand_times_is_never_half_indexed() {
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
            world.context().update(&["docs/a.md".to_owned()], NOW, &|| false).unwrap();
            for item in world.items("apples", TaskType::General) {
                let number = item.title.rsplit(' ').next().unwrap();
                assert!(item.content.contains(&format!("red {number}.")), "{item:?}");
            }
        }
    });
    world.context().update(&["docs/a.md".to_owned()], NOW, &|| false).unwrap();
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

#[test]
fn a_folder_of_a_hundred_thousand_files_is_indexed_as_far_as_the_limits_go() {
    let mut options = Options::default().without_git();
    options.discovery.limits.files_max = 500;
    let world = World::with(options);
    // Last by name, so that all others come first.
    world.write("data/readme.md", "# Apples\n\nRed and round.\n");
    world.write("data/sub/z.md", "# Apples\n\nGreen ones.\n");
    let folder = world.root().join("data");
    for number in 0..99_000 {
        fs::File::create(folder.join(format!("{number}.bin"))).unwrap();
    }
    let report = world.scan();
    assert_eq!((report.found, report.indexed), (2, 2));
    assert_eq!(world.paths("apples").len(), 2);
    assert!(!world.context().status().truncated);
    assert_eq!(world.scan().indexed, 0);

    for number in 0..1_000 {
        fs::write(folder.join(format!("{number}.md")), "# Pears\n").unwrap();
    }
    let report = world.scan();
    assert_eq!(report.found, 500);
    let status = world.context().status();
    assert!(status.truncated && status.skipped["limit"] >= 1, "{:?}", status.skipped);
    assert_eq!(status.files, 500);
    assert!(!world.paths("pears").is_empty());
}
