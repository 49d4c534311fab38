//! The names of stores, appends, machines, snapshots and questions.

use std::error::Error as StdError;
use std::fmt;

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// A type of 16 bytes, which PostgreSQL stores and writes as a uuid.
macro_rules! id {
    ($(#[$doc:meta])* $vis:vis $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name($vis [u8; 16]);

        impl fmt::Display for $name {
            /// 32 hexadecimal digits in five groups.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let it = &self.0;
                for (at, group) in
                    [&it[..4], &it[4..6], &it[6..8], &it[8..10], &it[10..]].into_iter().enumerate()
                {
                    f.write_str(if at == 0 { "" } else { "-" })?;
                    hex(f, group)?;
                }
                Ok(())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl ToSql for $name {
            fn to_sql(
                &self,
                _: &Type,
                out: &mut BytesMut,
            ) -> std::result::Result<IsNull, Box<dyn StdError + Sync + Send>> {
                out.extend_from_slice(&self.0);
                Ok(IsNull::No)
            }

            fn accepts(kind: &Type) -> bool {
                *kind == Type::UUID
            }

            to_sql_checked!();
        }

        impl FromSql<'_> for $name {
            fn from_sql(
                _: &Type,
                raw: &[u8],
            ) -> std::result::Result<Self, Box<dyn StdError + Sync + Send>> {
                Ok(Self(raw.try_into()?))
            }

            fn accepts(kind: &Type) -> bool {
                *kind == Type::UUID
            }
        }
    };
}

id!(
    /// 16 random bytes that name a store.
    pub StoreId
);
id!(
    /// 16 random bytes that name one append.
    pub BatchId
);
id!(
    /// 16 random bytes that name one machine of a cluster.
    pub MachineId
);
id!(
    /// 16 random bytes that name one snapshot.
    pub SnapshotId
);
id!(
    /// 16 random bytes that name one question about a vector.
    pub(crate) QuestionId
);

pub(crate) fn hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}
