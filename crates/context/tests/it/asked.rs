//! What past commits do for what is asked now.

use std::fmt::Write;

use waypost_context::{Context, Options, Query};

use crate::repository::{BEGIN, Repository};

/// 60 commits that fix something elsewhere, and the first, which is about tariffs.
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
    let now = BEGIN + 10_000;
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
