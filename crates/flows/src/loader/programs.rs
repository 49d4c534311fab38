//! The project's own files that a flow names as its program or script.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use super::Problem;
use super::trust::{self, Distrust};
use crate::{Action, ContentHash, Flow, Folder, Kind};

/// The most bytes of a program that are read.
const BYTES_MAX: u64 = 64 << 20;
/// How deep texts in words are taken apart, as in `sh -c "sh -c '…'"`.
const DEPTH_MAX: u32 = 4;
/// Endings of files that are run although they have no executable bit.
const ENDINGS: &[&str] = &[
    "awk", "bash", "cjs", "fish", "jl", "js", "lua", "mjs", "php", "pl", "ps1", "py", "r", "rb",
    "sed", "sh", "tcl", "ts", "zsh",
];
/// Programs that run a file which is named to them, without the digits and dots at their ends.
const INTERPRETERS: &[&str] = &[
    ".", "ash", "awk", "bash", "bun", "busybox", "dash", "deno", "dotnet", "env", "exec", "expect",
    "fish", "gawk", "go", "java", "julia", "just", "ksh", "lua", "luajit", "make", "mawk", "mksh",
    "node", "nodejs", "perl", "php", "pwsh", "pypy", "python", "Rscript", "ruby", "sed", "sh",
    "source", "tclsh", "ts-node", "tsx", "uv", "xargs", "yash", "zsh",
];

/// A file of the project that a flow names as its program or script.
#[derive(Debug, Clone)]
pub(super) struct ProgramFile {
    /// Relative to the project, without links.
    pub(super) file: String,
    pub(super) content: Arc<[u8]>,
    pub(super) hash: ContentHash,
}

/// Programs that were read, so that they are read again only after a change.
#[derive(Debug, Default)]
pub(super) struct Cache(HashMap<PathBuf, (Stamp, ContentHash)>);

/// Changes whenever a file's content does: its change time cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    owner: (u32, u32, u32),
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            owner: (metadata.uid(), metadata.gid(), metadata.mode()),
        }
    }
}

/// The hashes of the programs that actions name, by their names in the project.
pub(super) fn hashes<'a>(
    project: &Path,
    flow: &Flow,
    actions: impl Iterator<Item = &'a Action>,
    cache: &mut Cache,
) -> Result<BTreeMap<String, ContentHash>, Problem> {
    let mut found = BTreeMap::new();
    for (file, path) in paths(project, flow, actions)? {
        let metadata = fs::metadata(&path).map_err(|it| unreadable(&file, &it))?;
        let stamp = Stamp::of(&metadata);
        let cached = cache.0.get(&path).filter(|(seen, _)| *seen == stamp);
        let hash = if let Some((_, hash)) = cached {
            // Who may write to the folders above may have changed all the same.
            check_folders(project, &path, &file)?;
            hash.clone()
        } else {
            let hash = read(project, &path, &file)?.hash;
            cache.0.insert(path, (stamp, hash.clone()));
            hash
        };
        found.insert(file, hash);
    }
    Ok(found)
}

/// The programs that a flow names, with their contents.
pub(super) fn contents(project: &Path, flow: &Flow) -> Result<Vec<ProgramFile>, Problem> {
    let paths = paths(project, flow, flow.actions.iter())?;
    paths.iter().map(|(file, path)| read(project, path, file)).collect()
}

/// What tells whether programs of these names have changed, without reading them.
pub(super) fn stamps<'a>(
    project: &Path,
    files: impl Iterator<Item = &'a str>,
) -> Vec<Option<Stamp>> {
    files.map(|it| fs::metadata(project.join(it)).ok().map(|it| Stamp::of(&it))).collect()
}

/// The programs that actions name: the paths, without links, by their names in the project.
fn paths<'a>(
    project: &Path,
    flow: &Flow,
    actions: impl Iterator<Item = &'a Action>,
) -> Result<BTreeMap<String, PathBuf>, Problem> {
    let Ok(project) = project.canonicalize() else { return Ok(BTreeMap::new()) };
    let mut found = BTreeMap::new();
    for action in actions {
        let words = words(action);
        let folder = action.cwd.as_ref().or(flow.cwd.as_ref()).map_or(".", Folder::as_str);
        let runs_files = words.iter().any(|it| is_interpreter(it));
        for base in bases(&project.join(folder), &words) {
            for word in &words {
                let Some(path) = within(&project, &base, word)? else { continue };
                if runs_files || is_program(&path) {
                    let name = path.strip_prefix(&project).unwrap_or(&path);
                    found.insert(name.to_string_lossy().into_owned(), path);
                }
            }
        }
    }
    Ok(found)
}

/// The folders that an action may run in: its own, and those that it goes to.
fn bases(folder: &Path, words: &[String]) -> Vec<PathBuf> {
    let mut bases = vec![folder.to_owned()];
    for pair in words.windows(2) {
        if matches!(pair[0].as_str(), "cd" | "pushd") {
            let last = bases.last().map_or(folder, PathBuf::as_path);
            let next = [last.join(&pair[1]), folder.join(&pair[1])];
            bases.extend(next.into_iter().filter(|it| it.is_dir()));
        }
    }
    bases.truncate(16);
    bases
}

/// The regular file of the project that a word names, without links.
fn within(project: &Path, base: &Path, word: &str) -> Result<Option<PathBuf>, Problem> {
    let word =
        ["$PWD/", "${PWD}/", "$(pwd)/"].iter().find_map(|it| word.strip_prefix(it)).unwrap_or(word);
    if word.is_empty()
        || word.len() > 4096
        || word.contains(['$', '\0', '`'])
        || word.contains("{{")
    {
        return Ok(None);
    }
    let named = plain(&base.join(word));
    let Ok(path) = named.canonicalize() else { return Ok(None) };
    if !path.is_file() {
        return Ok(None);
    }
    if path.starts_with(project) {
        return Ok(Some(path));
    }
    if !named.starts_with(project) {
        // The machine's, not the project's.
        return Ok(None);
    }
    let why = format!(
        "{word} is a symbolic link that leads out of the project; put the file itself there, or name it by its own path"
    );
    Err(Problem::Untrusted(why))
}

