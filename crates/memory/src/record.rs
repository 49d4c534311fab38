//! The records of the log: everything that changes the state, with one kind for each change.
//!
//! | kind | name | payload, little-endian |
//! |---|---|---|
//! | 1 | add | id u64, at i64, body |
//! | 2 | update | id u64, version u32, at i64, body |
//! | 3 | delete | id u64, at i64 |
//! | 4 | link | from u64, to u64, kind u8, at i64 |
//! | 5 | unlink | from u64, to u64, kind u8, at i64 |
//! | 6 | purge | count u32, ids u64 |
//! | 7 | forget | count u32, id u64 and version u32 each: the texts below this version |
//! | 8 | taken | below u64: every id below it has been given out |
//! | 9 | notice | id u64 of the memory that was added, or 0; the note to its end |
//! | 10 | told | sequence u64: notices up to this record have been told |
//! | 11 and 12 | key and forget keys | see [`key`] |
//!
//! A body is a flag (1 full, 0 purged), space text, created i64, and unless purged: title text,
//! content text, kind text, tags texts, metadata, session optional text. A text is a length u32
//! and UTF-8. A record of another kind or version, or a link of another kind, comes from a newer
//! release.
//!
//! All kinds have version 1, and add and update also version 2, and update version 3. In version 2, a full body ends with
//! its lifespan, which is not the default one: flags u8 (1 valid from, 2 valid until, 4 expires at, 8
//! pinned), and an i64 for each flagged time in this order. Any other body has version 1.
//!
//! An update of version 3 restores a deleted memory; one of a lower version changes none. Before its
//! body, it has the version of that, u8.

mod key;

use std::borrow::Cow;

use waypost_log::{Entry, EntryRef};

pub(crate) use self::key::{Done, KeyRecord};
use self::key::{FORGET_KEYS_KIND, KEY_KIND};
use crate::body::{BODY_VERSION, Body, BodyText};
use crate::codec::{Malformed, Reader, Writer, link_code, link_kind};
use crate::{Error, LinkKind, MemoryId, Timestamp};

/// The newest version of a payload that this release writes and reads.
pub(crate) const RECORD_VERSION: u8 = 3;
const ADD_KIND: u8 = 1;
const UPDATE_KIND: u8 = 2;
/// Notices and records of their publication change no memory.
pub(crate) const NOTICE_KIND: u8 = 9;
const TOLD_KIND: u8 = 10;
const KINDS: std::ops::RangeInclusive<u8> = 1..=12;

/// Why a payload is not a record that this release can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// A newer release wrote it.
    Newer,
    Malformed(Malformed),
}

impl From<Malformed> for Unreadable {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl Unreadable {
    /// The store's error for a record of the log.
    pub(crate) fn of(self, sequence: u64) -> Error {
        match self {
            Self::Newer => Error::Newer {
                found: format!("record {sequence} of the log"),
                known: u32::from(RECORD_VERSION),
            },
            Self::Malformed(Malformed(why)) => Error::Damaged(format!(
                "record {sequence} of the log has a valid checksum but is malformed: {why}"
            )),
        }
    }
}

/// Whether this release reads records of a kind and a version.
pub(crate) fn can_read(kind: u8, version: u8) -> bool {
    let newest = match kind {
        ADD_KIND => BODY_VERSION,
        UPDATE_KIND => RECORD_VERSION,
        _ => 1,
    };
    KINDS.contains(&kind) && version <= newest
}

/// A record for the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) kind: u8,
    pub(crate) version: u8,
    pub(crate) payload: Vec<u8>,
}

/// The two ends and the kind of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) from: MemoryId,
    pub(crate) to: MemoryId,
    pub(crate) kind: LinkKind,
}

/// A change of the state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Record<'a> {
    Add {
        id: MemoryId,
        at: Timestamp,
        body: Cow<'a, Body>,
    },
    Update {
        id: MemoryId,
        version: u32,
        at: Timestamp,
        /// Whether the memory exists again if it was deleted.
        restores: bool,
        body: Cow<'a, Body>,
    },
    Delete {
        id: MemoryId,
        at: Timestamp,
    },
    Link {
        edge: Edge,
        at: Timestamp,
    },
    Unlink {
        edge: Edge,
        at: Timestamp,
    },
    Purge {
        ids: Vec<MemoryId>,
    },
    /// Removes the texts of the versions below one, for each memory.
    Forget {
        below: Vec<(MemoryId, u32)>,
    },
    /// Every id below this one has been assigned. A repair writes it.
    Taken {
        below: u64,
    },
    /// A note about the previous record.
    Notice {
        /// The memory that was added, if it is about one.
        id: Option<MemoryId>,
        note: Vec<u8>,
    },
    /// Notices up to this sequence have been published.
    Told {
        through: u64,
    },
    /// What the first command with a key did.
    Key(KeyRecord),
    /// The keys of earlier records than this one are forgotten.
    ForgetKeys {
        below: u64,
    },
}

