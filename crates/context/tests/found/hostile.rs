//! Deceptive files, and names that must not be read.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use rustix::fs::{FileType, Mode, mknodat};
use waypost_context::{Extractor, Found, Parser, Skip, read};

use crate::{NOW, extracted, paths, project, rules, walked, write};

#[test]
fn links_are_never_followed() {
    let (_out, outside) = project(&[("secret.md", "outside"), ("sub/a.md", "outside")]);
    let (dir, root) = project(&[("real.md", "inside"), ("sub/b.md", "inside")]);
    let at = |path: &str| dir.path().join(path);
    symlink(outside.path().join("secret.md"), at("out.md")).expect("a link");
    symlink(outside.path().join("sub"), at("outsub")).expect("a link");
    symlink("real.md", at("alias.md")).expect("a link");
    symlink(".", at("loop")).expect("a link");
    symlink("self.md", at("self.md")).expect("a link");
    let rules = rules();
    let walk = walked(&root, &rules);
    assert_eq!(paths(&walk), ["real.md", "sub/b.md"]);
    assert!(walk.skipped[&Skip::Link] >= 3, "{:?}", walk.samples);
    for path in ["outsub/a.md", "loop/real.md", "loop/loop/sub/b.md"] {
        assert!(rules.one(&root, path).is_err(), "{path}");
    }

    // A file and a folder become links between discovery and reading.
    let found = rules.one(&root, "real.md").expect("a file");
    let below = rules.one(&root, "sub/b.md").expect("a file");
    fs::remove_file(at("real.md")).expect("it goes");
    symlink(outside.path().join("secret.md"), at("real.md")).expect("a link");
    fs::remove_dir_all(at("sub")).expect("it goes");
    symlink(outside.path().join("sub"), at("sub")).expect("a link");
    assert_eq!(read(&root, &found, rules.limits()), Err(Skip::Link));
    assert_eq!(read(&root, &below, rules.limits()), Err(Skip::Link));
    let forged = Found { path: "../x.md".to_owned(), ..found };
    assert_eq!(read(&root, &forged, rules.limits()), Err(Skip::Ignored));
}

#[test]
fn paths_that_climb_or_are_absolute_are_refused() {
    let (_dir, root) = project(&[("a.md", "x"), ("b/c.md", "x")]);
    let rules = rules();
    for path in ["../a.md", "/etc/passwd", "b/../a.md", "./a.md", "b//c.md", "", "a.md/", "a\0.md"]
    {
        assert_eq!(rules.one(&root, path), Err(Skip::Ignored), "{path:?}");
    }
    assert!(!rules.folder(&root, "..") && !rules.folder(&root, "/") && rules.folder(&root, ""));
}

#[test]
fn what_is_no_file_is_not_opened() {
    let (dir, root) = project(&[("a.md", "x")]);
    let make = |name: &str, kind| {
        let mode = Mode::from_raw_mode(0o600);
        mknodat(rustix::fs::CWD, dir.path().join(name), kind, mode, 0)
    };
    make("pipe.md", FileType::Fifo).expect("a FIFO");
    let socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket.md"));
    // Only root may make devices; `/dev/null` has the numbers 1 and 3.
    let mode = Mode::from_raw_mode(0o600);
    let numbers = rustix::fs::makedev(1, 3);
    let device = dir.path().join("device.md");
    let has_device =
        mknodat(rustix::fs::CWD, device, FileType::CharacterDevice, mode, numbers).is_ok();
    let rules = rules();
    let walk = walked(&root, &rules);
    assert_eq!(paths(&walk), ["a.md"]);
    assert_eq!(walk.skipped[&Skip::Special], 2 + u64::from(has_device));
    drop(socket);

    // A FIFO replaces a file before it is read: nothing waits for a writer.
    let found = rules.one(&root, "a.md").expect("a file");
    fs::remove_file(dir.path().join("a.md")).expect("it goes");
    make("a.md", FileType::Fifo).expect("a FIFO");
    assert_eq!(read(&root, &found, rules.limits()), Err(Skip::Special));
    fs::remove_file(dir.path().join("a.md")).expect("it goes");
    fs::create_dir(dir.path().join("a.md")).expect("a folder");
    assert_eq!(read(&root, &found, rules.limits()), Err(Skip::Gone));
}

#[test]
fn a_file_may_go_grow_or_be_shut() {
    let (dir, root) = project(&[("a.md", "x"), ("b.md", "x"), ("shut/c.md", "x")]);
    let rules = rules();
    let [gone, grows] = ["a.md", "b.md"].map(|it| rules.one(&root, it).expect("a file"));
    fs::remove_file(dir.path().join("a.md")).expect("it goes");
    assert_eq!(read(&root, &gone, rules.limits()), Err(Skip::Gone));
    assert_eq!(rules.one(&root, "a.md"), Err(Skip::Gone));

    // A sparse file of a gigabyte: no more than the limit is read.
    let file = fs::File::options().write(true).open(dir.path().join("b.md")).expect("it opens");
    file.set_len(1 << 30).expect("it grows");
    assert_eq!(read(&root, &grows, rules.limits()), Err(Skip::TooLarge));
    assert_eq!(walked(&root, &rules).skipped[&Skip::TooLarge], 1);

    fs::set_permissions(dir.path().join("shut"), Permissions::from_mode(0o000))
        .expect("it is shut");
    // Root may read everything.
    if fs::read_dir(dir.path().join("shut")).is_err() {
        assert_eq!(walked(&root, &rules).skipped[&Skip::Unreadable], 1);
    }
    fs::set_permissions(dir.path().join("shut"), Permissions::from_mode(0o700)).expect("it opens");
}

