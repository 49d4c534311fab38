//! The project's own files that a flow names as its program or script.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::iter::once;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use super::Problem;
use super::data::without_data;
use super::deciding::{Given, check_command, check_words};
use super::load::Load;
use super::looked::{ALL_PAIRS_MAX, Follow, Looked, Stamp};
use super::marks::Marks;
use super::parts::{PATH_BYTES_MAX, SEPARATORS, at_home, parts};
use super::split::{Split, with_folder};
use super::trust::{self, Distrust};
use super::values::{Values, is_text};
use crate::command::pieces::is_mark;
use crate::command::programs::runs_files;
use crate::command::rules::is_data;
use crate::command::tree::TOO_NESTED;
use crate::command::variables::resolves_as;
use crate::definition::{Variables, invalid_command, invalid_env};
use crate::{Action, ContentHash, DataTypes, Flow, FlowFile, Folder, InvalidFile, Kind, Template};

/// The most bytes of a program that are read.
const BYTES_MAX: u64 = 64 << 20;
/// The most pairs of a folder and a word that are checked.
const PAIRS_MAX: usize = 20_000;
/// The most words that a word with values of `one of` can stand for.
const CHOICES_MAX: usize = 1000;
/// The bytes of expanded words that are built for an action, whatever its length, and for each byte
/// of its words.
const EXPANDED_BYTES_MIN: usize = 256 << 10;
const EXPANDED_BYTES_FACTOR: usize = 256;
/// The most files of a folder that are compared with a word that contains a value.
const ENTRIES_MAX: usize = 4096;
/// The most places of a word where a command of `sed` may begin.
const SED_MAX: usize = 64;
/// Extensions of files that are run although they have no executable bit.
const ENDINGS: &[&str] = &[
    "awk", "bash", "cjs", "fish", "jl", "js", "lua", "mjs", "php", "pl", "ps1", "py", "r", "rb",
    "sed", "sh", "tcl", "ts", "zsh",
];
/// What interpreters add to a given name: `node tools/run`, `lua -l tool`.
const COMPLETIONS: &[&str] = &[
    ".awk",
    ".cjs",
    ".class",
    ".js",
    ".json",
    ".lua",
    ".mjs",
    ".node",
    ".pm",
    ".py",
    ".rb",
    ".so",
    ".ts",
    "/__init__.py",
    "/__main__.py",
    "/index.cjs",
    "/index.js",
    "/index.json",
    "/index.mjs",
    "/index.node",
    "/init.lua",
    "/package.json",
];

/// A file of the project that a flow names as its program or script.
#[derive(Debug, Clone)]
pub(super) struct ProgramFile {
    /// Relative to the project, without links.
    pub(super) file: String,
    pub(super) content: Arc<[u8]>,
    pub(super) hash: ContentHash,
}

/// Where a flow's programs are looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) project: &'a Path,
    /// The variables that the programs inherit.
    pub(super) inherited: &'a [(String, String)],
}

/// Programs already read, so that they are read again only after a change.
#[derive(Debug, Default)]
pub(super) struct Cache(HashMap<PathBuf, (Stamp, ContentHash)>);

/// The hashes of the programs that actions name, by their names in the project.
pub(super) fn hashes<'a>(
    place: Place<'_>,
    flow: &Flow,
    actions: impl Iterator<Item = &'a Action>,
    cache: &mut Cache,
    looked: &mut Looked,
) -> Result<BTreeMap<String, ContentHash>, Problem> {
    let mut found = BTreeMap::new();
    for (file, path) in paths(place, flow, actions, looked)? {
        let metadata = fs::metadata(&path).map_err(|it| unreadable(&file, &it))?;
        let stamp = Stamp::of(&metadata);
        let cached = cache.0.get(&path).filter(|(seen, _)| *seen == stamp);
        let hash = if let Some((_, hash)) = cached {
            // Permissions of the folders above may have changed all the same.
            check_folders(place.project, &path, &file)?;
            hash.clone()
        } else {
            let hash = read(place.project, &path, &file)?.hash;
            cache.0.insert(path, (stamp, hash.clone()));
            hash
        };
        found.insert(file, hash);
    }
    Ok(found)
}

