//! Browsers on the mesh.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::Problem;

/// The target on the mesh that a browser serves.
pub const BROWSER_TARGET: &str = "browser.relay";

/// A browser on the mesh; an element of `GET /api/browser`. All texts are its own.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Browser {
    /// Its id as a peer, which is new at each start: 32 hexadecimal digits.
    pub id: String,
    /// The name that it gives itself.
    pub name: String,
    /// Where it is: `local`, or the name of a paired machine.
    pub origin: String,
    /// The address of its page; absent if it does not say so within a second, or another browser
    /// gets the commands.
    pub url: Option<String>,
    /// The title of that page.
    pub title: Option<String>,
}

/// What the `type` of a problem of a browser's command begins with.
const PROBLEM: &str = "urn:waypost:browser:";

/// The `type` of a problem of a browser's command: of a kind such as `not_found`.
pub fn browser_problem(kind: &str) -> String {
    format!("{PROBLEM}{kind}")
}

impl Problem {
    /// The kind of a problem of a browser's command, whose `detail` may have text of a page.
    pub fn browser_kind(&self) -> Option<&str> {
        self.kind.strip_prefix(PROBLEM)
    }
}
