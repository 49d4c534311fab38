//! A page without scripts: its document, and the values that were filled in.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use scraper::node::Node;
use scraper::{ElementRef, Html, Selector as Css};
use url::Url;
use url::form_urlencoded::Serializer;

use super::fetch::Asked;
use super::parse::{NodeId, parse};
use crate::protocol::unsupported;
use crate::{Problem, ProblemKind, Selector};

/// The page shown in a tab.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) status: Option<u16>,
    pub(super) title: String,
    pub(super) html: String,
    /// Its number, unique among all documents.
    pub(super) document: u64,
    /// The filled-in values: fields by their number.
    pub(super) filled: HashMap<u64, Filled>,
}

/// A value that replaces the one from the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Filled {
    Text(String),
    Checked(bool),
    Chosen(Vec<String>),
}

/// A page with its parsed document.
pub(super) struct Open<'a> {
    pub(super) page: &'a Page,
    pub(super) html: Html,
    facts: OnceCell<Facts>,
}

/// What is found out about all elements at once, as it would take the whole page for each of them.
#[derive(Debug, Default)]
struct Facts {
    elements: HashMap<NodeId, Fact>,
    /// The number of elements with an id.
    ids: HashMap<String, usize>,
    /// The first label for an id.
    labels: HashMap<String, NodeId>,
    /// The texts of labels; many fields may have the same one.
    names: RefCell<HashMap<NodeId, String>>,
    /// The first form with an id.
    forms: HashMap<String, NodeId>,
}

#[derive(Debug, Clone, Copy)]
struct Fact {
    number: u64,
    /// The place among its siblings of the same name, from 1.
    place: usize,
    is_shown: bool,
}

impl Facts {
    fn of(html: &Html) -> Self {
        let mut facts = Self::default();
        let mut places: HashMap<(Option<NodeId>, &str), usize> = HashMap::new();
        for (element, number) in
            html.root_element().descendants().filter_map(ElementRef::wrap).zip(1..)
        {
            let parent = element.parent().map(|parent| parent.id());
            let place = places.entry((parent, name_of(element))).or_default();
            *place += 1;
            let around = element.ancestors().find_map(ElementRef::wrap);
            let around = around.and_then(|around| facts.elements.get(&around.id()));
            let is_in = around.is_none_or(|around| around.is_shown);
            let is_shown = is_in && !hides(element);
            facts.elements.insert(element.id(), Fact { number, place: *place, is_shown });
            if let Some(id) = element.attr("id") {
                *facts.ids.entry(id.to_owned()).or_default() += 1;
            }
            match (name_of(element), element.attr("for"), element.attr("id")) {
                ("label", Some(id), _) => {
                    facts.labels.entry(id.to_owned()).or_insert(element.id());
                }
                ("form", _, Some(id)) => {
                    facts.forms.entry(id.to_owned()).or_insert(element.id());
                }
                _ => {}
            }
        }
        facts
    }
}

/// As much of an element is read for a name of it.
const NAME_BYTES_MAX: usize = 16_384;
const NAME_NODES_MAX: usize = 4_096;
const UNSHOWN: &[&str] =
    &["script", "style", "template", "head", "title", "datalist", "iframe", "svg"];

impl Page {
    /// A page as the server sent it.
    pub(super) fn new(url: Url, status: u16, html: String, document: u64) -> Self {
        let (title, status) = (String::new(), Some(status));
        let mut page = Self { url, status, title, html, document, filled: HashMap::new() };
        page.title =
            page.open().select("title").first().map(|title| text_of(*title)).unwrap_or_default();
        page
    }

    pub(super) fn open(&self) -> Open<'_> {
        Open { page: self, html: parse(&self.html), facts: OnceCell::new() }
    }
}

