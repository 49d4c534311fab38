//! Changes every text of a result, so that it contains only what its receiver may see.

use crate::engine::{Arrival, Dialog, Done, Download, Element, TabInfo};
use crate::summary::{
    Content, Control, Flag, Form, FrameInfo, Heading, Link, Login, PageError, Place, Removed,
    Summary, Table,
};

/// A value with texts. References and names of our own are not among them.
pub(crate) trait Scrub {
    /// Changes every text. A selector that would change is left out: it would find another element,
    /// or none.
    fn scrub(&mut self, change: &dyn Fn(&str) -> String);
}

impl Scrub for String {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        *self = change(self);
    }
}

impl<T: Scrub> Scrub for Option<T> {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        if let Some(it) = self {
            it.scrub(change);
        }
    }
}

impl<T: Scrub> Scrub for Vec<T> {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        for it in self {
            it.scrub(change);
        }
    }
}

/// Scrubs these members.
macro_rules! scrub {
    ($($kind:ty: $($member:ident),*;)*) => {$(
        impl Scrub for $kind {
            fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
                $(self.$member.scrub(change);)*
            }
        }
    )*};
}

scrub! {
    Arrival: url, title;
    Content: headings, forms, links, tables, controls, errors, text;
    Dialog: kind, message;
    Done: element, chosen, url, dialogs, downloads;
    Download: name, url;
    Heading: text;
    Link: text, href, place;
    PageError: text, url, place;
    Summary: url, title, removed, frames, dialogs, downloads, auth, flags;
    TabInfo: url, title;
    Table: id, columns, caption, place;
}

fn selector(selector: &mut Option<String>, change: &dyn Fn(&str) -> String) {
    selector.take_if(|it| change(it).trim() != it.trim());
}

impl Scrub for Control {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        self.kind.scrub(change);
        self.text.scrub(change);
        self.place.scrub(change);
        self.state.value.scrub(change);
        self.state.options.scrub(change);
    }
}

impl Scrub for Element {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        self.tag.scrub(change);
        self.class.scrub(change);
        self.text.scrub(change);
        selector(&mut self.selector, change);
    }
}

impl Scrub for Flag {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        if let Self::HiddenText { reason, .. } = self {
            reason.scrub(change);
        }
    }
}

impl Scrub for Form {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        self.id.scrub(change);
        for field in &mut self.fields {
            field.name.scrub(change);
            field.place.scrub(change);
        }
        self.place.scrub(change);
    }
}

impl Scrub for FrameInfo {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        self.url.scrub(change);
        selector(&mut self.selector, change);
    }
}

impl Scrub for Login {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        if let Some((last, _)) = &mut self.last {
            last.origin.scrub(change);
        }
    }
}

impl Scrub for Place {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        selector(&mut self.selector, change);
    }
}

impl Scrub for Removed {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        self.entries.iter_mut().for_each(|it| it.1.scrub(change));
        self.text.scrub(change);
        self.title.scrub(change);
    }
}
