//! Elements, and what has the focus, as our scripts report them.

use serde::Deserialize;

use crate::frame::{Focus, Scrolled, TargetKind};
use crate::summary::{
    Control, ControlState, Field, Form, Heading, Link, Listing, Message, Place, Table,
};

#[derive(Deserialize)]
pub(super) struct Entries<T> {
    total: u64,
    kept: Vec<T>,
    #[serde(default)]
    cut: bool,
}

impl<T> Entries<T> {
    /// Whether not all visible entries were read.
    pub(super) fn cut(&self) -> bool {
        self.cut
    }
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self { total: 0, kept: Vec::new(), cut: false }
    }
}

impl<T, U: From<T>> From<Entries<T>> for Listing<U> {
    fn from(entries: Entries<T>) -> Self {
        let kept = entries.kept.into_iter().map(U::from).collect();
        Self { total: entries.total, kept, cut: entries.cut }
    }
}

#[derive(Deserialize)]
#[serde(remote = "Place", rename_all = "camelCase")]
struct PlaceReport {
    #[serde(default)]
    number: u64,
    #[serde(skip)]
    reference: String,
    selector: Option<String>,
    #[serde(default)]
    in_view: bool,
    #[serde(default)]
    met: bool,
}

#[derive(Deserialize)]
pub(super) struct HeadingReport {
    text: String,
    level: u8,
}

impl From<HeadingReport> for Heading {
    fn from(HeadingReport { text, level }: HeadingReport) -> Self {
        Self { text, level }
    }
}

#[derive(Deserialize)]
pub(super) struct LinkReport {
    text: String,
    href: String,
    #[serde(flatten, with = "PlaceReport")]
    place: Place,
}

impl From<LinkReport> for Link {
    fn from(LinkReport { text, href, place }: LinkReport) -> Self {
        Self { text, href, place }
    }
}

#[derive(Deserialize)]
pub(super) struct FormReport {
    id: String,
    fields: Vec<FieldReport>,
    #[serde(flatten, with = "PlaceReport")]
    place: Place,
}

#[derive(Deserialize)]
struct FieldReport {
    name: String,
    #[serde(flatten, with = "PlaceReport")]
    place: Place,
}

impl From<FormReport> for Form {
    fn from(FormReport { id, fields, place }: FormReport) -> Self {
        let field = |FieldReport { name, place }| Field { name, place };
        Self { id, fields: fields.into_iter().map(field).collect(), place }
    }
}

#[derive(Deserialize)]
pub(super) struct TableReport {
    id: String,
    rows: u64,
    columns: Vec<String>,
    caption: String,
    #[serde(flatten, with = "PlaceReport")]
    place: Place,
}

impl From<TableReport> for Table {
    fn from(TableReport { id, rows, columns, caption, place }: TableReport) -> Self {
        Self { id, rows, columns, caption, place }
    }
}

#[derive(Deserialize)]
pub(super) struct ControlReport {
    #[serde(rename = "type")]
    kind: String,
    text: String,
    #[serde(flatten, with = "PlaceReport")]
    place: Place,
    #[serde(flatten, with = "StateReport")]
    state: ControlState,
}

impl From<ControlReport> for Control {
    fn from(ControlReport { kind, text, place, state }: ControlReport) -> Self {
        Self { kind, text, place, state }
    }
}

#[derive(Deserialize)]
#[serde(remote = "ControlState", rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
struct StateReport {
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    secret: bool,
    filled: Option<bool>,
    value: Option<String>,
    checked: Option<bool>,
    options: Option<Vec<String>>,
    option_count: Option<u64>,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    invalid: bool,
    expanded: Option<bool>,
    #[serde(default)]
    selected: bool,
    #[serde(default)]
    pressed: bool,
    #[serde(default)]
    read_only: bool,
}

#[derive(Deserialize)]
pub(super) struct MessageReport {
    text: String,
    #[serde(flatten, with = "PlaceReport")]
    place: Place,
}

impl From<MessageReport> for Message {
    fn from(MessageReport { text, place }: MessageReport) -> Self {
        Self { text, place }
    }
}

#[derive(Deserialize)]
#[serde(remote = "TargetKind", rename_all = "lowercase")]
pub(super) enum TargetName {
    Link,
    Button,
    Text,
    Secret,
    Select,
    Check,
    Other,
}

#[derive(Deserialize)]
#[serde(remote = "Focus", rename_all = "lowercase")]
enum FocusName {
    Text,
    Secret,
    Control,
}

#[derive(Deserialize)]
pub(super) struct FocusReport(#[serde(with = "FocusName")] pub(super) Focus);

#[derive(Deserialize)]
#[serde(remote = "Scrolled", rename_all = "camelCase")]
struct ScrolledMembers {
    x: f64,
    y: f64,
    x_max: f64,
    y_max: f64,
}

#[derive(Deserialize)]
pub(super) struct ScrolledReport(#[serde(with = "ScrolledMembers")] pub(super) Scrolled);
