//! What a page loads, and what its scripts log.

use serde_json::{Value, json};
use tokio::time::Instant;
use url::Url;

use super::super::shorten;
use super::super::state::{Frame, Tab};
use super::{Hearing, text};

impl Hearing<'_> {
    pub(super) fn network(&mut self, method: &str, session: Option<&str>) {
        let announced = match method {
            "Network.requestWillBeSent" => text(&self.params["request"], "url"),
            "Network.webSocketCreated" => text(self.params, "url"),
            _ => "",
        };
        if let Ok(url) = Url::parse(announced)
            && let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default())
        {
            self.shared.ways.announce(host, port);
        }
        let request = text(self.params, "requestId").to_owned();
        let Some(tab) = self.state.of_session(session) else { return };
        tab.last_traffic = Some(Instant::now());
        match method {
            // Streams do not end, so they are not waited for.
            "Network.requestWillBeSent"
                if !matches!(text(self.params, "type"), "EventSource" | "WebSocket" | "Ping") =>
            {
                tab.in_flight.insert(request);
            }
            "Network.loadingFinished" => {
                tab.in_flight.remove(&request);
            }
            "Network.loadingFailed" => {
                tab.in_flight.remove(&request);
                if self.params["canceled"] != true {
                    let error =
                        json!({ "type": "request", "text": text(self.params, "errorText") });
                    let loader = tab.loader.clone();
                    tab.add_error(&loader, error);
                }
            }
            "Network.responseReceived" => self.response(session, &request),
            _ => {}
        }
    }

    fn response(&mut self, session: Option<&str>, request: &str) {
        let response = &self.params["response"];
        let Some(status) =
            response["status"].as_u64().and_then(|number| u16::try_from(number).ok())
        else {
            return;
        };
        let loader = text(self.params, "loaderId").to_owned();
        let Some(tab) = self.state.of_session(session) else { return };
        let is_page = request == loader && text(self.params, "frameId") == tab.main;
        if is_page {
            tab.status = Some((loader.clone(), status));
        }
        let url = text(response, "url");
        // Every browser requests an icon; a missing one is not an error of the page.
        if status >= 400 && !url.ends_with("/favicon.ico") {
            let error = json!({
                "type": "request",
                "text": format!("status {status}"),
                "url": shorten(url, 500),
                "status": status,
            });
            tab.add_error(&loader, error);
        }
    }

    pub(super) fn runtime(&mut self, method: &str, session: Option<&str>) {
        let Some(tab) = self.state.of_session(session) else { return };
        let mask = |said: &str| self.shared.secrets.mask(said);
        let in_session = |frame: &Frame| Some(frame.session.as_str()) == session;
        match method {
            "Runtime.executionContextDestroyed" => {
                let gone = self.params["executionContextId"].as_i64();
                for frame in tab.frames.values_mut().filter(|value| in_session(value)) {
                    if frame.context.map(|context| context.0) == gone {
                        frame.context = None;
                    }
                }
            }
            "Runtime.executionContextsCleared" => {
                tab.frames
                    .values_mut()
                    .filter(|value| in_session(value))
                    .for_each(|value| value.context = None);
            }
            "Runtime.exceptionThrown" => {
                let details = &self.params["exceptionDetails"];
                let said = details["exception"]["description"].as_str();
                tab.console(&mask(said.unwrap_or_else(|| text(details, "text"))));
            }
            "Runtime.consoleAPICalled" if self.params["type"] == "error" => {
                let said: Vec<String> = self.params["args"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .take(8)
                    .map(said)
                    .collect();
                tab.console(&mask(&said.join(" ")));
            }
            // Network failures are reported by the Network domain.
            "Log.entryAdded"
                if self.params["entry"]["level"] == "error"
                    && self.params["entry"]["source"] != "network" =>
            {
                tab.console(&mask(text(&self.params["entry"], "text")));
            }
            _ => {}
        }
    }
}

fn said(argument: &Value) -> String {
    match &argument["value"] {
        Value::String(text) => text.clone(),
        Value::Null => text(argument, "description").to_owned(),
        other => other.to_string(),
    }
}

impl Tab {
    fn console(&mut self, said: &str) {
        let loader = self.loader.clone();
        let first = said.lines().next().unwrap_or_default();
        self.add_error(&loader, json!({ "type": "console", "text": shorten(first, 300) }));
    }
}
