//! The models: whether their files are there. The service loads them, and its status says whether it could.

use std::path::Path;

use waypost_cli::failure::Failure;
use waypost_embedding::fetch::{self, State};
use waypost_project::{Model, Settings};

use super::Finding;
use crate::maintenance::failure::of_embedding;

/// The files of every model folder.
const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

/// The embedding model.
pub(super) fn embedding(settings: &Settings) -> Finding {
    const PART: &str = "model";
    let name = match &settings.model.name {
        Model::Off => return Finding::ok(PART, "switched off: search is lexical"),
        Model::Folder(path) => return folder(PART, path, "model.name"),
        Model::Named(name) => name,
    };
    match fetch::list(&settings.model.cache_dir) {
        Err(error) => Finding::fault(PART, &of_embedding(&error)),
        Ok(models) => match models.into_iter().find(|model| model.name == *name) {
            Some(found) if found.state == State::Changed => Finding::fault(
                PART,
                &Failure::new(format!("{name} changed after it was verified")).with_hint(
                    "`ctl model verify` shows the changes, `ctl model pull` downloads it again",
                ),
            ),
            Some(found) => Finding::ok(PART, format!("{name} in {}", found.folder.display())),
            None => Finding::warning(
                PART,
                format!("{name} is not in the cache: search is lexical until the model has loaded"),
                "`ctl model pull`, or start the service, which downloads it",
            ),
        },
    }
}

/// The model that orders the best results of a search again, if there is one.
pub(super) fn reranker(settings: &Settings) -> Option<Finding> {
    Some(folder("reranker", settings.rerank.model.as_deref()?, "rerank.model"))
}

/// The folder that a setting names.
fn folder(part: &'static str, path: &Path, setting: &str) -> Finding {
    let missing = FILES.into_iter().find(|file| !path.join(file).is_file());
    let what = match missing {
        None => return Finding::ok(part, path.display().to_string()),
        Some(_) if path.symlink_metadata().is_err() => "does not exist".to_owned(),
        Some(_) if !path.is_dir() => "is not a folder".to_owned(),
        Some(file) => format!("has no file {file}"),
    };
    let failure = Failure::new(format!("{} {what}", path.display()));
    Finding::fault(part, &failure.with_hint(format!("correct the setting {setting}")))
}