/// The programs that a flow names, with their contents.
pub(super) fn contents(
    place: Place<'_>,
    flow: &Flow,
    looked: &mut Looked,
) -> Result<Vec<ProgramFile>, Problem> {
    let paths = paths(place, flow, flow.actions.iter(), looked)?;
    paths.iter().map(|(file, path)| read(place.project, path, file)).collect()
}

/// The programs that actions name: their paths without links, by their names in the project.
fn paths<'a>(
    place: Place<'_>,
    flow: &Flow,
    actions: impl Iterator<Item = &'a Action>,
    looked: &mut Looked,
) -> Result<BTreeMap<String, PathBuf>, Problem> {
    let Ok(project) = place.project.canonicalize() else { return Ok(BTreeMap::new()) };
    let mut follow = Follow { project: &project, looked };
    let mut found = BTreeMap::new();
    for action in actions {
        let words = named(flow, action, place.inherited, Which::All)?.substituted()?;
        let folder = action.cwd.as_ref().or(flow.cwd.as_ref()).map_or(".", Folder::as_str);
        let Some(folder) = follow.path(&project, folder, |_| {})? else { continue };
        let runs = words.iter().any(|it| runs_files(it));
        let scripts: BTreeSet<String> = if runs {
            let found = named(flow, action, place.inherited, Which::Scripts)?;
            found.substituted()?.into_iter().collect()
        } else {
            BTreeSet::new()
        };
        let mut add = |path: PathBuf| {
            let name = path.strip_prefix(&project).unwrap_or(&path);
            found.insert(name.to_string_lossy().into_owned(), path);
        };
        let bases = bases(&mut follow, folder, &words)?;
        // An action that fails the check is rejected by it.
        let loads = loads(flow, action, place.inherited).unwrap_or_default();
        for (base, load) in bases.iter().flat_map(|it| loads.iter().map(move |load| (it, load))) {
            load.check(&mut follow, base)?;
            if let Load::File(name) = load {
                follow.file(base, name)?.into_iter().for_each(&mut add);
            }
        }
        follow.looked.count(bases.len() * words.len()).ok_or_else(|| {
            let why = format!(
                "the flow {} and those before it, in all files, have more than {ALL_PAIRS_MAX} pairs of a word and a folder in which it could be a program; put their commands into scripts of the project",
                flow.name
            );
            Problem::Untrusted(why)
        })?;
        for base in bases {
            for word in &words {
                if word.contains(is_mark) {
                    let all = matching(&mut follow, &base, word)?;
                    all.into_iter().filter(|it| is_program(it)).for_each(&mut add);
                }
                let path = follow.file(&base, word)?;
                let runs = scripts.contains(word);
                path.into_iter().filter(|it| runs || is_program(it)).for_each(&mut add);
                if runs {
                    for name in completed(word) {
                        follow.file(&base, &name)?.into_iter().for_each(&mut add);
                    }
                }
            }
        }
    }
    // Whoever can write to a folder above a program can replace it.
    for path in found.values() {
        looked.at_all(path, &project);
    }
    Ok(found)
}

/// The folders that an action may run in: its own, and every one that a word names from one of
/// them, with those in between. A shell's `cd` resolves `..` textually, the kernel through the
/// folder that a link points to: both are included.
fn bases(
    follow: &mut Follow<'_>,
    folder: PathBuf,
    words: &[String],
) -> Result<Vec<PathBuf>, Problem> {
    let mut bases = vec![folder];
    let mut at = 0;
    while let Some(base) = bases.get(at).cloned() {
        at += 1;
        for word in words {
            let mut passed = Vec::new();
            let found = follow.path(&base, word, |it| passed.push(it.to_owned()))?;
            let is_folder = found.is_some_and(|it| it.is_dir());
            for it in passed.into_iter().filter(|_| is_folder) {
                if !bases.contains(&it) {
                    bases.push(it);
                }
            }
        }
        if bases.len().saturating_mul(words.len()) > PAIRS_MAX {
            return Err(too_many_pairs());
        }
    }
    Ok(bases)
}

