//! The entries of a page's lists, each in one line.

use serde_json::{Map, Value};

use crate::http::routes::mcp::text::{line, single};

/// Characters of a name, an address or a value that are shown.
const VALUE_CHARS: usize = 160;
/// Values of a list that are shown.
const VALUES_MAX: usize = 20;
/// The states of a control.
const STATES: &[&str] = &[
    "value", "options", "checked", "selected", "pressed", "expanded", "disabled", "required",
    "invalid", "readOnly", "secret", "filled",
];

/// Shows an entry.
type Said = fn(&Value) -> String;

/// The lists in the order of a result.
pub(super) fn lists() -> [(&'static str, Said); 6] {
    [
        ("headings", |it| format!("heading: {}", text(it))),
        ("errors", |it| named("error", it, &["type", "text", "url", "status"])),
        ("forms", form),
        ("interactive", |value| named(&text(&value["type"]), value, &[&["text"], STATES].concat())),
        ("links", |it| named("link", it, &["text", "href"])),
        ("tables", |it| named("table", it, &["id", "caption", "rows", "columns"])),
    ]
}

/// `form d3e4 search: q=d3e1, lang=d3e2`
fn form(it: &Value) -> String {
    let fields = array(&it["fields"]).zip(array(&it["refs"]));
    let fields: Vec<String> =
        fields.map(|(name, reference)| format!("{}={}", quoted(name), text(reference))).collect();
    format!("form {} {}: {}", text(&it["ref"]), quoted(&it["id"]), fields.join(", "))
}

/// `link d3e5 text="The keeper" href="/keeper.html"`
fn named(kind: &str, it: &Value, names: &[&str]) -> String {
    let mut said = vec![kind.to_owned()];
    said.extend(it.get("ref").map(text));
    said.extend(names.iter().filter_map(|name| member(it, name)));
    said.join(" ")
}

/// A member as `name=value`, or only its name if it is true.
pub(super) fn member(of: &Value, name: &str) -> Option<String> {
    match of.get(name)? {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => Some(name.to_owned()),
        Value::Array(all) => {
            let shown: Vec<String> = all.iter().take(VALUES_MAX).map(quoted).collect();
            Some(format!("{name}={}", shown.join("|")))
        }
        Value::String(it) if it.is_empty() => None,
        other => Some(format!("{name}={}", quoted(other))),
    }
}

/// All members of an object.
pub(super) fn members(of: &Value) -> String {
    let names = of.as_object().into_iter().flatten().map(|object| object.0);
    names.filter_map(|name| member(of, name)).collect::<Vec<_>>().join(" ")
}

pub(super) fn array(of: &Value) -> impl Iterator<Item = &Value> {
    of.as_array().into_iter().flatten()
}

/// A text, or a number, in one line.
pub(super) fn text(it: &Value) -> String {
    match it {
        Value::String(it) => line(it, VALUE_CHARS),
        Value::Null => String::new(),
        other => line(&other.to_string(), VALUE_CHARS),
    }
}

/// The same; of a text, where it begins and ends cannot be mistaken.
pub(super) fn quoted(it: &Value) -> String {
    if it.is_string() { Value::from(text(it)).to_string() } else { text(it) }
}

/// The same without control characters, the ends of long lists and values, and the selectors that references replace.
pub(super) fn cleaned(it: &Value) -> Value {
    match it {
        Value::String(it) => line(it, VALUE_CHARS).into(),
        Value::Array(all) => all.iter().take(VALUES_MAX).map(cleaned).collect(),
        Value::Object(all) => {
            let kept = all.iter().filter(|pair| !pair.0.starts_with("selector"));
            kept.map(|(name, it)| (single(name), cleaned(it))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}
