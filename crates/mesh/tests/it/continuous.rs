//! Continuous calls between two machines over a connection that drops.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;
use serde_json::{Value, json};
use waypost_mesh::{CallError, Mesh, Problem, Serving};

use crate::LONG;
use crate::far::{Machine, call_of, free_address, pair};

/// The connection between two machines: a port that forwards to another one, until it is cut.
struct Cable {
    carried: Arc<Mutex<Vec<TcpStream>>>,
    is_broken: Arc<AtomicBool>,
}

impl Cable {
    fn lay(from: &str, to: &str) -> Self {
        let listener = TcpListener::bind(from).unwrap();
        let (carried, is_broken): (Arc<Mutex<Vec<TcpStream>>>, Arc<AtomicBool>) =
            Default::default();
        let cable = Self { carried: Arc::clone(&carried), is_broken: Arc::clone(&is_broken) };
        let to = to.to_owned();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if is_broken.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&to) else { continue };
                // Small pieces are sent at once.
                drop((near.set_nodelay(true), far.set_nodelay(true)));
                for (one, other) in [(&near, &far), (&far, &near)] {
                    let (one, other) = (one.try_clone().unwrap(), other.try_clone().unwrap());
                    thread::spawn(move || carry(one, other));
                }
                carried.lock().extend([near, far]);
            }
        });
        cable
    }

    /// Ends the connections that it carries, without informing either side. New ones are forwarded
    /// again.
    fn cut(&self) {
        for stream in self.carried.lock().drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
}

/// A machine that calls `count` of another one, whose handler is `serve`.
struct Pair {
    caller: Mesh,
    server: Option<(Mesh, Serving)>,
    cable: Arc<Cable>,
    home: Machine,
    _laptop: Machine,
}

impl Pair {
    fn new(serve: impl Fn(&Cable, u64) + Clone + Send + Sync + 'static) -> Self {
        let (home, laptop) = (Machine::new(), Machine::new());
        let mut pairing = home.found("home");
        pair(&mut pairing, "laptop", &["count/*"], &laptop.pairing);
        let near = free_address();
        let cable = Arc::new(Cable::lay(&near, pairing.address().unwrap()));
        crate::far::edit(&laptop.pairing, |list| list["connect"] = json!([near]));
        let mut pair = Self {
            caller: laptop.join("caller", false),
            server: None,
            cable,
            home,
            _laptop: laptop,
        };
        pair.start(serve);
        call_of(&pair.caller, "count", "ping").unwrap();
        pair
    }

    fn start(&mut self, serve: impl Fn(&Cable, u64) + Send + Sync + 'static) {
        let server = self.home.join("server", true);
        assert_eq!(server.trouble(), None);
        let cable = Arc::clone(&self.cable);
        let serving = server.serve("count", move |call| {
            if call.command == "ping" {
                return Ok(Value::Null);
            }
            let number = call.argument.as_u64();
            let number = number.ok_or_else(|| Problem::new(422, "invalid", "a number"))?;
            serve(&cable, number);
            Ok(call.argument)
        });
        self.server = Some((server, serving.unwrap()));
    }

    fn call(&self, number: u64) -> Result<Value, CallError> {
        self.caller.call("count", "up", &json!(number), LONG)
    }
}

type Counts = Arc<Mutex<HashMap<u64, u32>>>;

fn counting() -> (Counts, impl Fn(u64) + Clone) {
    let counts = Counts::default();
    let of = Arc::clone(&counts);
    (counts, move |number| *of.lock().entry(number).or_default() += 1)
}

#[test]
fn calls_whose_way_is_cut_are_answered_and_each_is_done_once() {
    const CALLERS: u64 = 4;
    const CALLS: u64 = 60;
    let (counts, count) = counting();
    let cuts = Arc::new(AtomicUsize::new(0));
    let cut = Arc::clone(&cuts);
    let pair = Pair::new(move |cable, number| {
        // Before or after it is executed: in any case with the response still outstanding.
        let (before, after) = (number % 20 == 7, number % 20 == 17);
        if before {
            cable.cut();
        }
        count(number);
        if after {
            cable.cut();
        }
        cut.fetch_add(usize::from(before || after), Ordering::SeqCst);
    });
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            let pair = &pair;
            scope.spawn(move || {
                for number in (0..CALLS).map(|number| caller * CALLS + number) {
                    assert_eq!(pair.call(number), Ok(json!(number)), "call {number}");
                }
            });
        }
    });
    let counts = counts.lock();
    assert_eq!(counts.len() as u64, CALLERS * CALLS);
    let often: Vec<_> = counts.iter().filter(|count| *count.1 != 1).collect();
    assert!(often.is_empty(), "done more than once: {often:?}");
    assert!(cuts.load(Ordering::SeqCst) >= 20, "the way was cut");
}

#[test]
fn calls_without_a_pause_are_all_answered() {
    let (counts, count) = counting();
    let pair = Pair::new(move |_, number| count(number));
    for number in 0..2_000 {
        assert_eq!(pair.call(number), Ok(json!(number)), "call {number}");
    }
    assert!(counts.lock().values().all(|it| *it == 1));
}

#[test]
fn a_peer_that_took_the_place_of_another_does_not_do_its_calls_again() {
    let (counts, count) = counting();
    let of = count.clone();
    let mut pair = Pair::new(move |cable, number| {
        of(number);
        // No response arrives, and none is repeated.
        cable.is_broken.store(true, Ordering::SeqCst);
        cable.cut();
    });
    let outcome = thread::scope(|scope| {
        let calling = {
            let caller = &pair.caller;
            scope.spawn(move || caller.call("count", "up", &json!(1), LONG))
        };
        crate::eventually("it is done", || counts.lock().contains_key(&1));
        let server = pair.server.take();
        drop(server);
        let home = &pair.home;
        let again = home.join("again", true);
        let count = count.clone();
        let serving = again.serve("count", move |call| {
            count(call.argument.as_u64().unwrap_or_default());
            Ok(call.argument)
        });
        pair.cable.is_broken.store(false, Ordering::SeqCst);
        let outcome = calling.join().unwrap();
        drop((serving, again));
        outcome
    });
    assert!(matches!(outcome, Err(CallError::Offline(_))), "{outcome:?}");
    assert_eq!(counts.lock().get(&1), Some(&1));
}