/// The files that an interpreter could take a name for.
fn completed(word: &str) -> Vec<String> {
    if word.starts_with('-') {
        return Vec::new();
    }
    let plain = word.trim_end_matches('/');
    let mut names: Vec<String> = COMPLETIONS.iter().map(|it| format!("{plain}{it}")).collect();
    let is_module = |it: char| it.is_alphanumeric() || "_.:".contains(it);
    if word.chars().all(is_module) && word.contains(['.', ':']) {
        let path = word.replace("::", "/").replace('.', "/");
        names.extend(COMPLETIONS.iter().map(|it| format!("{path}{it}")));
    }
    names
}

/// The files that a word with a value in the last part of its path can name.
fn matching(follow: &mut Follow<'_>, base: &Path, word: &str) -> Result<Vec<PathBuf>, Problem> {
    let Some((folder, name)) = word.rsplit_once('/') else { return Ok(Vec::new()) };
    let folder = if folder.is_empty() { "/" } else { folder };
    let (Some((before, _)), Some((_, after))) =
        (name.split_once(is_mark), name.rsplit_once(is_mark))
    else {
        return Ok(Vec::new());
    };
    let at = follow.path(base, folder, |_| {})?.filter(|it| it.starts_with(follow.project));
    let Some(entries) = at.and_then(|it| fs::read_dir(it).ok()) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (number, entry) in entries.flatten().enumerate() {
        if number >= ENTRIES_MAX {
            let why = format!("{folder} has too many files to find those that a value could name");
            return Err(Problem::Untrusted(why));
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(before) && name.ends_with(after) {
            found.extend(follow.file(base, &format!("{folder}/{name}"))?);
        }
    }
    Ok(found)
}

/// Whether a file is run when it is named: by its mode, its first bytes, or its extension.
fn is_program(path: &Path) -> bool {
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let is_executable = || path.metadata().is_ok_and(|it| it.permissions().mode() & 0o111 != 0);
    let begins = || {
        let mut head = [0; 2];
        File::open(path).and_then(|mut it| it.read_exact(&mut head)).is_ok_and(|()| &head == b"#!")
    };
    ENDINGS.contains(&ending.to_ascii_lowercase().as_str()) || is_executable() || begins()
}

/// Checks that each command of a file says literally which programs it runs, as far as the file and
/// these inherited variables decide it.
///
/// # Errors
/// The first command that does not, with its position.
pub(super) fn check_commands(
    file: &FlowFile,
    inherited: &[(String, String)],
) -> Result<(), InvalidFile> {
    for (idx, flow) in file.flows().enumerate() {
        check_env(&flow.env)
            .map_err(|(name, it)| invalid_env(&file.text, (idx, None), name, it))?;
        for (number, action) in flow.actions.iter().enumerate() {
            check_env(&action.env)
                .map_err(|(name, it)| invalid_env(&file.text, (idx, Some(number)), name, it))?;
            check_action(flow, action, inherited)
                .map_err(|it| invalid_command(&file.text, (idx, number), &action.kind, it))?;
        }
    }
    Ok(())
}

/// Checks that no variable changes which program a name stands for; the error has its name.
fn check_env(env: &Variables) -> Result<(), (&str, String)> {
    match env.0.iter().find(|(name, value)| resolves_as(name, value)) {
        Some((name, _)) => {
            Err((name.as_str(), changes_programs(&format!("env sets {name}")).to_string()))
        }
        None => Ok(()),
    }
}

/// Checks that an action says literally which programs it runs.
pub(super) fn check_action(
    flow: &Flow,
    action: &Action,
    inherited: &[(String, String)],
) -> Result<(), String> {
    loads(flow, action, inherited).map(drop)
}

/// What the interpreters of an action look for, if it says literally which programs it runs.
fn loads(
    flow: &Flow,
    action: &Action,
    inherited: &[(String, String)],
) -> Result<BTreeSet<Load>, String> {
    let types = &flow.trigger.data;
    check_env(&flow.env).and_then(|()| check_env(&action.env)).map_err(|(_, it)| it)?;
    Found::of(flow, action, inherited).and_then(|it| it.check()).map_err(|it| it.to_string())?;
    let mut given = given(flow, action, inherited);
    let written = match &action.kind {
        Kind::Command(it) => vec![it.as_str()],
        Kind::Exec(it) => {
            once(it.program.as_str()).chain(it.arguments.iter().map(Template::as_str)).collect()
        }
        _ => Vec::new(),
    };
    let values = given.env.values().map(String::as_str);
    if let Some(it) =
        written.into_iter().chain(values).find_map(|it| it.chars().find(|it| is_mark(*it)))
    {
        return Err(format!(
            "{it:?} is a character for private use, which stands for a value of the event here; use another one"
        ));
    }
    let mut marks = Marks::default();
    match &action.kind {
        Kind::Command(it) => {
            let text = marks.mark(it.as_str(), types);
            given.allows_dash = it.allows_dash();
            check_command(&text, &given, &marks)?;
        }
        Kind::Exec(it) => {
            let words = once(it.program.as_str()).chain(it.arguments.iter().map(Template::as_str));
            let words: Vec<String> = words.map(|it| marks.mark(it, types)).collect();
            given.allows_dash = it.allow_dash;
            check_words(&words, &given, &marks)?;
        }
        _ => {}
    }
    // The check of the words does not know every place where a program sets a variable.
    named(flow, action, inherited, Which::All)
        .and_then(|it| it.check())
        .map_err(|it| it.to_string())?;
    Ok(given.loads.take())
}

/// The variables that an action gets, without those that may differ between runs.
fn given(flow: &Flow, action: &Action, inherited: &[(String, String)]) -> Given {
    let home = inherited.iter().find(|(name, _)| name == "HOME").map(|(_, it)| it.clone());
    let mut given = Given { home, ..Given::default() };
    let env = flow.env.0.iter().chain(&action.env.0);
    given.env.extend(env.map(|(name, value)| (name.clone(), value.clone())));
    for secret in flow.secrets.iter().chain(&action.secrets) {
        given.env.remove(secret);
    }
    given
}

/// Which words of an action are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// Without those that are data for an interpreter.
    Scripts,
}

