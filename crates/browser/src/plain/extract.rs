//! The content of a page without scripts.

use std::collections::{BTreeMap, HashMap};

use scraper::ElementRef;
use scraper::node::Node;
use serde_json::{Map, Value, json};

use super::page::{Open, above, hides, name_of, option_value, options_of, text_of};
use super::parse::NodeId;
use crate::protocol::ReadScope;
use crate::secret::says_secret;
use crate::selector::SELECTOR_BYTES_MAX;
use crate::summary::{
    CONTROLS, ERRORS, Entry, Extract, FORMS, Found, HEADINGS, LINKS, List, TABLES,
};

/// Elements that start on a new line.
pub(super) const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tr",
    "ul",
];
const CONTROL: &str = "button, input, select, textarea, summary";
const FILLED_IN: &str = "input, select, textarea";
/// The maximum number of fields that are listed in the forms of a page.
const FIELDS_MAX: usize = 5_000;

impl Open<'_> {
    /// Everything in `scope`, within the limits.
    pub(super) fn extract(&self, scope: Option<ElementRef<'_>>, reach: &ReadScope) -> Extract {
        let root = scope.unwrap_or_else(|| self.html.root_element());
        let all = |css: &str| -> Vec<ElementRef<'_>> {
            let found = self.select(css).into_iter();
            let inside = |reference: &ElementRef<'_>| {
                *reference == root || reference.ancestors().any(|folder| folder.id() == root.id())
            };
            found.filter(|found| self.is_shown(*found) && inside(found)).collect()
        };
        let most = reach.items_max;
        let title = self.select("title").first().map(|title| text_of(*title)).unwrap_or_default();
        let mut extract = Extract {
            url: self.page.url.to_string(),
            title,
            status: self.page.status,
            document: self.page.document,
            // Without scripts, what was shown once stays.
            present: reach
                .known
                .iter()
                .copied()
                .filter(|known| known.document == self.page.document)
                .collect(),
            ..Extract::default()
        };
        let document = self.page.document;
        let list = |found: Vec<ElementRef<'_>>, make: &dyn Fn(ElementRef<'_>) -> Found| List {
            total: found.len() as u64,
            entries: found
                .iter()
                .take(most)
                .map(|found| make(*found).entry(document, Some("")))
                .collect(),
            cut: found.len() > most,
        };
        let fields = self.fields();
        extract.lists[HEADINGS] = list(all("h1, h2, h3, h4, h5, h6"), &|it| Found {
            level: Some(name_of(it)[1..].parse().unwrap_or(2)),
            ..self.found(it, json!({ "text": text_of(it) }))
        });
        extract.lists[LINKS] = list(all("a[href]"), &|it| {
            let href = self.page.url.join(it.attr("href").unwrap_or_default());
            let href = href.map(String::from).unwrap_or_default();
            self.found(it, json!({ "text": text_of(it), "href": href }))
        });
        extract.lists[CONTROLS] = list(all(CONTROL), &|it| self.control(it));
        extract.lists[FORMS] = list(all("form"), &|it| self.form(it, &fields));
        extract.lists[TABLES] = list(all("table"), &|it| self.table(it));
        let errors = all("[role=alert], [aria-invalid=true]").into_iter().map(|item| {
            let text = match name_of(item) {
                "input" | "select" | "textarea" => {
                    format!("{}: marked as invalid", self.label(item))
                }
                _ => text_of(item),
            };
            let error = self.found(item, json!({ "type": "message", "text": text }));
            error.entry(document, Some(""))
        });
        let entries: Vec<Entry> = errors.collect();
        extract.lists[ERRORS] = List { total: entries.len() as u64, entries, cut: false };
        let mut text =
            Text { lines: String::new(), max: reach.characters_max, left: BTreeMap::new() };
        text.walk(root);
        let is_cut = text.lines.len() >= text.max && text.max > 0;
        extract.left = text.left;
        text.lines.trim().clone_into(&mut extract.text);
        extract.letters = extract.text.chars().count() as u64 + u64::from(is_cut);
        extract.text_cut = is_cut;
        extract
    }

    /// An element, of which this is shown.
    fn found(&self, element: ElementRef<'_>, shown: Value) -> Found {
        let shown = if let Value::Object(members) = shown { members } else { Map::new() };
        let (number, selector) = (self.number(element), self.selector_of(element));
        // Without scripts, the elements of a document are always the same.
        Found { number, selector, met: true, shown, ..Found::default() }
    }

    /// A selector that finds only this element; none if it would be too long to be used.
    pub(super) fn selector_of(&self, element: ElementRef<'_>) -> Option<String> {
        let (mut steps, mut bytes) = (Vec::new(), 0);
        for at in std::iter::once(element).chain(element.ancestors().filter_map(ElementRef::wrap)) {
            let is_plain = |text: &&str| {
                !text.is_empty()
                    && text
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            };
            let id = at
                .attr("id")
                .filter(is_plain)
                .filter(|attr| !attr.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
                .filter(|id| self.is_only(id));
            let step = match id {
                Some(id) => format!("#{id}"),
                None => format!("{}:nth-of-type({})", name_of(at), self.nth_of_type(at)),
            };
            bytes += step.len() + " > ".len();
            if bytes > SELECTOR_BYTES_MAX {
                return None;
            }
            steps.push(step);
            if id.is_some() {
                break;
            }
        }
        steps.reverse();
        Some(steps.join(" > "))
    }

    /// The label of a field or a button.
    pub(super) fn label(&self, element: ElementRef<'_>) -> String {
        let said =
            |name: &str| element.attr(name).map(crate::clean_line).filter(|line| !line.is_empty());
        let [by_id, around] = self.labels(element);
        let own = match name_of(element) {
            "button" | "summary" => Some(text_of(element)),
            "input" if matches!(element.attr("type"), Some("submit" | "button" | "reset")) => {
                said("value")
            }
            _ => None,
        };
        let tries = [
            said("aria-label"),
            own,
            by_id,
            around,
            said("placeholder"),
            said("title"),
            said("name"),
            said("id"),
        ];
        tries.into_iter().flatten().find(|it| !it.is_empty()).unwrap_or_default()
    }

    /// Whether the content of a field is secret.
    pub(super) fn is_secret(&self, field: ElementRef<'_>) -> bool {
        let said = ["name", "id", "placeholder", "aria-label"]
            .map(|it| field.attr(it).unwrap_or_default());
        let fill = field.attr("autocomplete").unwrap_or_default();
        let kind = field.attr("type").unwrap_or_default();
        let is_text =
            !matches!(kind, "checkbox" | "radio" | "submit" | "button" | "reset" | "file");
        is_text
            && (kind.eq_ignore_ascii_case("password")
                || says_secret(&said, &self.label(field), fill))
    }

    fn control(&self, element: ElementRef<'_>) -> Found {
        let kind = match name_of(element) {
            "input" => element.attr("type").unwrap_or("text").to_ascii_lowercase(),
            other => other.to_owned(),
        };
        let mut shown = json!({ "type": kind, "text": self.label(element) });
        let states = [("disabled", "disabled"), ("required", "required"), ("readonly", "readOnly")];
        for (attribute, member) in states {
            if element.attr(attribute).is_some() {
                shown[member] = true.into();
            }
        }
        match (name_of(element), kind.as_str()) {
            (_, "checkbox" | "radio") => shown["checked"] = self.is_checked(element).into(),
            ("select", _) => {
                let options = options_of(element);
                shown["value"] = self.chosen(element).join(", ").into();
                shown["options"] = options.iter().take(12).map(|option| text_of(*option)).collect();
            }
            ("textarea" | "input", _)
                if !matches!(kind.as_str(), "submit" | "button" | "reset" | "file" | "image") =>
            {
                let value = self.value(element);
                if self.is_secret(element) {
                    shown["secret"] = true.into();
                    shown["filled"] = (!value.is_empty()).into();
                } else if !value.is_empty() {
                    shown["value"] = value.chars().take(120).collect::<String>().into();
                }
            }
            _ => {}
        }
        self.found(element, shown)
    }

    /// The fields that are filled in, by the innermost form around them.
    fn fields(&self) -> HashMap<NodeId, Vec<ElementRef<'_>>> {
        let is_filled_in = |reference: &ElementRef<'_>| {
            !matches!(
                reference.attr("type"),
                Some("hidden" | "submit" | "button" | "reset" | "image")
            )
        };
        let mut fields: HashMap<_, Vec<_>> = HashMap::new();
        for field in self.select(FILLED_IN).into_iter().filter(is_filled_in).take(FIELDS_MAX) {
            if let Some(form) = above(field, "form") {
                fields.entry(form.id()).or_default().push(field);
            }
        }
        fields
    }

    fn form(&self, form: ElementRef<'_>, fields: &HashMap<NodeId, Vec<ElementRef<'_>>>) -> Found {
        let inside = fields.get(&form.id()).map(Vec::as_slice).unwrap_or_default();
        let name = |reference: &ElementRef<'_>| {
            reference.attr("name").map_or_else(|| self.label(*reference), str::to_owned)
        };
        let names: Vec<String> = inside.iter().map(name).collect();
        let what = [form.attr("action").unwrap_or_default(), &names.join("\n")].join("\n");
        let id = form.attr("id").map_or_else(|| made_name("form", &what), str::to_owned);
        let fields =
            inside.iter().zip(names).map(|(it, name)| self.found(*it, json!({ "name": name })));
        Found { fields: Some(fields.collect()), ..self.found(form, json!({ "id": id })) }
    }

    fn table(&self, table: ElementRef<'_>) -> Found {
        let inside = || table.descendants().filter_map(ElementRef::wrap);
        let columns: Vec<String> =
            inside().filter(|inside| name_of(*inside) == "th").take(12).map(text_of).collect();
        let caption =
            inside().find(|inside| name_of(*inside) == "caption").map(text_of).unwrap_or_default();
        let rows = inside().filter(|inside| name_of(*inside) == "tr").count();
        let what = format!("{caption}\n{}", columns.join("\n"));
        let id = table.attr("id").map_or_else(|| made_name("table", &what), str::to_owned);
        let mut shown = json!({ "id": id, "rows": rows });
        if !columns.is_empty() {
            shown["columns"] = columns.into();
        }
        if !caption.is_empty() {
            shown["caption"] = caption.into();
        }
        self.found(table, shown)
    }
}

