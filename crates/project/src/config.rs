//! `config.yaml`, read so that every error knows its line.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::key::{KEYS, Key};
use crate::nearest::nearest;
use crate::project::io_error;
use crate::value::{Given, Value};

const BYTES_MAX: u64 = 1024 * 1024;

pub(crate) type Config = BTreeMap<&'static str, Value>;

/// Reads the file; a missing one says nothing.
pub(crate) fn read(path: &Path) -> Result<Config> {
    let failed = |error| io_error("read", path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    parse(&bytes, path)
}

fn parse(bytes: &[u8], path: &Path) -> Result<Config> {
    let error = |line, column, message: String| Error::Config {
        path: path.to_owned(),
        line,
        column,
        message,
    };
    if bytes.len() as u64 > BYTES_MAX {
        return Err(error(1, 1, format!("the file is larger than {BYTES_MAX} bytes")));
    }
    let text = std::str::from_utf8(bytes).map_err(|invalid| {
        let before = String::from_utf8_lossy(&bytes[..invalid.valid_up_to()]);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|it| *it != '\n').count();
        error(line, column, "this is not UTF-8".to_owned())
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let reading = Reading::default();
    let parsed = Level { section: None, reading: &reading }
        .deserialize(serde_yaml::Deserializer::from_str(text));
    match parsed {
        Ok(()) => Ok(reading.values.into_inner()),
        Err(yaml) => {
            let (line, column) = yaml.location().map_or((1, 1), |at| (at.line(), at.column()));
            let message = reading.fault.into_inner().unwrap_or_else(|| yaml.to_string());
            Err(error(line, column, message))
        }
    }
}

/// What was read so far. The parser knows where a fault lies, and this what it is.
#[derive(Default)]
struct Reading {
    values: RefCell<Config>,
    fault: RefCell<Option<String>>,
}

impl Reading {
    fn fail<E: serde::de::Error>(&self, message: String) -> E {
        *self.fault.borrow_mut() = Some(message);
        E::custom("see the fault")
    }
}

/// The top level, or what is below a section's name.
#[derive(Clone, Copy)]
struct Level<'r> {
    section: Option<&'static str>,
    reading: &'r Reading,
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.section {
            Some(section) => write!(f, "settings, each as `key: value`, below `{section}:`"),
            None => f.write_str("settings, each as `key: value`"),
        }
    }

    /// An empty file, or a section whose lines are all commented out.
    fn visit_unit<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }

    /// A file of comments alone.
    fn visit_none<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let mut seen = Vec::new();
        while let Some(node) = map.next_key_seed(Name { level: self, seen: &seen })? {
            match node {
                Node::Section(section) => {
                    seen.push(section);
                    map.next_value_seed(Level { section: Some(section), reading: self.reading })?;
                }
                Node::Key(key) => {
                    seen.push(key.leaf());
                    map.next_value_seed(Scalar { key, reading: self.reading })?;
                }
            }
        }
        Ok(())
    }
}

enum Node {
    Section(&'static str),
    Key(&'static Key),
}

struct Name<'r> {
    level: Level<'r>,
    seen: &'r [&'static str],
}

impl Name<'_> {
    fn find(&self, name: &str) -> Option<Node> {
        let section = self.level.section;
        let is_section = |key: &&Key| section.is_none() && key.section() == Some(name);
        KEYS.iter()
            .find(|key| key.section() == section && key.leaf() == name)
            .map(Node::Key)
            .or_else(|| KEYS.iter().find(is_section).and_then(Key::section).map(Node::Section))
    }

    /// Says what was most likely meant: here, or in another place.
    fn unknown(&self, name: &str) -> String {
        let section = self.level.section;
        let here = KEYS.iter().filter(|key| key.section() == section).map(Key::leaf);
        let sections = KEYS.iter().filter_map(|key| key.section().filter(|_| section.is_none()));
        let full = match section {
            Some(section) => format!("{section}.{name}"),
            None => name.to_owned(),
        };
        let what = format!("unknown key \"{}\"", full.escape_debug());
        let elsewhere =
            KEYS.iter().find(|key| key.name == name || (key.leaf() == name && key.name != full));
        if let Some(key) = elsewhere {
            return match key.section() {
                Some(section) => format!("{what}; write `{}:` below `{section}:`", key.leaf()),
                None => format!("{what}; write `{}:` at the top level", key.leaf()),
            };
        }
        if let Some(name) = nearest(name, here.chain(sections)) {
            return format!("{what}; did you mean \"{name}\"?");
        }
        match nearest(name, KEYS.iter().map(Key::leaf)).and_then(Key::by_leaf) {
            Some(key) => format!("{what}; did you mean \"{}\"?", key.name),
            None => format!("{what}; `ctl config show` lists the keys"),
        }
    }
}

impl Key {
    fn by_leaf(leaf: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.leaf() == leaf)
    }
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a setting")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> std::result::Result<Node, E> {
        let reading = self.level.reading;
        match self.find(name) {
            Some(_) if self.seen.contains(&name) => {
                Err(reading.fail(format!("\"{name}\" is there twice; remove one")))
            }
            Some(node) => Ok(node),
            None => Err(reading.fail(self.unknown(name))),
        }
    }
}

struct Scalar<'r> {
    key: &'static Key,
    reading: &'r Reading,
}

impl<'de> DeserializeSeed<'de> for Scalar<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Scalar<'_> {
    fn take<E: serde::de::Error>(&self, given: &Given) -> std::result::Result<(), E> {
        match self.key.kind.read_yaml(given) {
            Ok(value) => {
                self.reading.values.borrow_mut().insert(self.key.name, value);
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

    fn visit_unit<E: serde::de::Error>(self) -> std::result::Result<(), E> {
        self.take(&Given::Nothing)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> std::result::Result<(), E> {
        self.take(&Given::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> std::result::Result<(), E> {
        self.take(&Given::Integer(value.into()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> std::result::Result<(), E> {
        self.take(&Given::Integer(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> std::result::Result<(), E> {
        self.take(&Given::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> std::result::Result<(), E> {
        self.take(&Given::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<(), A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<serde_yaml::Value>()? {
            list.push(match item {
                serde_yaml::Value::String(text) => Given::Text(text),
                _ => Given::Map,
            });
        }
        self.take(&Given::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, _map: A) -> std::result::Result<(), A::Error> {
        self.take(&Given::Map).map_err(|error: serde::de::value::Error| A::Error::custom(error))
    }
}
