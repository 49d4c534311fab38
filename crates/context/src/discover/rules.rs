//! The rules of discovery.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::gitignore::Gitignore;
use rustix::fs::FileType;

use super::classify::{SECRET_FOLDERS, classify};
use super::ignores::{self, Ignores, Level, join};
use super::root::{is_listable, regular, split, stat_at};
use super::{Class, Found, Root, Skip, Stat, is_one_of};
use crate::extract::read_at_most;
use crate::text::file_name;
use crate::{Error, Kind, Result, Source};

/// The settings of discovery. The default needs no setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Discovery {
    /// The kinds of files, as globs over whole paths, such as `("notes/**/*.md", Kind::Daily)`; the
    /// first match overrides the default. [`Kind::Module`] makes a file code, if its language is
    /// known; every other kind makes it a document.
    pub kinds: Vec<(String, Kind)>,
    /// Never read, in `.gitignore` syntax.
    pub exclude: Vec<String>,
    /// Read even if ignored, vendored or hidden: globs over whole paths, such as `vendor/ours/**`.
    /// Secrets and paths that match `exclude` stay out.
    pub include: Vec<String>,
    /// What git ignores everywhere for this user (the file that `core.excludesFile` names), in
    /// `.gitignore` syntax. It is outside the project, so the caller reads it.
    pub global_ignore: Vec<String>,
    /// Sizes.
    pub limits: Limits,
}

/// Sizes above which a file is not read, or a walk ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest code file: 1 MiB. Larger ones are nearly always generated.
    pub code_bytes_max: u64,
    /// The largest document: 2 MiB. Of a larger change log the first (newest) part is read.
    pub document_bytes_max: u64,
    /// The most files of a project: 50,000.
    pub files_max: usize,
    /// Their total size: 200 MiB.
    pub text_bytes_max: u64,
    /// The deepest nesting of folders: 64.
    pub depth_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            code_bytes_max: 1 << 20,
            document_bytes_max: 2 << 20,
            files_max: 50_000,
            text_bytes_max: 200 << 20,
            depth_max: 64,
        }
    }
}

impl Limits {
    /// The largest file of a class that is read, and whether the first part of a larger one is
    /// read.
    pub(crate) fn of(&self, class: Class) -> (u64, bool) {
        match class.language {
            Some(_) => (self.code_bytes_max, false),
            None => (self.document_bytes_max, class.kind == Kind::Changelog),
        }
    }
}

/// The compiled rules of discovery. They may be shared between threads.
#[derive(Debug)]
pub struct Rules {
    limits: Limits,
    kinds: GlobSet,
    kind_of: Vec<Kind>,
    exclude: Gitignore,
    include: GlobSet,
    /// For each glob of `include`, its folders before the first wildcard.
    include_below: Vec<String>,
    global: Gitignore,
    ignores: Ignores,
}

/// Folders with third-party or built files, tracked or not.
const VENDORED: &str = "vendor node_modules bower_components target dist build out venv \
                        __pycache__ coverage third_party site-packages";

/// The service's own folder in a project; only the journal in it belongs to the project.
const OWN: &str = ".waypost";
const OWN_JOURNAL: &str = "journal";

/// Names starting with a dot that are read anyway.
const SHOWN: &str = ".waypost .agents .ai .claude .clinerules .codex .continue .cursor \
                     .cursorrules .gemini .github .gitlab .journal .junie .kiro .roo .specify \
                     .waypost .windsurf .windsurfrules";

/// Folders already checked, valid as long as nothing can have changed: one query checks many files
/// of few folders.
#[derive(Debug, Default)]
pub(crate) struct Places(HashMap<String, Result<Place, Skip>>);

/// A folder, and the rules that apply in it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) dir: String,
    level: Option<Arc<Level>>,
    exclude: Option<Arc<Gitignore>>,
    /// It belongs to the project only where `include` matches.
    shut: bool,
}