impl Open<'_> {
    /// All elements; the first has number 1.
    pub(super) fn elements(&self) -> impl Iterator<Item = ElementRef<'_>> {
        self.html.root_element().descendants().filter_map(ElementRef::wrap)
    }

    fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| Facts::of(&self.html))
    }

    fn fact(&self, element: ElementRef<'_>) -> Option<&Fact> {
        self.facts().elements.get(&element.id())
    }

    pub(super) fn number(&self, element: ElementRef<'_>) -> u64 {
        self.fact(element).map_or(0, |fact| fact.number)
    }

    /// The place of an element among its siblings of the same name, from 1.
    pub(super) fn nth_of_type(&self, element: ElementRef<'_>) -> usize {
        self.fact(element).map_or(1, |fact| fact.place)
    }

    /// Whether an element is visible, according to its own and its ancestors' attributes.
    pub(super) fn is_shown(&self, element: ElementRef<'_>) -> bool {
        self.fact(element).is_some_and(|fact| fact.is_shown)
    }

    /// Whether no other element has this id.
    pub(super) fn is_only(&self, id: &str) -> bool {
        self.facts().ids.get(id) == Some(&1)
    }

    fn element(&self, id: Option<&NodeId>) -> Option<ElementRef<'_>> {
        self.html.tree.get(*id?).and_then(ElementRef::wrap)
    }

    /// The text of the first label that names a field, and that of the innermost one around it.
    pub(super) fn labels(&self, field: ElementRef<'_>) -> [Option<String>; 2] {
        let text = |label: ElementRef<'_>| {
            let mut names = self.facts().names.borrow_mut();
            names.entry(label.id()).or_insert_with(|| text_of(label)).clone()
        };
        let by_id = field.attr("id").and_then(|id| self.element(self.facts().labels.get(id)));
        [by_id.map(text), above(field, "label").map(text)]
    }

    pub(super) fn by_number(&self, number: u64) -> Option<ElementRef<'_>> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.elements().nth(at)
    }

    /// The element that a selector finds: the first visible one, or else the first; and the number
    /// of matches.
    pub(super) fn find(&self, selector: &Selector) -> Result<(ElementRef<'_>, u64), Problem> {
        let [step] = selector.steps() else {
            let detail = "selector: this engine does not support frames and shadow roots";
            return Err(Problem::new(ProblemKind::Unsupported, detail));
        };
        let css = Css::parse(step).map_err(|error| {
            Problem::invalid(format!("selector: `{step}` is not valid CSS: {error}"))
        })?;
        let found: Vec<ElementRef<'_>> = self.html.select(&css).collect();
        let shown = found.iter().find(|found| self.is_shown(**found)).or(found.first()).copied();
        let element = shown.ok_or_else(|| {
            let detail =
                format!("selector: no element matches `{step}`; `read` lists the elements");
            Problem::new(ProblemKind::NotFound, detail)
        })?;
        Ok((element, found.len() as u64))
    }

    pub(super) fn select(&self, css: &str) -> Vec<ElementRef<'_>> {
        // The selectors are our own.
        Css::parse(css).map(|value| self.html.select(&value).collect()).unwrap_or_default()
    }

    /// The current value of a field.
    pub(super) fn value(&self, field: ElementRef<'_>) -> String {
        match self.page.filled.get(&self.number(field)) {
            Some(Filled::Text(text)) => text.clone(),
            _ if name_of(field) == "textarea" => all_text_of(field),
            _ => field.attr("value").unwrap_or_default().to_owned(),
        }
    }

    pub(super) fn is_checked(&self, field: ElementRef<'_>) -> bool {
        match self.page.filled.get(&self.number(field)) {
            Some(Filled::Checked(checked)) => *checked,
            _ => field.attr("checked").is_some(),
        }
    }

    /// The values of the chosen options.
    pub(super) fn chosen(&self, list: ElementRef<'_>) -> Vec<String> {
        if let Some(Filled::Chosen(values)) = self.page.filled.get(&self.number(list)) {
            return values.clone();
        }
        let options = options_of(list);
        let marked = options.iter().filter(|option| option.attr("selected").is_some());
        let mut values: Vec<String> = marked.map(|marked| option_value(*marked)).collect();
        if values.is_empty() && list.attr("multiple").is_none() {
            values.extend(options.first().map(|option| option_value(*option)));
        }
        values
    }

    /// The form that contains a field, or that the field names.
    pub(super) fn form_of<'a>(&'a self, field: ElementRef<'a>) -> Option<ElementRef<'a>> {
        match field.attr("form") {
            Some(id) => self.element(self.facts().forms.get(id)),
            None => above(field, "form"),
        }
    }

    /// The request for submitting the form of a field, with one of its buttons.
    pub(super) fn submission(
        &self,
        field: ElementRef<'_>,
        button: Option<ElementRef<'_>>,
    ) -> Result<Asked, Problem> {
        let form = self.form_of(field).ok_or_else(|| unsupported("an element without a form"))?;
        let by = |name: &str| {
            let own = button.and_then(|button| button.attr(&format!("form{name}")));
            own.or_else(|| form.attr(name)).unwrap_or_default()
        };
        if by("enctype") == "multipart/form-data" {
            let detail = "this engine cannot send files, and the form requires multipart/form-data";
            return Err(Problem::new(ProblemKind::Unsupported, detail));
        }
        let mut pairs = Serializer::new(String::new());
        let fields = form.descendants().filter_map(ElementRef::wrap);
        for field in fields.filter(|field| field.attr("disabled").is_none()) {
            let Some(name) = field.attr("name").filter(|attr| !attr.is_empty()) else { continue };
            let kind = field.attr("type").unwrap_or("text").to_ascii_lowercase();
            match (name_of(field), kind.as_str()) {
                ("select", _) => {
                    for value in self.chosen(field) {
                        pairs.append_pair(name, &value);
                    }
                }
                ("input", "checkbox" | "radio") if !self.is_checked(field) => {}
                ("input", "checkbox" | "radio") => {
                    pairs.append_pair(name, field.attr("value").unwrap_or("on"));
                }
                ("button", _) | ("input", "submit" | "image" | "button" | "reset")
                    if Some(field) != button => {}
                ("button", _) | ("input", "submit" | "image" | "button" | "reset") => {
                    pairs.append_pair(name, field.attr("value").unwrap_or_default());
                }
                ("input", "file") => {}
                ("input" | "textarea", _) => {
                    pairs.append_pair(
                        name,
                        &self.value(field).replace("\r\n", "\n").replace('\n', "\r\n"),
                    );
                }
                _ => {}
            }
        }
        let query = pairs.finish();
        let action = by("action");
        let mut url = self.page.url.join(action).map_err(|error| {
            Problem::invalid(format!("the form's address {action:?} is none: {error}"))
        })?;
        if by("method").eq_ignore_ascii_case("post") {
            return Ok(Asked { url, form: Some(query) });
        }
        url.set_query(Some(&query));
        Ok(Asked { url, form: None })
    }
}