impl Record<'static> {
    /// The record of an entry of the journal.
    pub(crate) fn of(entry: &EntryRef<'_>) -> Result<Self, Error> {
        Self::decode(entry.kind, entry.version, entry.payload)
            .map_err(|error| error.of(entry.sequence))
    }
}

impl Record<'_> {
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Self::Add { .. } => ADD_KIND,
            Self::Update { .. } => UPDATE_KIND,
            Self::Delete { .. } => 3,
            Self::Link { .. } => 4,
            Self::Unlink { .. } => 5,
            Self::Purge { .. } => 6,
            Self::Forget { .. } => 7,
            Self::Taken { .. } => 8,
            Self::Notice { .. } => NOTICE_KIND,
            Self::Told { .. } => TOLD_KIND,
            Self::Key(_) => KEY_KIND,
            Self::ForgetKeys { .. } => FORGET_KEYS_KIND,
        }
    }

    /// The record without what a purge removes. Its kind and version stay.
    pub(crate) fn purged(&self) -> Self {
        match self {
            Self::Add { id, at, body } => {
                Self::Add { id: *id, at: *at, body: Cow::Owned(body.purged()) }
            }
            Self::Update { id, version, at, restores, body } => Self::Update {
                id: *id,
                version: *version,
                at: *at,
                restores: *restores,
                body: Cow::Owned(body.purged()),
            },
            other => other.clone(),
        }
    }

    /// The lowest version that can express it, so that earlier releases read what they know.
    fn version(&self) -> u8 {
        match self {
            Self::Update { restores: true, .. } => RECORD_VERSION,
            Self::Add { body, .. } | Self::Update { body, .. } => body.version(),
            _ => 1,
        }
    }

    pub(crate) fn encoded(&self) -> Encoded {
        Encoded { kind: self.kind(), version: self.version(), payload: self.encode() }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        match self {
            Self::Add { id, at, body } => {
                out.u64(id.get());
                out.time(*at);
                body.encode(&mut out);
            }
            Self::Update { id, version, at, restores, body } => {
                out.u64(id.get());
                out.u32(*version);
                out.time(*at);
                if *restores {
                    out.u8(body.version());
                }
                body.encode(&mut out);
            }
            Self::Delete { id, at } => {
                out.u64(id.get());
                out.time(*at);
            }
            Self::Link { edge, at } | Self::Unlink { edge, at } => {
                out.u64(edge.from.get());
                out.u64(edge.to.get());
                out.u8(link_code(edge.kind));
                out.time(*at);
            }
            Self::Purge { ids } => {
                out.u32(u32::try_from(ids.len()).expect("a purge names a bounded number of ids"));
                for id in ids {
                    out.u64(id.get());
                }
            }
            Self::Forget { below } => {
                out.u32(u32::try_from(below.len()).expect("it names a bounded number of ids"));
                for (id, version) in below {
                    out.u64(id.get());
                    out.u32(*version);
                }
            }
            Self::Taken { below } => out.u64(*below),
            Self::Notice { id, note } => {
                out.u64(id.map_or(0, MemoryId::get));
                out.raw(note);
            }
            Self::Told { through } => out.u64(*through),
            Self::Key(record) => record.encode(&mut out),
            Self::ForgetKeys { below } => out.u64(*below),
        }
        out.into_bytes()
    }

    pub(crate) fn decode(kind: u8, version: u8, payload: &[u8]) -> Result<Self, Unreadable> {
        if !can_read(kind, version) {
            return Err(Unreadable::Newer);
        }
        match version {
            1..=RECORD_VERSION => Self::decode_known(kind, version, payload),
            _ => Err(Malformed("it has version 0").into()),
        }
    }

    /// Decodes a payload of a known version.
    fn decode_known(kind: u8, version: u8, payload: &[u8]) -> Result<Self, Unreadable> {
        let mut input = Reader::new(payload);
        let record = match kind {
            ADD_KIND => {
                let (id, at) = (read_id(&mut input)?, input.time()?);
                Self::Add { id, at, body: Cow::Owned(Body::decode(&mut input, version)?) }
            }
            UPDATE_KIND => {
                let (id, number, at) = (read_id(&mut input)?, input.u32()?, input.time()?);
                let restores = version == RECORD_VERSION;
                let version = if restores { input.u8()? } else { version };
                if !(1..=BODY_VERSION).contains(&version) {
                    return Err(Malformed("a body has an unknown version").into());
                }
                let body = Body::decode(&mut input, version)?;
                if restores && body.version() != version {
                    return Err(Malformed("a body has a wrong version").into());
                }
                Self::Update { id, version: number, at, restores, body: Cow::Owned(body) }
            }
            3 => Self::Delete { id: read_id(&mut input)?, at: input.time()? },
            4 => Self::Link { edge: read_edge(&mut input)?, at: input.time()? },
            5 => Self::Unlink { edge: read_edge(&mut input)?, at: input.time()? },
            6 => {
                let count = input.u32()?;
                let ids = (0..count).map(|_| read_id(&mut input));
                let ids = ids.collect::<Result<_, Malformed>>()?;
                Self::Purge { ids }
            }
            7 => {
                let count = input.u32()?;
                let each = |_| Ok((read_id(&mut input)?, input.u32()?));
                let below = (0..count).map(each).collect::<Result<_, Malformed>>()?;
                Self::Forget { below }
            }
            8 => Self::Taken { below: input.u64()? },
            NOTICE_KIND => {
                let id = match input.u64()? {
                    0 => None,
                    id => Some(MemoryId::new(id).ok_or(Malformed("an id is out of range"))?),
                };
                Self::Notice { id, note: input.rest().to_vec() }
            }
            TOLD_KIND => Self::Told { through: input.u64()? },
            KEY_KIND => Self::Key(KeyRecord::decode(&mut input)?),
            FORGET_KEYS_KIND => Self::ForgetKeys { below: input.u64()? },
            _ => return Err(Unreadable::Newer),
        };
        input.end()?;
        Ok(record)
    }
}

