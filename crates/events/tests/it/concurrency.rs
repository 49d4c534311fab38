use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use waypost_events::Tail;

use crate::world::{NOW, all, draft, folder, open, page, pattern};

#[test]
fn many_publishers_get_one_order_and_readers_see_it_without_gaps() {
    const THREADS: usize = 64;
    const EACH: usize = 50;
    let dir = folder();
    let bus = Arc::new(open(dir.path()));
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = ["*", "k:t7"]
        .into_iter()
        .map(|text| {
            let (bus, done) = (Arc::clone(&bus), Arc::clone(&done));
            std::thread::spawn(move || {
                let mut tail = Tail::new(Arc::clone(&bus), Some(text.parse().unwrap()), 0);
                let mut seen = Vec::new();
                loop {
                    let was_done = done.load(Ordering::SeqCst);
                    let batch = tail.next_batch(100).unwrap();
                    assert!(batch.examined <= bus.last());
                    seen.extend(batch.events.into_iter().map(|event| event.id));
                    if was_done && tail.cursor() == bus.last() {
                        return seen;
                    }
                    bus.wait_beyond(tail.cursor(), Duration::from_millis(10));
                }
            })
        })
        .collect();
    let publishers: Vec<_> = (0..THREADS)
        .map(|thread| {
            let bus = Arc::clone(&bus);
            std::thread::spawn(move || {
                let mut ids = Vec::new();
                for _ in 0..EACH {
                    let event = bus.publish(draft(&format!("k:t{thread}")), NOW).unwrap().event;
                    assert!(bus.last() >= event.id, "it is visible to who published it");
                    assert_eq!(bus.get(event.id).unwrap().as_ref(), Some(&event));
                    ids.push(event.id);
                }
                ids
            })
        })
        .collect();
    let mut given = BTreeSet::new();
    for publisher in publishers {
        let ids = publisher.join().unwrap();
        assert!(ids.is_sorted(), "one publisher's events are in its order");
        given.extend(ids);
    }
    done.store(true, Ordering::SeqCst);
    let total = (THREADS * EACH) as u64;
    assert!(given.into_iter().eq(1..=total));
    let mut seen = readers.into_iter().map(|reader| reader.join().unwrap());
    assert!(seen.next().unwrap().into_iter().eq(1..=total));
    let mine = page(&bus, &pattern("k:t7").with_limit(1000));
    assert!(seen.next().unwrap().into_iter().eq(mine.events.iter().map(|it| it.id)));
    assert_eq!(mine.events.len(), EACH);
    drop(bus);
    assert_eq!(all(&open(dir.path())).len() as u64, total);
}
