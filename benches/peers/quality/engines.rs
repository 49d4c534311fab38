//! The engines, each with what its documentation recommends and no tuning.

use anyhow::Result;
use rusqlite::Connection;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexReader, Term, doc};

/// Finds the places of documents.
pub trait Engine {
    /// The best `limit` for a question of plain words, best first.
    fn search(&self, question: &str, limit: usize) -> Result<Vec<usize>>;
}

/// tantivy, in memory; any of the question's terms may match.
pub struct Tantivy {
    index: Index,
    reader: IndexReader,
    tokenizer: &'static str,
    place: Field,
    text: Field,
}

impl Tantivy {
    pub fn new(documents: &[(usize, String)], tokenizer: &'static str) -> Result<Self> {
        let mut schema = Schema::builder();
        let place = schema.add_u64_field("place", FAST);
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(tokenizer)
            .set_index_option(IndexRecordOption::WithFreqs);
        let text =
            schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 50_000_000)?;
        for (at, content) in documents {
            writer.add_document(doc!(place => *at as u64, text => content.as_str()))?;
        }
        writer.commit()?;
        let reader = index.reader()?;
        Ok(Self { index, reader, tokenizer, place, text })
    }
}

impl Engine for Tantivy {
    fn search(&self, question: &str, limit: usize) -> Result<Vec<usize>> {
        let mut terms: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut analyzer =
            self.index.tokenizers().get(self.tokenizer).expect("a built-in tokenizer");
        let mut stream = analyzer.token_stream(question);
        while let Some(token) = stream.next() {
            let term = Term::from_field_text(self.text, &token.text);
            terms.push((
                Occur::Should,
                Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)),
            ));
        }
        let searcher = self.reader.searcher();
        let best = TopDocs::with_limit(limit).order_by_score();
        let name = self.index.schema().get_field_name(self.place).to_owned();
        searcher
            .search(&BooleanQuery::new(terms), &best)?
            .into_iter()
            .map(|(_, at)| {
                let column = searcher.segment_reader(at.segment_ord).fast_fields().u64(&name)?;
                Ok(column.first(at.doc_id).expect("every document has a place") as usize)
            })
            .collect()
    }
}

/// SQLite's FTS5, in memory; any of the question's words may match.
pub struct Fts5 {
    connection: Connection,
}

impl Fts5 {
    pub fn new(documents: &[(usize, String)], tokenizer: &str) -> Result<Self> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(&format!(
            "CREATE VIRTUAL TABLE documents USING fts5(text, tokenize='{tokenizer}'); BEGIN"
        ))?;
        {
            let mut insert =
                connection.prepare("INSERT INTO documents(rowid, text) VALUES (?, ?)")?;
            for (place, text) in documents {
                insert.execute((*place as i64 + 1, text))?;
            }
        }
        connection.execute_batch("COMMIT")?;
        Ok(Self { connection })
    }
}

impl Engine for Fts5 {
    fn search(&self, question: &str, limit: usize) -> Result<Vec<usize>> {
        let words = question.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
        let query: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = self.connection.prepare_cached(
            "SELECT rowid FROM documents WHERE documents MATCH ? ORDER BY rank, rowid LIMIT ?",
        )?;
        let rows =
            found.query_map((query.join(" OR "), limit as i64), |row| row.get::<_, i64>(0))?;
        rows.map(|row| Ok(row? as usize - 1)).collect()
    }
}
