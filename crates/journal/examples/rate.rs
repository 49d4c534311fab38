//! Appends a second with one and with 64 clients, beside bare INSERTs of the same payloads into a
//! table with a primary key, by one connection and with the same group commit.
//!
//! `cargo run --release -p waypost-journal --example rate -- URL [SECONDS]`

use std::error::Error;
use std::io::Write as _;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use tokio_postgres::types::Type;
use waypost_journal::{Journal, Outcome, Position, Record, Settings, StoreId, Until};
use waypost_log::group_commit::{Lead, Queue};

const PAYLOAD_BYTES: usize = 500;
const GROUP_MAX: usize = 1024;

type Failure = Box<dyn Error + Send + Sync>;
/// Writes a group of payloads and returns when they are committed.
type Sink<'a> = Mutex<Box<dyn FnMut(&[Vec<u8>]) -> Result<(), Failure> + Send + 'a>>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("usage: rate URL [SECONDS]")?;
    let time = Duration::from_secs(arguments.next().map_or(Ok(2), |argument| argument.parse())?);
    let mut out = std::io::stdout().lock();
    for clients in [1, 64] {
        for round in 1..=5 {
            let bare = rate(clients, time, &bare(&url)?)?;
            let journal = rate(clients, time, &journal(&url, round, clients)?)?;
            let ratio = journal / bare;
            writeln!(
                out,
                "{clients:>2} clients, round {round}: {journal:>7.0} records/s, bare {bare:>7.0}/s, \
                 ratio {ratio:.2}"
            )?;
        }
    }
    Ok(())
}

/// Records a second that `clients` threads write, each waiting for its own.
fn rate(clients: usize, time: Duration, sink: &Sink<'_>) -> Result<f64, Failure> {
    let queue: Queue<Vec<u8>, bool> = Queue::default();
    let lead = |lead: &Lead<'_, Vec<u8>, bool>| {
        let mut left = GROUP_MAX;
        let group = lead.take(|_| {
            left = left.saturating_sub(1);
            left > 0
        });
        let (payloads, replies): (Vec<_>, Vec<_>) =
            group.into_iter().map(|group| (group.request, group.reply)).unzip();
        let done = sink.lock().is_ok_and(|mut sink| sink(&payloads).is_ok());
        for reply in replies {
            reply.answer(done);
        }
    };
    let (counts, counted) = mpsc::channel();
    let start = now();
    std::thread::scope(|scope| {
        for client in 0..clients {
            let (counts, queue, lead) = (counts.clone(), &queue, &lead);
            scope.spawn(move || {
                let mut count = 0_u32;
                while start.elapsed() < time {
                    let mut payload = vec![client as u8; PAYLOAD_BYTES];
                    payload[..4].copy_from_slice(&count.to_le_bytes());
                    if queue.submit(payload, lead) != Some(true) {
                        return;
                    }
                    count += 1;
                }
                counts.send(count).ok();
            });
        }
    });
    drop(counts);
    let counts: Vec<u32> = counted.iter().collect();
    if counts.len() != clients {
        return Err("a client failed".into());
    }
    let total: u32 = counts.iter().sum();
    Ok(f64::from(total) / start.elapsed().as_secs_f64())
}

fn journal(url: &str, round: u8, clients: usize) -> Result<Sink<'static>, Failure> {
    let settings = Settings::parse(url, &|name| std::env::var_os(name))?;
    let until = || Until::within(Duration::from_secs(60));
    let mut store = [0; 16];
    getrandom::fill(&mut store[2..]).map_err(|error| error.to_string())?;
    (store[0], store[1]) = (round, clients as u8);
    let journal = Journal::create(settings, StoreId(store), &until())?;
    let mut after = Position::start(journal.store());
    Ok(Mutex::new(Box::new(move |payloads| {
        let records: Vec<Record> = payloads
            .iter()
            .zip(after.seq + 1..)
            .map(|(payload, place)| Record {
                part: 0,
                place,
                kind: 1,
                version: 1,
                payload: payload.clone(),
            })
            .collect();
        match journal.append(after, &records, None, &until())? {
            Outcome::Appended(end) => after = end,
            other => return Err(format!("{other:?}").into()),
        }
        Ok(())
    })))
}

fn bare(url: &str) -> Result<Sink<'static>, Failure> {
    const INSERT: &str = "INSERT INTO bare SELECT * FROM unnest($1::int8[], $2::bytea[])";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (client, connection) =
        runtime.block_on(tokio_postgres::connect(url, tokio_postgres::NoTls))?;
    runtime.spawn(connection);
    runtime.block_on(client.batch_execute(
        "DROP TABLE IF EXISTS bare; CREATE TABLE bare (id int8 PRIMARY KEY, payload bytea NOT NULL)",
    ))?;
    let mut next = 0_i64;
    Ok(Mutex::new(Box::new(move |payloads| {
        let ids: Vec<i64> = (next..).take(payloads.len()).collect();
        next += ids.len() as i64;
        let parameters = [
            (&ids as &(dyn tokio_postgres::types::ToSql + Sync), Type::INT8_ARRAY),
            (&payloads, Type::BYTEA_ARRAY),
        ];
        runtime.block_on(client.query_typed(INSERT, &parameters))?;
        Ok(())
    })))
}

#[expect(clippy::disallowed_methods, reason = "a program that measures")]
fn now() -> Instant {
    Instant::now()
}
