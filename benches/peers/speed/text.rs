//! BM25: the best ten of many documents, against tantivy.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use tantivy::collector::TopDocs;
use tantivy::columnar::Column;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexReader, IndexWriter, Term, doc};
use waypost_ranking::{Analyzer, Bm25, Hit, Slots, TextIndex, TextPart, TextSearch};

use crate::Options;
use crate::corpus::{self, KINDS, Zipf};
use crate::rig::{
    Random, Report, Samples, Verdict, count, duration, process_seconds, progress, thread_seconds,
    time,
};

const QUESTIONS: usize = 400;
const HITS: usize = 10;
const ADDS: usize = 40;
/// Upkeep is done after so many documents, as a service does it every few seconds.
const UPKEEP_EVERY: usize = 10_000;
const TOKENIZER: &str = "en_stem";

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    report.table(
        "Text: BM25, top 10",
        "Generated documents of 30 to 60 words whose frequencies follow Zipf and Mandelbrot; \
         queries use words of one document.\n\
         Each query runs on both systems alternately, from the text to the ids: processor time of \
         one thread, median of the queries, the middle 80 % in parentheses.\n\
         tantivy uses `en_stem`, frequencies without positions, one writing thread, and \
         memory-mapped files, after its merges.\n\
         For adds, the result is the processor time of the process until a search finds the \
         document: for tantivy commit and reload.\n\
         Waypost's index stores nothing on disk at that point; its log does, see the service.",
    );
    measure(100_000, report)?;
    if !options.small {
        measure(1_000_000, report)?;
    }
    report.close(
        "Waypost's pruned results were compared, to the bit, with those of scoring every document, for \
         every 20th query.",
    );
    Ok(())
}

fn measure(documents: usize, report: &mut Report) -> Result<()> {
    let zipf = Zipf::new();
    let mut random = Random(42);
    let folder = tempfile::tempdir()?;
    let mut ours = Ours::new();
    let mut theirs = Theirs::new(folder.path())?;
    let mut asked = Vec::new();
    let mut our_build = 0.0;
    for at in 0..documents {
        let ranks = zipf.document(&mut random);
        let text = corpus::text(&ranks);
        if at % (documents / QUESTIONS) == 0 && asked.len() < QUESTIONS {
            asked.push(ranks);
        }
        our_build += time(|| ours.add(at as u64, &text));
        theirs.add(at as u64, &text)?;
    }
    our_build += time(|| ours.index.maintain());
    theirs.commit_and_merge()?;
    progress(format_args!("{} documents indexed", count(documents as f64)));

    let size = count(documents as f64);
    for (kind, name) in KINDS.iter().enumerate() {
        let (mut our_time, mut their_time) = (Samples::default(), Samples::default());
        for (at, document) in asked.iter().enumerate() {
            let question = corpus::question(kind, document);
            if question.is_empty() {
                continue;
            }
            if at % 20 == 0 {
                ours.check(&question)?;
            }
            // Once before: neither is measured with cold caches.
            ours.search(&question);
            our_time.add(time(|| ours.search(&question)));
            theirs.search(&question)?;
            their_time.add(time(|| theirs.search(&question)));
        }
        let ratio = our_time.p50() / their_time.p50();
        report.row(
            &format!("{size} documents, {name}"),
            "≤ 1.0 × tantivy",
            &our_time.to_string(),
            &format!("tantivy {their_time}"),
            Some(ratio),
            ratio <= 1.0,
        );
    }
    adding(documents, &zipf, &mut random, &mut ours, &mut theirs, report)?;
    report.row(
        &format!("{size} documents, indexed by one thread"),
        "",
        &format!("{} documents/s", count(documents as f64 / our_build)),
        "",
        None,
        Verdict::Open,
    );
    report.row(
        &format!("{size} documents, memory"),
        "",
        &format!("{:.0} B a document", ours.index.stats().bytes as f64 / documents as f64),
        &format!("tantivy {:.0} B a document in files", bytes(folder.path()) / documents as f64),
        None,
        Verdict::Open,
    );
    Ok(())
}

/// Adds documents one by one, each searched for at once.
fn adding(
    documents: usize,
    zipf: &Zipf,
    random: &mut Random,
    ours: &mut Ours,
    theirs: &mut Theirs,
    report: &mut Report,
) -> Result<()> {
    let (mut our_time, mut their_time) = (Samples::default(), Samples::default());
    for at in 0..ADDS {
        let id = (documents + at) as u64;
        let mark = mark(id);
        let text = format!("{} {mark}", corpus::text(&zipf.document(random)));
        let from = thread_seconds();
        ours.add(id, &text);
        our_time.add(thread_seconds() - from);
        ensure!(ours.search(&mark) == [id], "a new document is not found");
        let from = process_seconds();
        theirs.add(id, &text)?;
        theirs.commit()?;
        their_time.add(process_seconds() - from);
        ensure!(theirs.search(&mark)? == [id], "tantivy does not find a new document");
    }
    report.row(
        &format!("add a document to {}, visible to the next search", count(documents as f64)),
        &if documents == 100_000 { format!("≤ {}", duration(100e-6)) } else { String::new() },
        &our_time.to_string(),
        &format!("tantivy {their_time}"),
        Some(our_time.p50() / their_time.p50()),
        if documents == 100_000 { Verdict::from(our_time.p50() <= 100e-6) } else { Verdict::Open },
    );
    Ok(())
}

