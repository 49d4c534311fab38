//! As much of PostgreSQL's protocol as bare INSERTs need: the messages of version 3.0.

use std::io::{Read, Write};

use anyhow::{Context as _, Result, bail, ensure};

/// The table of the journal, without anything around it.
pub(crate) const TABLE: &str = "DROP TABLE IF EXISTS bare; CREATE TABLE bare (\
    store uuid NOT NULL, seq int8 NOT NULL, epoch int8 NOT NULL, part int2 NOT NULL, \
    place int8 NOT NULL, kind int2 NOT NULL, version int2 NOT NULL, batch uuid NOT NULL, \
    payload bytea NOT NULL, hash bytea NOT NULL CHECK (octet_length(hash) = 32), \
    PRIMARY KEY (store, seq))";

const ONE: &str = "INSERT INTO bare VALUES ($1, $2, 0, $3, $4, $5, $6, $7, $8, $9)";
const MANY: &str = "INSERT INTO bare SELECT $1, unnest($2::int8[]), 0, unnest($3::int2[]), \
    unnest($4::int8[]), unnest($5::int2[]), unnest($6::int2[]), $7, unnest($8::bytea[]), \
    unnest($9::bytea[])";

const INT2: u32 = 21;
const INT8: u32 = 20;
const BYTEA: u32 = 17;
const UUID: u32 = 2950;
const INT2_ARRAY: u32 = 1005;
const INT8_ARRAY: u32 = 1016;
const BYTEA_ARRAY: u32 = 1001;

/// A statement that was prepared once, and how many rows it writes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Insert {
    One,
    Rows(usize),
}

/// Begins a session without a password, and prepares both statements.
pub(crate) fn greet(stream: &mut (impl Read + Write)) -> Result<()> {
    let mut startup = 196_608_u32.to_be_bytes().to_vec();
    startup.extend(b"user\0waypost\0database\0bare\0\0");
    let mut out = (startup.len() as u32 + 4).to_be_bytes().to_vec();
    out.extend(startup);
    stream.write_all(&out)?;
    answered(stream)?;
    let mut out = Vec::new();
    parse(&mut out, "one", ONE, &[UUID, INT8, INT2, INT8, INT2, INT2, UUID, BYTEA, BYTEA]);
    let arrays =
        [UUID, INT8_ARRAY, INT2_ARRAY, INT8_ARRAY, INT2_ARRAY, INT2_ARRAY, UUID, BYTEA_ARRAY];
    parse(&mut out, "many", MANY, &[&arrays[..], &[BYTEA_ARRAY]].concat());
    message(&mut out, b'S', |_| {});
    stream.write_all(&out)?;
    answered(stream)
}

/// Waits until the server is ready for the next statement.
fn answered(stream: &mut impl Read) -> Result<()> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    while length(&bytes)?.is_none() {
        let count = stream.read(&mut part)?;
        ensure!(count > 0, "the server closed the connection");
        bytes.extend(&part[..count]);
    }
    Ok(())
}

/// The length of an answer that has come wholly: up to `ReadyForQuery`.
pub(crate) fn length(bytes: &[u8]) -> Result<Option<usize>> {
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + 5) {
        let size = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let Some(body) = bytes.get(at + 5..at + 1 + size) else { return Ok(None) };
        if head[0] == b'E' {
            bail!("PostgreSQL: {}", String::from_utf8_lossy(body));
        }
        at += 1 + size;
        if head[0] == b'Z' {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// One statement that is committed before its answer: rows from this number on with payloads of
/// this size.
pub(crate) fn insert(out: &mut Vec<u8>, insert: Insert, first: u64, payload: &[u8]) -> Result<()> {
    let (name, rows) = match insert {
        Insert::One => ("one", 1),
        Insert::Rows(rows) => ("many", rows),
    };
    let rows = u32::try_from(rows).context("too many rows")?;
    message(out, b'B', |out| {
        out.extend(b"\0");
        out.extend(name.as_bytes());
        // All parameters are binary.
        out.extend(b"\0\0\x01\0\x01\0\x09");
        let is_one = matches!(insert, Insert::One);
        let numbers = |out: &mut Vec<u8>| {
            column(out, is_one, INT8, rows, |out, at| {
                value(out, &(first + u64::from(at)).to_be_bytes());
            });
        };
        let short = |out: &mut Vec<u8>| {
            column(out, is_one, INT2, rows, |out, _| value(out, &1_u16.to_be_bytes()));
        };
        value(out, &[7; 16]);
        numbers(out);
        short(out);
        numbers(out);
        short(out);
        short(out);
        value(out, &(u128::from(first) << 64 | u128::from(rows)).to_be_bytes());
        column(out, is_one, BYTEA, rows, |out, at| {
            let size = out.len() + 4;
            value(out, payload);
            let unique = (first + u64::from(at)).to_be_bytes();
            if payload.len() >= unique.len() {
                out[size..size + unique.len()].copy_from_slice(&unique);
            }
        });
        column(out, is_one, BYTEA, rows, |out, at| {
            let mut hash = [0; 32];
            for (place, byte) in hash.iter_mut().enumerate() {
                *byte = (first + u64::from(at)).wrapping_mul(0x9E37_79B9_7F4A_7C15 + place as u64)
                    as u8;
            }
            value(out, &hash);
        });
        out.extend(b"\0\0");
    });
    message(out, b'E', |out| out.extend(b"\0\0\0\0\0"));
    message(out, b'S', |_| {});
    Ok(())
}

fn parse(out: &mut Vec<u8>, name: &str, statement: &str, kinds: &[u32]) {
    message(out, b'P', |out| {
        for text in [name, statement] {
            out.extend(text.as_bytes());
            out.push(0);
        }
        out.extend((kinds.len() as u16).to_be_bytes());
        for kind in kinds {
            out.extend(kind.to_be_bytes());
        }
    });
}

fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    sized(out, 4, body);
}

/// A value with its length before it.
fn value(out: &mut Vec<u8>, bytes: &[u8]) {
    sized(out, 0, |out| out.extend(bytes));
}

fn sized(out: &mut Vec<u8>, own: usize, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; 4]);
    body(out);
    let size = (out.len() - at - 4 + own) as u32;
    out[at..at + 4].copy_from_slice(&size.to_be_bytes());
}

/// One value, or an array of one value for each row.
fn column(
    out: &mut Vec<u8>,
    is_one: bool,
    kind: u32,
    rows: u32,
    element: impl Fn(&mut Vec<u8>, u32),
) {
    if is_one {
        return element(out, 0);
    }
    sized(out, 0, |out| {
        // One dimension, without NULL, from index 1 on.
        for number in [1, 0, kind, rows, 1] {
            out.extend(number.to_be_bytes());
        }
        for at in 0..rows {
            element(out, at);
        }
    });
}
