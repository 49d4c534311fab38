//! Our entry among the MCP servers of a client.

use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp};
use serde_json::Value;
use toml_edit::{Array, Item, Table, TableLike, value};

use super::json;
use super::own::{self, Found, Own};
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

impl Entries for Servers {
    fn what(&self) -> &'static str {
        "the server `waypost`"
    }

    fn install(&self, text: &str) -> Result<Edited, String> {
        match self.format {
            Format::Json { list } | Format::TypedJson { list } => self.install_json(list, text),
            Format::Toml { list } => self.install_toml(list, text),
        }
    }

    fn remove(&self, text: &str) -> Result<Edited, String> {
        match self.format {
            Format::Json { list } | Format::TypedJson { list } => remove_json(list, text),
            Format::Toml { list } => remove_toml(list, text),
        }
    }

    fn foreign(&self, text: &str) -> Result<Vec<String>, String> {
        let entries = match self.format {
            Format::Json { list } | Format::TypedJson { list } => {
                let servers = json::object_of(&json::document(text)?.1, list)?;
                servers.and_then(|it| it.to_serde_value()).unwrap_or_default()
            }
            Format::Toml { list } => {
                toml::document(text)?.0.get(list).map(toml::to_json).unwrap_or_default()
            }
        };
        let found = entries.as_object().into_iter().flatten().filter_map(|(name, entry)| {
            let found = found(name, entry).filter(|it| !it.is_ours())?;
            Some(found.shown(&format!("the server `{name}`"), entry))
        });
        Ok(found.collect())
    }
}

/// What an entry is; `None` if it has neither our name nor our command.
fn found(name: &str, entry: &Value) -> Option<Found> {
    let (command, arguments) = (&entry["command"], &entry["args"]);
    let words = std::iter::once(command).chain(arguments.as_array().into_iter().flatten());
    let words: Option<Vec<String>> = words.map(|it| it.as_str().map(str::to_owned)).collect();
    let text = own::texts(&serde_json::json!([command, arguments]));
    let found = Own::Mcp.found(&words.unwrap_or_default(), &text);
    let found = found.or_else(|| name.eq_ignore_ascii_case(NAME).then(Found::other))?;
    Some(found.with_members(entry, &["command", "args"]))
}

impl Servers {
    fn install_json(&self, list: &str, text: &str) -> Result<Edited, String> {
        let (root, outer) = json::document(text)?;
        let servers = match json::object_of(&outer, list)? {
            Some(it) => it,
            None => outer.object_value_or_set(list),
        };
        let own = own_members(&servers);
        let mut updated = own.iter().filter(|(_, found)| found.has_our_line());
        let change = if let Some((first, _)) = updated.next() {
            let before = servers.to_string();
            let entry = first.object_value_or_set();
            for (name, wanted) in self.members() {
                set(&entry, name, wanted);
            }
            for (other, _) in updated.filter(|(_, found)| found.is_ours()) {
                other.clone().remove();
            }
            if servers.to_string() == before { Change::Nothing } else { Change::Updated }
        } else if !own.is_empty() {
            Change::Nothing
        } else {
            let members = self.members().into_iter().map(|(name, it)| (name.to_owned(), it));
            servers.append(NAME, CstInputValue::Object(members.collect()));
            Change::Added
        };
        finished(list, text, root.to_string(), change)
    }

    fn members(&self) -> Vec<(&'static str, CstInputValue)> {
        let arguments = self.arguments.iter().map(|it| CstInputValue::from(it.as_str()));
        let mut members = vec![
            ("command", CstInputValue::from(self.command.as_str())),
            ("args", CstInputValue::Array(arguments.collect())),
        ];
        if matches!(self.format, Format::TypedJson { .. }) {
            members.insert(0, ("type", CstInputValue::from("stdio")));
        }
        members
    }

    fn install_toml(&self, list: &str, text: &str) -> Result<Edited, String> {
        let (mut document, layout) = toml::document(text)?;
        let servers = document.entry(list).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let Some(servers) = servers.as_table_like_mut() else {
            return Err(format!("`{list}` is not a table"));
        };
        let arguments: Array = self.arguments.iter().map(String::as_str).collect();
        let own = own_tables(servers);
        let mut updated = own.iter().filter(|(_, found)| found.has_our_line());
        let change = if let Some((first, _)) = updated.next() {
            let is_same = is_as_wanted(servers, first, self);
            if !is_same
                && let Some(entry) = servers.get_mut(first).and_then(Item::as_table_like_mut)
            {
                entry.insert("command", value(&self.command));
                entry.insert("args", value(arguments));
            }
            let others: Vec<_> = updated.filter(|(_, found)| found.is_ours()).collect();
            for (other, _) in &others {
                servers.remove(other);
            }
            if is_same && others.is_empty() { Change::Nothing } else { Change::Updated }
        } else if !own.is_empty() {
            Change::Nothing
        } else {
            let mut entry = Table::new();
            entry.insert("command", value(&self.command));
            entry.insert("args", value(arguments));
            servers.insert(NAME, Item::Table(entry));
            Change::Added
        };
        if change == Change::Nothing {
            return Ok(Edited { text: text.to_owned(), change });
        }
        Ok(Edited { text: layout.text_of(&document)?, change })
    }
}

