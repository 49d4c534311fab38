//! Values on their way to and from PostgreSQL.

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use crate::error::{Error, Result};
use crate::id::{BatchId, MachineId, QuestionId, SnapshotId, StoreId};
use crate::position::Hash;

/// A parameter of a statement. With its type, a statement needs no round trip to prepare it and leaves
/// nothing behind in the session, so that PgBouncer can share sessions.
pub(crate) trait Parameter {
    fn typed(&self) -> (&(dyn ToSql + Sync), Type);
}

/// The type that values of a type have in PostgreSQL.
pub(crate) trait Typed {
    const TYPE: Type;
}

impl<T: Typed + ToSql + Sync> Parameter for T {
    fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        (self, T::TYPE)
    }
}

impl<T: Typed> Typed for Option<T> {
    const TYPE: Type = T::TYPE;
}

macro_rules! types {
    ($($rust:ty => $sql:ident),* $(,)?) => {
        $(impl Typed for $rust {
            const TYPE: Type = Type::$sql;
        })*
    };
}

types! {
    i32 => INT4,
    i64 => INT8,
    &str => TEXT,
    String => TEXT,
    &[u8] => BYTEA,
    Vec<u8> => BYTEA,
    StoreId => UUID,
    BatchId => UUID,
    MachineId => UUID,
    SnapshotId => UUID,
    QuestionId => UUID,
    Vec<i16> => INT2_ARRAY,
    Vec<i64> => INT8_ARRAY,
    Vec<&[u8]> => BYTEA_ARRAY,
    Vec<Vec<u8>> => BYTEA_ARRAY,
    Vec<QuestionId> => UUID_ARRAY,
}

/// A column of a row.
pub(crate) fn column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T> {
    row.try_get(at).map_err(|error| Error::Answer(error.to_string()))
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
