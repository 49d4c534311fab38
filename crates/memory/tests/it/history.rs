//! Imports of a memory whose history takes several appends.

use std::env;
use std::path::Path;
use std::process::{Command, abort};
use std::sync::atomic::{AtomicU64, Ordering};

use waypost_memory::{Draft, ImportIds, ImportOptions, ImportResult, Store};

use crate::world::{World, at, id, options};

const CHILD: &str = "WAYPOST_TEST_IMPORT";
const VERSIONS: u64 = 4;

/// How many changes of files are left to this process.
static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

fn on_change() {
    if LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
        abort();
    }
}

/// A store that writes each version in an append of its own.
fn open(dir: &Path) -> Store {
    let options = options().with_append_bytes_max(1).with_on_change(Some(on_change));
    Store::open(dir, options).expect("the store opens").0
}

fn import(store: &Store, options: &ImportOptions) -> ImportResult {
    let file = file();
    let mut input = file.as_bytes();
    store.import_beside(&mut input, options, at(0), &|| store.write_queued()).expect("an import")
}

/// A memory with a history, whose first texts were purged, and one after it.
fn file() -> String {
    let version = |number: u64| {
        let text = format!(r#""content":"text {number}","type":"note""#);
        let text = if number <= 2 { r#""purged":true"#.to_owned() } else { text };
        let time = format!("2026-01-0{number}T00:00:00.000Z");
        format!(
            r#"{{"record":"memory","id":1,"version":{number},{text},"validFrom":"{time}","createdAt":"2026-01-01T00:00:00.000Z"}}"#
        )
    };
    let mut lines = vec![r#"{"format":"waypost-memory","version":1}"#.to_owned()];
    lines.extend((1..=VERSIONS).map(version));
    lines.push(r#"{"record":"memory","id":2,"version":1,"content":"after"}"#.to_owned());
    lines.push(r#"{"record":"link","from":1,"to":2,"type":"related_to"}"#.to_owned());
    lines.join("\n")
}

fn texts(store: &Store, number: u64) -> Vec<Option<String>> {
    let history = store.history(id(number)).unwrap_or_default();
    history.iter().map(|history| history.content().map(str::to_owned)).collect()
}

fn whole() -> Vec<Option<String>> {
    (1..=VERSIONS).map(|number| (number > 2).then(|| format!("text {number}"))).collect()
}

/// Does nothing unless a test below runs it in a process of its own.
#[test]
#[expect(clippy::disallowed_methods, reason = "what the parent asks for is not a setting")]
fn child() {
    let Ok(request) = env::var(CHILD) else { return };
    let mut words = request.splitn(3, ' ');
    let changes = words.next().and_then(|word| word.parse().ok()).expect("a number");
    let ids = if words.next() == Some("map") { ImportIds::Map } else { ImportIds::Keep };
    let store = open(Path::new(words.next().expect("a folder")));
    LEFT.store(changes, Ordering::Relaxed);
    import(&store, &ImportOptions::default().with_ids(ids));
}

/// Imports in another process, which ends before so many changes; tells whether it was killed.
fn is_killed(dir: &Path, changes: u64, ids: &str) -> bool {
    let child = Command::new(env::current_exe().expect("this program"))
        .args(["history::child", "--exact", "--nocapture"])
        .env(CHILD, format!("{changes} {ids} {}", dir.display()))
        .output()
        .expect("a child");
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.code().is_none() || child.status.success(), "{changes}: {said}");
    child.status.code().is_none()
}

#[test]
fn an_import_killed_between_the_appends_of_a_history_is_completed_by_the_next() {
    for (name, ids, here) in [("keep", ImportIds::Keep, 1), ("map", ImportIds::Map, 3)] {
        let mut partial = 0;
        for changes in 1.. {
            let mut world = World::new();
            if ids == ImportIds::Map {
                world.add("another");
                world.add("and another");
            }
            world.close();
            let was_killed = is_killed(world.dir.path(), changes, name);
            let store = open(world.dir.path());
            let before = texts(&store, here);
            assert!(whole().starts_with(&before), "{changes}: {before:?}");
            // A memory that is not deleted has a text in its newest version.
            assert!(before.last().is_none_or(Option::is_some), "{changes}: {before:?}");
            partial += u64::from(!before.is_empty() && before.len() < whole().len());
            let imported = import(&store, &ImportOptions::default().with_ids(ids));
            assert_eq!(imported.problems.len(), 1, "only the end is missing: {imported:?}");
            assert_eq!(texts(&store, here), whole(), "{changes}");
            assert_eq!(texts(&store, here + 1), [Some("after".to_owned())], "{changes}");
            assert!(texts(&store, here + 2).is_empty(), "{changes}");
            assert_eq!(store.links(id(here), 1).expect("links").len(), 1, "{changes}");
            if !was_killed {
                break;
            }
        }
        assert!(partial > 0, "no kill came between two appends");
    }
}

#[test]
fn a_history_beyond_the_limit_is_refused_alone_and_completely() {
    let world = World::new();
    let length: usize = file().lines().skip(1).take(VERSIONS as usize).map(str::len).sum();
    let exact = ImportOptions::default().with_history_bytes_max(length);
    let less = exact.clone().with_history_bytes_max(length - 1);
    let imported = import(world.store(), &less);
    assert_eq!((imported.memories, imported.links), (1, 0));
    let messages: Vec<_> =
        imported.problems.iter().map(|problem| (problem.line, problem.message.as_str())).collect();
    let too_long = format!(
        "memory 1 and its history exceed {} bytes; remove texts of old versions in the store that \
         the file comes from (`compact`), and export it again",
        length - 1
    );
    assert_eq!(messages[0], (2, &*too_long));
    assert_eq!(messages[2], (7, "memory 1 of the link is not in the file, or was rejected"));
    assert_eq!(texts(world.store(), 1), []);
    assert_eq!(texts(world.store(), 2), [Some("after".to_owned())]);
    assert_eq!(import(world.store(), &exact).memories, 1);
    assert_eq!(texts(world.store(), 1), whole());
    assert!(world.store().add(Draft::new("next"), at(1)).is_ok());
}
