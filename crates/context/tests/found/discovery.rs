//! Which files of a project are found, and which are not.

use std::fs;

use waypost_context::{Discovery, Error, Kind, Limits, Root, Rules, Skip};

use crate::{paths, project, rules, walked, write};

#[test]
fn folders_of_others_and_hidden_ones_are_left_out_even_when_tracked() {
    let (_dir, root) = project(&[
        ("src/main.rs", "fn main() {}"),
        ("vendor/a/b.go", "package b"),
        ("web/node_modules/x/index.js", "x"),
        ("target/debug/x.rs", "x"),
        ("dist/a.js", "a"),
        ("pkg/__pycache__/a.py", "a"),
        (".venv/a.py", "a"),
        (".git/config.md", "a"),
        (".hidden/a.md", "a"),
        (".waypost/data/a.md", "a"),
        (".waypost/a.md", "a"),
        (".waypost/journal/2026-11-20.md", "a"),
        ("src/.waypost/journal/a.md", "a"),
        (".github/copilot-instructions.md", "a"),
        (".cursor/rules/a.mdc", "a"),
        (".claude/skills/x/SKILL.md", "a"),
        (".claude/worktrees/one/a.md", "a"),
        (".worktrees/one/a.md", "a"),
        (".cursorrules", "a"),
        (".eslintrc.js", "a"),
    ]);
    let walk = walked(&root, &rules());
    assert_eq!(
        paths(&walk),
        [
            ".cursorrules",
            ".claude/skills/x/SKILL.md",
            ".cursor/rules/a.mdc",
            ".github/copilot-instructions.md",
            ".waypost/journal/2026-11-20.md",
            "src/main.rs",
        ]
    );
    assert!(walk.dirs.contains(&String::new()) && walk.dirs.contains(&"src".to_owned()));
    assert!(!walk.dirs.iter().any(|it| it.contains("node_modules") || it.contains(".git/")));
    assert!(walk.skipped.is_empty(), "{:?}", walk.skipped);
}

#[test]
fn ignore_files_hold_below_their_folder_and_the_nearer_wins() {
    let (dir, root) = project(&[
        (".gitignore", "*.log.md\n/private/\n!keep.log.md\n"),
        ("a.log.md", "x"),
        ("keep.log.md", "x"),
        ("private/a.md", "x"),
        ("sub/private/a.md", "x"),
        ("sub/.gitignore", "b.md\n!a.log.md\n"),
        ("sub/a.log.md", "x"),
        ("sub/b.md", "x"),
        ("b.md", "x"),
        (".git/info/exclude", "excluded.md\n"),
        ("excluded.md", "x"),
        ("own/.waypostignore", "*\n!kept.md\n"),
        ("own/.gitignore", "kept.md\n"),
        ("own/kept.md", "x"),
        ("own/left.md", "x"),
        ("plain/.ignore", "c.md\n"),
        ("plain/c.md", "x"),
    ]);
    let rules = rules();
    let walk = walked(&root, &rules);
    assert_eq!(
        paths(&walk),
        ["b.md", "keep.log.md", "own/kept.md", "sub/a.log.md", "sub/private/a.md"]
    );
    for path in ["private/a.md", "sub/b.md", "excluded.md", "own/left.md", "plain/c.md"] {
        assert_eq!(rules.one(&root, path), Err(Skip::Ignored), "{path}");
    }
    assert!(!rules.folder(&root, "private") && rules.folder(&root, "sub/private"));

    // After the ignore file changes, the same rules apply it.
    write(dir.path(), ".gitignore", b"sub/\n");
    assert_eq!(
        paths(&walked(&root, &rules)),
        ["a.log.md", "b.md", "keep.log.md", "own/kept.md", "private/a.md"]
    );
    fs::remove_file(dir.path().join(".gitignore")).expect("it goes");
    assert!(rules.one(&root, "private/a.md").is_ok());
    assert!(Rules::is_ignore_file("a/.gitignore") && !Rules::is_ignore_file("a/gitignore"));
}

