//! Checks a project's derived data while no process has it open.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::texts::Texts;
use crate::vectors::Vectors;
use crate::{Error, Result, snapshot};

/// Reads the files that [`Context`](crate::Context) stores in `dir` and describes what is damaged
/// or of another version. Opening rebuilds it from the project, so nothing is lost. A missing
/// folder is valid.
///
/// # Errors
/// [`Error::InUse`] if a process has it open.
pub fn verify(dir: &Path) -> Result<Vec<String>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let mut held = Vec::new();
    for path in [dir.to_owned(), dir.join("lock")] {
        // Without the file, no process of an earlier release has opened the folder.
        let Ok(file) = File::open(&path) else { continue };
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(Error::InUse { path });
        }
        held.push(file);
    }
    let mut damage = Vec::new();
    match snapshot::load(&dir.join("index")) {
        Err(why) => damage.push(format!("context/index: {why}")),
        Ok(None) => {}
        Ok(Some((index, notes))) => match Texts::open(dir, notes.texts) {
            Err(why) => damage.push(format!("context/index: {why}")),
            Ok(texts) => {
                let chunks = index.files().flat_map(|(_, file)| {
                    let chunks = file.chunks.iter().filter_map(|chunk| index.chunk(*chunk));
                    chunks.map(|chunk| (file.hash, chunk.text))
                });
                let bad = chunks.filter(|(hash, at)| texts.read(hash, *at).is_none()).count();
                if bad > 0 {
                    let name = notes.texts.generation;
                    damage.push(format!(
                        "context/texts-{name}: {bad} texts are not what was written"
                    ));
                }
            }
        },
    }
    let vectors = dir.join("vectors");
    if vectors.is_file()
        && !Vectors::is_whole(&vectors).map_err(|error| Error::io(&vectors, error))?
    {
        damage.push("context/vectors: a part is not what was written".to_owned());
    }
    if let Ok(bytes) = std::fs::read(dir.join("history"))
        && crate::History::decode(&bytes).is_none()
    {
        damage
            .push("context/history: it is not what was written, or of another version".to_owned());
    }
    Ok(damage)
}
