//! What other programs may know of what happens in the browser.

use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::engine::{Element, TabId};
use crate::{AuthChange, Holder, Who};

/// Something that happened. `human_*` is what a person did at the terminal, and nothing else: they
/// are made where the person's input comes in, so that neither a page nor a program can make one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A person clicked.
    HumanClick {
        /// What was clicked.
        element: Element,
    },
    /// A person typed into something. What, is told to nobody.
    HumanInput {
        /// What was typed into.
        element: Element,
    },
    /// A tab is somewhere else.
    Navigated {
        /// Which tab.
        tab: TabId,
        /// Where, without the values of the query.
        url: String,
        /// Who had the page.
        by: Holder,
    },
    /// Somebody logged in or out, as far as the page shows it.
    AuthChanged {
        /// What it looks like.
        #[serde(flatten)]
        change: AuthChange,
    },
    /// A page opened a dialog, which was answered.
    Dialog {
        /// What it said, and how it was answered.
        dialog: Value,
    },
    /// A page began a download, which was refused.
    Download {
        /// What it was to be.
        download: Value,
    },
    /// Somebody else has the page now.
    Control {
        /// Who.
        holder: Holder,
    },
}

impl From<Who> for Holder {
    fn from(who: Who) -> Self {
        match who {
            Who::Human => Self::Human,
            Who::Agent => Self::Agent,
        }
    }
}

/// An address without what its query and fragment say, and without a password: only the names.
pub(crate) fn discreet(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return String::new() };
    let names: Vec<String> = url.query_pairs().map(|it| it.0.into_owned()).collect();
    url.set_fragment(None);
    url.set_query(None);
    // An address that has no host has neither of these.
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
    fn addresses_in_events_tell_names_only() {
        assert_eq!(
            discreet("https://me:pw@a.example/x?user=me&code=123#token=9"),
            "https://a.example/x?user&code"
        );
        assert_eq!(discreet("nothing"), "");
    }
}
