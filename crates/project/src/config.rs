//! Parses `config.yaml` such that every error has a line.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::declared::keys;
use crate::error::{Error, Result};
use crate::key::Key;
use crate::nearest::nearest;
use crate::trusted;
use crate::value::{Given, Value};

const BYTES_MAX: u64 = 1024 * 1024;
/// The YAML parser compares each token with every open `[` and `{`: with these limits, a file of
/// the largest size takes half a second.
const BRACKETS_MAX: usize = 1000;
/// The most lines that begin with `%`: the parser compares each with all before it.
const DIRECTIVES_MAX: usize = 100;
/// The section of the user's file with settings for single projects.
const PROJECTS: &str = "projects";

pub(crate) type Config = BTreeMap<&'static str, Value>;

/// The content of a project's file.
#[derive(Debug, Default)]
pub(crate) struct ProjectFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) values: Config,
}

/// The content of the user's own file.
#[derive(Debug, Default)]
pub(crate) struct UserFile {
    /// For all projects.
    pub(crate) values: Config,
    /// For the current project.
    pub(crate) of_project: Config,
}

/// Reads a project's file; a missing one counts as empty.
pub(crate) fn read_project(root: &Path, file: &str) -> Result<ProjectFile> {
    let found = trusted::read_of_project(root, file, BYTES_MAX).map_err(too_large)?;
    let Some(bytes) = found else {
        return Ok(ProjectFile::default());
    };
    let reading = Reading::default();
    parse(&bytes, &root.join(file), Part::Project, &reading)?;
    Ok(ProjectFile { bytes, values: reading.values.into_inner() })
}

/// Reads the user's own file; a missing one counts as empty.
pub(crate) fn read_user(path: &Path, root: &Path, home: Option<&Path>) -> Result<UserFile> {
    let Some(bytes) = trusted::read_of_user(path, BYTES_MAX).map_err(too_large)? else {
        return Ok(UserFile::default());
    };
    let reading =
        Reading { root: root.to_owned(), home: home.map(Path::to_owned), ..Reading::default() };
    parse(&bytes, path, Part::User, &reading)?;
    Ok(UserFile {
        values: reading.values.into_inner(),
        of_project: reading.of_project.into_inner(),
    })
}

fn too_large(error: Error) -> Error {
    match error {
        Error::TooLarge { path, bytes_max } => {
            let message = format!("the file exceeds {bytes_max} bytes");
            Error::Config { path, line: 1, column: 1, message }
        }
        error => error,
    }
}

/// The line of a project's file, from 1, that sets this key.
pub(crate) fn line_of(bytes: &[u8], key: &'static str) -> usize {
    let reading = Reading { sought: Some(key), ..Reading::default() };
    match parse(bytes, Path::new(""), Part::Project, &reading) {
        Err(Error::Config { line, .. }) => line,
        _ => 1,
    }
}

