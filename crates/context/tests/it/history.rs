//! Reading ordinary and less ordinary repositories.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Write;
use std::fs;

use waypost_context::{Error, History, Redact, Timestamp, head_files, main_worktree};

use crate::repository::{BEGIN, Repository, git, read, shown, subjects};

fn close(one: f32, other: f32) -> bool {
    (one - other).abs() < 1e-5
}

/// The weight of a commit with this many newer ones.
fn share(age: i32) -> f32 {
    0.8 * 0.95_f32.powi(age) + 0.2
}

#[test]
fn frecency_and_times_follow_from_the_commits() {
    let mut repository = Repository::new();
    repository.commit("first", &["a.md", "b/c.md", "d.md"]);
    repository.commit("second", &["a.md"]);
    let last = repository
        .commit("third\n\nbecause\nof it\n\nSigned-off-by: A <a@example.org>", &["a.md", "b/c.md"]);
    let history = repository.history();

    assert_eq!(history.head(), last);
    let paths = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect();
    assert_eq!(
        shown(&history),
        [
            ("third".to_owned(), paths(&["a.md", "b/c.md"])),
            ("second".to_owned(), paths(&["a.md"])),
            ("first".to_owned(), paths(&["a.md", "b/c.md", "d.md"])),
        ]
    );
    let (half, third) = (0.5_f32.sqrt(), (1.0_f32 / 3.0).sqrt());
    assert!(close(history.frecency("a.md"), half + share(1) + share(2) * third));
    assert!(close(history.frecency("d.md"), share(2) * third));
    assert_eq!(history.frecency("e.md"), 0.0);
    assert_eq!(history.last_change("b/c.md"), Some(Timestamp::from_secs(BEGIN + 120)));
    assert_eq!(history.last_change("d.md"), Some(Timestamp::from_secs(BEGIN)));
    assert_eq!(history.last_change("e.md"), None);
    let newest = history.commits().next().unwrap();
    assert_eq!(
        (newest.id(), newest.time(), newest.body()),
        (&*last, Timestamp::from_secs(BEGIN + 120), "because\nof it")
    );
}

#[test]
fn large_commits_count_for_the_time_alone() {
    let mut repository = Repository::new();
    let names: Vec<String> = (0..31).map(|number| format!("f{number:02}.md")).collect();
    let files: Vec<&str> = names.iter().map(String::as_str).collect();
    repository.commit("20", &files[..20]);
    repository.commit("21", &files[..21]);
    repository.commit("30", &files[..30]);
    repository.commit("31", &files);
    let history = repository.history();
    let expected = share(1) / 30_f32.sqrt() + share(2) / 21_f32.sqrt() + share(3) / 20_f32.sqrt();
    assert!(close(history.frecency("f00.md"), expected));
    assert_eq!(history.frecency("f30.md"), 0.0);
    assert_eq!(history.last_change("f30.md"), Some(Timestamp::from_secs(BEGIN + 180)));
}

#[test]
fn a_file_keeps_the_history_of_its_earlier_path() {
    let mut repository = Repository::new();
    repository.commit("first", &["part/a.md", "part/b.md"]);
    repository.git(&["mv", "part", "moved"]);
    repository.git(&["mv", "moved", "part"]);
    fs::create_dir(repository.top.join("new")).unwrap();
    repository.git(&["mv", "part", "new/part"]);
    repository.commit("move", &[]);
    let history = repository.history();
    let expected = (share(0) + share(1)) / 2_f32.sqrt();
    assert!(close(history.frecency("new/part/a.md"), expected));
    assert_eq!(history.frecency("part/a.md"), 0.0);
    assert_eq!(History::decode(&history.encode()), Some(history));
}

#[test]
fn a_removed_file_leaves_nothing_to_another_of_the_same_name() {
    let mut repository = Repository::new();
    repository.commit("both", &["a/src/lib.md", "b/src/lib.md"]);
    repository.git(&["rm", "--quiet", "-r", "a"]);
    repository.commit("remove", &[]);
    let history = repository.history();
    assert!(close(history.frecency("b/src/lib.md"), share(1) / 2_f32.sqrt()));
}

