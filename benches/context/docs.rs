//! Doc comments, asked as queries for the functions that they stand above. Such a doc is taken out of
//! its file before the project is indexed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use waypost_context::{
    Chunk, Context, Discovery, Extractor, Item, Kind, Query, Root, Rules, TaskType, Timestamp,
    read, walk,
};

use crate::Asking;
use crate::measure::{Measures, Table};

/// So many functions of each repository are asked for, of a file at most one.
const QUESTIONS: usize = 40;
/// A shorter doc says too little to be asked.
const WORDS_MIN: usize = 8;

/// A function, and what its doc said.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    path: String,
    name: String,
    doc: String,
    /// From where to where it is.
    lines: (u32, u32),
}

/// Chooses functions by a hash of their names, and takes their docs out of the files; in a project
/// where that is done, returns the same questions.
pub(crate) fn prepare(root: &Path, now: Timestamp) -> Result<Vec<Question>> {
    let kept = root.with_extension("docs.json");
    if kept.exists() {
        return Ok(serde_json::from_slice(&fs::read(kept)?)?);
    }
    let (folder, rules) = (Root::open(root)?, Rules::new(&Discovery::default())?);
    let mut extractor = Extractor::new();
    let mut found = Vec::new();
    for file in walk(&folder, &rules, &|| false)?.found {
        if file.class.language.is_none() || file.class.prior.test {
            continue;
        }
        let Ok((bytes, _)) = read(&folder, &file, rules.limits()) else { continue };
        let Ok(extract) = extractor.extract(&file, &bytes, now) else { continue };
        let documented = extract.chunks.into_iter().filter(|chunk| chunk.kind == Kind::Function);
        let documented = documented.filter_map(|documented| Some((doc(&documented)?, documented)));
        let chosen = documented.min_by_key(|(_, it)| order(&format!("{}{}", file.path, it.name)));
        if let Some((doc, chunk)) = chosen {
            found.push((order(&file.path), file.path, chunk, doc));
        }
    }
    found.sort_by_key(|found| found.0);
    found.truncate(QUESTIONS);
    let mut questions = Vec::new();
    for (_, path, chunk, doc) in found {
        let file = root.join(&path);
        fs::write(&file, without_doc(&fs::read_to_string(&file)?, &chunk))?;
        let lines = (chunk.line, chunk.end_line);
        questions.push(Question { path, name: chunk.name, doc, lines });
    }
    fs::write(kept, serde_json::to_vec(&questions)?)?;
    Ok(questions)
}

/// Asks for each.
pub(crate) fn measure(
    context: &Context,
    asking: &Asking<'_>,
    questions: &[Question],
    now: Timestamp,
    table: &mut Table,
) -> Result<()> {
    let Asking { name, vector, verbose } = *asking;
    for question in questions {
        let vector = vector(&question.doc);
        let mut query = Query::new(&question.doc).with_task(TaskType::Code);
        query.vector = vector;
        let answer = context.query(&query, now)?;
        let wanted = format!("{} {}", question.path, last(&question.name));
        let places = |items: &[Item]| -> Vec<String> {
            items.iter().map(|item| format!("{} {}", item.path, last(&item.title))).collect()
        };
        let found = places(&answer.items);
        let measures = Measures::of(&found, std::slice::from_ref(&wanted));
        if verbose && measures.hit_at_10 < 1.0 {
            let Question { doc, lines, .. } = question;
            let first: Vec<_> = found.iter().take(10).collect();
            writeln!(io::stderr(), "{name} {doc:?} missed {wanted}:{lines:?} got {first:?}")?;
        }
        table.add("doc to function", &["all", name], measures);
        let files: Vec<String> = answer.items.into_iter().map(|item| item.path).collect();
        let measures = Measures::of(&files, std::slice::from_ref(&question.path));
        table.add("doc to its file", &["all", name], measures);
        let functions = context.query(&query.with_kinds([Kind::Function]), now)?;
        let measures = Measures::of(&places(&functions.items), std::slice::from_ref(&wanted));
        table.add("doc to function, of functions alone", &["all", name], measures);
    }
    Ok(())
}

fn last(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// A doc's first paragraph, if it says enough.
fn doc(chunk: &Chunk) -> Option<String> {
    let signature = chunk.signature.start as usize..chunk.signature.end as usize;
    let before = chunk.content.get(..signature.start)?;
    let after = chunk.content.get(signature.end..)?;
    let lines = before.lines().chain(after.lines()).map(said);
    let lines: Vec<&str> = lines.skip_while(|line| line.is_empty()).collect();
    let paragraph: Vec<&str> = lines.into_iter().take_while(|line| !line.is_empty()).collect();
    let doc = paragraph.join(" ");
    (doc.split_whitespace().count() >= WORDS_MIN).then_some(doc)
}

/// What a line of a comment says: without the marks of comments.
fn said(line: &str) -> &str {
    line.trim().trim_matches(|c: char| "/*#!\"'-<>".contains(c)).trim()
}

/// A file whose function has no doc: the lines of the comment before it and of the text that opens
/// it are emptied, and nothing else is, so that the file is still a program.
fn without_doc(text: &str, chunk: &Chunk) -> String {
    let signature = chunk.signature.start as usize..chunk.signature.end as usize;
    let before = chunk.content.get(..signature.start).unwrap_or_default();
    let after = chunk.content.get(signature.end..).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let first = chunk.line as usize - 1;
    let is_comment = |number: &&usize| {
        let line = lines[**number].trim();
        !(line.starts_with("#[") || line.starts_with('@') || line.starts_with('['))
    };
    let lead: Vec<usize> = (first..first + before.lines().count()).collect();
    let mut emptied: Vec<usize> = lead.iter().filter(is_comment).copied().collect();
    // The doc of a language that has it inside begins right after the signature.
    if let Some(opens) = after.lines().map(str::trim).find(|text| !text.is_empty()) {
        let rest = first + lead.len()..(chunk.end_line as usize).min(lines.len());
        if let Some(start) = rest.clone().find(|it| lines[*it].trim() == opens) {
            let count = after.trim().lines().count();
            emptied.extend(start..(start + count).min(rest.end));
        }
    }
    let mut out = String::with_capacity(text.len());
    for (at, line) in lines.iter().enumerate() {
        out.push_str(if emptied.contains(&at) { "" } else { line });
        out.push('\n');
    }
    out
}

/// FNV-1a: the same choice on every machine.
fn order(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}
