//! Broadcasts new events to listeners; each event is encoded once for all of them.
//!
//! A listener that falls behind continues from the log, so that it misses nothing and never blocks
//! the others.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, Semaphore, broadcast, watch};
use waypost_events::{Bus, Event, EventType, Subscription, Tail};

use crate::error::chain;

/// Events that a listener may be behind before it continues from the log.
const FRAMES_KEPT: usize = 4096;
/// Maximum number of events read from the log at once.
const READ_AT_ONCE: usize = 500;
/// Larger frames are not buffered: listeners read those events from the log. [`FRAMES_KEPT`] large
/// frames could take a gigabyte.
const FRAME_BYTES_MAX: usize = 16 * 1024;
/// Listeners that read the log at the same time: each needs a thread, and a thread keeps the memory
/// that it has used.
const READERS_MAX: usize = 2;
/// How long events are gathered for each listener, so that a thousand listeners do not wake a
/// thousand times a second.
const GATHER_FOR_EACH: Duration = Duration::from_micros(20);

/// An encoded event for listeners.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) id: u64,
    pub(crate) kind: EventType,
    /// The space that it belongs to.
    pub(crate) space: Option<Box<str>>,
    /// `None` if the bytes are too large to buffer.
    pub(crate) bytes: Option<Bytes>,
}

impl Frame {
    fn new(event: Event, encode: Encode) -> Self {
        let (id, kind) = (event.id, event.kind.clone());
        let space = event.space.as_deref().map(Box::from);
        let bytes = encode(event);
        let is_small = bytes.len() <= FRAME_BYTES_MAX;
        Self { id, kind, space, bytes: is_small.then(|| bytes.into()) }
    }
}

/// Encodes an event for listeners.
pub(crate) type Encode = fn(Event) -> Vec<u8>;

/// Broadcasts new events.
#[derive(Debug)]
pub(crate) struct Broadcast {
    events: Arc<Bus>,
    encode: Encode,
    frames: broadcast::Sender<Arc<Frame>>,
    more: Arc<Notify>,
    readers: Arc<Semaphore>,
    stopped: watch::Sender<bool>,
    _subscription: Subscription,
}

impl Broadcast {
    pub(crate) fn new(events: &Arc<Bus>, encode: Encode) -> Self {
        let more = Arc::new(Notify::new());
        let notified = Arc::clone(&more);
        Self {
            events: Arc::clone(events),
            encode,
            frames: broadcast::Sender::new(FRAMES_KEPT),
            more,
            _subscription: events.subscribe(Box::new(move |_| notified.notify_one())),
            readers: Arc::new(Semaphore::new(READERS_MAX)),
            stopped: watch::Sender::new(false),
        }
    }

    /// Subscribes to frames of new events.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Frame>> {
        self.frames.subscribe()
    }

    /// A listener holds a permit while it reads the log.
    pub(crate) fn readers(&self) -> Arc<Semaphore> {
        Arc::clone(&self.readers)
    }

    /// Becomes true when listeners must end.
    pub(crate) fn stopped(&self) -> watch::Receiver<bool> {
        self.stopped.subscribe()
    }

    pub(crate) fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Broadcasts new events until [`stop`](Self::stop).
    pub(crate) async fn run(&self) {
        let bus = &self.events;
        let mut cursor = bus.last();
        let mut stopped = self.stopped();
        loop {
            tokio::select! {
                () = self.more.notified() => {}
                _ = stopped.wait_for(|it| *it) => return,
            }
            // Read before the listeners are: a listener that subscribes later reads the log up to
            // here.
            let last = bus.last();
            let listeners = self.frames.receiver_count();
            if listeners == 0 {
                cursor = last;
                continue;
            }
            let gather = GATHER_FOR_EACH * u32::try_from(listeners).unwrap_or(u32::MAX);
            if listeners > 1 {
                tokio::time::sleep(gather).await;
            }
            cursor = self.send_after(cursor).await;
        }
    }

    async fn send_after(&self, mut cursor: u64) -> u64 {
        let (bus, encode) = (&self.events, self.encode);
        while cursor < bus.last() {
            let reading = Arc::clone(bus);
            let read = tokio::task::spawn_blocking(move || frames_after(&reading, cursor, encode));
            match read.await {
                Ok(Ok((frames, examined))) => {
                    cursor = examined;
                    for frame in frames {
                        // All listeners may be gone.
                        drop(self.frames.send(frame));
                    }
                }
                Ok(Err(error)) => {
                    // Retention passed the cursor, or the disk failed: listeners see the gap and
                    // continue from the log.
                    tracing::warn!(error = chain(&error), "failed to read new events");
                    return bus.last();
                }
                Err(_) => return bus.last(),
            }
        }
        cursor
    }
}

fn frames_after(
    bus: &Arc<Bus>,
    after: u64,
    encode: Encode,
) -> waypost_events::Result<(Vec<Arc<Frame>>, u64)> {
    let tailed = Tail::new(Arc::clone(bus), None, after).next_batch(READ_AT_ONCE)?;
    let frames =
        tailed.events.into_iter().map(|event| Arc::new(Frame::new(event, encode))).collect();
    Ok((frames, tailed.examined))
}