#[test]
fn a_file_that_is_renamed_and_changed_keeps_its_history_also_when_it_is_read_again() {
    let mut repository = Repository::new();
    repository.commit("first", &["one/a.md"]);
    fs::create_dir(repository.top.join("two")).unwrap();
    repository.git(&["mv", "one/a.md", "two/a.md"]);
    repository.commit("move", &["two/a.md"]);
    let before = repository.history();
    assert!(close(before.frecency("two/a.md"), share(0) + share(1)));
    let last = repository.commit("again", &["two/a.md"]);
    let after = History::read(&repository.top, Some(&before), &|it| it.into(), &|| false);
    let after = after.unwrap().unwrap();
    assert_eq!((after.head(), &after), (last.as_str(), &repository.history()));
}

#[test]
fn settings_of_tools_do_not_age_other_changes() {
    let mut repository = Repository::new();
    repository.commit("work", &["a.md"]);
    for _ in 0..30 {
        repository.commit("Upgrade", &["build.gradle"]);
    }
    assert!(close(repository.history().frecency("a.md"), share(0)));
}

#[test]
fn a_commit_with_too_many_changes_has_no_paths() {
    let mut repository = Repository::new();
    let head = "commit refs/heads/main\ncommitter C <c@example.org> 1 +0000\ndata 6\nimport\n";
    let mut stream = head.to_owned();
    for it in 0..2_001 {
        writeln!(stream, "M 100644 inline {it}\ndata 1\nx").unwrap();
    }
    repository.import(&stream);
    repository.git(&["reset", "--quiet", "--hard"]);
    repository.commit("change", &["1"]);
    let history = repository.history();
    assert_eq!(
        shown(&history),
        [("change".to_owned(), vec!["1".to_owned()]), ("import".to_owned(), Vec::new()),]
    );
}

#[test]
fn merges_are_passed_over_and_their_branches_are_not() {
    let mut repository = Repository::new();
    repository.commit("base", &["a"]);
    repository.git(&["checkout", "--quiet", "-b", "side"]);
    repository.commit("on the side", &["b"]);
    repository.git(&["checkout", "--quiet", "main"]);
    repository.commit("on main", &["c"]);
    repository.git(&["merge", "--quiet", "--no-edit", "side"]);
    assert_eq!(subjects(&repository.history()), ["on main", "on the side", "base"]);
}

#[test]
fn of_a_folder_below_the_top_only_what_is_in_it_counts() {
    let mut repository = Repository::new();
    repository.commit("both", &["part/a", "part/deep/b", "part2/a"]);
    repository.commit("elsewhere", &["part2/a", "c"]);
    repository.commit("deep", &["part/deep/b"]);
    repository.git(&["rm", "-r", "--quiet", "part2"]);
    repository.commit("removed elsewhere", &[]);
    let history = read(&repository.top.join("part")).unwrap();
    assert_eq!(
        shown(&history),
        [
            ("deep".to_owned(), vec!["deep/b".to_owned()]),
            ("both".to_owned(), vec!["a".to_owned(), "deep/b".to_owned()]),
        ]
    );
    assert!(close(history.frecency("deep/b"), 1.0 + share(0) / 2_f32.sqrt()));
    fs::create_dir(repository.top.join("new")).unwrap();
    assert_eq!(read(&repository.top.join("new")).unwrap().commits().len(), 0);
}

#[test]
fn secrets_are_taken_out_before_a_message_is_cut() {
    let mut repository = Repository::new();
    let long = format!("use token-123\n\n{}token-456 and {}", "x ".repeat(740), "y".repeat(2_000));
    repository.commit(&long, &["a"]);
    let redact: Redact<'_> = &|text| Cow::Owned(text.replace("token-", "[redacted]"));
    let history = History::read(&repository.top, None, redact, &|| false).unwrap().unwrap();
    let commit = history.commits().next().unwrap();
    assert_eq!(commit.subject(), "use [redacted]123");
    assert!(commit.body().contains("[redacted]456"));
    assert_eq!(commit.body().chars().count(), 1_500);
}