#[test]
fn settings_add_take_away_and_rename() {
    let mut discovery = Discovery::default();
    discovery.kinds = vec![("inbox/**/*.md".to_owned(), Kind::Worklog)];
    discovery.exclude = vec!["drafts/".to_owned()];
    discovery.include = vec!["vendor/ours/**".to_owned(), ".hidden/a.md".to_owned()];
    discovery.global_ignore = vec!["*.tmp.md".to_owned()];
    let (_dir, root) = project(&[
        ("inbox/x/a.md", "x"),
        ("drafts/a.md", "x"),
        ("vendor/ours/a.rs", "x"),
        ("vendor/ours/.env", "x"),
        ("vendor/theirs/a.rs", "x"),
        (".hidden/a.md", "x"),
        (".hidden/b.md", "x"),
        ("a.tmp.md", "x"),
    ]);
    let rules = Rules::new(&discovery).expect("it compiles");
    let walk = walked(&root, &rules);
    assert_eq!(paths(&walk), [".hidden/a.md", "inbox/x/a.md", "vendor/ours/a.rs"]);
    assert_eq!(walk.found[1].class.kind, Kind::Worklog);
    assert_eq!(walk.skipped[&Skip::Secret], 1);

    let wrong = |kinds| {
        let mut discovery = Discovery::default();
        discovery.kinds = kinds;
        Rules::new(&discovery)
    };
    assert!(matches!(wrong(vec![("[".to_owned(), Kind::Note)]), Err(Error::Glob { .. })));
    let error = wrong(vec![("*".to_owned(), Kind::Commit)]).expect_err("no file is a commit");
    assert_eq!(
        error.to_string(),
        "\"*\" cannot have type commit, which does not apply to whole files"
    );
}

#[test]
fn secrets_stay_out_by_name_and_are_counted() {
    let (_dir, root) = project(&[
        (".env", "A=b"),
        (".env.example", "A="),
        ("server.pem", "x"),
        ("conf/secrets.yaml", "x"),
        (".ssh/config.md", "x"),
        ("src/secrets.rs", "x"),
    ]);
    let walk = walked(&root, &rules());
    assert_eq!(paths(&walk), ["src/secrets.rs"]);
    assert_eq!(walk.samples[&Skip::Secret], [".env", "server.pem", "conf/secrets.yaml"]);
}

#[test]
fn worktrees_within_are_left_out_and_submodules_are_not() {
    let (_dir, root) = project(&[
        ("tree/.git", "gitdir: /repo/.git/worktrees/tree\n"),
        ("tree/a.md", "x"),
        ("module/.git", "gitdir: ../.git/modules/module\n"),
        ("module/a.md", "x"),
        ("clone/.git/HEAD", "x"),
        ("clone/a.md", "x"),
    ]);
    assert_eq!(paths(&walked(&root, &rules())), ["clone/a.md", "module/a.md"]);
}

/// The default's rules but for some limits.
fn limited(set: impl FnOnce(&mut Limits)) -> Rules {
    let mut discovery = Discovery::default();
    set(&mut discovery.limits);
    Rules::new(&discovery).expect("it compiles")
}

#[test]
fn limits_hold_at_their_value_and_not_above() {
    let mut limits = Limits::default();
    (limits.code_bytes_max, limits.document_bytes_max) = (4, 6);
    let rules = limited(|it| *it = limits);
    let (_dir, root) = project(&[
        ("a.rs", "1234"),
        ("b.rs", "12345"),
        ("c.md", "123456"),
        ("d.md", "1234567"),
        ("CHANGELOG.md", "1\n2\n3\n4\n"),
    ]);
    let walk = walked(&root, &rules);
    assert_eq!(paths(&walk), ["CHANGELOG.md", "a.rs", "c.md"]);
    assert_eq!(walk.skipped[&Skip::TooLarge], 2);
    let newest = waypost_context::read(&root, &walk.found[0], &limits).expect("its first part");
    assert_eq!(newest.0, b"1\n2\n3\n");

    let few = |set: fn(&mut Limits)| {
        let walk = waypost_context::walk(&root, &limited(set), &|| false).expect("it is listed");
        (walk.found.len(), walk.truncated)
    };
    assert_eq!(few(|it| it.files_max = 5), (5, false));
    assert_eq!(few(|it| it.files_max = 4), (4, true));
    assert_eq!(few(|it| it.text_bytes_max = 30), (5, false));
    assert_eq!(few(|it| it.text_bytes_max = 29), (4, true));
}

#[test]
fn a_walk_can_be_cancelled() {
    let (_dir, root) = project(&[("a.md", "x"), ("b/c.md", "x")]);
    let asked = std::cell::Cell::new(0);
    let cancel = || asked.replace(asked.get() + 1) == 1;
    let walk = waypost_context::walk(&root, &rules(), &cancel).expect("it is listed");
    assert!(walk.cancelled && !walk.truncated);
    assert_eq!(paths(&walk), ["a.md"]);
}

#[test]
fn a_machine_is_no_project() {
    let error = Root::open("/").expect_err("it is refused");
    assert!(error.to_string().contains("no project"), "{error}");
    assert!(Root::open("/no/such/folder").is_err());
}
