//! SQLite: FTS5 and sqlite-vec, fused by rank.

use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

use anyhow::{Result, anyhow, ensure};
use rusqlite::auto_extension::{RawAutoExtension, register_auto_extension};
use rusqlite::{Connection, ffi};
use tempfile::TempDir;

use super::generated::{DIMENSIONS, Question};
use super::{CANDIDATES, HITS, System};

/// Reciprocal rank fusion with 60 (Cormack, Clarke, Büttcher, 2009).
const SEARCH: &str = "
    WITH
        by_words AS (
            SELECT rowid AS id, row_number() OVER (ORDER BY rank) AS place
            FROM (SELECT rowid, rank FROM texts WHERE texts MATCH ?1 ORDER BY rank LIMIT ?3)
        ),
        by_vector AS (
            SELECT rowid AS id, row_number() OVER (ORDER BY distance) AS place
            FROM (SELECT rowid, distance FROM vectors WHERE vector MATCH ?2 AND k = ?3)
        ),
        fused AS (
            SELECT id, sum(1.0 / (60 + place)) AS score
            FROM (SELECT * FROM by_words UNION ALL SELECT * FROM by_vector)
            GROUP BY id ORDER BY score DESC, id LIMIT ?4
        )
    SELECT texts.text FROM fused JOIN texts ON texts.rowid = fused.id ORDER BY fused.score DESC, id";

pub struct Sqlite {
    connection: Connection,
    added: i64,
    _folder: TempDir,
}

/// How it is used, as a sentence without its end.
pub fn method() -> Result<String> {
    register()?;
    let connection = Connection::open_in_memory()?;
    let (sqlite, vec, debug): (String, String, String) =
        connection.query_row("SELECT sqlite_version(), vec_version(), vec_debug()", [], |connection| {
            Ok((connection.get(0)?, connection.get(1)?, connection.get(2)?))
        })?;
    let flags = debug.lines().find_map(|line| line.strip_prefix("Build flags:")).unwrap_or_default();
    let avx = if flags.contains("avx") { "with AVX" } else { "without AVX" };
    Ok(format!(
        "SQLite {sqlite} in a file that its cache holds: FTS5 with `porter`, any of the words; \
         sqlite-vec {vec} {avx}, which compares all vectors, by L2 of vectors of length 1 because only \
         that uses AVX; the first {CANDIDATES} of both fused by reciprocal ranks"
    ))
}

/// Makes sqlite-vec part of every connection that is opened from now on.
fn register() -> Result<()> {
    static REGISTERED: OnceLock<Result<(), String>> = OnceLock::new();
    let register = || {
        type Entry = unsafe extern "C" fn(
            *mut ffi::sqlite3,
            *mut *mut c_char,
            *const ffi::sqlite3_api_routines,
        ) -> c_int;
        // SAFETY: the crate declares the function without its arguments; in its C source it is a
        // SQLite extension's entry point, which has this type.
        let entry = unsafe {
            std::mem::transmute::<*const (), Entry>(sqlite_vec::sqlite3_vec_init as *const ())
        };
        let entry: RawAutoExtension = entry;
        // SAFETY: the entry point opens and closes no connection and registers no extension.
        unsafe { register_auto_extension(entry) }.map_err(|error| error.to_string())
    };
    REGISTERED.get_or_init(register).clone().map_err(|error| anyhow!(error))
}

impl Sqlite {
    pub fn new() -> Result<Self> {
        register()?;
        let folder = tempfile::tempdir()?;
        let connection = Connection::open(folder.path().join("memories.db"))?;
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = NORMAL;
             PRAGMA cache_size = -1048576;
             CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter');
             CREATE VIRTUAL TABLE vectors USING vec0(vector float[{DIMENSIONS}]);"
        ))?;
        Ok(Self { connection, added: 0, _folder: folder })
    }
}

impl System for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn add(&mut self, texts: &[String], vectors: &[Vec<f32>]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut text = transaction.prepare("INSERT INTO texts(rowid, text) VALUES (?, ?)")?;
            let mut vector =
                transaction.prepare("INSERT INTO vectors(rowid, vector) VALUES (?, ?)")?;
            for (content, components) in texts.iter().zip(vectors) {
                self.added += 1;
                text.execute((self.added, content))?;
                vector.execute((self.added, bytes(components)))?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn finish(&mut self, _questions: &[Question]) -> Result<()> {
        self.connection.execute_batch("INSERT INTO texts(texts) VALUES ('optimize'); ANALYZE;")?;
        for table in ["texts", "vectors"] {
            let count = format!("SELECT count(*) FROM {table}");
            let rows: i64 = self.connection.query_row(&count, [], |connection| connection.get(0))?;
            ensure!(rows == self.added, "SQLite has {rows} rows in {table}, not {}", self.added);
        }
        Ok(())
    }

    fn search(&self, question: &Question) -> Result<Vec<String>> {
        let words: Vec<String> =
            question.text.split(' ').map(|word| format!("\"{word}\"")).collect();
        let mut search = self.connection.prepare_cached(SEARCH)?;
        let (words, vector) = (words.join(" OR "), bytes(&question.vector));
        let found =
            search.query_map((words, vector, CANDIDATES as i64, HITS as i64), |search| search.get(0))?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}

/// A vector of length 1, as sqlite-vec reads it.
fn bytes(vector: &[f32]) -> Vec<u8> {
    let length = vector.iter().map(|vector| vector * vector).sum::<f32>().sqrt();
    vector.iter().flat_map(|vector| (vector / length).to_le_bytes()).collect()
}