/// A word that no other document has.
fn mark(id: u64) -> String {
    let letter = |digit: char| char::from(b'a' + digit as u8 - b'0');
    format!("fresh{}k", id.to_string().chars().map(letter).collect::<String>())
}

struct Ours {
    analyzer: Analyzer,
    slots: Slots,
    index: TextIndex,
}

impl Ours {
    fn new() -> Self {
        Self { analyzer: Analyzer::english(), slots: Slots::default(), index: TextIndex::default() }
    }

    fn add(&mut self, id: u64, text: &str) {
        let document = self.analyzer.document("", text);
        let slot = self.slots.assign(id);
        self.index.insert(slot, &document);
        if id as usize % UPKEEP_EVERY == UPKEEP_EVERY - 1 {
            self.index.maintain();
        }
    }

    fn search(&self, question: &str) -> Vec<u64> {
        self.ask(question, |it| it.top(HITS)).into_iter().map(|hit| hit.id).collect()
    }

    fn check(&self, question: &str) -> Result<()> {
        let pruned = self.ask(question, |it| it.top(HITS));
        ensure!(pruned == self.ask(question, |it| it.exhaustive(HITS)), "pruning changed a result");
        Ok(())
    }

    fn ask(&self, question: &str, search: impl Fn(&TextSearch<'_>) -> Vec<Hit>) -> Vec<Hit> {
        let query = self.analyzer.query(question);
        let parts = [TextPart { slots: &self.slots, index: &self.index, filter: None }];
        search(&TextSearch::new(&parts, &query, Bm25::default()))
    }
}

struct Theirs {
    index: Index,
    writer: Option<IndexWriter>,
    reader: IndexReader,
    /// By segment: the documents' ids.
    ids: Vec<Column<u64>>,
    id: Field,
    text: Field,
}

impl Theirs {
    fn new(folder: &Path) -> Result<Self> {
        let mut schema = Schema::builder();
        let id = schema.add_u64_field("id", FAST);
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqs);
        let text =
            schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
        let index = Index::create_in_dir(folder, schema.build())?;
        let writer = Some(index.writer_with_num_threads(1, 200_000_000)?);
        let reader = index.reader()?;
        Ok(Self { index, writer, reader, ids: Vec::new(), id, text })
    }

    fn add(&mut self, id: u64, text: &str) -> Result<()> {
        if let Some(writer) = &self.writer {
            writer.add_document(doc!(self.id => id, self.text => text))?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            writer.commit()?;
        }
        self.reload()
    }

    fn reload(&mut self) -> Result<()> {
        self.reader.reload()?;
        let searcher = self.reader.searcher();
        let ids = searcher.segment_readers().iter().map(|reader| reader.fast_fields().u64("id"));
        self.ids = ids.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Commits, and waits for the merges that its policy begins.
    fn commit_and_merge(&mut self) -> Result<()> {
        self.commit()?;
        if let Some(writer) = self.writer.take() {
            writer.wait_merging_threads()?;
        }
        self.writer = Some(self.index.writer_with_num_threads(1, 200_000_000)?);
        self.reload()?;
        progress(format_args!("tantivy has {} segments", self.ids.len()));
        Ok(())
    }

    fn search(&self, question: &str) -> Result<Vec<u64>> {
        let mut terms: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut analyzer = self.index.tokenizers().get(TOKENIZER).expect("a built-in tokenizer");
        let mut stream = analyzer.token_stream(question);
        while let Some(token) = stream.next() {
            let term = Term::from_field_text(self.text, &token.text);
            let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
            terms.push((Occur::Should, Box::new(query)));
        }
        let searcher = self.reader.searcher();
        let best = TopDocs::with_limit(HITS).order_by_score();
        searcher
            .search(&BooleanQuery::new(terms), &best)?
            .into_iter()
            .map(|(_, at)| {
                let ids = &self.ids[at.segment_ord as usize];
                ids.first(at.doc_id).context("a document has no id")
            })
            .collect()
    }
}

/// Bytes of the files in a folder.
fn bytes(folder: &Path) -> f64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len() as f64).sum()
}
