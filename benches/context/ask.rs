//! The subjects of commits, asked as queries.

use std::io::{self, Write};

use anyhow::Result;
use waypost_context::{Context, Query, TaskType};

use crate::measure::{Measures, Table};
use crate::{Asking, Pair, checkout};

pub(crate) fn measure(
    context: &Context,
    asking: &Asking<'_>,
    pairs: &[Pair],
    each: bool,
    table: &mut Table,
) -> Result<()> {
    let Asking { name, vector, verbose } = *asking;
    for pair in pairs {
        if each {
            checkout::go_to(context.root(), &format!("{}^", pair.sha))?;
            context.scan(pair.time(), &|| false)?;
        }
        let (right, wrong) = tasks(pair);
        let asked = [
            ("general", &pair.query, TaskType::General),
            ("right task", &pair.query, right),
            ("wrong task", &pair.query, wrong),
            ("empty, general", &String::new(), TaskType::General),
            ("empty, right task", &String::new(), right),
        ];
        for (system, text, task) in asked {
            let vector = vector(text).filter(|_| !text.is_empty());
            let mut query = Query::new(text).with_task(task);
            query.vector = vector;
            let answer = context.query(&query, pair.time())?;
            let paths: Vec<String> = answer.items.into_iter().map(|item| item.path).collect();
            let measures = Measures::of(&paths, &pair.files);
            if verbose && system == "general" && measures.recall_at_10 < 1.0 {
                let mut first = paths.clone();
                first.truncate(10);
                let missed: Vec<_> =
                    pair.files.iter().filter(|file| !first.contains(file)).collect();
                writeln!(
                    io::stderr(),
                    "{name} [{}] {:?} missed {missed:?} got {first:?}",
                    pair.kind,
                    pair.query
                )?;
            }
            table.add(system, &["all", &pair.kind, name], measures);
        }
    }
    Ok(())
}

/// The right task of a question, and a wrong one. A commit that changed code and documents is of
/// neither kind.
pub(crate) fn tasks(pair: &Pair) -> (TaskType, TaskType) {
    match pair.kind.as_str() {
        "code" => (TaskType::Code, TaskType::Content),
        "docs" => (TaskType::Spec, TaskType::Code),
        _ => (TaskType::General, TaskType::General),
    }
}
