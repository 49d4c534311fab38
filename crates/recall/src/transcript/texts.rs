//! The texts in a message, of all formats.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The texts of a message's content: a string, or an array of parts with a type.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// Of parts of type `text`, `input_text` or `output_text`.
    pub(super) texts: Vec<String>,
    /// Whether there is a result of a tool.
    pub(super) has_result: bool,
}

impl Texts {
    /// All texts, in paragraphs.
    pub(super) fn joined(&self) -> String {
        self.texts.join("\n\n")
    }
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Content;
        impl<'de> Visitor<'de> for Content {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or an array of parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts { texts: vec![text.to_owned()], has_result: false })
            }

            fn visit_unit<E>(self) -> Result<Texts, E> {
                Ok(Texts::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Texts, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Texts::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Texts, A::Error> {
                let mut all = Texts::default();
                while let Some(part) = parts.next_element::<Part>()? {
                    match (part.kind.as_deref(), part.text) {
                        (Some("text" | "input_text" | "output_text"), Some(text)) => {
                            all.texts.push(text);
                        }
                        (Some("tool_result"), _) => all.has_result = true,
                        _ => {}
                    }
                }
                Ok(all)
            }
        }
        input.deserialize_any(Content)
    }
}

/// The text without elements of these names, which programs add to what the user typed. An element
/// without an end reaches to the end of the text.
pub(super) fn without(text: &str, names: &[&str]) -> String {
    let mut kept = text.to_owned();
    for name in names {
        let (open, close) = (format!("<{name}"), format!("</{name}>"));
        let (mut rest, mut others) = (kept.as_str(), String::new());
        while let Some(at) = rest.find(&open) {
            let (before, element) = rest.split_at(at);
            others.push_str(before);
            // `<name` may begin a longer name.
            if element[open.len()..].starts_with(['>', ' ', '\n']) {
                rest = element.split_once(&close).map_or("", |(_, after)| after);
            } else {
                others.push_str(&open);
                rest = &element[open.len()..];
            }
        }
        others.push_str(rest);
        kept = others;
    }
    kept.trim().to_owned()
}

/// The inside of the first element of that name, or else the whole text.
pub(super) fn inside<'a>(text: &'a str, name: &str) -> &'a str {
    let Some((_, rest)) = text.split_once(&format!("<{name}>")) else { return text };
    rest.split_once(&format!("</{name}>")).map_or(rest, |(inside, _)| inside)
}
