//! The tables, and the checks that they are those of this store.

use crate::connect::connect;
use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::StoreId;
use crate::limits::SCHEMA_VERSION;
use crate::link::Link;
use crate::position::Position;
use crate::settings::Settings;
use crate::sql::{column, number};
use crate::tables::{NEEDED, completion, create_tables};

const INSERT: &str = "INSERT INTO {schema}.head \
     (store, schema_version, incarnation, seq, hash, probe, lease_epoch, lease_counter, base_seq, \
     base_hash) VALUES ($1, $2, 1, 0, $3, 0, 0, 0, 0, $3) \
     ON CONFLICT (store) DO NOTHING RETURNING 1";

/// Creates the tables if necessary, and an empty journal of a store.
pub(crate) fn create(settings: &Settings, store: StoreId, until: &Until) -> Result<()> {
    let (mut link, _) = connect(settings, 0, until)?;
    // A user who may not create schemas can use tables that exist.
    if !exists(&mut link, until)? {
        link.simple(&create_tables(), until)?;
        link.simple("COMMIT", until)?;
    }
    let hash = Position::start(store).hash.0;
    let rows = link.query(INSERT, &[&store, &SCHEMA_VERSION, &hash.as_slice()], until)?;
    if rows.is_empty() { Err(Error::Exists(store)) } else { Ok(()) }
}

/// Refuses a database that has no tables, newer ones, or none of this store.
pub(crate) fn check(
    link: &mut Link,
    settings: &Settings,
    store: StoreId,
    until: &Until,
) -> Result<()> {
    if !exists(link, until)? {
        return Err(Error::Missing(settings.schema.clone()));
    }
    if !is_complete(link, until)? {
        link.simple(&completion(), until)?;
    }
    privileges(link, settings, &NEEDED, until)?;
    let version = "SELECT schema_version FROM {schema}.head WHERE store = $1";
    let rows = link.query(version, &[&store], until)?;
    let Some(row) = rows.first() else {
        let found = stores(link, until)?;
        return Err(Error::OtherStore { expected: store, found });
    };
    let found = column(row, 0)?;
    if found > SCHEMA_VERSION {
        return Err(Error::Newer { found, supported: SCHEMA_VERSION });
    }
    Ok(())
}

/// Refuses a user who lacks one of these privileges, each with its table.
pub(crate) fn privileges(
    link: &mut Link,
    settings: &Settings,
    needed: &[(&str, &str)],
    until: &Until,
) -> Result<()> {
    let schema = &settings.schema;
    let mut sql = format!("SELECT has_schema_privilege('{schema}', 'USAGE')");
    for (table, privilege) in needed {
        sql = format!("{sql}, has_table_privilege('{schema}.{table}', '{privilege}')");
    }
    let rows = link.query(&sql, &[], until)?;
    let row = rows.first().ok_or_else(|| Error::Answer("no row of privileges".to_owned()))?;
    if !column::<bool>(row, 0)? {
        return Err(Error::Privilege(format!("USAGE on the schema {schema}")));
    }
    for (at, (table, privilege)) in needed.iter().enumerate() {
        if !column::<bool>(row, at + 1)? {
            return Err(Error::Privilege(format!("{privilege} on {schema}.{table}")));
        }
    }
    Ok(())
}

impl crate::Journal {
    /// Lists the stores in the database that a machine has joined, each with its incarnation: the
    /// others are left from a creation that was interrupted.
    ///
    /// # Errors
    /// If no server answers; [`Error::Missing`] if the database has no tables.
    pub fn stores(settings: &Settings, until: &Until) -> Result<Vec<(StoreId, u64)>> {
        let (mut link, _) = connect(settings, 0, until)?;
        if !exists(&mut link, until)? {
            return Err(Error::Missing(settings.schema.clone()));
        }
        let sql = "SELECT store, incarnation FROM {schema}.head AS head WHERE EXISTS \
             (SELECT FROM {schema}.machine AS it WHERE it.store = head.store) ORDER BY store";
        let rows = link.query(sql, &[], until)?;
        rows.iter().map(|row| Ok((column(row, 0)?, number(row, 1)?))).collect()
    }
}

/// The stores of the database, for a message.
fn stores(link: &mut Link, until: &Until) -> Result<String> {
    let rows = link.query("SELECT store FROM {schema}.head ORDER BY store LIMIT 4", &[], until)?;
    let mut names = Vec::new();
    for row in &rows {
        names.push(column::<StoreId>(row, 0)?.to_string());
    }
    Ok(match names.len() {
        0 => "none".to_owned(),
        4 => format!("{} and others", names[..3].join(", ")),
        _ => names.join(", "),
    })
}

/// Whether the tables have all columns of this release.
fn is_complete(link: &mut Link, until: &Until) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT FROM pg_attribute WHERE \
         attrelid = '{schema}.machine'::regclass AND attname = 'fault' AND NOT attisdropped)";
    is_true(link, sql, until)
}

fn exists(link: &mut Link, until: &Until) -> Result<bool> {
    is_true(link, "SELECT to_regclass('{schema}.head') IS NOT NULL", until)
}

fn is_true(link: &mut Link, sql: &str, until: &Until) -> Result<bool> {
    let rows = link.query(sql, &[], until)?;
    rows.first().map_or(Ok(false), |row| column(row, 0))
}
