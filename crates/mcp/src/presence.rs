//! Tells a client that its list of tools has changed, because a browser came or went.

use std::sync::{Arc, Mutex, PoisonError};

use http::Extensions;
use rmcp::service::{RequestContext, RoleServer};

use crate::api::Api;
use crate::service::Service;
use crate::tools::Tool;

/// Whether the list that the client has contains the browser.
#[derive(Debug, Clone, Default)]
pub(crate) struct Presence(Arc<Mutex<Option<bool>>>);

impl Presence {
    /// Notes what the client has listed.
    pub(crate) fn listed(&self, is_there: bool) {
        self.replace(Some(is_there));
    }

    /// Notifies the only client of a service, in the background, if a browser came or went since it listed the tools.
    ///
    /// Only a client that began with `initialize` gets notifications that it did not ask for. A service is not asked at
    /// intervals, which would keep it from being idle: the next call of a tool notices the change.
    pub(crate) fn check<S: Service>(&self, service: &S, context: &RequestContext<RoleServer>) {
        if service.client().is_none() || context.meta.protocol_version().is_some() {
            return;
        }
        let (own, service, peer) = (self.clone(), service.clone(), context.peer.clone());
        tokio::spawn(async move {
            let caller = Extensions::default();
            let is_there = Tool::Browser.is_there(&Api::new(&service, &caller)).await;
            if own.replace(Some(is_there)).is_some_and(|it| it != is_there) {
                // A client that has gone needs no notification.
                drop(peer.notify_tool_list_changed().await);
            }
        });
    }

    fn replace(&self, now: Option<bool>) -> Option<bool> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), now)
    }
}