fn parse(bytes: &[u8], path: &Path, part: Part, reading: &Reading) -> Result<()> {
    let error = |line, column, message: String| Error::Config {
        path: path.to_owned(),
        line,
        column,
        message,
    };
    let text = std::str::from_utf8(bytes).map_err(|invalid| {
        let before = String::from_utf8_lossy(&bytes[..invalid.valid_up_to()]);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
        error(line, column, "invalid UTF-8".to_owned())
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some((line, column, message)) = excess(text) {
        return Err(error(line, column, message));
    }
    let level = Level { section: None, part, reading };
    Any(level).deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|yaml| {
        let (line, column) = yaml.location().map_or((1, 1), |at| (at.line(), at.column()));
        let message = reading.fault.borrow_mut().take().unwrap_or_else(|| yaml.to_string());
        error(line, column, message)
    })
}

/// What makes a text one for which the parser takes too long, with its line and column.
fn excess(text: &str) -> Option<(usize, usize, String)> {
    let bracket = text.match_indices(['[', '{']).nth(BRACKETS_MAX).map(|(at, _)| {
        let message = format!(
            "more than {BRACKETS_MAX} [ and {{; write lists as lines with -, and sections as lines with key: value"
        );
        (at, message)
    });
    let breaks = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
    let directive = || {
        let begins = |at: usize| at == 0 || text[..at].ends_with(breaks);
        let (at, _) = text.match_indices('%').filter(|(at, _)| begins(*at)).nth(DIRECTIVES_MAX)?;
        let message = format!(
            "more than {DIRECTIVES_MAX} lines begin with %; settings need no directives, so remove them"
        );
        Some((at, message))
    };
    let (at, message) = bracket.or_else(directive)?;
    let before = &text[..at];
    let column = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
    Some((1 + before.matches('\n').count(), column, message))
}

/// What was read so far. The parser knows the position of an error, and this knows its message.
#[derive(Default)]
struct Reading {
    values: RefCell<Config>,
    /// The user's settings for the current project.
    of_project: RefCell<Config>,
    fault: RefCell<Option<String>>,
    /// The current project, and the user's home.
    root: PathBuf,
    home: Option<PathBuf>,
    /// A key whose position is searched: reading stops where it is set.
    sought: Option<&'static str>,
}

/// Which part of which file is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A project's file.
    Project,
    /// The user's file, for all projects.
    User,
    /// The user's file, for the current project.
    UserHere,
    /// The user's file, for another project.
    UserElsewhere,
}

impl Reading {
    fn fail<E: serde::de::Error>(&self, message: String) -> E {
        *self.fault.borrow_mut() = Some(message);
        E::custom("see the fault")
    }
}

/// The top level, or the content of a section.
#[derive(Clone, Copy)]
struct Level<'r> {
    section: Option<&'static str>,
    part: Part,
    reading: &'r Reading,
}

/// Reads whatever comes next by a visitor.
struct Any<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Any<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.section {
            Some(section) => write!(f, "settings as `key: value` below `{section}:`"),
            None => f.write_str("settings as `key: value`"),
        }
    }

    /// An empty file, or a section whose lines are all commented out.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    /// A file that contains only comments.
    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = Vec::new();
        while let Some(node) = map.next_key_seed(Any(Name { level: self, seen: &seen }))? {
            match node {
                Node::Section(section) => {
                    seen.push(section);
                    map.next_value_seed(Any(Level { section: Some(section), ..self }))?;
                }
                Node::Key(key) => {
                    seen.push(key.leaf());
                    let Self { part, reading, .. } = self;
                    map.next_value_seed(Any(Scalar { key, part, reading }))?;
                }
                Node::Projects => {
                    seen.push(PROJECTS);
                    map.next_value_seed(Any(Projects { reading: self.reading }))?;
                }
            }
        }
        Ok(())
    }
}

enum Node {
    Section(&'static str),
    Key(&'static Key),
    Projects,
}

/// The user's settings for single projects, by folder.
struct Projects<'r> {
    reading: &'r Reading,
}

impl<'de> Visitor<'de> for Projects<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("project folders, each with its settings")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let reading = self.reading;
        let mut seen = Vec::new();
        while let Some(folder) = map.next_key::<String>()? {
            let path = match (Path::new(&folder).strip_prefix("~"), &reading.home) {
                (Ok(rest), Some(home)) => home.join(rest),
                _ => PathBuf::from(&folder),
            };
            let problem = if !path.is_absolute() {
                Some("is neither an absolute path nor one that starts with ~/")
            } else if seen.contains(&path) {
                Some("is given twice; remove one")
            } else {
                None
            };
            if let Some(problem) = problem {
                return Err(
                    reading.fail(format!("projects: \"{}\" {problem}", folder.escape_debug()))
                );
            }
            let is_here =
                path == reading.root || path.canonicalize().is_ok_and(|path| path == reading.root);
            let part = if is_here { Part::UserHere } else { Part::UserElsewhere };
            seen.push(path);
            map.next_value_seed(Any(Level { section: None, part, reading }))?;
        }
        Ok(())
    }
}

struct Name<'r> {
    level: Level<'r>,
    seen: &'r [&'static str],
}

