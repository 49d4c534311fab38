//! How past commits affect queries.

use std::fmt::Write;

use waypost_context::{Context, Kind, Options, Query, TaskType, Timestamp};

use crate::repository::{BEGIN, Repository};

/// 60 commits that fix something elsewhere, after a first one about tariffs.
fn repository() -> Repository {
    let repository = Repository::new();
    let mut stream = String::new();
    for it in 0..61 {
        let (message, path) = if it == 0 {
            ("Cheaper parcels to islands".to_owned(), "src/tariff.txt")
        } else {
            (format!("Fix number {it}"), "other.txt")
        };
        let (time, bytes) = (BEGIN + 60 * it, message.len());
        write!(
            stream,
            "commit refs/heads/main\ncommitter C <c@example.org> {time} +0000\n\
             data {bytes}\n{message}\nM 100644 inline {path}\ndata 5\nplain\n"
        )
        .unwrap();
    }
    repository.import(&stream);
    repository.git(&["reset", "--quiet", "--hard"]);
    repository
}

fn first(repository: &Repository, text: &str) -> String {
    let now = Timestamp::from_secs(BEGIN + 10_000);
    let context =
        Context::open(&repository.top, &repository.beside("data"), Options::default()).unwrap();
    context.scan(now, &|| false).unwrap();
    let mut items = context.query(&Query::new(text), now).unwrap().items;
    items.remove(0).path
}

#[test]
fn a_file_is_found_by_what_was_said_when_it_was_changed() {
    assert_eq!(first(&repository(), "parcels"), "src/tariff.txt");
}

#[test]
fn a_word_of_many_subjects_says_little_of_where() {
    let repository = repository();
    repository.write("docs/mending.md", "# Mending\n\nA fix for the fence.\n");
    repository.write("docs/labels.md", "# Paper\n\nThe label is printed.\n");
    repository.write("docs/stock.md", "# Stock\n\nA label is on each shelf.\n");
    assert_ne!(first(&repository, "fix the label"), "docs/mending.md");
}

#[test]
fn a_commit_that_has_one_word_of_a_question_says_little() {
    let repository = repository();
    let customs = "A clerk has to declare parcels.\nThen they leave the harbour.\n";
    repository.write("src/customs.txt", customs);
    repository.write("src/tariff.txt", "Declare parcels.\nThey leave the harbour at noon.\n");
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "--message", "Write texts"]);
    let question = "how a clerk must declare parcels before they leave the harbour";
    assert_eq!(first(&repository, question), "src/customs.txt");
    assert_eq!(first(&repository, "cheaper parcels to islands"), "src/tariff.txt");
}

/// The paths in the answer to an empty query, with duplicates.
fn paths(repository: &Repository, task: TaskType, max_items: usize) -> Vec<String> {
    let now = Timestamp::from_secs(BEGIN + 10_000);
    let context =
        Context::open(&repository.top, &repository.beside("data"), Options::default()).unwrap();
    context.scan(now, &|| false).unwrap();
    let query = Query::new("").with_task(task).with_max_items(max_items);
    let items = context.query(&query, now).unwrap().items;
    let files = items.into_iter().filter(|item| item.kind != Kind::Commit);
    files.map(|file| file.path).collect()
}

/// A project of 30 sources, a guide, and settings that change with each of them.
fn busy() -> Repository {
    let mut repository = Repository::new();
    for number in 0..30 {
        let source = format!("src/part{number}.rs");
        let guide = format!("docs/part{number}.md");
        repository.write("Cargo.toml", &format!("[package]\nversion = \"0.0.{number}\"\n"));
        repository.write(&source, &format!("/// Part {number}.\npub fn part{number}() {{}}\n"));
        repository.write(&guide, &format!("# Part {number}\n\nWhat part {number} is for.\n"));
        repository.commit(&format!("Add part {number}"), &[]);
    }
    repository
}

#[test]
fn without_a_query_most_items_are_files_that_are_worked_on_each_once() {
    let paths = paths(&busy(), TaskType::General, 30);
    let mut once = paths.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), paths.len(), "{paths:?}");
    let newest = (20..30)
        .flat_map(|number| [format!("src/part{number}.rs"), format!("docs/part{number}.md")]);
    let missing: Vec<String> = newest.filter(|newest| !paths.contains(newest)).collect();
    assert!(missing.is_empty(), "{missing:?} in {paths:?}");
}

#[test]
fn without_a_query_the_task_says_how_much_of_it_is_code() {
    let repository = busy();
    let code = |task| {
        let paths = paths(&repository, task, 20);
        (paths.iter().filter(|path| path.starts_with("src/")).count(), paths.len())
    };
    let (sources, all) = code(TaskType::Code);
    assert!(sources * 3 > all * 2, "{sources} of {all}");
    let (sources, all) = code(TaskType::Spec);
    assert!(sources * 2 < all, "{sources} of {all}");
}

#[test]
fn settings_of_tools_come_after_what_they_are_changed_with() {
    let repository = busy();
    let query = "version of part 7";
    assert_ne!(first(&repository, query), "Cargo.toml");
    assert_eq!(first(&repository, "version in Cargo.toml"), "Cargo.toml");
}

#[test]
fn without_a_query_the_instructions_are_those_for_what_is_being_changed() {
    let mut repository = Repository::new();
    let paths = ["AGENTS.md", "parts/AGENTS.md", "parts/one/lib.rs", "other/AGENTS.md"];
    repository.commit("All of it", &paths);
    let instructions = |repository: &Repository| {
        let all = self::paths(repository, TaskType::General, 30);
        all.into_iter().find(|item| item.ends_with("AGENTS.md"))
    };
    assert_eq!(instructions(&repository).as_deref(), Some("AGENTS.md"));
    repository.write("parts/one/lib.rs", "fn changed() {}\n");
    assert_eq!(instructions(&repository).as_deref(), Some("parts/AGENTS.md"));
}
