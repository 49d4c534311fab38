//! The texts in a message, of all formats.

use serde::Deserialize;

/// The texts of a message's content.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Content")]
pub(super) struct Texts {
    /// Of parts of type `text`, `input_text` or `output_text`.
    pub(super) texts: Vec<String>,
    /// Whether there is a result of a tool.
    pub(super) has_result: bool,
}

/// A text, an array of parts with a type, or an object or null, which have no texts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
    Object {},
    Null,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
}

impl From<Content> for Texts {
    fn from(content: Content) -> Self {
        let parts = match content {
            Content::Text(text) => return Self { texts: vec![text], has_result: false },
            Content::Parts(parts) => parts,
            Content::Object {} | Content::Null => return Self::default(),
        };
        let mut all = Self::default();
        for part in parts {
            match (part.kind.as_deref(), part.text) {
                (Some("text" | "input_text" | "output_text"), Some(text)) => all.texts.push(text),
                (Some("tool_result"), _) => all.has_result = true,
                _ => {}
            }
        }
        all
    }
}

impl Texts {
    /// All texts, in paragraphs.
    pub(super) fn joined(&self) -> String {
        self.texts.join("\n\n")
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
