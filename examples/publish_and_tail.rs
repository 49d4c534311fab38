//! Publishes events to a durable bus, follows them by a pattern, and reads them back.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use waypost_events::{Bus, Data, Draft, Error, Options, Query, Tail, Timestamp};

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bus = Arc::new(Bus::open(folder.path(), &Options::default())?.0);

    // A follower has its own cursor. It reads on request, and waits without holding the bus.
    let mut tail = Tail::new(Arc::clone(&bus), Some("eval:*".parse()?), bus.last());
    let follower = {
        let bus = Arc::clone(&bus);
        std::thread::spawn(move || -> Result<Vec<String>> {
            let mut heard = Vec::new();
            while heard.len() < 2 {
                bus.wait_beyond(tail.cursor(), Duration::from_secs(10));
                let batch = tail.next_batch(100)?;
                heard.extend(
                    batch.events.into_iter().map(|event| format!("{} {}", event.id, event.kind)),
                );
            }
            Ok(heard)
        })
    };

    let mut data = Data::default();
    data.insert("agent", "scout")?;
    data.insert("score", 93)?;
    for kind in ["eval:started", "kanban:moved", "eval:scored"] {
        // When it returns, the event is on disk and visible to every reader.
        let published = bus.publish(Draft::new(kind.parse()?, data.clone(), "example"), now())?;
        writeln!(std::io::stdout(), "published {} as {}", kind, published.event.id)?;
    }
    let heard = follower.join().map_err(|_| anyhow::anyhow!("the follower panicked"))??;
    ensure!(heard == ["1 eval:started", "3 eval:scored"]);

    // With a key, publishing again is safe if the response was lost.
    let draft =
        Draft::new("pr:merged".parse()?, data.clone(), "example").with_key("merge-7".parse()?);
    let first = bus.publish(draft.clone(), now())?;
    let again = bus.publish(draft.clone(), now())?;
    ensure!(again.duplicate && again.event == first.event);
    let other = draft.with_data(Data::default());
    ensure!(matches!(bus.publish(other, now()), Err(Error::KeyReused { id: 4 })));

    // The next two after event 1, whatever their type.
    let page = bus.read(&Query::default().with_after(1).with_limit(2))?;
    ensure!(page.events.iter().map(|it| it.id).eq([2, 3]) && page.next_after == 3);
    Ok(())
}

fn now() -> Timestamp {
    SystemTime::now().into()
}

#[test]
fn what_it_shows_holds() -> Result<()> {
    main()
}
