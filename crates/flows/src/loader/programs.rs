//! The project's own files that a flow names: programs and scripts, and the files that it lists.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::Problem;
use super::stamps::{PAIRS_MAX, Stamp, Stamps};
use super::trust;
use crate::{Action, ContentHash, Flow, Kind, ProjectPath};

/// The most bytes of a file that are read.
const BYTES_MAX: usize = 64 << 20;
/// The longest path that the system follows.
const PATH_BYTES_MAX: usize = 4096;
/// Extensions of files that are run although they have no executable bit.
const ENDINGS: &[&str] = &[
    "awk", "bash", "cjs", "fish", "go", "jl", "js", "lua", "mjs", "php", "pl", "ps1", "py", "r",
    "rb", "sed", "sh", "tcl", "ts", "zsh",
];

/// A file of the project that an approval covers.
#[derive(Debug, Clone)]
pub(super) struct Covered {
    /// Relative to the project.
    pub(super) file: String,
    pub(super) content: Arc<[u8]>,
    pub(super) hash: ContentHash,
}

/// Files already read, so that they are read again only after a change.
#[derive(Debug, Default)]
pub(super) struct Cache(HashMap<PathBuf, (Stamp, ContentHash)>);

/// The files of the project that actions of a flow name.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Programs, scripts and listed files, by their names in the project: where they are.
    covered: BTreeMap<String, PathBuf>,
    /// The names of the others.
    pub(super) others: BTreeSet<String>,
}

impl Found {
    pub(super) fn of<'a>(
        project: &Path,
        flow: &Flow,
        actions: impl Iterator<Item = &'a Action>,
        stamps: &mut Stamps,
    ) -> Result<Self, Problem> {
        let mut found = Self::default();
        let Ok(project) = project.canonicalize() else { return Ok(found) };
        for listed in flow.files.iter().map(|file| file.as_str()) {
            let missing =
                || Problem::Unreadable(format!("{listed}, which files: lists, not found"));
            let file = OfProject::find(&project, &project, listed, stamps).ok_or_else(missing)?;
            if !file.path.is_file() {
                return Err(missing());
            }
            found.covered.insert(file.name, file.path);
        }
        for action in actions {
            let words = words_of(flow, action);
            let folder = action.cwd.as_ref().or(flow.cwd.as_ref()).map_or(".", ProjectPath::as_str);
            // Each folder that a word names may be the current one of the others.
            let mut bases = vec![project.join(folder)];
            let mut folders = BTreeSet::new();
            let mut next = 0;
            while let Some(base) = bases.get(next).cloned() {
                next += 1;
                stamps.count(words.len()).ok_or_else(|| {
                    let name = &flow.name;
                    Problem::Untrusted(format!("the flow {name} and those before it, in all files, have more than {PAIRS_MAX} pairs of a word and a folder in which it could be a program; put their commands into scripts of the project"))
                })?;
                for word in &words {
                    let Some(file) = OfProject::find(&project, &base, word, stamps) else {
                        continue;
                    };
                    if file.path.is_dir() {
                        if folders.insert(file.path) {
                            bases.push(base.join(word));
                        }
                    } else if file.path.is_file() {
                        if is_program(&file.path) && !writes(action, word) {
                            // Whoever can write to a folder above a program can replace it.
                            stamps.at_all(&file.path, &project);
                            found.covered.insert(file.name, file.path);
                        } else {
                            found.others.insert(file.name);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// The hash of each covered file, by its name.
    pub(super) fn hashes(
        &self,
        project: &Path,
        cache: &mut Cache,
    ) -> Result<BTreeMap<String, ContentHash>, Problem> {
        let mut hashes = BTreeMap::new();
        let top = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        for (file, path) in &self.covered {
            let metadata = fs::metadata(path).map_err(|error| trust::unreadable(file, &error))?;
            let stamp = Stamp::of(&metadata);
            let cached = cache.0.get(path).filter(|(seen, _)| *seen == stamp);
            let hash = if let Some((_, hash)) = cached {
                // Permissions of the folders above may have changed all the same.
                trust::check_folders(&top, path, file)?;
                hash.clone()
            } else {
                let hash = read(project, path, file)?.hash;
                cache.0.insert(path.clone(), (stamp, hash.clone()));
                hash
            };
            hashes.insert(file.clone(), hash);
        }
        Ok(hashes)
    }

    /// The covered files with their contents.
    pub(super) fn contents(&self, project: &Path) -> Result<Vec<Covered>, Problem> {
        self.covered.iter().map(|(file, path)| read(project, path, file)).collect()
    }
}

/// A file or folder that is in the project by its name.
struct OfProject {
    /// Relative to the project: without links, or of the link that leads out.
    name: String,
    /// Without links.
    path: PathBuf,
}

impl OfProject {
    /// What a word names from a folder, without links in `project`.
    fn find(project: &Path, base: &Path, word: &str, stamps: &mut Stamps) -> Option<Self> {
        let path = base.join(word);
        let named = without_dots(&path);
        let own = named.strip_prefix(project).ok().map(Path::to_owned);
        // A path that does not exist costs one call of the system.
        let found = path.symlink_metadata().and_then(|_| path.canonicalize()).ok();
        if own.is_some() {
            // A missing file is represented by the folder that lacks it.
            stamps.at(if found.is_some() { &named } else { named.parent().unwrap_or(project) });
        }
        let found = found?;
        let inner = found.strip_prefix(project).ok().map(Path::to_owned);
        let name = inner.or(own)?.to_string_lossy().into_owned();
        Some(Self { name, path: found })
    }
}

/// A path with `..` and `.` resolved by their names.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Whether the action is a command that writes this file by `>`: its content is the command's.
fn writes(action: &Action, file: &str) -> bool {
    let Kind::Command(command) = &action.kind else { return false };
    let text = QUOTED.replace_all(command.as_str(), " ");
    WRITTEN
        .captures_iter(&text)
        .any(|captures| captures.get(1).is_some_and(|it| it.as_str() == file))
}

/// Text in quotes with `>` in it.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""[^"]*>[^"]*"|'[^']*>[^']*'"#).expect("the expression is constant")
});
/// The target of `>`.
static WRITTEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:^|[^>=\\-])>[ \t]*['"]?([^\s;|&()<>'"]+)"#)
        .expect("the expression is constant")
});
/// A word with its quotes.
static WORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:\\.|"[^"]*"|'[^']*'|[^\s;|&()<>'"\\])+"#).expect("the expression is constant")
});