/// Every word of an action and of its variables' values that may name a file.
fn named<'a>(
    flow: &'a Flow,
    action: &Action,
    inherited: &[(String, String)],
    which: Which,
) -> Result<Found<'a>, Problem> {
    let types = &flow.trigger.data;
    let mut found = Found::of(flow, action, inherited)?;
    match &action.kind {
        Kind::Command(it) if which == Which::Scripts => {
            let text = found.marks.mark(it.as_str(), types);
            let text = without_data(&text);
            found.words.insert(text.clone());
            found.add_split(&text, "")?;
        }
        Kind::Command(it) => found.add_command(it.as_str(), types, "a command")?,
        Kind::Exec(it) => {
            found.add(&it.program, types);
            let setter = if runs_files(&it.program) { "a command" } else { "" };
            let words = it.words(types);
            for (idx, argument) in it.arguments.iter().enumerate() {
                if which == Which::All || !is_data(&words, idx + 1) {
                    found.add_command(argument.as_str(), types, setter)?;
                } else {
                    // The values after it keep their characters.
                    found.marks.mark(argument.as_str(), types);
                }
            }
        }
        _ => {}
    }
    Ok(found)
}

/// The words found so far, with the values of variables and placeholders in them.
#[derive(Default)]
struct Found<'a> {
    words: BTreeSet<String>,
    values: Values,
    /// The values of the event in them.
    marks: Marks<'a>,
    /// What sets a variable that changes which program a name stands for.
    resolving: Option<String>,
}

