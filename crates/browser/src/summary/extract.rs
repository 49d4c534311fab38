//! What an engine finds on a page, before anything is left out for its length.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::protocol::Reference;
use crate::{Dialog, Download};

/// The lists of a page's content by their names on the wire, in the order of all arrays that have a
/// member for each list.
pub(crate) const LISTS: [&str; 6] =
    ["headings", "forms", "links", "tables", "interactive", "errors"];
pub(crate) const HEADINGS: usize = 0;
pub(crate) const FORMS: usize = 1;
pub(crate) const LINKS: usize = 2;
pub(crate) const TABLES: usize = 3;
pub(crate) const CONTROLS: usize = 4;
pub(crate) const ERRORS: usize = 5;
/// The name of the text on the wire.
pub(crate) const TEXT: &str = "text_content";

/// The content of a page.
#[derive(Debug, Default)]
pub(crate) struct Extract {
    pub(crate) url: String,
    pub(crate) title: String,
    /// The HTTP status of the page.
    pub(crate) status: Option<u16>,
    /// Parts of it are still loading.
    pub(crate) loading: bool,
    pub(crate) lists: [List; 6],
    /// The visible text.
    pub(crate) text: String,
    /// The approximate number of letters in all of it, read or not.
    pub(crate) letters: u64,
    /// Not all of the text was read.
    pub(crate) text_cut: bool,
    /// The number of its document.
    pub(crate) document: u64,
    /// Of the known elements that are asked for: those that are still visible, but not in a list
    /// because that was cut.
    pub(crate) present: Vec<Reference>,
    /// The number of invisible texts, by reason.
    pub(crate) left: BTreeMap<String, u64>,
    /// The limit at which reading stopped, if one was reached.
    pub(crate) truncated: Option<String>,
    /// The addresses and the selectors of its frames that were read with it; selectors of their
    /// content start with those.
    pub(crate) frames: Vec<Value>,
    /// Dialogs that it opened.
    pub(crate) dialogs: Vec<Dialog>,
    /// Downloads that it started.
    pub(crate) downloads: Vec<Download>,
}

/// The first entries of a list in page order, and the total number.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) total: u64,
    pub(crate) entries: Vec<Entry>,
    /// Not all visible entries were read.
    pub(crate) cut: bool,
}

/// An entry of a list.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// What a program gets of it.
    pub(crate) shown: Value,
    /// Of a heading: 1 to 6.
    pub(crate) level: Option<u8>,
    pub(crate) in_view: bool,
    /// Its element existed when the page was last read, whether or not it fitted.
    pub(crate) met: bool,
}

impl From<Value> for Entry {
    fn from(shown: Value) -> Self {
        Self { shown, ..Self::default() }
    }
}

/// An element as an engine describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Found {
    /// Its number in its document.
    pub(crate) number: u64,
    /// A selector that finds only this element in its document.
    pub(crate) selector: Option<String>,
    pub(crate) in_view: bool,
    pub(crate) met: bool,
    pub(crate) level: Option<u8>,
    /// Of a form: its fields, each with its `name`.
    pub(crate) fields: Option<Vec<Found>>,
    /// What is shown of it besides its location.
    #[serde(flatten)]
    pub(crate) shown: Map<String, Value>,
}

impl Found {
    /// The entry for an element of this document. Selectors are prefixed by `hops`; without it, the
    /// document's elements have none.
    pub(crate) fn entry(self, document: u64, hops: Option<&str>) -> Entry {
        let reference = |element: u64| Reference { document, element }.to_string();
        let selector = |own: Option<String>| -> Option<String> {
            own.zip(hops).map(|(own, hops)| format!("{hops}{own}"))
        };
        let Self { mut shown, level, in_view, met, .. } = self;
        if level.is_some() {
            let shown = shown.remove("text").unwrap_or_default();
            return Entry { shown, level, in_view, met };
        }
        if let Some(fields) = self.fields {
            let names: Vec<_> = fields.iter().map(|field| field.shown.get("name")).collect();
            shown.insert("fields".to_owned(), json!(names));
            let refs: Vec<String> = fields.iter().map(|field| reference(field.number)).collect();
            shown.insert("refs".to_owned(), refs.into());
            let selectors: Vec<_> =
                fields.into_iter().map(|field| selector(field.selector)).collect();
            shown.insert("selectors".to_owned(), selectors.into());
        }
        shown.insert("ref".to_owned(), reference(self.number).into());
        shown.extend(
            selector(self.selector).map(|selector| ("selector".to_owned(), selector.into())),
        );
        Entry { shown: shown.into(), level, in_view, met }
    }
}

impl List {
    /// Keeps the marked entries.
    pub(crate) fn retain(&mut self, kept: &[bool]) {
        let mut is_kept = kept.iter();
        self.entries.retain(|_| is_kept.next() == Some(&true));
    }
}
