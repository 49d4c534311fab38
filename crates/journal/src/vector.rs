//! Vectors of texts: computed once in the cluster for each text and model, and used by all.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_postgres::Row;

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::MachineId;
use crate::journal::Journal;
use crate::limits::{MODEL_BYTES_MAX, VECTOR_BYTES_MAX, VECTORS_MAX};
use crate::snapshot::in_millis;
use crate::sql::{Parameter, column, hash, number};

/// The SHA-256 hash of a text.
pub type TextHash = [u8; 32];

/// What became of the texts of which a machine wants the vectors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claimed {
    /// The vectors that exist.
    pub have: Vec<(TextHash, Vec<u8>)>,
    /// The texts that the caller computes now: nobody else does before the lease ends.
    pub claimed: Vec<TextHash>,
    /// The texts that another machine computes. Ask again later.
    pub others: Vec<TextHash>,
}

const GET: &str = "SELECT text, vector FROM {schema}.vector \
     WHERE store = $1 AND text = ANY($3) AND model = $2 AND vector IS NOT NULL";

/// Claims texts that nobody has claimed, and those whose claim has ended or is the caller's. In
/// the order of the texts, so that two claims never wait for each other. What the server loses of
/// it in a crash is claimed again.
const CLAIM: &str = "WITH setting AS MATERIALIZED (\
         SELECT set_config('synchronous_commit', 'off', true)\
     ), added AS (\
         INSERT INTO {schema}.vector (store, model, text, claimed_by, claimed_until, written) \
         SELECT $1, $2, wanted, $4, clock_timestamp() + $5 * interval '1 millisecond', \
             clock_timestamp() \
         FROM setting, unnest($3::bytea[]) AS wanted ORDER BY wanted \
         ON CONFLICT (store, text, model) DO NOTHING RETURNING text\
     ), free AS MATERIALIZED (\
         SELECT text FROM {schema}.vector \
         WHERE store = $1 AND text = ANY($3) AND model = $2 AND vector IS NULL \
         AND (claimed_by = $4 OR claimed_until < clock_timestamp()) \
         FOR UPDATE SKIP LOCKED\
     ), taken AS (\
         UPDATE {schema}.vector AS it SET claimed_by = $4, written = clock_timestamp(), \
             claimed_until = clock_timestamp() + $5 * interval '1 millisecond' \
         FROM free WHERE it.store = $1 AND it.text = free.text AND it.model = $2 RETURNING it.text\
     ) SELECT text FROM added UNION ALL SELECT text FROM taken";

/// The first vector stays. A text that was removed since it was claimed is not added again.
const PUT: &str = "WITH computed AS MATERIALIZED (\
         SELECT it.text, given.vector FROM {schema}.vector AS it, \
             unnest($3::bytea[], $4::bytea[]) AS given (text, vector) \
         WHERE it.store = $1 AND it.text = given.text AND it.model = $2 AND it.vector IS NULL \
         AND set_config('synchronous_commit', 'off', true) = 'off' \
         ORDER BY it.text FOR UPDATE OF it\
     ) UPDATE {schema}.vector AS it SET vector = computed.vector, claimed_by = NULL, \
         claimed_until = NULL, written = clock_timestamp() \
     FROM computed WHERE it.store = $1 AND it.text = computed.text AND it.model = $2";

/// Looks at a page of rows and deletes those that are old; returns where the page ends.
const TRIM: &str = "WITH page AS MATERIALIZED (\
         SELECT text, model, written FROM {schema}.vector \
         WHERE store = $1 AND (text, model) > ($2, $3) ORDER BY text, model LIMIT $4\
     ), gone AS (\
         DELETE FROM {schema}.vector AS it USING page \
         WHERE it.store = $1 AND it.text = page.text AND it.model = page.model \
         AND it.written = page.written \
         AND it.written < clock_timestamp() - $5 * interval '1 millisecond' RETURNING 1\
     ) SELECT text, model, (SELECT count(*) FROM gone) FROM page \
     ORDER BY text DESC, model DESC LIMIT 1";

/// How many rows one statement of a trim looks at.
const PAGE: i64 = 5000;