/// A name derived from what the element is, which stays the same when the page is reloaded.
fn made_name(kind: &str, what: &str) -> String {
    let hash = what.bytes().fold(5381_u32, |hash, byte| hash.wrapping_mul(33) ^ u32::from(byte));
    format!("{kind}-{hash:x}")
}

/// The text that a reader sees.
struct Text {
    lines: String,
    max: usize,
    left: BTreeMap<String, u64>,
}

impl Text {
    fn walk(&mut self, element: ElementRef<'_>) {
        for child in element.children() {
            if self.lines.len() >= self.max {
                return;
            }
            if let Node::Text(text) = child.value() {
                let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let begins = text.starts_with(char::is_whitespace);
                if begins && !words.is_empty() {
                    self.space();
                }
                self.lines.push_str(&words);
                if text.ends_with(char::is_whitespace) {
                    self.space();
                }
            } else if let Some(inner) = ElementRef::wrap(child) {
                self.enter(inner);
            }
        }
    }

    fn enter(&mut self, element: ElementRef<'_>) {
        let name = name_of(element);
        if matches!(name, "select" | "textarea") {
            return;
        }
        if hides(element) {
            let is_told = !matches!(name, "script" | "style" | "template" | "head" | "input");
            if is_told && !text_of(element).is_empty() {
                *self.left.entry("not_displayed".to_owned()).or_default() += 1;
            }
            return;
        }
        let is_block = name == "br" || BLOCKS.contains(&name);
        if is_block {
            self.line();
        } else if matches!(name, "td" | "th") {
            self.space();
        }
        self.walk(element);
        if is_block {
            self.line();
        }
    }

    fn space(&mut self) {
        if !self.lines.is_empty() && !self.lines.ends_with([' ', '\n']) {
            self.lines.push(' ');
        }
    }

    fn line(&mut self) {
        self.lines.truncate(self.lines.trim_end_matches(' ').len());
        if !self.lines.is_empty() && !self.lines.ends_with('\n') {
            self.lines.push('\n');
        }
    }
}

/// Whether this is the value or the label of one of a list's options.
pub(super) fn option_named(list: ElementRef<'_>, wanted: &str) -> Option<String> {
    let options = options_of(list);
    let by_value = options.iter().find(|option| option_value(**option) == wanted);
    let found = by_value.or_else(|| options.iter().find(|option| text_of(**option) == wanted))?;
    Some(option_value(*found))
}
