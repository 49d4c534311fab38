//! TOML, edited as text.

use serde_json::Value as Json;
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// What the parser does not keep of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Whether lines end as on Windows.
    is_crlf: bool,
    /// Whether the last line ends.
    is_ended: bool,
}

/// A document, which can be written back as it was.
pub(super) fn document(text: &str) -> Result<(DocumentMut, Layout), String> {
    let layout = Layout {
        is_crlf: text.contains("\r\n"),
        is_ended: text.is_empty() || text.ends_with('\n'),
    };
    let mut plain = text.replace("\r\n", "\n");
    if layout.is_crlf && plain.replace('\n', "\r\n") != text {
        let is_other = |text: &&str| !text.ends_with("\r\n") && text.ends_with('\n');
        let line =
            text.split_inclusive('\n').take_while(|inclusive| !is_other(inclusive)).count() + 1;
        return Err(format!(
            "its line ends are mixed: line {line} ends with LF, others with CR LF"
        ));
    }
    if !layout.is_ended {
        plain.push('\n');
    }
    let document: DocumentMut = plain.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        let line = plain.get(..at).map_or(1, |plain| plain.matches('\n').count() + 1);
        format!("it is not valid TOML: line {line}: {}", error.message())
    })?;
    let written = document.to_string();
    if written != plain {
        let same = written.lines().zip(plain.lines()).take_while(|(a, b)| a == b).count();
        return Err(format!("an edit would also change line {}", same + 1));
    }
    Ok((document, layout))
}

impl Layout {
    /// The text of an edited document, which can be read back.
    pub(super) fn text_of(self, document: &DocumentMut) -> Result<String, String> {
        let mut text = document.to_string();
        if !self.is_ended && text.ends_with('\n') {
            text.pop();
        }
        if self.is_crlf {
            text = text.replace('\n', "\r\n");
        }
        self::document(&text)?;
        Ok(text)
    }
}

/// The same in JSON. Values that JSON does not have become texts.
pub(super) fn to_json(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => value_to_json(value),
        Item::Table(table) => table_to_json(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_to_json(table)).collect(),
    }
}

fn table_to_json(table: &dyn TableLike) -> Json {
    table.iter().map(|(name, item)| (name.to_owned(), to_json(item))).collect()
}

fn value_to_json(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::from(text.value().as_str()),
        Value::Integer(number) => Json::from(*number.value()),
        Value::Boolean(is_on) => Json::from(*is_on.value()),
        Value::Array(values) => values.iter().map(value_to_json).collect(),
        Value::InlineTable(table) => table_to_json(table),
        Value::Float(_) | Value::Datetime(_) => Json::from(value.to_string().trim()),
    }
}