impl Name<'_> {
    fn find(&self, name: &str) -> Option<Node> {
        let section = self.level.section;
        if section.is_none() && self.level.part == Part::User && name == PROJECTS {
            return Some(Node::Projects);
        }
        let is_section = |key: &&Key| section.is_none() && key.section() == Some(name);
        keys()
            .find(|key| key.section() == section && key.leaf() == name)
            .map(Node::Key)
            .or_else(|| keys().find(is_section).and_then(Key::section).map(Node::Section))
    }

    /// Suggests the key that was most likely meant, here or in another place.
    fn unknown(&self, name: &str) -> String {
        let section = self.level.section;
        let here = keys().filter(|key| key.section() == section).map(Key::leaf);
        let sections = keys().filter_map(|key| key.section().filter(|_| section.is_none()));
        let full = match section {
            Some(section) => format!("{section}.{name}"),
            None => name.to_owned(),
        };
        let what = format!("unknown key \"{}\"", full.escape_debug());
        if section.is_none() && name == "flows" {
            return format!("{what}; flow files are approved one by one, not here");
        }
        if section.is_none() && name == PROJECTS {
            return format!("{what}; only your own config.yaml can have settings per project");
        }
        let elsewhere =
            keys().find(|key| key.name == name || (key.leaf() == name && key.name != full));
        if let Some(key) = elsewhere {
            return match key.section() {
                Some(section) => format!("{what}; write `{}:` below `{section}:`", key.leaf()),
                None => format!("{what}; write `{}:` at the top level", key.leaf()),
            };
        }
        if let Some(name) = nearest(name, here.chain(sections)) {
            return format!("{what}; did you mean \"{name}\"?");
        }
        match nearest(name, keys().map(Key::leaf)).and_then(Key::by_leaf) {
            Some(key) => format!("{what}; did you mean \"{}\"?", key.name),
            None => format!("{what}; docs/settings.md lists the keys"),
        }
    }
}

impl Key {
    fn by_leaf(leaf: &str) -> Option<&'static Self> {
        keys().find(|key| key.leaf() == leaf)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a setting")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Node, E> {
        let reading = self.level.reading;
        match self.find(name) {
            Some(_) if self.seen.contains(&name) => {
                Err(reading.fail(format!("\"{name}\" is given twice; remove one")))
            }
            Some(Node::Key(key)) if self.level.part == Part::User && key.is_of_one_project => {
                Err(reading.fail(format!(
                    "{} applies to one project; write it below `projects:` and the project's folder",
                    key.name
                )))
            }
            Some(node) => Ok(node),
            None => Err(reading.fail(self.unknown(name))),
        }
    }
}

struct Scalar<'r> {
    key: &'static Key,
    part: Part,
    reading: &'r Reading,
}

impl Scalar<'_> {
    fn take<E: serde::de::Error>(&self, given: &Given) -> Result<(), E> {
        if self.reading.sought == Some(self.key.name) {
            return Err(self.reading.fail(String::new()));
        }
        match self.key.kind.read_yaml(given) {
            Ok(value) => {
                let values = match self.part {
                    Part::Project | Part::User => &self.reading.values,
                    Part::UserHere => &self.reading.of_project,
                    Part::UserElsewhere => return Ok(()),
                };
                values.borrow_mut().insert(self.key.name, value);
                Ok(())
            }
            Err(message) => Err(self.reading.fail(format!("{} {message}", self.key.name))),
        }
    }
}

impl<'de> Visitor<'de> for Scalar<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key.kind.wanted())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.take(&Given::Nothing)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.take(&Given::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.take(&Given::Integer(value.into()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.take(&Given::Integer(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.take(&Given::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.take(&Given::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<serde_yaml::Value>()? {
            list.push(match item {
                serde_yaml::Value::String(text) => Given::Text(text),
                _ => Given::Map,
            });
        }
        self.take(&Given::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, _map: A) -> Result<(), A::Error> {
        self.take(&Given::Map).map_err(|error: serde::de::value::Error| A::Error::custom(error))
    }
}