impl Rules {
    /// Compiles rules.
    ///
    /// # Errors
    ///
    /// If a glob is invalid, or a pair of [`Discovery::kinds`] names a kind that a whole file
    /// cannot have: a commit, or a definition.
    pub fn new(discovery: &Discovery) -> Result<Self> {
        for (glob, kind) in &discovery.kinds {
            let part = kind.source() == Source::Code && *kind != Kind::Module;
            if part || *kind == Kind::Commit {
                return Err(Error::Kind { glob: glob.clone(), kind: *kind });
            }
        }
        Ok(Self {
            limits: discovery.limits,
            kinds: globs(discovery.kinds.iter().map(|(glob, _)| glob))?,
            kind_of: discovery.kinds.iter().map(|(_, kind)| *kind).collect(),
            exclude: ignores::compile("", &discovery.exclude.join("\n")),
            include: globs(&discovery.include)?,
            include_below: discovery
                .include
                .iter()
                .map(|pattern| literal(pattern).to_owned())
                .collect(),
            global: ignores::compile("", &discovery.global_ignore.join("\n")),
            ignores: Ignores::default(),
        })
    }

    /// The size limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether a file is to be read, decided as in [`walk`](super::walk): for the watcher, and to
    /// verify a path before it is returned. It takes a few system calls for each folder of the
    /// path.
    ///
    /// # Errors
    ///
    /// Why it is not to be read: [`Skip::Gone`] if it does not exist. A path that is absolute or
    /// contains `..` is [`Skip::Ignored`].
    pub fn one(&self, root: &Root, path: &str) -> Result<Found, Skip> {
        self.one_of(root, path, &mut Places::default())
    }

    /// [`Rules::one`] for one of many files.
    pub(crate) fn one_of(
        &self,
        root: &Root,
        path: &str,
        places: &mut Places,
    ) -> Result<Found, Skip> {
        let (dir, name) = split(path).ok_or(Skip::Ignored)?;
        let place = self.place(root, dir, places)?;
        let (kind, stat) = root.stat(path)?;
        if kind == FileType::Directory {
            return Err(Skip::Gone);
        }
        self.file(&place, path, name, kind, stat)
    }

    /// Whether a folder belongs to the project, as [`Rules::one`] decides for a file: for the
    /// watcher, when a folder appears. `""` is the root.
    pub fn folder(&self, root: &Root, path: &str) -> bool {
        (path.is_empty() || split(path).is_some())
            && self.place(root, path, &mut Places::default()).is_ok()
    }

    /// Whether a change of this file changes what is ignored, so that its folder must be walked
    /// again: `.gitignore`, `.ignore`, `.waypostignore` and `.git/info/exclude`.
    pub fn is_ignore_file(path: &str) -> bool {
        ignores::NAMES.contains(&file_name(path)) || path == ignores::EXCLUDE
    }

    /// The root, as a place.
    pub(super) fn top(&self, root: &Root) -> Place {
        Place {
            dir: String::new(),
            level: self.ignores.level(root, root.place("").ok().as_ref(), "", None),
            exclude: self.ignores.exclude(root),
            shut: false,
        }
    }

    fn place(&self, root: &Root, dir: &str, places: &mut Places) -> Result<Place, Skip> {
        if let Some(known) = places.0.get(dir) {
            return known.clone();
        }
        let place = match split(dir) {
            Some((above, name)) => self.place(root, above, places).and_then(|around| {
                let entered = self.enter(root, &around, dir, name).ok_or(Skip::Ignored)?;
                let (place, opened) = entered;
                // A link in the path, a missing folder, or an unreadable one.
                is_listable(&opened?)?;
                let deep = dir.split('/').count() > self.limits.depth_max;
                if deep { Err(Skip::Limit) } else { Ok(place) }
            }),
            None => Ok(self.top(root)),
        };
        places.0.insert(dir.to_owned(), place.clone());
        place
    }