impl<'a> Found<'a> {
    /// With the variables that an action gets.
    fn of(flow: &Flow, action: &Action, inherited: &[(String, String)]) -> Result<Self, Problem> {
        let mut found = Self::default();
        for folder in ["PWD", "OLDPWD"] {
            found.values.set(folder, ".");
        }
        for (name, value) in inherited {
            found.values.set(name, value);
        }
        if action.kind.runs_program() {
            for (name, value) in flow.env.0.iter().chain(&action.env.0) {
                found.add_variable(name, value)?;
            }
        }
        Ok(found)
    }

    fn add(&mut self, text: &str, types: &'a DataTypes) -> String {
        let marked = self.marks.mark(text, types);
        self.words.insert(marked.clone());
        marked
    }

    /// Adds a text that may be a command. The setter names it in the error for one that changes
    /// which program a name stands for; without a name, it may.
    fn add_command(
        &mut self,
        text: &str,
        types: &'a DataTypes,
        setter: &str,
    ) -> Result<(), Problem> {
        let marked = self.add(text, types);
        self.add_split(&marked, setter)
    }

    /// Adds a variable of `env:`. A program may take its value for a command, or for a list.
    fn add_variable(&mut self, name: &str, value: &str) -> Result<(), Problem> {
        let value = with_folder(value);
        self.words.insert(value.clone());
        self.values.set(name, &value);
        self.add_split(&value, &format!("the value of {name} in env"))
    }

