//! The content of a page without scripts.

use std::collections::{BTreeMap, HashMap};

use scraper::ElementRef;
use scraper::node::Node;

use super::page::{Open, above, hides, name_of, option_value, options_of, text_of};
use super::parse::NodeId;
use crate::engine::{ReadScope, Reference};
use crate::secret::says_secret;
use crate::selector::SELECTOR_BYTES_MAX;
use crate::summary::{
    Control, ControlState, Extract, Field, Form, Heading, Link, Listing, Message, PageError, Place,
    Table,
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
const CONTROLS: &str = "button, input, select, textarea, summary";
const FILLED_IN: &str = "input, select, textarea";
/// The maximum number of fields that are listed in the forms of a page.
const FIELDS_MAX: usize = 5_000;

impl Open<'_> {
    /// Everything in `scope`, within the limits.
    pub(super) fn extract(&self, scope: Option<ElementRef<'_>>, reach: &ReadScope) -> Extract {
        let root = scope.unwrap_or_else(|| self.html.root_element());
        let all = |css: &str| -> Vec<ElementRef<'_>> {
            let found = self.select(css).into_iter();
            let inside =
                |it: &ElementRef<'_>| *it == root || it.ancestors().any(|it| it.id() == root.id());
            found.filter(|it| self.is_shown(*it) && inside(it)).collect()
        };
        let most = reach.items_max;
        let title = self.select("title").first().map(|it| text_of(*it)).unwrap_or_default();
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
                .filter(|it| it.document == self.page.document)
                .collect(),
            elements: self.elements().count() as u64,
            ..Extract::default()
        };
        extract.headings = list(&all("h1, h2, h3, h4, h5, h6"), most, |it| Heading {
            text: text_of(it),
            level: name_of(it)[1..].parse().unwrap_or(2),
        });
        extract.links = list(&all("a[href]"), most, |it| Link {
            text: text_of(it),
            href: self
                .page
                .url
                .join(it.attr("href").unwrap_or_default())
                .map(String::from)
                .unwrap_or_default(),
            place: self.place(it),
        });
        extract.controls = list(&all(CONTROLS), most, |it| self.control(it));
        let fields = self.fields();
        extract.forms = list(&all("form"), most, |it| self.form(it, &fields));
        extract.tables = list(&all("table"), most, |it| self.table(it));
        for element in all("[role=alert], [aria-invalid=true]") {
            let text = match name_of(element) {
                "input" | "select" | "textarea" => {
                    format!("{}: marked as invalid", self.label(element))
                }
                _ => text_of(element),
            };
            extract.errors.push(PageError::of(Message { text, place: self.place(element) }));
        }
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

    fn place(&self, element: ElementRef<'_>) -> Place {
        let number = self.number(element);
        let reference = Reference { document: self.page.document, element: number }.to_string();
        let selector = self.selector_of(element);
        // Without scripts, the elements of a document are always the same.
        Place { number, reference, selector, in_view: false, met: true }
    }

    /// A selector that finds only this element; none if it would be too long to be used.
    pub(super) fn selector_of(&self, element: ElementRef<'_>) -> Option<String> {
        let (mut steps, mut bytes) = (Vec::new(), 0);
        for at in std::iter::once(element).chain(element.ancestors().filter_map(ElementRef::wrap)) {
            let is_plain = |it: &&str| {
                !it.is_empty()
                    && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_')
            };
            let id = at
                .attr("id")
                .filter(is_plain)
                .filter(|it| !it.starts_with(|it: char| it.is_ascii_digit() || it == '-'))
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
            |name: &str| element.attr(name).map(crate::clean_line).filter(|it| !it.is_empty());
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

    fn control(&self, element: ElementRef<'_>) -> Control {
        let has = |name: &str| element.attr(name).is_some();
        let mut state = ControlState {
            disabled: has("disabled"),
            required: has("required"),
            read_only: has("readonly"),
            ..ControlState::default()
        };
        let kind = match name_of(element) {
            "input" => element.attr("type").unwrap_or("text").to_ascii_lowercase(),
            other => other.to_owned(),
        };
        match (name_of(element), kind.as_str()) {
            (_, "checkbox" | "radio") => state.checked = Some(self.is_checked(element)),
            ("select", _) => {
                let options = options_of(element);
                state.value = Some(self.chosen(element).join(", "));
                state.options = Some(options.iter().take(12).map(|it| text_of(*it)).collect());
            }
            ("textarea" | "input", _)
                if !matches!(kind.as_str(), "submit" | "button" | "reset" | "file" | "image") =>
            {
                let value = self.value(element);
                state.secret = self.is_secret(element);
                if state.secret {
                    state.filled = Some(!value.is_empty());
                } else if !value.is_empty() {
                    state.value = Some(value.chars().take(120).collect());
                }
            }
            _ => {}
        }
        Control { kind, text: self.label(element), place: self.place(element), state }
    }

    /// The fields that are filled in, by the innermost form around them.
    fn fields(&self) -> HashMap<NodeId, Vec<ElementRef<'_>>> {
        let is_filled_in = |it: &ElementRef<'_>| {
            !matches!(it.attr("type"), Some("hidden" | "submit" | "button" | "reset" | "image"))
        };
        let mut fields: HashMap<_, Vec<_>> = HashMap::new();
        for field in self.select(FILLED_IN).into_iter().filter(is_filled_in).take(FIELDS_MAX) {
            if let Some(form) = above(field, "form") {
                fields.entry(form.id()).or_default().push(field);
            }
        }
        fields
    }

    fn form(&self, form: ElementRef<'_>, fields: &HashMap<NodeId, Vec<ElementRef<'_>>>) -> Form {
        let inside = fields.get(&form.id()).map(Vec::as_slice).unwrap_or_default();
        let fields: Vec<Field> = inside
            .iter()
            .map(|it| Field {
                name: it.attr("name").map_or_else(|| self.label(*it), str::to_owned),
                place: self.place(*it),
            })
            .collect();
        let names: Vec<&str> = fields.iter().map(|it| it.name.as_str()).collect();
        let what = [form.attr("action").unwrap_or_default(), &names.join("\n")].join("\n");
        let id = form.attr("id").map_or_else(|| made_name("form", &what), str::to_owned);
        Form { id, fields, place: self.place(form) }
    }

    fn table(&self, table: ElementRef<'_>) -> Table {
        let inside = || table.descendants().filter_map(ElementRef::wrap);
        let columns: Vec<String> =
            inside().filter(|it| name_of(*it) == "th").take(12).map(text_of).collect();
        let caption =
            inside().find(|it| name_of(*it) == "caption").map(text_of).unwrap_or_default();
        let rows = inside().filter(|it| name_of(*it) == "tr").count() as u64;
        let what = format!("{caption}\n{}", columns.join("\n"));
        let id = table.attr("id").map_or_else(|| made_name("table", &what), str::to_owned);
        Table { id, rows, columns, caption, place: self.place(table) }
    }
}

fn list<T>(found: &[ElementRef<'_>], max: usize, make: impl Fn(ElementRef<'_>) -> T) -> Listing<T> {
    let kept = found.iter().take(max).map(|it| make(*it)).collect();
    Listing { total: found.len() as u64, kept, cut: found.len() > max }
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
    let by_value = options.iter().find(|it| option_value(**it) == wanted);
    let found = by_value.or_else(|| options.iter().find(|it| text_of(**it) == wanted))?;
    Some(option_value(*found))
}
