//! `model`: works on the cache folder, with or without a service.

use std::path::{Path, PathBuf};

use indicatif::HumanBytes;
use serde_json::json;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::files;
use waypost_cli::maintenance::ModelCommand;
use waypost_cli::output::{Look, Output, Unit};
use waypost_cli::program::Program;
use waypost_cli::visible::{Lines, visible};
use waypost_embedding::fetch::{self, Hub, Options, State};
use waypost_embedding::{Error, ErrorKind, Model};
use waypost_project::Model as Setting;

use super::failure::of_embedding;

pub(super) fn run(program: &Program, command: ModelCommand, output: &mut Output) -> Result<()> {
    match command {
        ModelCommand::Pull { name } => pull(program, name, output),
        ModelCommand::Import { path, name } => import(program, &path, name, output),
        ModelCommand::List => list(program, output),
        ModelCommand::Verify { name } => verify(program, name, output),
    }
}

/// The named model, else the one in the settings.
fn named(program: &Program, name: Option<String>) -> Result<String> {
    match (name, &program.settings()?.model.name) {
        (Some(name), _) => Ok(name),
        (None, Setting::Named(name)) => Ok(name.clone()),
        (None, Setting::Folder(folder)) => Err(Failure::usage(format!(
            "the setting model.name is the folder {}; pass the name of a model",
            folder.display()
        ))),
        (None, Setting::Off) => Ok(fetch::DEFAULT_MODEL.to_owned()),
    }
}

/// The model sources: those that the settings allow, and the variables of the hub's own clients.
fn sources(program: &Program) -> Result<Options> {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut hub = Hub::default();
    (hub.endpoint, hub.token) = (text("HF_ENDPOINT"), text("HF_TOKEN"));
    let options = Options::default().with_hub(Some(hub));
    Ok(if program.settings()?.model.fetch { options } else { options.offline() })
}

fn pull(program: &Program, name: Option<String>, output: &mut Output) -> Result<()> {
    let name = named(program, name)?;
    let cache = &program.settings()?.model.cache_dir;
    let bar = output.progress(Unit::Bytes);
    let folder = fetch::ensure(&name, cache, &sources(program)?, &mut |progress| {
        let said = if progress.file.is_empty() { progress.message } else { progress.file };
        bar.set_message(visible(&said, Lines::Fold).into_owned());
        bar.set_length(progress.total_bytes.unwrap_or(0));
        bar.set_position(progress.done_bytes);
    });
    bar.finish_and_clear();
    there(&name, &folder.map_err(|error| of_embedding(&error))?, output)
}

fn import(program: &Program, path: &Path, name: Option<String>, output: &mut Output) -> Result<()> {
    let is_named = name.is_some();
    let name = match name {
        Some(name) => name,
        None => named(program, None)
            .map_err(|error| error.with_hint("`--name NAME` names the model that is imported"))?,
    };
    std::fs::metadata(path).map_err(|error| files::cannot_read(path, &error))?;
    let cache = &program.settings()?.model.cache_dir;
    let folder = fetch::import(path, &name, cache, Model::check).map_err(|error| {
        let is_other = matches!(error, Error::Checksum { .. });
        let hint = match error.kind() {
            ErrorKind::Damaged if is_other && !is_named => format!(
                "without --name, the files must be those of {name}; import another model with \
                 `--name NAME`"
            ),
            ErrorKind::Damaged if is_other => {
                format!("the name {name} is that of a known model; use another one with --name")
            }
            ErrorKind::Damaged | ErrorKind::NotFound | ErrorKind::Invalid => {
                format!("nothing was imported; check {} and import it again", path.display())
            }
            _ => return of_embedding(&error),
        };
        of_embedding(&error).with_hint(hint)
    })?;
    there(&name, &folder, output)
}

fn there(name: &str, folder: &Path, output: &mut Output) -> Result<()> {
    output.answer(
        &json!({ "name": name, "folder": folder.to_string_lossy() }),
        &format!("{name} is in {}", folder.display()),
    )
}

fn list(program: &Program, output: &mut Output) -> Result<()> {
    let settings = program.settings()?;
    let models = fetch::list(&settings.model.cache_dir).map_err(|error| of_embedding(&error))?;
    let in_use = |name: &str| matches!(&settings.model.name, Setting::Named(used) if used == name);
    let state = |state: State| match state {
        State::Unchanged => (Look::Good, "unchanged"),
        State::Changed => (Look::Bad, "changed"),
        _ => (Look::Warn, "unrecorded"),
    };
    if output.is_json() {
        let models: Vec<_> = models
            .iter()
            .map(|model| {
                json!({
                    "name": model.name,
                    "folder": model.folder.to_string_lossy(),
                    "bytes": model.bytes,
                    "source": model.source,
                    "fingerprint": model.fingerprint,
                    "state": state(model.state).1,
                    "inUse": in_use(&model.name),
                })
            })
            .collect();
        output.document(&models)?;
        return Ok(());
    }
    if models.is_empty() {
        output.note(&format!(
            "no models in {}; `ctl model pull` downloads one",
            settings.model.cache_dir.display()
        ));
        return Ok(());
    }
    let rows: Vec<_> = models
        .iter()
        .map(|model| {
            let (look, word) = state(model.state);
            vec![
                (Look::Name, model.name.clone()),
                (Look::Plain, HumanBytes(model.bytes).to_string()),
                (look, word.to_owned()),
                (Look::Plain, model.source.clone()),
                (
                    Look::Plain,
                    if in_use(&model.name) { "in use".to_owned() } else { String::new() },
                ),
                (Look::Dim, model.folder.display().to_string()),
            ]
        })
        .collect();
    output.table(&["NAME", "SIZE", "FILES", "FROM", "", "FOLDER"], &rows)
}

fn verify(program: &Program, name: Option<String>, output: &mut Output) -> Result<()> {
    let settings = program.settings()?;
    let is_path = match (&name, &settings.model.name) {
        (Some(name), _) => name.contains(['/', '\\']),
        (None, setting) => matches!(setting, Setting::Folder(_)),
    };
    let folder = match (name, &settings.model.name) {
        (Some(name), _) if name.contains(['/', '\\']) => PathBuf::from(name),
        (None, Setting::Folder(folder)) => folder.clone(),
        (name, _) => settings.model.cache_dir.join(named(program, name)?),
    };
    if !folder.is_dir() {
        return Err(Failure::not_found(format!("no model in {}", folder.display()))
            .with_hint("`ctl model list` shows the models, `ctl model pull` downloads one"));
    }
    let verified = fetch::verify(&folder).map_err(|error| match error.kind() {
        ErrorKind::Damaged if is_path => {
            of_embedding(&error).with_hint(format!("restore the files in {}", folder.display()))
        }
        _ => of_embedding(&error),
    })?;
    if output.json(&json!({
        "folder": folder.to_string_lossy(),
        "bytes": verified.bytes,
        "fingerprint": verified.fingerprint,
        "pinned": verified.pinned,
    }))? {
        return Ok(());
    }
    let against =
        if verified.pinned { "the pinned digests" } else { "the digests recorded on import" };
    output.line(&format!("{} in {} match {against}", HumanBytes(verified.bytes), folder.display()))
}