#[test]
fn names_are_data() {
    let (dir, root) = project(&[
        ("line\nbreak.md", "x"),
        ("\u{1b}[31mred.md", "x"),
        ("a b/[*]?.md", "x"),
        ("日本語.md", "x"),
        ("quote\"'.rs", "fn a() {}"),
    ]);
    fs::write(dir.path().join(OsStr::from_bytes(b"bad\xff.md")), "x").expect("a file");
    let walk = walked(&root, &rules());
    assert_eq!(walk.found.len(), 5);
    assert_eq!(walk.skipped[&Skip::Name], 1);
    assert_eq!(walk.samples[&Skip::Name], ["bad\u{fffd}.md"]);
}

#[test]
fn what_is_no_text_is_left_out() {
    let (dir, root) = project(&[]);
    let cases: [(&str, &[u8], Result<(), Skip>); 8] = [
        ("a.md", b"text\0more", Err(Skip::Binary)),
        ("b.md", b"caf\xe9", Err(Skip::Encoding)),
        ("c.md", b"\xff\xfeh\0i\0", Ok(())),
        ("d.rs", &[b'x'; 6_000], Err(Skip::Generated)),
        ("e.md", b"", Ok(())),
        ("f.rs", b"", Ok(())),
        ("g.py", b"\xef\xbb\xbfdef a(): pass\n", Ok(())),
        ("h.md", b"---", Ok(())),
    ];
    let rules = rules();
    for (path, bytes, expected) in cases {
        write(dir.path(), path, bytes);
        let found = rules.one(&root, path).expect("its name is fine");
        assert_eq!(extracted(&root, &rules, &found).map(drop), expected, "{path}");
    }
}

#[test]
fn a_parser_that_takes_too_long_is_replaced_by_lines() {
    let body = "pub fn one(a: u8) -> u8 {\n    a + 1\n}\n\n/// Two.\npub struct Two;\n".repeat(200);
    let (_dir, root) = project(&[("a.rs", &body)]);
    let rules = rules();
    let found = rules.one(&root, "a.rs").expect("a file");
    let (bytes, _) = read(&root, &found, rules.limits()).expect("it is read");
    let mut hasty = Extractor::with_deadline(Duration::ZERO);
    let mut patient = Extractor::with_deadline(Duration::from_secs(3600));
    for _ in 0..2 {
        let lines = hasty.extract(&found, &bytes, NOW).expect("by lines");
        assert_eq!(lines.parser, Parser::Lines);
        let tree = patient.extract(&found, &bytes, NOW).expect("by its tree");
        assert_eq!(tree.parser, Parser::Tree);
        let names = |extract: &waypost_context::Extract| {
            extract.chunks.iter().map(|chunk| chunk.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&lines), names(&tree));
        assert_eq!(tree.chunks.len(), 401);
    }
}

/// Deep nonsense in every language with a grammar: parsing must end, and without a crash.
#[test]
fn hostile_source_ends_in_chunks() {
    let mut noise = String::new();
    let mut state = 1_u32;
    for _ in 0..40_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        noise.push(char::from(b"(){}[]<>;:,.\"'#/*!&|=+-\n"[(state >> 16) as usize % 24]));
        if state >> 29 == 0 {
            noise.push('\n');
        }
    }
    let deep = "((((((((((((((((((((((((((((((\n".repeat(1_500);
    let nested = "class A {\n".repeat(3_000);
    let rules = rules();
    let (dir, root) = project(&[]);
    let mut extractor = Extractor::with_deadline(Duration::from_millis(20));
    let names = [
        "a.rs", "a.py", "a.ts", "a.tsx", "a.js", "a.go", "a.java", "a.c", "a.cpp", "a.rb", "a.cs",
        "a.php", "a.sh", "a.scala", "a.md", "a.rst", "a.txt", "a.adoc", "a.org",
    ];
    for name in names {
        for text in [&noise, &deep, &nested] {
            write(dir.path(), name, text.as_bytes());
            let found = rules.one(&root, name).expect("a file");
            let (bytes, _) = read(&root, &found, rules.limits()).expect("it is read");
            let extract = extractor.extract(&found, &bytes, NOW).expect("it is taken apart");
            let lines = text.lines().count() as u32;
            assert!(
                extract
                    .chunks
                    .iter()
                    .all(|it| it.line >= 1 && it.line <= it.end_line && it.end_line <= lines),
                "{name}"
            );
        }
    }
}