/// Whether a record of a shared journal and one of this machine's log, with the same number, are the same:
/// a purge may have removed the text of the local one.
pub fn is_same_record(shared: &Entry, local: &Entry) -> bool {
    let purged = || {
        let record = Record::decode(shared.kind, shared.version, &shared.payload).ok()?;
        Some(record.purged().encode())
    };
    let is_head_same = (shared.sequence, shared.kind, shared.version)
        == (local.sequence, local.kind, local.version);
    shared == local || is_head_same && purged().is_some_and(|purged| purged == local.payload)
}

/// Whether a record has a time. Others can be the same, byte for byte, in two histories of a store.
pub fn has_time(entry: &Entry) -> bool {
    let record = Record::decode(entry.kind, entry.version, &entry.payload);
    record.is_ok_and(|record| match record {
        Record::Add { .. }
        | Record::Update { .. }
        | Record::Delete { .. }
        | Record::Link { .. }
        | Record::Unlink { .. } => true,
        Record::Purge { .. }
        | Record::Forget { .. }
        | Record::Taken { .. }
        | Record::Notice { .. }
        | Record::Told { .. }
        | Record::Key(_)
        | Record::ForgetKeys { .. } => false,
    })
}

pub(crate) fn read_id(input: &mut Reader<'_>) -> Result<MemoryId, Malformed> {
    MemoryId::new(input.u64()?).ok_or(Malformed("an id is out of range"))
}

fn read_edge(input: &mut Reader<'_>) -> Result<Edge, Unreadable> {
    let (from, to, code) = (read_id(input)?, read_id(input)?, input.u8()?);
    let kind = match code {
        0 => return Err(Malformed("a link has no kind").into()),
        code => link_kind(code).ok_or(Unreadable::Newer)?,
    };
    Ok(Edge { from, to, kind })
}

