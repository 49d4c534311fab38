//! The disk's own limit: threads whose records share one sync, without anything else.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use anyhow::Result;

use crate::rig;

/// The file is this long and written round and round.
const FILE_BYTES: u64 = 256 << 20;
const STEP: usize = 1 << 20;

const WAIT: u8 = 0;
const LEAD: u8 = 1;
const DONE: u8 = 2;

struct Waiter {
    turn: AtomicU8,
    thread: Thread,
}

impl Waiter {
    fn give(&self, turn: u8) {
        self.turn.store(turn, Ordering::Release);
        self.thread.unpark();
    }
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Arc<Waiter>>,
    led: bool,
    offset: u64,
}

/// Records of `len` bytes that so many threads bring to disk in a second.
pub fn rate(path: &Path, threads: usize, len: usize, time: Duration) -> Result<f64> {
    let file = File::create(path)?;
    for step in 0..FILE_BYTES / STEP as u64 {
        file.write_all_at(&vec![0; STEP], step * STEP as u64)?;
    }
    file.sync_all()?;
    let queue = Mutex::new(Queue::default());
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let bytes = vec![7; len * threads];
    let from = rig::wall_seconds();
    std::thread::scope(|scope| -> Result<()> {
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    while !stop.load(Ordering::Relaxed) {
                        append(&file, &queue, &bytes, len)?;
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        for handle in handles {
            handle.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
        }
        Ok(())
    })?;
    Ok(written.load(Ordering::Relaxed) as f64 / (rig::wall_seconds() - from))
}

/// One record, together with those of the threads that wait.
fn append(file: &File, queue: &Mutex<Queue>, bytes: &[u8], len: usize) -> Result<()> {
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let turn = AtomicU8::new(WAIT);
    let me = Arc::new(Waiter { turn, thread: std::thread::current() });
    {
        let mut queue = lock();
        queue.waiting.push(Arc::clone(&me));
        if !std::mem::replace(&mut queue.led, true) {
            me.turn.store(LEAD, Ordering::Release);
        }
    }
    loop {
        match me.turn.load(Ordering::Acquire) {
            WAIT => std::thread::park(),
            LEAD => break,
            _ => return Ok(()),
        }
    }
    let (group, offset) = {
        let mut queue = lock();
        let group = std::mem::take(&mut queue.waiting);
        let end = queue.offset + (group.len() * len) as u64;
        let offset = if end > FILE_BYTES { 0 } else { queue.offset };
        queue.offset = offset + (group.len() * len) as u64;
        (group, offset)
    };
    file.write_all_at(&bytes[..group.len() * len], offset)?;
    file.sync_data()?;
    group.iter().for_each(|group| group.give(DONE));
    let mut queue = lock();
    match queue.waiting.first() {
        Some(next) => next.give(LEAD),
        None => queue.led = false,
    }
    Ok(())
}