/// Gives a member that value; a member that has it stays as it is written.
fn set(entry: &CstObject, name: &str, wanted: CstInputValue) {
    match json::member(entry, name) {
        Some(member) => {
            let found = member.to_serde_value();
            if found != Some(plain(&wanted)) {
                member.set_value(wanted);
            }
        }
        None => {
            entry.append(name, wanted);
        }
    }
}

fn plain(value: &CstInputValue) -> Value {
    match value {
        CstInputValue::String(it) => Value::from(it.as_str()),
        CstInputValue::Array(it) => it.iter().map(plain).collect(),
        CstInputValue::Bool(it) => Value::from(*it),
        // No entry has others.
        _ => Value::Null,
    }
}

fn remove_json(list: &str, text: &str) -> Result<Edited, String> {
    let (root, outer) = json::document(text)?;
    let Some(servers) = json::object_of(&outer, list)? else {
        return Ok(Edited { text: text.to_owned(), change: Change::Nothing });
    };
    let mut own = own_members(&servers);
    own.retain(|(_, found)| found.is_alone);
    if own.is_empty() {
        return Ok(Edited { text: text.to_owned(), change: Change::Nothing });
    }
    for (member, _) in own {
        member.remove();
    }
    json::remove_if_empty(&outer, list)?;
    finished(list, text, root.to_string(), Change::Removed)
}

/// The servers with our name or our command.
fn own_members(servers: &CstObject) -> Vec<(CstObjectProp, Found)> {
    let own = servers.properties().into_iter().filter_map(|member| {
        let entry = member.to_serde_value().unwrap_or_default();
        let found = found(&member.decoded_name().unwrap_or_default(), &entry)?;
        Some((member, found))
    });
    own.collect()
}

fn finished(list: &str, old: &str, mut new: String, change: Change) -> Result<Edited, String> {
    if change == Change::Nothing {
        return Ok(Edited { text: old.to_owned(), change });
    }
    if !new.ends_with('\n') && old.trim().is_empty() {
        new.push('\n');
    }
    json::check_others(old, &new, |document| {
        let Some(outer) = document.as_object_mut() else { return };
        let Some(servers) = outer.get_mut(list).and_then(Value::as_object_mut) else { return };
        servers.retain(|name, entry| !found(name, entry).is_some_and(|it| it.is_alone));
        if servers.is_empty() {
            outer.remove(list);
        }
    })?;
    Ok(Edited { text: new, change })
}

fn remove_toml(list: &str, text: &str) -> Result<Edited, String> {
    let (mut document, layout) = toml::document(text)?;
    let servers = document.get_mut(list).and_then(Item::as_table_like_mut);
    let mut own = servers.as_ref().map(|it| own_tables(*it)).unwrap_or_default();
    own.retain(|(_, found)| found.is_alone);
    let (Some(servers), false) = (servers, own.is_empty()) else {
        return Ok(Edited { text: text.to_owned(), change: Change::Nothing });
    };
    for (name, _) in own {
        servers.remove(&name);
    }
    Ok(Edited { text: layout.text_of(&document)?, change: Change::Removed })
}

fn own_tables(servers: &dyn TableLike) -> Vec<(String, Found)> {
    let own = servers
        .iter()
        .filter_map(|(name, entry)| Some((name.to_owned(), found(name, &toml::to_json(entry))?)));
    own.collect()
}

fn is_as_wanted(servers: &dyn TableLike, name: &str, wanted: &Servers) -> bool {
    let Some(entry) = servers.get(name) else { return false };
    let arguments = entry.get("args").and_then(Item::as_array).into_iter().flatten();
    entry.get("command").and_then(Item::as_str) == Some(&wanted.command)
        && arguments
            .map(toml_edit::Value::as_str)
            .eq(wanted.arguments.iter().map(|it| Some(it.as_str())))
}