#[test]
fn commits_that_are_known_are_not_read_again() {
    let mut repository = Repository::new();
    for it in 0..5 {
        repository.commit(&format!("commit {it}"), &["a", "b"]);
    }
    let old = repository.history();
    repository.commit("new", &["b"]);
    let calls = Cell::new(0);
    let redact: Redact<'_> = &|text| {
        calls.set(calls.get() + 1);
        Cow::Borrowed(text)
    };
    let renewed = |repository: &Repository, known| {
        History::read(&repository.top, known, redact, &|| false).unwrap().unwrap()
    };
    assert_eq!(renewed(&repository, Some(&old)), repository.history());
    assert_eq!(calls.replace(0), 1);

    // Also after a reset, and on another branch.
    repository.git(&["reset", "--quiet", "--hard", "HEAD~3"]);
    assert_eq!(renewed(&repository, Some(&old)), repository.history());
    assert_eq!(calls.replace(0), 0);
    // The cached history of another folder is not used.
    fs::create_dir(repository.top.join("sub")).unwrap();
    let sub = History::read(&repository.top.join("sub"), Some(&old), redact, &|| false);
    assert_eq!(sub.unwrap().unwrap().commits().len(), 0);
}

#[test]
fn what_is_written_down_is_read_back_and_damage_is_refused() {
    let mut repository = Repository::new();
    repository.commit("größer\n\nund länger", &["ä/a", "ä/b", "b"]);
    repository.commit("second", &["b"]);
    let history = repository.history();
    let bytes = history.encode();
    assert_eq!(History::decode(&bytes).as_ref(), Some(&history));
    for at in 0..bytes.len() {
        assert_eq!(History::decode(&bytes[..at]), None, "cut at {at}");
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert_eq!(History::decode(&damaged), None, "flipped at {at}");
    }
    assert_eq!(History::decode(b"something else entirely"), None);
}

#[test]
fn without_a_repository_or_a_commit_there_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read(folder.path()), None);
    assert!(head_files(folder.path()).unwrap().is_empty());

    let repository = Repository::new();
    assert_eq!(read(&repository.top), None);
    let files = head_files(&repository.top).unwrap();
    assert!(files.contains(&repository.top.join(".git/refs/heads/main")), "{files:?}");
}

#[test]
fn head_is_found_on_branches_packed_ones_and_on_none() {
    let mut repository = Repository::new();
    let first = repository.commit("first", &["a"]);
    assert_eq!(repository.history().head(), first);
    let files = head_files(&repository.top).unwrap();
    for name in [".git/HEAD", ".git/index", ".git/packed-refs", ".git/refs/heads/main"] {
        assert!(files.contains(&repository.top.join(name)), "{name}");
    }

    repository.git(&["pack-refs", "--all"]);
    assert_eq!(repository.history().head(), first);
    let second = repository.commit("second", &["a"]);
    assert_eq!(repository.history().head(), second);
    repository.git(&["checkout", "--quiet", "--detach", &first]);
    assert_eq!(repository.history().head(), first);
    let branch = repository.top.join(".git/refs/heads/main");
    assert!(!head_files(&repository.top).unwrap().contains(&branch));
    assert_eq!(subjects(&repository.history()), ["first"]);
}

#[test]
fn packs_are_read_as_loose_objects_are() {
    let mut repository = Repository::new();
    for it in 0..12 {
        repository.commit(&format!("commit {it}"), &[&format!("d{}/f{it}", it % 3), "same"]);
    }
    let loose = repository.history();
    repository.git(&["gc", "--quiet", "--aggressive", "--prune=now"]);
    assert_eq!(repository.history(), loose);
}

