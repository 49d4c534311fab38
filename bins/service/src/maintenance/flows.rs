//! `flows check`: reads flow files without a service.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::files;
use waypost_cli::maintenance::FlowsCheckArgs;
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;
use waypost_flows::{FILE_BYTES_MAX, FlowFile, InvalidFile};

/// The result of checking a file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked {
    file: String,
    flows: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
    /// Where a command probably does not do what its author means.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cautions: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct Problem {
    line: usize,
    column: usize,
    message: String,
}

impl From<InvalidFile> for Problem {
    fn from(it: InvalidFile) -> Self {
        Self { line: it.line, column: it.column, message: it.message }
    }
}

pub(super) fn check(program: &Program, args: &FlowsCheckArgs, output: &mut Output) -> Result<()> {
    let files = if args.files.is_empty() { project_files(program)? } else { args.files.clone() };
    let mut checked = Vec::new();
    for path in &files {
        let name = path.display().to_string();
        match FlowFile::new(&name, &text_of(path)?) {
            Ok(file) => {
                let flows = file.flows().map(|flow| flow.name.to_string()).collect();
                let cautions = file.cautions().into_iter().map(Problem::from).collect();
                checked.push(Checked { file: name, flows, problem: None, cautions });
            }
            Err(it) => {
                let (flows, cautions) = (Vec::new(), Vec::new());
                checked.push(Checked { file: name, flows, problem: Some(it.into()), cautions });
            }
        }
    }
    for it in &checked {
        for Problem { line, column, message } in &it.cautions {
            output.warn(&format!("{}:{line}:{column}: {message}", it.file));
        }
    }
    if output.is_json() {
        output.document(&checked)?;
    } else {
        for it in &checked {
            show(it, output)?;
        }
    }
    match checked.iter().filter(|checked| checked.problem.is_some()).count() {
        0 => Ok(()),
        1 => Err(Failure::new("invalid flow file")),
        count => Err(Failure::new(format!("{count} invalid flow files"))),
    }
}

fn show(checked: &Checked, output: &mut Output) -> Result<()> {
    match &checked.problem {
        None => {
            let flows = format!(": {}", checked.flows.join(", "));
            output.styled(&[(Look::Name, &checked.file), (Look::Plain, &flows)])?;
        }
        Some(Problem { line, column, message }) => {
            let place = format!("{}:{line}:{column}: ", checked.file);
            output.styled(&[(Look::Bad, &place), (Look::Plain, message)])?;
        }
    }
    Ok(())
}

fn text_of(path: &Path) -> Result<String> {
    let bytes = if path == Path::new("-") {
        files::read_up_to(path, io::stdin().lock(), FILE_BYTES_MAX)?
    } else {
        files::read_regular(path, FILE_BYTES_MAX)?
    };
    String::from_utf8(bytes)
        .map_err(|_| Failure::new(format!("{} is not valid UTF-8", path.display())))
}

fn project_files(program: &Program) -> Result<Vec<PathBuf>> {
    let folder = program.project().flows_dir();
    let none = || Failure::not_found(format!("no flow files in {}", folder.display()));
    let entries = fs::read_dir(&folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => none(),
        _ => Failure::new(format!("failed to read {}: {error}", folder.display())),
    })?;
    let paths = entries.filter_map(|entry| entry.ok().map(|it| it.path()));
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort_unstable();
    if files.is_empty() { Err(none()) } else { Ok(files) }
}
