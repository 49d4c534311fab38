//! Texts with `{{data.key}}` in them.

use std::ops::Range;
use std::str::FromStr;

use waypost_events::Data;

use crate::Unready;
use crate::scalar::from_text;

/// A value of the event's data in a template: `{{data.key}}` or `{{data.key | default("text")}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The name in the event's data.
    pub key: String,
    /// The text used if the event has no such name.
    pub default: Option<String>,
    /// Its byte range in the text, braces included.
    pub(crate) span: Range<usize>,
}

impl Reference {
    /// The value as text.
    ///
    /// # Errors
    /// If the event has no such name and no default is given.
    pub fn value(&self, data: &Data) -> Result<String, Unready> {
        match (data.get(&self.key), &self.default) {
            (Some(value), _) => Ok(value.to_string()),
            (None, Some(default)) => Ok(default.clone()),
            (None, None) => {
                let key = &self.key;
                Err(Unready(format!(
                    "the event has no data.{key}; set a default with {{{{data.{key} | default(\"…\")}}}}"
                )))
            }
        }
    }
}

/// An invalid template, or one that cannot be made safe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} (line {line}, character {column} of the text)")]
#[non_exhaustive]
pub struct InvalidTemplate {
    /// From 1.
    pub line: usize,
    /// In characters from 1.
    pub column: usize,
    /// What is invalid, and what would be valid.
    pub what: String,
}

impl InvalidTemplate {
    pub(crate) fn new(text: &str, at: usize, what: impl Into<String>) -> Self {
        let before = &text[..at];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            what: what.into(),
        }
    }
}

/// A text whose placeholders are replaced by the values themselves. Not for text that a shell
/// reads: use [`Command`](crate::Command) for that.
#[derive(Debug, Clone)]
pub struct Template {
    source: String,
    references: Vec<Reference>,
}

impl Template {
    /// The text with its values inserted. A value that looks like a placeholder stays as it is.
    ///
    /// # Errors
    /// If the event lacks a name that has no default.
    pub fn render(&self, data: &Data) -> Result<String, Unready> {
        self.render_with(data, |it| it)
    }

    /// The text with its values converted by `write`. Errors as for [`render`](Self::render).
    pub(crate) fn render_with(
        &self,
        data: &Data,
        write: impl Fn(String) -> String,
    ) -> Result<String, Unready> {
        self.written(|it| it.value(data).map(&write))
    }

    /// The author's text, defaults included, with a mark in place of each of the event's values.
    pub(crate) fn marked(&self, data: &Data, mark: char) -> String {
        let value = |reference: &Reference| match (data.get(&reference.key), &reference.default) {
            (None, Some(default)) => default.clone(),
            _ => mark.to_string(),
        };
        self.written(|it| Ok(value(it))).unwrap_or_default()
    }

    fn written(
        &self,
        write: impl Fn(&Reference) -> Result<String, Unready>,
    ) -> Result<String, Unready> {
        let mut text = String::with_capacity(self.source.len());
        let mut at = 0;
        for reference in &self.references {
            text.push_str(&self.source[at..reference.span.start]);
            text.push_str(&write(reference)?);
            at = reference.span.end;
        }
        text.push_str(&self.source[at..]);
        Ok(text)
    }

    /// The values that it uses, in order.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The source text.
    pub fn as_str(&self) -> &str {
        &self.source
    }
}

impl FromStr for Template {
    type Err = InvalidTemplate;

    fn from_str(source: &str) -> Result<Self, InvalidTemplate> {
        references(source).map(|references| Self { source: source.to_owned(), references })
    }
}

from_text!(Template: "a text");

/// The placeholders of a text, in order. Other programs have templates, too (`{{.Id}}`,
/// `{{json .State}}`, `{{end}}`): a placeholder is two braces and a name before `.`, `|` or the end.
fn references(text: &str) -> Result<Vec<Reference>, InvalidTemplate> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find("{{").map(|text| from + text) {
        let inside = open + 2;
        let begins = text[inside..].trim_start();
        let name = begins.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let rest = name.trim_start();
        let is_placeholder =
            (name.starts_with('.') || rest.starts_with(['|', '}']) || rest.is_empty())
                && begins.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && !matches!(&begins[..begins.len() - name.len()], "end" | "else");
        if !is_placeholder {
            from = open + 1;
            continue;
        }
        let invalid = |at, what: String| Err(InvalidTemplate::new(text, at, what));
        let Some(close) = text[inside..].find("}}").map(|text| inside + text) else {
            return invalid(open, "{{ has no }}".to_owned());
        };
        match reference(&text[inside..close], open..close + 2) {
            Ok(reference) => found.push(reference),
            Err(what) => return invalid(open, what),
        }
        from = close + 2;
    }
    Ok(found)
}

fn reference(inside: &str, span: Range<usize>) -> Result<Reference, String> {
    let (path, filter) = match inside.split_once('|') {
        Some((path, filter)) => (path.trim(), Some(filter.trim())),
        None => (inside.trim(), None),
    };
    let Some(key) = path.strip_prefix("data.").filter(|rest| is_key(rest)) else {
        return Err(format!(
            "unknown value {{{{{path}}}}}; a value of the event is {{{{data.key}}}}"
        ));
    };
    let default = match filter {
        None => None,
        Some(filter) => Some(
            default(filter)
                .ok_or_else(|| format!("the only filter is default(\"text\"), not {filter}"))?,
        ),
    };
    Ok(Reference { key: key.to_owned(), default, span })
}

/// Whether it can be a key of an event's data.
pub(crate) fn is_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn default(filter: &str) -> Option<String> {
    let text = filter.strip_prefix("default(")?.strip_suffix(')')?.trim();
    let quote = text.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    let text = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!text.contains(quote)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Data {
        crate::definition::yaml::read("{a: x, n: 0.50, b-c: '{{data.a}}'}").unwrap()
    }

    #[test]
    fn values_take_the_place_of_placeholders_once() {
        for (text, wanted) in [
            ("", ""),
            ("plain", "plain"),
            ("<{{data.a}}>", "<x>"),
            ("{{ data.n }}{{data.b-c}}", "0.5{{data.a}}"),
            ("{{data.z | default(\"none\")}}", "none"),
            ("{{data.z|default('')}}", ""),
            ("{{data.a | default(\"none\")}}", "x"),
            ("{{.Id}} {{", "{{.Id}} {{"),
            ("{{json .}}{{range .a}}{{else}}{{ end }}", "{{json .}}{{range .a}}{{else}}{{ end }}"),
            ("{{{data.a}}} {{{", "{x} {{{"),
        ] {
            let template: Template = text.parse().unwrap();
            assert_eq!(template.render(&data()).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn a_value_that_is_not_there_is_an_error() {
        let template: Template = "{{data.z}}".parse().unwrap();
        let error = template.render(&data()).unwrap_err().to_string();
        assert!(error.contains("no data.z"), "{error}");
    }

    #[test]
    fn what_is_no_template_is_refused_with_the_place() {
        for (text, line, column, said) in [
            ("a\n {{data.a", 2, 2, "no }}"),
            ("{{dta.a}}", 1, 1, "{{data.key}}"),
            ("{{data.}}", 1, 1, "{{data.key}}"),
            ("{{data.a.b}}", 1, 1, "{{data.key}}"),
            ("{{data.a | upper}}", 1, 1, "default"),
            ("é{{data.a | default(x)}}", 1, 2, "default"),
        ] {
            let error = text.parse::<Template>().unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{text}");
            assert!(error.what.contains(said), "{text}: {error}");
        }
    }
}
