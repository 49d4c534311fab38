//! The tables, and the checks that they are those of this store.

use tokio_postgres::types::Type;

use crate::connect::{connect, unsent};
use crate::error::{Error, Result};
use crate::limits::SCHEMA_VERSION;
use crate::link::Link;
use crate::position::{Position, StoreId};
use crate::settings::Settings;
use crate::sql::{Uuid, column, number};
use crate::tables::{COMPLETE, CREATE, NEEDED};
use crate::until::Until;

const INSERT: &str = "INSERT INTO {schema}.head \
     (store, schema_version, incarnation, seq, hash, probe, lease_epoch, lease_counter, base_seq, \
     base_hash) VALUES ($1, $2, 1, 0, $3, 0, 0, 0, 0, $3) \
     ON CONFLICT (store) DO NOTHING RETURNING 1";

/// Creates the tables if necessary, and an empty journal of a store.
pub(crate) fn create(settings: &Settings, store: StoreId, until: &Until) -> Result<()> {
    let (mut link, _) = connect(settings, 0, until)?;
    let sql = |text: &str| text.replace("{schema}", &settings.schema);
    // A user who may not create schemas can use tables that exist.
    if !exists(&mut link, settings, until)? {
        link.simple(&sql(CREATE), until).map_err(unsent)?;
        link.simple("COMMIT", until).map_err(unsent)?;
    }
    let hash = Position::start(store).hash.0;
    let rows = link.query(
        &sql(INSERT),
        &[
            (&Uuid(store.0), Type::UUID),
            (&SCHEMA_VERSION, Type::INT4),
            (&hash.as_slice(), Type::BYTEA),
        ],
        until,
    );
    if rows.map_err(unsent)?.is_empty() { Err(Error::Exists(store)) } else { Ok(()) }
}

/// Refuses a database that has no tables, newer ones, or none of this store.
pub(crate) fn check(
    link: &mut Link,
    settings: &Settings,
    store: StoreId,
    until: &Until,
) -> Result<()> {
    if !exists(link, settings, until)? {
        return Err(Error::Missing(settings.schema.clone()));
    }
    let sql = |text: &str| text.replace("{schema}", &settings.schema);
    if !is_complete(link, settings, until)? {
        link.simple(&sql(COMPLETE), until).map_err(unsent)?;
    }
    privileges(link, settings, &NEEDED, until)?;
    let rows = link.query(
        &sql("SELECT schema_version FROM {schema}.head WHERE store = $1"),
        &[(&Uuid(store.0), Type::UUID)],
        until,
    );
    let rows = rows.map_err(unsent)?;
    let Some(row) = rows.first() else {
        let found = stores(link, settings, until)?;
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
    let rows = link.query(&sql, &[], until).map_err(unsent)?;
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
        if !exists(&mut link, settings, until)? {
            return Err(Error::Missing(settings.schema.clone()));
        }
        let sql = "SELECT store, incarnation FROM {schema}.head AS head WHERE EXISTS \
             (SELECT FROM {schema}.machine AS it WHERE it.store = head.store) ORDER BY store"
            .replace("{schema}", &settings.schema);
        let rows = link.query(&sql, &[], until).map_err(unsent)?;
        rows.iter().map(|row| Ok((StoreId(column::<Uuid>(row, 0)?.0), number(row, 1)?))).collect()
    }
}

/// The stores of the database, for a message.
fn stores(link: &mut Link, settings: &Settings, until: &Until) -> Result<String> {
    let sql = format!("SELECT store FROM {}.head ORDER BY store LIMIT 4", settings.schema);
    let rows = link.query(&sql, &[], until).map_err(unsent)?;
    let mut names = Vec::new();
    for row in &rows {
        names.push(StoreId(column::<Uuid>(row, 0)?.0).to_string());
    }
    Ok(match names.len() {
        0 => "none".to_owned(),
        4 => format!("{} and others", names[..3].join(", ")),
        _ => names.join(", "),
    })
}

/// Whether the tables have all columns of this release.
fn is_complete(link: &mut Link, settings: &Settings, until: &Until) -> Result<bool> {
    let sql = format!(
        "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = '{}.machine'::regclass \
         AND attname = 'fault' AND NOT attisdropped)",
        settings.schema
    );
    let rows = link.query(&sql, &[], until).map_err(unsent)?;
    rows.first().map_or(Ok(false), |row| column(row, 0))
}

fn exists(link: &mut Link, settings: &Settings, until: &Until) -> Result<bool> {
    let sql = format!("SELECT to_regclass('{}.head') IS NOT NULL", settings.schema);
    let rows = link.query(&sql, &[], until).map_err(unsent)?;
    rows.first().map_or(Ok(false), |row| column(row, 0))
}