/// The words of an action and of its variables: as a shell would split them, without the quotes, and
/// their parts after `=` and between `:`, `,` and `@`.
fn words_of(flow: &Flow, action: &Action) -> BTreeSet<String> {
    let joined;
    let mut texts: Vec<&str> = match &action.kind {
        Kind::Command(it) => {
            joined = it.as_str().replace("\\\n", "");
            vec![&joined]
        }
        Kind::Exec(it) => it.items().collect(),
        _ => return BTreeSet::new(),
    };
    texts.extend(flow.env.0.iter().chain(&action.env.0).map(|(_, value)| value.as_str()));
    let plain: Vec<String> = texts
        .iter()
        .flat_map(|text| WORD.find_iter(text))
        .map(|found| found.as_str().replace(['\'', '"', '\\'], ""))
        .collect();
    texts.extend(plain.iter().map(String::as_str));
    let ends = |c: char| c.is_whitespace() || ";|&()<>`'\"\\${}".contains(c);
    let words = texts.into_iter().flat_map(|text| {
        let quoted = text.split(['\'', '"']);
        quoted.chain(text.split(ends)).chain([text])
    });
    let parts =
        words.flat_map(|word| std::iter::once(word).chain(word.split(['=', ':', ',', '@'])));
    let can_be =
        |text: &&str| !text.is_empty() && text.len() <= PATH_BYTES_MAX && !text.contains('\0');
    parts.filter(can_be).map(str::to_owned).collect()
}

/// Whether a file is run when it is named: by its mode, its first bytes, or its extension.
fn is_program(path: &Path) -> bool {
    let ending = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_executable =
        || path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    let begins = || {
        let mut head = [0; 2];
        File::open(path)
            .and_then(|mut file| file.read_exact(&mut head))
            .is_ok_and(|()| &head == b"#!")
    };
    ENDINGS.contains(&ending.to_ascii_lowercase().as_str()) || is_executable() || begins()
}

/// Reads a covered file. Of a link that leads out of the project, the content is its target's path:
/// what is there belongs to the machine.
fn read(project: &Path, path: &Path, file: &str) -> Result<Covered, Problem> {
    let content = match project.canonicalize() {
        Ok(project) if path.starts_with(&project) => trust::read(&project, path, file, BYTES_MAX)?,
        _ => format!("a link to {}\n", path.display()).into_bytes(),
    };
    let hash = ContentHash::of_bytes(&content);
    Ok(Covered { file: file.to_owned(), content: content.into(), hash })
}
