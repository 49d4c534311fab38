//! Vectors of a model: computed in the background, reused, never mixed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use waypost_context::{Embedder, Options, Query};

use crate::world::{NOW, World};

/// This time passes only if a test fails.
const LONG: Duration = Duration::from_secs(60);

/// A model that detects texts about fruit, and counts the texts it is given.
fn fruit(name: &str, asked: &Arc<AtomicU64>) -> Embedder {
    let asked = Arc::clone(asked);
    let embed = move |texts: &[&str]| {
        asked.fetch_add(texts.len() as u64, Ordering::Relaxed);
        let vector = |text: &&str| {
            if text.contains("poison") {
                return Err("poison is refused".to_owned());
            }
            let fruit =
                ["apple", "pear", "plum"].iter().any(|word| text.to_lowercase().contains(word));
            Ok(if fruit { vec![1.0, 0.1] } else { vec![0.1, 1.0] })
        };
        texts.iter().map(vector).collect()
    };
    Embedder { fingerprint: name.to_owned(), dimensions: 2, embed: Arc::new(embed) }
}

fn world(asked: &Arc<AtomicU64>) -> World {
    let options = Options::default().without_git().with_embedder(fruit("one", asked));
    let world = World::with(options);
    world.write("docs/apple.md", "# Apple\n\nGrows on trees.\n");
    world.write("docs/plum.md", "# Plum\n\nSweet and blue.\n");
    world.write("docs/stone.md", "# Stone\n\nLies in rivers.\n");
    world.scan();
    world
}

fn meaning(world: &World) -> Vec<String> {
    let query = Query::new("quince").with_vector(vec![1.0, 0.1]);
    let mut paths: Vec<String> =
        world.ask(&query).items.into_iter().map(|item| item.path).collect();
    paths.truncate(2);
    paths.sort();
    paths
}

#[test]
fn meaning_finds_what_words_do_not() {
    let asked = Arc::default();
    let world = world(&asked);
    assert!(meaning(&world).is_empty());
    let progress = world.context().embed_pending(2).unwrap();
    assert_eq!((progress.embedded, progress.pending), (2, 1));
    assert_eq!(world.context().embed_pending(100).unwrap().pending, 0);
    assert_eq!(meaning(&world), ["docs/apple.md", "docs/plum.md"]);
    assert_eq!(world.context().status().vectors, 3);
}

#[test]
fn a_file_that_moves_and_an_index_that_opens_again_keep_their_vectors() {
    let asked: Arc<AtomicU64> = Arc::default();
    let mut world = world(&asked);
    world.context().embed_pending(100).unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    world.rename("docs/plum.md", "fruit/plum.md");
    world.scan();
    world.context().embed_pending(100).unwrap();
    assert_eq!(meaning(&world), ["docs/apple.md", "fruit/plum.md"]);
    world.close();
    world.open();
    world.context().embed_pending(100).unwrap();
    assert_eq!(meaning(&world), ["docs/apple.md", "fruit/plum.md"]);
    assert_eq!(asked.load(Ordering::Relaxed), 3, "nothing was embedded twice");
}

#[test]
fn another_model_makes_vectors_of_its_own() {
    let asked: Arc<AtomicU64> = Arc::default();
    let world = world(&asked);
    world.context().embed_pending(100).unwrap();
    world.context().set_embedder(Some(fruit("two", &asked))).unwrap();
    assert!(meaning(&world).is_empty());
    world.context().embed_pending(100).unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 6);
    assert_eq!(meaning(&world).len(), 2);
    world.context().set_embedder(None).unwrap();
    assert!(meaning(&world).is_empty());
}

#[test]
fn a_text_that_the_model_refuses_does_not_stop_the_others() {
    let asked = Arc::default();
    let world = world(&asked);
    world.write("docs/bad.md", "# Poison\n\nThis is poison.\n");
    world.scan();
    let progress = world.context().embed_pending(100).unwrap();
    assert_eq!((progress.embedded, progress.failed, progress.pending), (3, 1, 0));
    assert_eq!(progress.last_error.as_deref(), Some("poison is refused"));
    world.context().update(&[], NOW, &|| false).unwrap();
    assert_eq!(world.context().embed_pending(100).unwrap().failed, 0, "not tried again");
}

#[test]
fn no_more_vectors_than_allowed() {
    let asked = Arc::default();
    let options =
        Options::default().without_git().with_embedder(fruit("one", &asked)).with_vectors_max(2);
    let world = World::with(options);
    world.write("docs/apple.md", "# Apple\n\nGrows on trees.\n");
    world.write("docs/plum.md", "# Plum\n\nSweet and blue.\n");
    world.write("src/stone.rs", "/// Lies in rivers.\nfn stone() {}\n");
    world.scan();
    assert_eq!(world.context().embed_pending(100).unwrap().pending, 0);
    assert_eq!(world.context().status().vectors, 2);
    assert_eq!(meaning(&world), ["docs/apple.md", "docs/plum.md"], "documents come first");
}

#[test]
fn what_waits_is_told_while_the_model_works() {
    let world = world(&Arc::default());
    let ((begun, begins), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel());
    let goes_on = parking_lot::Mutex::new(goes_on);
    let embed = move |texts: &[&str]| {
        begun.send(()).map_err(|error| error.to_string())?;
        goes_on.lock().recv_timeout(LONG).map_err(|error| error.to_string())?;
        Ok(texts.iter().map(|_| vec![1.0, 0.0]).collect())
    };
    let slow = Embedder { fingerprint: "slow".to_owned(), dimensions: 2, embed: Arc::new(embed) };
    let context = world.context();
    context.set_embedder(Some(slow)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| context.embed_pending(2).unwrap());
        begins.recv_timeout(LONG).unwrap();
        assert_eq!(context.status().vectors_pending, 3);
        go_on.send(()).unwrap();
    });
    assert_eq!(context.status().vectors_pending, 1);
}

#[test]
fn texts_wait_on_while_the_model_fails() {
    let world = world(&Arc::default());
    let embed = |_: &[&str]| Err("it is out of order".to_owned());
    let broken =
        Embedder { fingerprint: "broken".to_owned(), dimensions: 2, embed: Arc::new(embed) };
    world.context().set_embedder(Some(broken)).unwrap();
    for _ in 0..2 {
        let error = world.context().embed_pending(3).unwrap_err();
        assert!(error.to_string().contains("it is out of order"), "{error}");
        assert_eq!(world.context().status().vectors_pending, 3);
    }
}
