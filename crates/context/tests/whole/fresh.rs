//! Answers follow the folder, whatever the index contains.

use std::sync::atomic::{AtomicBool, Ordering};

use waypost_context::{Query, ScanReport, TaskType};

use crate::world::{NOW, World};

fn report(indexed: u64, removed: u64, found: u64) -> ScanReport {
    ScanReport { found, indexed, removed, cancelled: false }
}

#[test]
fn a_second_scan_reads_nothing() {
    let world = World::new();
    world.write("docs/a.md", "# Apples\n\nRed and round.\n");
    world.write("src/a.rs", "/// Peels.\nfn peel() {}\n");
    assert_eq!(world.scan(), report(2, 0, 2));
    assert_eq!(world.scan(), report(0, 0, 2));
    assert!(world.context().save().unwrap());
    assert!(!world.context().save().unwrap(), "nothing is written when nothing has changed");
    world.scan();
    assert!(!world.context().save().unwrap());
}

#[test]
fn what_is_deleted_after_the_scan_is_in_no_answer() {
    let world = World::new();
    world.write("docs/a.md", "# Apples\n\nRed and round.\n");
    world.write("docs/b.md", "# Pears\n\nGreen apples are no pears.\n");
    world.scan();
    assert_eq!(world.paths("apples"), ["docs/a.md", "docs/b.md"]);
    world.remove("docs/a.md");
    assert_eq!(world.paths("apples"), ["docs/b.md"]);
    // The next update removes it.
    let report = world.context().update(&[], NOW, &|| false).unwrap();
    assert_eq!(report.removed, 1);
    assert_eq!(world.context().status().files, 1);
}

#[test]
fn what_has_changed_after_the_scan_is_read_again() {
    let world = World::new();
    world.write("docs/a.md", "# Apples\n\nRed and round.\n");
    world.write("src/a.rs", "/// Peels an apple.\nfn peel() {}\n");
    world.scan();
    world.write("docs/a.md", "# Apples\n\nGreen, long and sour now.\n");
    world.write("src/a.rs", "\n\n/// Peels an apple thinly.\nfn peel(knife: Knife) {}\n");
    let items = world.items("apples", TaskType::General);
    let of = |path: &str| items.iter().find(|item| item.path == path).unwrap();
    assert!(of("docs/a.md").content.contains("sour now"), "{items:?}");
    let function = items.iter().find(|item| item.title.ends_with("peel")).unwrap();
    assert!(function.content.contains("thinly") && function.content.contains("Knife"));
    assert_eq!(function.line, 3, "line and text are of one version");
    let report = world.context().update(&[], NOW, &|| false).unwrap();
    assert_eq!(report.indexed, 2, "what answers found is indexed by the next update");
}

#[test]
fn a_definition_that_is_gone_is_left_out() {
    let world = World::new();
    world.write(
        "src/a.rs",
        "/// Peels an apple.\nfn peel() {}\n\n/// Cuts an apple.\nfn cut() {}\n",
    );
    world.scan();
    world.write("src/a.rs", "/// Cuts an apple in four quarters, then waits.\nfn cut() {}\n");
    let titles: Vec<String> =
        world.items("apple", TaskType::Code).into_iter().map(|item| item.title).collect();
    assert!(titles.iter().any(|it| it.ends_with("cut")), "{titles:?}");
    assert!(!titles.iter().any(|it| it.ends_with("peel")), "{titles:?}");
}

#[test]
fn a_file_that_moves_is_found_at_its_new_place() {
    let world = World::new();
    world.write("docs/a.md", "# Apples\n\nRed and round.\n");
    world.scan();
    world.rename("docs/a.md", "guide/fruit/apples.md");
    assert!(world.paths("apples").is_empty());
    let moved = ["docs/a.md".to_owned(), "guide/fruit/apples.md".to_owned()];
    assert_eq!(world.context().update(&moved, NOW, &|| false).unwrap(), report(1, 1, 1));
    assert_eq!(world.paths("apples"), ["guide/fruit/apples.md"]);
}