    /// Enters a subfolder: its place and the open folder if it belongs to the project, else the
    /// reason why not.
    pub(super) fn enter(
        &self,
        root: &Root,
        place: &Place,
        path: &str,
        name: &str,
    ) -> Option<(Place, Result<OwnedFd, Skip>)> {
        let lower = name.to_lowercase();
        if name == ".git"
            || !is_open(&place.dir, name)
            || SECRET_FOLDERS.contains(&lower.as_str())
            || ignores::says(&self.exclude, path, true) == Some(true)
        {
            return None;
        }
        let hidden = name.starts_with('.') && !is_one_of(&lower, SHOWN);
        let shut = place.shut
            || hidden
            || is_one_of(&lower, VENDORED)
            || lower == "worktrees" && place.dir.ends_with(".claude")
            || self.is_ignored(place, path, true);
        if shut && !self.leads_to_included(path) {
            return None;
        }
        // Opened once for all lookups.
        let folder = root.place(path);
        let shut = shut || folder.as_ref().is_ok_and(|folder| is_worktree(root, folder, path));
        if shut && !self.leads_to_included(path) {
            return None;
        }
        let level = self.ignores.level(root, folder.as_ref().ok(), path, place.level.as_ref());
        let exclude = place.exclude.clone();
        Some((Place { dir: path.to_owned(), level, exclude, shut }, folder))
    }

    /// Whether a file in a place is to be read.
    pub(super) fn file(
        &self,
        place: &Place,
        path: &str,
        name: &str,
        kind: FileType,
        stat: Stat,
    ) -> Result<Found, Skip> {
        let own = self.kinds.matches(path).first().map(|&at| self.kind_of[at]);
        let class = classify(path, own);
        if class == Err(Skip::Secret) {
            return Err(Skip::Secret);
        }
        if place.dir == OWN || ignores::says(&self.exclude, path, false) == Some(true) {
            return Err(Skip::Ignored);
        }
        let hidden = name.starts_with('.') && !is_one_of(&name.to_lowercase(), SHOWN);
        let out = place.shut || hidden || self.is_ignored(place, path, false);
        if out && !self.include.is_match(path) {
            return Err(Skip::Ignored);
        }
        regular(kind)?;
        let class = class?;
        let (bytes_max, first_part) = self.limits.of(class);
        if stat.bytes > bytes_max && !first_part {
            return Err(Skip::TooLarge);
        }
        Ok(Found { path: path.to_owned(), stat, class })
    }

    fn is_ignored(&self, place: &Place, path: &str, is_dir: bool) -> bool {
        let said = place.level.as_ref().and_then(|level| level.says(path, is_dir));
        let said = said.or_else(|| {
            place.exclude.as_ref().and_then(|exclude| ignores::says(exclude, path, is_dir))
        });
        said.or_else(|| ignores::says(&self.global, path, is_dir)).unwrap_or(false)
    }

    fn leads_to_included(&self, dir: &str) -> bool {
        self.include.is_match(dir)
            || self.include_below.iter().any(|below| is_below(dir, below) || is_below(below, dir))
    }
}

/// Whether a subfolder is not part of the service's own data.
fn is_open(dir: &str, name: &str) -> bool {
    match (dir, name) {
        (OWN, _) => name == OWN_JOURNAL,
        (_, OWN) => dir.is_empty(),
        _ => true,
    }
}

/// Whether a path is a folder or is below it.
fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| dir.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

/// Whether a folder is another working tree of a repository. A submodule has a file of the same
/// name, and belongs to the project.
fn is_worktree(root: &Root, folder: &OwnedFd, dir: &str) -> bool {
    if !matches!(stat_at(folder, OsStr::new(".git")), Ok((FileType::RegularFile, _))) {
        return false;
    }
    let Ok((bytes, _)) = read_at_most(root, &join(dir, ".git"), 4096) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    text.starts_with("gitdir:") && text.contains("/worktrees/")
}

/// The folders of a glob before the first wildcard.
fn literal(glob: &str) -> &str {
    let wild = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
    if wild == glob.len() { glob } else { glob[..wild].rfind('/').map_or("", |end| &glob[..end]) }
}

fn globs<'a>(globs: impl IntoIterator<Item = &'a String>) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(
            compile(glob).map_err(|error| Error::Glob {
                glob: glob.clone(),
                why: error.kind().to_string(),
            })?,
        );
    }
    set.build().map_err(|error| Error::Glob { glob: String::new(), why: error.kind().to_string() })
}

fn compile(glob: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).build()
}