    fn add_split(&mut self, text: &str, setter: &str) -> Result<(), Problem> {
        let Some(split) = Split::of(text) else {
            let start: String = text.chars().take(40).collect();
            return Err(Problem::Untrusted(format!("the command {start:?}… {TOO_NESTED}")));
        };
        if let Some(name) = split.resolving.filter(|_| !setter.is_empty()) {
            self.resolving.get_or_insert_with(|| format!("{setter} sets {name}"));
        }
        self.words.extend(split.words);
        for (name, value) in split.assigned {
            self.values.set(&name, &value);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Problem> {
        self.resolving.as_ref().map_or(Ok(()), |it| Err(changes_programs(it)))
    }

    /// Adds the commands in scripts of `sed`: `e./x.sh` runs a program.
    fn add_of_sed(&mut self) {
        if !self.words.iter().any(|it| it.ends_with("sed")) {
            return;
        }
        let found = self.words.iter().flat_map(|word| {
            let ends = word.match_indices('e').take(SED_MAX).map(|(at, it)| &word[at + it.len()..]);
            ends.filter(|it| it.contains('/') && !it.ends_with('/') && it.len() <= PATH_BYTES_MAX)
        });
        let found: Vec<String> = found.map(str::to_owned).collect();
        self.words.extend(found);
    }

    fn substituted(mut self) -> Result<Vec<String>, Problem> {
        self.add_of_sed();
        self.words.iter().for_each(|it| self.values.learn(it));
        let bytes: usize = self.words.iter().map(String::len).sum();
        let mut budget = EXPANDED_BYTES_MIN + EXPANDED_BYTES_FACTOR * bytes;
        let homes = self.values.expanded("$HOME", CHOICES_MAX, &mut budget);
        let mut homes = homes.ok_or_else(too_many)?;
        homes.remove("$HOME");
        // Without an argument, it goes to the home.
        let goes_home = self.words.contains("cd");
        let mut words: BTreeSet<String> = homes.iter().filter(|_| goes_home).cloned().collect();
        // A word that is longer than a path when it is expanded may be a list of paths.
        let lists = self.words.iter().flat_map(|it| once(it.as_str()).chain(it.split(SEPARATORS)));
        for word in lists.collect::<BTreeSet<_>>() {
            let expanded = match self.values.expanded(word, CHOICES_MAX, &mut budget) {
                Some(all) => all,
                // The words of a text are in the set, too.
                None if is_text(word) => BTreeSet::from([word.to_owned()]),
                None => return Err(too_many()),
            };
            for it in expanded.iter().flat_map(|it| parts(it)) {
                for it in chosen(it.to_owned(), &self.marks)? {
                    words.extend(at_home(&it, &homes));
                    words.insert(it);
                }
                if words.len() > PAIRS_MAX {
                    return Err(too_many_pairs());
                }
            }
        }
        Ok(words.into_iter().collect())
    }
}

fn too_many_pairs() -> Problem {
    let why = format!(
        "an action has more than {PAIRS_MAX} pairs of a word and a folder in which it could be a program; put the command into a script of the project"
    );
    Problem::Untrusted(why)
}

fn too_many() -> Problem {
    let why = format!(
        "a word of an action expands to more than {CHOICES_MAX} names; use fewer values in it"
    );
    Problem::Untrusted(why)
}

fn changes_programs(what: &str) -> Problem {
    let why =
        "which changes the programs that it runs; do not set it, and name each program by its path";
    Problem::Untrusted(format!("{what}, {why}"))
}

/// A word with each of its possible values substituted.
fn chosen(word: String, marks: &Marks<'_>) -> Result<Vec<String>, Problem> {
    let mut words = vec![word];
    if !words[0].contains(is_mark) {
        return Ok(words);
    }
    for (mark, list) in marks.choices() {
        if !words[0].contains(mark) {
            continue;
        }
        let all = words.iter().flat_map(|word| list.iter().map(move |it| (word, it)));
        words = all.map(|(word, it)| word.replace(mark, it)).take(CHOICES_MAX + 1).collect();
        if words.is_empty() || words.len() > CHOICES_MAX {
            return Err(too_many());
        }
    }
    Ok(words)
}

/// Reads a program. It and the folders above it must belong to this user or to root, and nobody
/// else may have write access to them.
fn read(project: &Path, path: &Path, file: &str) -> Result<ProgramFile, Problem> {
    check_folders(project, path, file)?;
    // Another file, which could block when opened, may have replaced it meanwhile.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let opened = opened.map_err(|it| unreadable(file, &it))?;
    let metadata = opened.metadata().map_err(|it| unreadable(file, &it))?;
    if !metadata.is_file() {
        return Err(Problem::Unreadable(format!("{file} is not a regular file")));
    }
    trust::check(&metadata, path, file).map_err(distrusted)?;
    let mut content = Vec::new();
    opened.take(BYTES_MAX + 1).read_to_end(&mut content).map_err(|it| unreadable(file, &it))?;
    if content.len() as u64 > BYTES_MAX {
        return Err(Problem::Unreadable(format!(
            "{file} exceeds {BYTES_MAX} bytes, the limit for approval"
        )));
    }
    let hash = ContentHash::of_bytes(&content);
    Ok(ProgramFile { file: file.to_owned(), content: content.into(), hash })
}

fn check_folders(project: &Path, path: &Path, file: &str) -> Result<(), Problem> {
    let project = project.canonicalize().map_err(|it| unreadable(file, &it))?;
    for folder in path.ancestors().skip(1).take_while(|it| it.starts_with(&project)) {
        let metadata = fs::metadata(folder).map_err(|it| unreadable(file, &it))?;
        let what = format!("a folder above {file}");
        trust::check(&metadata, folder, &what).map_err(distrusted)?;
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
    use super::runs_files;

    #[test]
    fn interpreters_are_known_by_their_names() {
        for name in
            ["sh", "/bin/sh", "python3", "python3.12", "/usr/bin/env", ".", "lua5.4", "rbash"]
        {
            assert!(runs_files(name), "{name}");
        }
        for name in ["cat", "git", "ctl", "gh"] {
            assert!(!runs_files(name), "{name}");
        }
    }
}
