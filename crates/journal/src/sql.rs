//! Values on their way to and from PostgreSQL.

use std::error::Error as StdError;

use bytes::{BufMut as _, BytesMut};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::error::{Error, Result};
use crate::position::Hash;

/// A uuid as its 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Uuid(pub(crate) [u8; 16]);

impl ToSql for Uuid {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn StdError + Sync + Send>> {
        out.put_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Uuid {
    fn from_sql(
        _: &Type,
        raw: &'a [u8],
    ) -> std::result::Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(raw.try_into()?))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }
}

/// A column of a row.
pub(crate) fn column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T> {
    row.try_get(at).map_err(|it| Error::Answer(it.to_string()))
}

/// A column with a number that is not negative.
pub(crate) fn number(row: &Row, at: usize) -> Result<u64> {
    let value: i64 = column(row, at)?;
    u64::try_from(value).map_err(|_| Error::Answer(format!("{value} in column {at}")))
}

/// A column with a hash.
pub(crate) fn hash(row: &Row, at: usize) -> Result<Hash> {
    let bytes: &[u8] = column(row, at)?;
    let hash = bytes.try_into();
    hash.map(Hash).map_err(|_| Error::Answer(format!("a hash of {} bytes", bytes.len())))
}

/// A number as PostgreSQL stores it.
pub(crate) fn bigint(value: u64) -> Result<i64> {
    i64::try_from(value).map_err(|_| Error::Invalid(format!("{value} is 2^63 or more")))
}

/// A feature level.
pub(crate) fn feature(row: &Row, at: usize) -> Result<u32> {
    let feature: i32 = column(row, at)?;
    u32::try_from(feature).map_err(|_| Error::Answer(format!("feature level {feature}")))
}