pub(super) fn name_of(element: ElementRef<'_>) -> &str {
    element.value().name()
}

/// The nearest element of this name around another.
pub(super) fn above<'a>(element: ElementRef<'a>, name: &str) -> Option<ElementRef<'a>> {
    element.ancestors().filter_map(ElementRef::wrap).find(|element| name_of(*element) == name)
}

/// The start of an element's text, with a space between words: elements that are read one by one may
/// be nested in each other.
pub(super) fn text_of(element: ElementRef<'_>) -> String {
    let mut text = String::new();
    for node in element.descendants().take(NAME_NODES_MAX) {
        if let Node::Text(part) = node.value() {
            text.extend(part.chars().take(NAME_BYTES_MAX));
        }
        if text.len() >= NAME_BYTES_MAX {
            break;
        }
    }
    crate::clean_line(&text)
}

/// An element's whole text, with a space between words.
pub(super) fn all_text_of(element: ElementRef<'_>) -> String {
    crate::clean_line(&element.text().collect::<String>())
}

pub(super) fn options_of(list: ElementRef<'_>) -> Vec<ElementRef<'_>> {
    let inside = list.descendants().filter_map(ElementRef::wrap);
    inside.filter(|inside| name_of(*inside) == "option").collect()
}

pub(super) fn option_value(option: ElementRef<'_>) -> String {
    option.attr("value").map_or_else(|| text_of(option), str::to_owned)
}

/// Whether an element hides its content.
pub(super) fn hides(element: ElementRef<'_>) -> bool {
    let style: String =
        element.attr("style").unwrap_or_default().chars().filter(|c| !c.is_whitespace()).collect();
    UNSHOWN.contains(&name_of(element))
        || element.attr("hidden").is_some()
        || style.contains("display:none")
        || style.contains("visibility:hidden")
        || (name_of(element) == "input" && element.attr("type") == Some("hidden"))
}
