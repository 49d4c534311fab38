//! Who sent a message.

use std::sync::Arc;

use rmcp::model::JsonObject;
use waypost_api::Scope;
use waypost_events::IdempotencyKey;
use waypost_memory::RequestKey;

use crate::app::App;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::wire;

/// Who sent a message, and the service that answers it.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    pub(super) app: Arc<App>,
    pub(super) caller: Caller,
    /// The key of the message, for the change that its tool makes.
    pub(super) key: Option<IdempotencyKey>,
    /// The name of the client among those with the same token.
    pub(super) client: Option<String>,
}

impl Asker {
    pub(super) fn require(&self, scope: Scope) -> Result<(), Failure> {
        self.caller.require(wire::scope(scope))
    }

    /// The key of a tool's change with these arguments.
    pub(super) fn key_of(&self, tool: &str, given: &JsonObject) -> Option<RequestKey> {
        let key = self.key.as_ref()?;
        // A map of JSON values can always be written.
        let given = serde_json::to_vec(given).unwrap_or_default();
        Some(RequestKey::new(&self.caller.source(), key.as_str(), &[tool.as_bytes(), &given]))
    }
}
