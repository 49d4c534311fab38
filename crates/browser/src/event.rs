//! What other programs may learn of what happens in the browser.

use serde::Serialize;
use url::Url;

use crate::protocol::{Dialog, Download, Element, TabId};
use crate::{AuthChange, Holder};

/// Something that happened. `human_*` events report only actions of a person at the terminal: they
/// are created where the person's input arrives, so neither a page nor a program can cause one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A person clicked.
    HumanClick {
        /// What was clicked.
        element: Element,
    },
    /// A person typed into something. The typed text is never reported.
    HumanInput {
        /// The element that was typed into.
        element: Element,
    },
    /// A tab is at another address.
    Navigated {
        /// Which tab.
        tab: TabId,
        /// The address, without the values of the query.
        url: String,
        /// Who controlled the page.
        by: Holder,
    },
    /// Someone logged in or out, as far as the page shows it.
    AuthChanged(AuthChange),
    /// A page opened a dialog, which was answered.
    Dialog {
        /// Its text, and how it was answered.
        dialog: Dialog,
    },
    /// A page started a download, which was refused.
    Download {
        /// What would have been downloaded.
        download: Download,
    },
    /// The control of the page changed.
    Control {
        /// Who controls it now.
        holder: Holder,
    },
}

/// An address without a password and without the values of its query and fragment: only names are
/// kept.
pub(crate) fn discreet(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return String::new() };
    let names: Vec<String> = url.query_pairs().map(|pair| pair.0.into_owned()).collect();
    url.set_fragment(None);
    url.set_query(None);
    // An address without a host has neither of these.
    url.set_password(None).unwrap_or_default();
    url.set_username("").unwrap_or_default();
    if !names.is_empty() {
        let mut pairs = url.query_pairs_mut();
        for name in names.iter().take(20) {
            pairs.append_key_only(name);
        }
    }
    url.into()
}

#[cfg(test)]
mod tests {
    use super::discreet;

    #[test]
    fn addresses_in_events_contain_only_parameter_names() {
        assert_eq!(
            discreet("https://me:pw@a.example/x?user=me&code=123#token=9"),
            "https://a.example/x?user&code"
        );
        assert_eq!(discreet("nothing"), "");
    }
}