#[test]
fn linked_worktrees_bare_repositories_and_submodules_are_read() {
    let mut repository = Repository::new();
    repository.commit("first", &["a"]);
    repository.commit("second", &["a"]);
    let linked = repository.beside("linked");
    let linked_path = linked.to_str().unwrap();
    repository.git(&["worktree", "add", "--quiet", "-b", "other", linked_path, "HEAD~1"]);
    assert_eq!(subjects(&read(&linked).unwrap()), ["first"]);
    let files = head_files(&linked).unwrap();
    assert!(files.contains(&repository.top.join(".git/worktrees/linked/HEAD")));
    assert!(files.contains(&repository.top.join(".git/refs/heads/other")));
    assert_eq!(main_worktree(&linked).unwrap(), Some(repository.top.clone()));
    assert_eq!(main_worktree(&repository.top).unwrap(), None);

    let bare = repository.beside("bare.git");
    repository.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    assert_eq!(subjects(&read(&bare).unwrap()), ["second", "first"]);
    let of_bare = repository.beside("of-bare");
    git(&bare, &["worktree", "add", "--quiet", of_bare.to_str().unwrap(), "main"]);
    assert_eq!(subjects(&read(&of_bare).unwrap()), ["second", "first"]);
    assert_eq!(main_worktree(&of_bare).unwrap(), None);

    let mut outer = Repository::new();
    outer.git(&["submodule", "--quiet", "add", repository.top.to_str().unwrap(), "sub"]);
    outer.commit("with a submodule", &["own"]);
    assert_eq!(subjects(&read(&outer.top.join("sub")).unwrap()), ["second", "first"]);
    // The submodule itself is not a file.
    let (_, paths) = &shown(&outer.history())[0];
    assert_eq!(paths, &[".gitmodules", "own"]);
}

#[test]
fn shallow_and_partial_clones_tell_what_they_have() {
    let mut repository = Repository::new();
    for it in 0..5 {
        repository.commit(&format!("commit {it}"), &["a"]);
    }
    repository.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", repository.top.display());
    let shallow = repository.beside("shallow");
    repository.git(&["clone", "--quiet", "--depth", "3", &url, shallow.to_str().unwrap()]);
    let history = read(&shallow).unwrap();
    assert_eq!(subjects(&history), ["commit 4", "commit 3", "commit 2"]);
    // The oldest commit would appear to add every file if its missing parent counted as none.
    assert_eq!(history.commits().last().unwrap().paths().len(), 0);
    assert!(close(history.frecency("a"), 1.0 + share(0)));

    let treeless = repository.beside("treeless");
    let path = treeless.to_str().unwrap();
    repository.git(&["clone", "--quiet", "--no-checkout", "--filter=tree:0", &url, path]);
    let history = read(&treeless).unwrap();
    assert_eq!(history.commits().len(), 5);
    assert_eq!(history.frecency("a"), 0.0);
}

#[test]
fn it_ends_when_it_is_asked_to() {
    let mut repository = Repository::new();
    repository.commit("first", &["a"]);
    repository.commit("second", &["a"]);
    for asked in 0..6_u32 {
        let left = Cell::new(asked);
        let cancel = || left.replace(left.get().saturating_sub(1)) == 0;
        let ended = History::read(&repository.top, None, &|it| Cow::Borrowed(it), &cancel);
        assert!(matches!(ended, Err(Error::Cancelled)), "{asked}: {ended:?}");
    }
}

#[test]
fn no_more_than_1000_commits_are_read_and_500_shown() {
    let mut repository = Repository::new();
    repository.commit("oldest", &["a.md"]);
    let mut stream = String::new();
    for it in 0..1_000 {
        let time = BEGIN + 60 + it;
        let message = format!("commit {it}");
        let (message_bytes, content_bytes) = (message.len(), it.to_string().len());
        let from = if it == 0 { "from refs/heads/main^0\n" } else { "" };
        write!(
            stream,
            "commit refs/heads/main\ncommitter C <c@example.org> {time} +0000\n\
             data {message_bytes}\n{message}\n{from}M 100644 inline b.md\ndata {content_bytes}\n{it}\n"
        )
        .unwrap();
    }
    repository.import(&stream);
    let history = repository.history();
    assert_eq!(history.commits().len(), 500);
    assert_eq!(history.frecency("a.md"), 0.0);
    let sum: f32 = (0..1_000).map(share).sum();
    assert!((history.frecency("b.md") - sum).abs() < 1e-2);
}