#[test]
fn a_folder_that_vanishes_takes_its_files_along() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.write(&format!("docs/deep/{name}.md"), "# Apples\n\nRed and round.\n");
    }
    world.write("docs/deeper.md", "# Apples\n\nOther ones.\n");
    world.scan();
    std::fs::remove_dir_all(world.root().join("docs/deep")).unwrap();
    let report = world.context().update(&["docs/deep".to_owned()], NOW, &|| false).unwrap();
    assert_eq!(report.removed, 3);
    assert_eq!(world.paths("apples"), ["docs/deeper.md"]);
}

#[test]
fn a_file_that_becomes_ignored_leaves_the_index_and_returns() {
    let world = World::new();
    world.write("docs/a.md", "# Apples\n\nRed and round.\n");
    world.write("docs/b.md", "# Apples\n\nGreen ones.\n");
    world.scan();
    world.write(".gitignore", "docs/a.md\n");
    assert_eq!(world.paths("apples"), ["docs/b.md"], "before anybody scans");
    let changed = [".gitignore".to_owned()];
    assert_eq!(world.context().update(&changed, NOW, &|| false).unwrap().removed, 1);
    world.remove(".gitignore");
    assert_eq!(world.context().update(&changed, NOW, &|| false).unwrap().indexed, 1);
    assert_eq!(world.paths("apples").len(), 2);
}

#[test]
fn an_update_ends_early_when_it_is_cancelled() {
    let world = World::new();
    world.scan();
    let paths: Vec<String> = (0..20).map(|number| format!("docs/{number}.md")).collect();
    for path in &paths {
        world.write(path, "# Apples\n\nRed and round.\n");
    }
    let cancel = || world.context().status().files >= 5;
    let stopped = world.context().update(&paths, NOW, &cancel).unwrap();
    assert!(stopped.cancelled);
    assert!(world.context().status().files < 20);
    world.scan();
    assert_eq!(world.context().status().files, 20);
}

#[test]
fn documents_answer_while_code_is_still_waiting() {
    let world = World::new();
    for number in 0..20 {
        world.write(&format!("docs/{number}.md"), "# Apples\n\nRed and round.\n");
        world.write(&format!("src/{number}.rs"), "/// Peels an apple.\nfn peel() {}\n");
    }
    // The 21st file is the first of code.
    let stopped = world.context().scan(NOW, &|| world.context().status().files >= 20).unwrap();
    assert!(stopped.cancelled);
    let answer = world.ask(&Query::new("apples"));
    assert!(!answer.items.is_empty());
    assert!(answer.items.iter().all(|it| it.path.starts_with("docs/")));
    assert_eq!(answer.indexed_at, None);
    assert!(!world.scan().cancelled);
    let answer = world.ask(&Query::new("apples"));
    assert_eq!((answer.pending, answer.indexed_at), (0, Some(NOW)));
}

#[test]
fn a_switch_of_five_thousand_files_returns_no_mixed_and_no_deleted_item() {
    let world = World::new();
    let text = |branch: &str, number: usize| {
        let words = format!("{branch} ").repeat(8);
        format!(
            "# Page {number} of {branch}\n\nApples {words}\n\n## Part of {branch}\n\nMore {words}\n"
        )
    };
    let name = |number: usize| format!("docs/{}/{number}.md", number % 20);
    for number in 0..5000 {
        world.write(&name(number), &text("north", number));
    }
    world.scan();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..5000 {
                if number % 10 == 0 {
                    world.remove(&name(number));
                } else {
                    // As git does it: another file is renamed over it.
                    world.write("docs/new", &text("south", number));
                    world.rename("docs/new", &name(number));
                }
            }
            world.context().scan(NOW, &|| false).unwrap();
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            for item in world.items("apples page part more", TaskType::General) {
                let whole = format!("{} {}", item.title, item.content);
                let (north, south) = (whole.contains("north"), whole.contains("south"));
                assert!(north != south, "a mixture: {whole}");
            }
        }
    });
    let items = world.items("apples page part more", TaskType::General);
    assert_eq!(items.len(), 30);
    for item in items {
        assert!(item.content.contains("south") && world.root().join(&item.path).exists());
    }
    assert_eq!(world.context().status().files, 4500);
}
