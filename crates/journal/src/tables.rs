//! The tables, as SQL.

/// Under an advisory lock, because two `CREATE … IF NOT EXISTS` at the same time can both fail.
/// Chunks are stored as they are: PostgreSQL's compression would cost more time than it saves.
const CREATE: &str = "BEGIN;
SET LOCAL synchronous_commit = on;
SELECT pg_advisory_xact_lock(hashtext('{schema}.head'));
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE IF NOT EXISTS {schema}.head (
    store uuid PRIMARY KEY,
    schema_version int4 NOT NULL,
    incarnation int8 NOT NULL,
    seq int8 NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    probe int8 NOT NULL,
    lease_epoch int8 NOT NULL,
    lease_counter int8 NOT NULL,
    lease_holder uuid,
    base_seq int8 NOT NULL CHECK (base_seq BETWEEN 0 AND seq),
    base_hash bytea NOT NULL CHECK (octet_length(base_hash) = 32),
    feature int4 NOT NULL DEFAULT 1
) WITH (fillfactor = 10);
CREATE TABLE IF NOT EXISTS {schema}.journal (
    store uuid NOT NULL,
    seq int8 NOT NULL,
    epoch int8 NOT NULL,
    part int2 NOT NULL,
    place int8 NOT NULL,
    kind int2 NOT NULL,
    version int2 NOT NULL,
    batch uuid NOT NULL,
    payload bytea NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (store, seq)
);
CREATE TABLE IF NOT EXISTS {schema}.snapshot (
    store uuid NOT NULL,
    id uuid NOT NULL,
    incarnation int8 NOT NULL,
    seq int8 NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    parts int2[] NOT NULL,
    places int8[] NOT NULL CHECK (cardinality(places) = cardinality(parts)),
    machine uuid NOT NULL,
    bytes int8 NOT NULL,
    chunks int4 NOT NULL,
    sha256 bytea CHECK (octet_length(sha256) = 32),
    chunks_sha256 bytea CHECK (octet_length(chunks_sha256) = 32),
    started timestamptz NOT NULL,
    written timestamptz NOT NULL,
    finished timestamptz CHECK (finished IS NULL OR (sha256 IS NOT NULL AND chunks_sha256 IS NOT NULL)),
    PRIMARY KEY (store, id)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS {schema}.snapshot_chunk (
    store uuid NOT NULL,
    snapshot uuid NOT NULL,
    number int4 NOT NULL,
    bytes bytea NOT NULL CHECK (octet_length(bytes) BETWEEN 1 AND 1048576),
    sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
    PRIMARY KEY (store, snapshot, number)
);
ALTER TABLE {schema}.snapshot_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS {schema}.machine (
    store uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL CHECK (octet_length(name) <= 128),
    release text NOT NULL CHECK (octet_length(release) <= 128),
    feature int4 NOT NULL,
    incarnation int8 NOT NULL,
    seq int8 NOT NULL,
    purged int8 NOT NULL,
    base int8 NOT NULL,
    removed int8 NOT NULL DEFAULT 0,
    flows bytea CHECK (octet_length(flows) = 32),
    fault text CHECK (octet_length(fault) <= 1024),
    counter int8 NOT NULL,
    seen timestamptz NOT NULL,
    joined timestamptz NOT NULL,
    forgotten timestamptz,
    PRIMARY KEY (store, id)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS {schema}.vector (
    store uuid NOT NULL,
    text bytea NOT NULL CHECK (octet_length(text) = 32),
    model bytea NOT NULL,
    vector bytea,
    claimed_by uuid,
    claimed_until timestamptz,
    written timestamptz NOT NULL,
    PRIMARY KEY (store, text, model)
);";

const COMPLETE: &str =
    "ALTER TABLE {schema}.machine ADD COLUMN IF NOT EXISTS removed int8 NOT NULL DEFAULT 0;
ALTER TABLE {schema}.machine ADD COLUMN IF NOT EXISTS flows bytea CHECK (octet_length(flows) = 32);
ALTER TABLE {schema}.machine ADD COLUMN IF NOT EXISTS fault text CHECK (octet_length(fault) <= 1024);
ALTER TABLE {schema}.head ADD COLUMN IF NOT EXISTS feature int4 NOT NULL DEFAULT 1;";

const QUESTION: &str = "CREATE TABLE IF NOT EXISTS {schema}.question (
    store uuid NOT NULL,
    id uuid NOT NULL,
    model bytea,
    text text NOT NULL CHECK (octet_length(text) <= 65536),
    asked timestamptz NOT NULL,
    vector bytea,
    name text,
    answered_by bytea,
    PRIMARY KEY (store, id)
)";

/// Creates all tables in a transaction, which is not committed.
pub(crate) fn create_tables() -> String {
    format!("{CREATE}\n{QUESTION}")
}

/// Adds what the first databases lack.
pub(crate) fn completion() -> String {
    format!("{COMPLETE}\n{QUESTION}")
}

/// What every machine needs. `DELETE` is checked by the operations that need it.
pub(crate) const NEEDED: [(&str, &str); 19] = [
    ("head", "SELECT"),
    ("head", "UPDATE"),
    ("journal", "SELECT"),
    ("journal", "INSERT"),
    ("snapshot", "SELECT"),
    ("snapshot", "INSERT"),
    ("snapshot", "UPDATE"),
    ("snapshot_chunk", "SELECT"),
    ("snapshot_chunk", "INSERT"),
    ("machine", "SELECT"),
    ("machine", "INSERT"),
    ("machine", "UPDATE"),
    ("vector", "SELECT"),
    ("vector", "INSERT"),
    ("vector", "UPDATE"),
    ("question", "SELECT"),
    ("question", "INSERT"),
    ("question", "UPDATE"),
    ("question", "DELETE"),
];
