//! Our entry among the MCP servers of a client.

use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::json;
use super::own_command::{self, Found, Own};
use super::toml;
use super::{Change, Edited, Entries};

/// The name of the entry.
const NAME: &str = "waypost";

/// How a client's file lists its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, by name in that member.
    Json { list: &'static str },
    /// JSON with the kind of transport in each server, by name in that member.
    TypedJson { list: &'static str },
    /// TOML, by name in that table.
    Toml { list: &'static str },
}

/// Our entry in a client's file: it runs `command` with `arguments`, which run `mcp`.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) format: Format,
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
}

/// A file whose servers are edited as text.
trait Document {
    /// The servers by name.
    fn servers(&self) -> Vec<(String, Value)>;
    /// Gives a server these members, and creates it if it is missing. A member with that value stays as it is written.
    fn set(&mut self, server: &str, members: &[(&str, Value)]);
    /// Removes a server.
    fn remove(&mut self, server: &str) -> Result<(), String>;
    /// The text of the file, which was `old` before the edits.
    fn text(&self, old: &str) -> Result<String, String>;
}

impl Entries for Servers {
    fn what(&self) -> &'static str {
        "the server `waypost`"
    }

    fn install(&self, text: &str) -> Result<Edited, String> {
        let Some(mut document) = self.open(text, true)? else { return Ok(unchanged(text)) };
        let before = document.servers();
        let own = own(&before);
        let mut written = own.iter().filter(|(_, found)| found.has_our_line());
        if let Some((first, _)) = written.next() {
            document.set(first, &self.members());
            for (other, _) in written.filter(|(_, found)| found.is_ours()) {
                document.remove(other)?;
            }
        } else if own.is_empty() {
            document.set(NAME, &self.members());
        }
        if document.servers() == before {
            return Ok(unchanged(text));
        }
        let change = if own.is_empty() { Change::Added } else { Change::Updated };
        Ok(Edited { text: document.text(text)?, change })
    }

    fn remove(&self, text: &str) -> Result<Edited, String> {
        let Some(mut document) = self.open(text, false)? else { return Ok(unchanged(text)) };
        let before = document.servers();
        let mut alone = own(&before);
        alone.retain(|(_, found)| found.is_alone);
        for (name, _) in &alone {
            document.remove(name)?;
        }
        if alone.is_empty() {
            return Ok(unchanged(text));
        }
        Ok(Edited { text: document.text(text)?, change: Change::Removed })
    }

    fn foreign(&self, text: &str) -> Result<Vec<String>, String> {
        let servers = self.open(text, false)?.map(|document| document.servers());
        let found = servers.iter().flatten().filter_map(|(name, entry)| {
            let found = found(name, entry).filter(|found| !found.is_ours())?;
            Some(found.shown(&format!("the server `{name}`"), entry))
        });
        Ok(found.collect())
    }
}

impl Servers {
    /// The servers of a file; none if it has no list of them, unless that is to be created.
    fn open(&self, text: &str, creates: bool) -> Result<Option<Box<dyn Document>>, String> {
        Ok(match self.format {
            Format::Json { list } | Format::TypedJson { list } => {
                JsonServers::open(text, list, creates)?.map(|server| Box::new(server) as _)
            }
            Format::Toml { list } => {
                TomlServers::open(text, list, creates)?.map(|server| Box::new(server) as _)
            }
        })
    }

    fn members(&self) -> Vec<(&'static str, Value)> {
        let mut members = vec![
            ("command", serde_json::json!(self.command)),
            ("args", serde_json::json!(self.arguments)),
        ];
        if matches!(self.format, Format::TypedJson { .. }) {
            members.insert(0, ("type", serde_json::json!("stdio")));
        }
        members
    }
}

fn unchanged(text: &str) -> Edited {
    Edited { text: text.to_owned(), change: Change::Nothing }
}

/// The servers with our name or our command.
fn own(servers: &[(String, Value)]) -> Vec<(&str, Found)> {
    servers.iter().filter_map(|(name, entry)| Some((name.as_str(), found(name, entry)?))).collect()
}

fn found(name: &str, entry: &Value) -> Option<Found> {
    let (command, arguments) = (&entry["command"], &entry["args"]);
    let words = std::iter::once(command).chain(arguments.as_array().into_iter().flatten());
    let words: Option<Vec<String>> = words.map(|word| word.as_str().map(str::to_owned)).collect();
    let text = own_command::texts(&serde_json::json!([command, arguments]));
    let found = Own::Mcp.found(&words.unwrap_or_default(), &text);
    let found = found.or_else(|| name.eq_ignore_ascii_case(NAME).then(Found::other))?;
    Some(found.with_members(entry, &["command", "args"]))
}