/// The text in a record's payload, if it has one.
pub(crate) fn text_of(
    kind: u8,
    version: u8,
    payload: &[u8],
) -> Result<Option<BodyText>, Unreadable> {
    Ok(match Record::decode(kind, version, payload)? {
        Record::Add { body, .. } | Record::Update { body, .. } => body.into_owned().text,
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::RequestKey;
    use crate::{Lifespan, Metadata, Scalar, Vocabulary};

    fn id() -> impl Strategy<Value = MemoryId> {
        (1..=crate::limits::ID_MAX)
            .prop_map(|number| MemoryId::new(number).expect("it is in range"))
    }

    fn time() -> impl Strategy<Value = Timestamp> {
        any::<i64>().prop_map(Timestamp::from_millis)
    }

    fn metadata() -> impl Strategy<Value = Metadata> {
        let value = prop_oneof![
            ".*".prop_map(Scalar::String),
            any::<i64>().prop_map(Scalar::from),
            prop::num::f64::NORMAL.prop_map(|number| {
                Scalar::Number(serde_json::Number::from_f64(number).expect("it is finite"))
            }),
            any::<bool>().prop_map(Scalar::Bool),
        ];
        prop::collection::btree_map(".*", value, 0..4)
    }

    fn lifespan() -> impl Strategy<Value = Lifespan> {
        let time = || prop::option::of(time());
        (time(), time(), time(), any::<bool>()).prop_map(|(from, until, expires, is_pinned)| {
            Lifespan::default()
                .with_valid_from(from)
                .with_valid_until(until)
                .with_expires_at(expires)
                .with_pinned(is_pinned)
        })
    }

    fn body() -> impl Strategy<Value = Body> {
        let text = (
            (".*", ".*", ".*"),
            prop::collection::vec(".*", 0..4),
            metadata(),
            prop::option::of(".*"),
            lifespan(),
        );
        let text = text.prop_map(|((title, content, kind), tags, metadata, session, lifespan)| {
            BodyText { title, content, kind, tags, metadata, session, lifespan }
        });
        (".*", time(), prop::option::of(text)).prop_map(|(space, created_at, text)| Body {
            space,
            created_at,
            text,
        })
    }

    fn record() -> impl Strategy<Value = Record<'static>> {
        let edge = || {
            (id(), id(), 0..5_usize).prop_map(|(from, to, kind)| Edge {
                from,
                to,
                kind: LinkKind::ALL[kind],
            })
        };
        prop_oneof![
            (id(), time(), body()).prop_map(|(id, at, body)| Record::Add {
                id,
                at,
                body: Cow::Owned(body)
            }),
            (id(), any::<u32>(), time(), any::<bool>(), body()).prop_map(
                |(id, version, at, restores, body)| {
                    Record::Update { id, version, at, restores, body: Cow::Owned(body) }
                }
            ),
            (id(), time()).prop_map(|(id, at)| Record::Delete { id, at }),
            (edge(), time()).prop_map(|(edge, at)| Record::Link { edge, at }),
            (edge(), time()).prop_map(|(edge, at)| Record::Unlink { edge, at }),
            prop::collection::vec(id(), 0..9).prop_map(|ids| Record::Purge { ids }),
            prop::collection::vec((id(), any::<u32>()), 0..9)
                .prop_map(|below| Record::Forget { below }),
            any::<u64>().prop_map(|below| Record::Taken { below }),
            (prop::option::of(id()), prop::collection::vec(any::<u8>(), 0..9))
                .prop_map(|(id, note)| Record::Notice { id, note }),
            any::<u64>().prop_map(|through| Record::Told { through }),
            (any::<([u8; 16], [u8; 16])>(), time(), prop::option::of(done())).prop_map(
                |((id, request), at, done)| {
                    Record::Key(KeyRecord { key: RequestKey { id, request }, at, done })
                }
            ),
            any::<u64>().prop_map(|below| Record::ForgetKeys { below }),
        ]
    }

    fn done() -> impl Strategy<Value = Done> {
        let changed = || (id(), any::<u32>());
        prop_oneof![
            id().prop_map(|id| Done::Added { id }),
            changed().prop_map(|(id, version)| Done::Existed { id, version }),
            changed().prop_map(|(id, version)| Done::Changed { id, version }),
            Just(Done::Deleted),
            (any::<bool>(), time()).prop_map(|(is_new, at)| Done::Linked { is_new, at }),
            any::<bool>().prop_map(Done::Unlinked),
            (any::<bool>(), prop::option::of(id()))
                .prop_map(|(is_new, here)| Done::Imported { is_new, here }),
            Just(Done::Begun),
            prop::collection::vec(any::<u8>(), 0..9).prop_map(Done::Answered),
        ]
    }

    proptest! {
        #[test]
        fn a_record_reads_back_as_it_was_written(record in record()) {
            let Encoded { kind, version, payload } = record.encoded();
            prop_assert_eq!(Record::decode(kind, version, &payload), Ok(record));
        }

        #[test]
        fn a_record_that_is_cut_or_has_more_is_refused(record in record(), cut in any::<prop::sample::Index>()) {
            let Encoded { kind, version, payload: mut bytes } = record.encoded();
            let cut = cut.index(bytes.len());
            // A note and an answer extend to the end of the payload.
            let open_after = match &record {
                Record::Notice { .. } => Some(8),
                Record::Key(KeyRecord { done: Some(Done::Answered(_)), .. }) => Some(41),
                _ => None,
            };
            let is_open = open_after.is_some();
            let read = Record::decode(kind, version, &bytes[..cut]);
            prop_assert!(read.is_err() || open_after.is_some_and(|it| cut >= it));
            bytes.push(0);
            prop_assume!(!is_open);
            prop_assert!(Record::decode(kind, version, &bytes).is_err());
        }

        #[test]
        fn any_bytes_are_a_record_or_an_error(kind: u8, version in 0..5_u8, bytes: Vec<u8>) {
            if let Ok(record) = Record::decode(kind, version, &bytes) {
                prop_assert_eq!(record.encode(), bytes);
            }
        }
    }

    #[test]
    fn the_bytes_of_a_record_stay_as_they_are() {
        let edge = Edge {
            from: MemoryId::new(1).expect("valid"),
            to: MemoryId::new(0x0203).expect("valid"),
            kind: LinkKind::PartOf,
        };
        let record = Record::Link { edge, at: Timestamp::from_millis(-2) };
        assert_eq!(
            record.encode(),
            [
                1, 0, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 5, 254, 255, 255, 255, 255, 255,
                255, 255
            ]
        );
        let body = Body {
            space: "s".to_owned(),
            created_at: Timestamp::from_millis(1),
            text: Some(BodyText {
                title: "t".to_owned(),
                content: "cc".to_owned(),
                kind: "k".to_owned(),
                tags: vec!["a".to_owned()],
                metadata: [("m".to_owned(), Scalar::Bool(true))].into(),
                session: None,
                lifespan: Lifespan::default(),
            }),
        };
        let mut out = Writer::new();
        body.encode(&mut out);
        let expected: &[&[u8]] = &[
            &[1],
            b"\x01\0\0\0s",
            &[1, 0, 0, 0, 0, 0, 0, 0],
            b"\x01\0\0\0t",
            b"\x02\0\0\0cc",
            b"\x01\0\0\0k",
            b"\x01\0\0\0\x01\0\0\0a",
            b"\x01\0\0\0\x01\0\0\0m\x03\x01",
            &[0],
        ];
        assert_eq!(out.into_bytes(), expected.concat());
        let key = RequestKey { id: [7; 16], request: [9; 16] };
        let done = Some(Done::Changed { id: MemoryId::new(5).expect("valid"), version: 2 });
        let record = Record::Key(KeyRecord { key, at: Timestamp::from_millis(3), done });
        let expected: &[&[u8]] = &[
            &[7; 16],
            &[9; 16],
            &[3, 0, 0, 0, 0, 0, 0, 0],
            &[3, 5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0],
        ];
        assert_eq!((record.kind(), record.encode()), (11, expected.concat()));
    }

    #[test]
    fn only_a_body_with_a_lifespan_needs_the_newer_version() {
        let text = |lifespan| BodyText { lifespan, ..BodyText::default() };
        let record = |text| {
            let body = Body { space: String::new(), created_at: Timestamp::EPOCH, text };
            let id = MemoryId::new(1).expect("valid");
            Record::Add { id, at: Timestamp::EPOCH, body: Cow::Owned(body) }
        };
        assert_eq!(record(Some(text(Lifespan::default()))).encoded().version, 1);
        assert_eq!(record(None).encoded().version, 1);
        let pinned = record(Some(text(Lifespan::default().with_pinned(true)))).encoded();
        assert_eq!((pinned.version, pinned.payload.last()), (2, Some(&8)));
        assert!(can_read(1, 2) && !can_read(1, 3) && can_read(2, 3) && !can_read(2, 4));
        assert!(!can_read(3, 2) && can_read(9, 1));
    }
}