impl Journal {
    /// Returns the vectors that exist, and claims the other texts for this machine, unless another
    /// one computes them. A claim ends after `lease`, by the server's clock, or when the vector is
    /// put. A machine that claims a text again gets it again.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond [`VECTORS_MAX`] texts, or with a fingerprint beyond
    /// [`MODEL_BYTES_MAX`].
    pub fn claim_vectors(
        &self,
        model: &[u8],
        wanted: &[TextHash],
        machine: MachineId,
        lease: Duration,
        until: &Until,
    ) -> Result<Claimed> {
        let have = self.get_vectors(model, wanted, until)?;
        let mut rest: BTreeSet<TextHash> = wanted.iter().copied().collect();
        for (text, _) in &have {
            rest.remove(text);
        }
        if rest.is_empty() {
            return Ok(Claimed { have, ..Claimed::default() });
        }
        let texts: Vec<&[u8]> = rest.iter().map(<[u8; 32]>::as_slice).collect();
        let lease = in_millis(lease);
        let rows =
            self.repeat_query(CLAIM, &[&self.store, &model, &texts, &machine, &lease], until)?;
        let mut claimed = Vec::with_capacity(rows.len());
        for row in &rows {
            claimed.push(hash(row, 0)?.0);
        }
        for text in &claimed {
            rest.remove(text);
        }
        Ok(Claimed { have, claimed, others: rest.into_iter().collect() })
    }

    /// Stores the vectors of texts that the caller has claimed, and returns how many were new. If
    /// two machines have computed the same text, the first vector stays; a text that was removed
    /// since is not added again.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond [`VECTORS_MAX`] vectors or [`VECTOR_BYTES_MAX`], or if a text
    /// occurs twice.
    pub fn put_vectors(
        &self,
        model: &[u8],
        vectors: &[(TextHash, Vec<u8>)],
        until: &Until,
    ) -> Result<u64> {
        check(model, vectors.len())?;
        let texts: Vec<&[u8]> = vectors.iter().map(|vector| vector.0.as_slice()).collect();
        if texts.iter().collect::<BTreeSet<_>>().len() < texts.len() {
            return Err(Error::Invalid("a text has two vectors".to_owned()));
        }
        if let Some((_, it)) = vectors.iter().find(|vector| vector.1.len() > VECTOR_BYTES_MAX) {
            let bytes = it.len();
            return Err(Error::Invalid(format!(
                "a vector has at most {VECTOR_BYTES_MAX} bytes, not {bytes}"
            )));
        }
        let values: Vec<&[u8]> = vectors.iter().map(|vector| vector.1.as_slice()).collect();
        self.repeat_execute(PUT, &[&self.store, &model, &texts, &values], until)
    }

    /// Returns those of the vectors that exist, in no particular order.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond [`VECTORS_MAX`] texts, or with a fingerprint beyond
    /// [`MODEL_BYTES_MAX`].
    pub fn get_vectors(
        &self,
        model: &[u8],
        texts: &[TextHash],
        until: &Until,
    ) -> Result<Vec<(TextHash, Vec<u8>)>> {
        check(model, texts.len())?;
        let texts: Vec<&[u8]> = texts.iter().map(<[u8; 32]>::as_slice).collect();
        let rows = self.query(GET, &[&self.store, &model, &texts], until)?;
        let vector = |row: &Row| Ok((hash(row, 0)?.0, column::<&[u8]>(row, 1)?.to_vec()));
        rows.iter().map(vector).collect()
    }

    /// Removes the vectors and the claims that were written longer ago than `age`, by the server's
    /// clock, and returns how many. Machines that have copied them lose nothing. It needs the
    /// privilege `DELETE` on the table.
    ///
    /// # Errors
    /// [`Error::Privilege`] without it.
    pub fn trim_vectors(&self, age: Duration, until: &Until) -> Result<u64> {
        let age = in_millis(age);
        let mut after: (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
        let mut removed = 0;
        loop {
            let parameters: [&dyn Parameter; 5] = [&self.store, &after.0, &after.1, &PAGE, &age];
            let rows = self.repeat_query(TRIM, &parameters, until)?;
            let Some(row) = rows.first() else { return Ok(removed) };
            after = (column(row, 0)?, column(row, 1)?);
            removed += number(row, 2)?;
        }
    }
}

fn check(model: &[u8], count: usize) -> Result<()> {
    if model.is_empty() || model.len() > MODEL_BYTES_MAX {
        return Err(Error::Invalid(format!(
            "the fingerprint of a model has 1 to {MODEL_BYTES_MAX} bytes, not {}",
            model.len()
        )));
    }
    if count > VECTORS_MAX {
        return Err(Error::Invalid(format!(
            "one call is about at most {VECTORS_MAX} texts, not {count}"
        )));
    }
    Ok(())
}