struct JsonServers {
    root: CstRootNode,
    outer: CstObject,
    list: &'static str,
    servers: CstObject,
}

impl JsonServers {
    fn open(text: &str, list: &'static str, creates: bool) -> Result<Option<Self>, String> {
        let (root, outer) = json::document(text)?;
        let servers = match json::object_of(&outer, list)? {
            None if creates => outer.object_value_or_set(list),
            None => return Ok(None),
            Some(servers) => servers,
        };
        Ok(Some(Self { root, outer, list, servers }))
    }
}

impl Document for JsonServers {
    fn servers(&self) -> Vec<(String, Value)> {
        let server = |prop: CstObjectProp| {
            (prop.decoded_name().unwrap_or_default(), prop.to_serde_value().unwrap_or_default())
        };
        self.servers.properties().into_iter().map(server).collect()
    }

    fn set(&mut self, server: &str, members: &[(&str, Value)]) {
        let Some(found) = json::member(&self.servers, server) else {
            let members = members.iter().map(|(name, value)| ((*name).to_owned(), input(value)));
            self.servers.append(server, CstInputValue::Object(members.collect()));
            return;
        };
        let entry = found.object_value_or_set();
        for (name, wanted) in members {
            match json::member(&entry, name) {
                Some(member) if member.to_serde_value().as_ref() == Some(wanted) => {}
                Some(member) => member.set_value(input(wanted)),
                None => drop(entry.append(name, input(wanted))),
            }
        }
    }

    fn remove(&mut self, server: &str) -> Result<(), String> {
        json::member(&self.servers, server).into_iter().for_each(CstObjectProp::remove);
        json::remove_if_empty(&self.outer, self.list)
    }

    fn text(&self, old: &str) -> Result<String, String> {
        let mut text = self.root.to_string();
        if !text.ends_with('\n') && old.trim().is_empty() {
            text.push('\n');
        }
        json::check_others(old, &text, |document| {
            let Some(outer) = document.as_object_mut() else { return };
            let Some(servers) = outer.get_mut(self.list).and_then(Value::as_object_mut) else {
                return;
            };
            servers.retain(|name, entry| !found(name, entry).is_some_and(|found| found.is_alone));
            if servers.is_empty() {
                outer.remove(self.list);
            }
        })?;
        Ok(text)
    }
}

/// A text, or a list of texts: no entry has others.
fn input(value: &Value) -> CstInputValue {
    match value.as_array() {
        Some(items) => CstInputValue::Array(items.iter().map(input).collect()),
        None => CstInputValue::from(value.as_str().unwrap_or_default()),
    }
}

struct TomlServers {
    document: DocumentMut,
    layout: toml::Layout,
    list: &'static str,
}

impl TomlServers {
    fn open(text: &str, list: &'static str, creates: bool) -> Result<Option<Self>, String> {
        let (mut document, layout) = toml::document(text)?;
        if !document.contains_key(list) {
            if !creates {
                return Ok(None);
            }
            let mut table = Table::new();
            table.set_implicit(true);
            document.insert(list, Item::Table(table));
        }
        if !document[list].is_table_like() {
            return Err(format!("`{list}` is not a table"));
        }
        Ok(Some(Self { document, layout, list }))
    }

    fn table(&mut self) -> Option<&mut dyn TableLike> {
        self.document[self.list].as_table_like_mut()
    }
}

impl Document for TomlServers {
    fn servers(&self) -> Vec<(String, Value)> {
        let servers = self.document[self.list].as_table_like();
        let servers = servers.into_iter().flat_map(TableLike::iter);
        servers.map(|(name, entry)| (name.to_owned(), toml::to_json(entry))).collect()
    }

    fn set(&mut self, server: &str, members: &[(&str, Value)]) {
        let Some(servers) = self.table() else { return };
        let entry = servers.entry(server).or_insert_with(toml_edit::table);
        let Some(entry) = entry.as_table_like_mut() else { return };
        for (name, wanted) in members {
            if entry.get(name).map(toml::to_json).as_ref() != Some(wanted) {
                entry.insert(name, Item::Value(toml_value(wanted)));
            }
        }
    }

    fn remove(&mut self, server: &str) -> Result<(), String> {
        if let Some(servers) = self.table() {
            servers.remove(server);
        }
        Ok(())
    }

    fn text(&self, _old: &str) -> Result<String, String> {
        self.layout.text_of(&self.document)
    }
}

/// As [`input`].
fn toml_value(value: &Value) -> toml_edit::Value {
    match value.as_array() {
        Some(items) => toml_edit::Value::Array(items.iter().map(toml_value).collect()),
        None => value.as_str().unwrap_or_default().into(),
    }
}