/// The path without `.` and `..`, as it is written.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Whether a file is run when it is named: by its mode, its first bytes, or its ending.
fn is_program(path: &Path) -> bool {
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let is_executable = || path.metadata().is_ok_and(|it| it.permissions().mode() & 0o111 != 0);
    let begins = || {
        let mut head = [0; 2];
        File::open(path).and_then(|mut it| it.read_exact(&mut head)).is_ok_and(|()| &head == b"#!")
    };
    ENDINGS.contains(&ending.to_ascii_lowercase().as_str()) || is_executable() || begins()
}

fn is_interpreter(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let plain = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&plain)
}

/// Every word of an action that may name a file.
fn words(action: &Action) -> Vec<String> {
    let mut words = Vec::new();
    match &action.kind {
        Kind::Command(command) => split(command.as_str(), DEPTH_MAX, &mut words),
        Kind::Exec { program, arguments, .. } => {
            words.push(program.clone());
            for argument in arguments {
                words.push(argument.as_str().to_owned());
                split(argument.as_str(), DEPTH_MAX, &mut words);
            }
        }
        _ => {}
    }
    words
}

/// Takes a text apart as a shell would, quotes removed, and texts in its words, too. It finds more
/// words than a shell would, never fewer literal ones.
fn split(text: &str, depth: u32, words: &mut Vec<String>) {
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars().peekable();
    let begun = words.len();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(it), c) if c == it => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (Some('"') | None, '\\') => match chars.next() {
                Some('\n') | None => {}
                Some(next) => word.push(next),
            },
            (None, c) if c.is_whitespace() || ";|&()<>`".contains(c) => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            (_, c) => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    let found: Vec<String> = words[begun..].to_vec();
    for word in found {
        // An assignment, or an option with its value.
        words.extend(word.split_once('=').map(|(_, it)| it.to_owned()));
        if depth > 0 && word.contains(|it: char| it.is_whitespace() || ";|&()<>`'\"".contains(it)) {
            split(&word, depth - 1, words);
        }
    }
}

/// Reads a program. It and the folders above it belong to this user or to root, and nobody else can
/// write to them.
fn read(project: &Path, path: &Path, file: &str) -> Result<ProgramFile, Problem> {
    check_folders(project, path, file)?;
    // The name may have been given to another file meanwhile, of which opening could wait.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let opened = opened.map_err(|it| unreadable(file, &it))?;
    let metadata = opened.metadata().map_err(|it| unreadable(file, &it))?;
    if !metadata.is_file() {
        return Err(Problem::Unreadable(format!("{file} is not a regular file")));
    }
    trust::check(&metadata, file).map_err(distrusted)?;
    let mut content = Vec::new();
    opened.take(BYTES_MAX + 1).read_to_end(&mut content).map_err(|it| unreadable(file, &it))?;
    if content.len() as u64 > BYTES_MAX {
        return Err(Problem::Unreadable(format!(
            "{file} has more than {BYTES_MAX} bytes, which is the most that can be approved"
        )));
    }
    let hash = ContentHash::of_bytes(&content);
    Ok(ProgramFile { file: file.to_owned(), content: content.into(), hash })
}

fn check_folders(project: &Path, path: &Path, file: &str) -> Result<(), Problem> {
    let project = project.canonicalize().map_err(|it| unreadable(file, &it))?;
    for folder in path.ancestors().skip(1).take_while(|it| it.starts_with(&project)) {
        let metadata = fs::metadata(folder).map_err(|it| unreadable(file, &it))?;
        trust::check(&metadata, &format!("a folder above {file}")).map_err(distrusted)?;
    }
    Ok(())
}

fn distrusted(why: Distrust) -> Problem {
    match why {
        Distrust::Untrusted(why) => Problem::Untrusted(why),
        Distrust::Unreadable(why) => Problem::Unreadable(why),
    }
}

fn unreadable(file: &str, error: &std::io::Error) -> Problem {
    Problem::Unreadable(format!("{file}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{is_interpreter, split};

    #[test]
    fn words_are_found_as_a_shell_finds_them() {
        let words = |text: &str| {
            let mut words = Vec::new();
            split(text, 4, &mut words);
            words
        };
        for text in [
            "sh tools/a.sh",
            "cd x && ./y; sh 'tools'/a.sh",
            "sh -c \"sh tools/a.sh x\"",
            "sh -c \"sh -c 'tools/a.sh'\"",
            "sh too\\ls/a.sh",
            "echo $(tools/a.sh)",
            "echo `tools/a.sh`",
            "sh<tools/a.sh",
            "A=tools/a.sh sh -c '$A'",
            "x --run=tools/a.sh",
        ] {
            assert!(words(text).iter().any(|it| it == "tools/a.sh"), "{text}: {:?}", words(text));
        }
        assert_eq!(words("a 'b c'"), ["a", "b c", "b", "c"]);
    }

    #[test]
    fn interpreters_are_known_by_their_names() {
        for name in ["sh", "/bin/sh", "python3", "python3.12", "/usr/bin/env", ".", "lua5.4"] {
            assert!(is_interpreter(name), "{name}");
        }
        for name in ["cat", "git", "ctl", "gh"] {
            assert!(!is_interpreter(name), "{name}");
        }
    }
}
