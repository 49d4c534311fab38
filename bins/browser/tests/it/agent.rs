//! Agents that use the browser through the service: over the API and with the tool of the Model Context Protocol.

use http::{Request, Response};
use serde_json::{Map, Value, json};
use waypost_api::client::{Client, Error};
use waypost_api::{NewTokenRequest, Scope, routes};
use waypost_project::MeshSettings;
use waypost_service::{Options, Running, start};

use crate::wait::until;
use crate::world::Place;

/// The service of a place, on its mesh, and a client with all rights.
pub(crate) struct Agent {
    running: Option<Running>,
    pub(crate) url: String,
    pub(crate) client: Client,
}

impl Agent {
    pub(crate) fn start(place: &Place) -> Self {
        let mut options = Options::for_project(&place.file("")).expect("a project");
        options.mesh = Some(MeshSettings {
            enabled: true,
            folder: place.file(".waypost/data/mesh"),
            pairing_dir: place.file(".waypost/data/pairing"),
            listen: false,
            human_events: false,
        });
        let running = start(&options).expect("the service starts");
        let url = format!("http://{}", running.address());
        let token = std::fs::read_to_string(place.file(".waypost/token")).expect("a token");
        let client = Client::new(&url, Some(token.trim())).expect("an address");
        let agent = Self { running: Some(running), url, client };
        until(|| {
            let mesh = agent
                .client
                .call(&routes::MEMORY_STATUS, ())
                .expect("a status")
                .mesh
                .expect("it is enabled");
            if mesh.joined { Ok(()) } else { Err(format!("{mesh:?}")) }
        });
        agent
    }

    /// A client with a token that has this scope, bound to a space or not.
    pub(crate) fn with(&self, scope: Scope, space: Option<&str>) -> Client {
        let space = space.map(str::to_owned);
        let asked = NewTokenRequest { scopes: vec![scope], space, ..NewTokenRequest::default() };
        let created = self.client.call(&routes::CREATE_TOKEN, &asked).expect("a token");
        Client::new(&self.url, Some(&created.token)).expect("an address")
    }

    /// Stops the service.
    pub(crate) fn stop(&mut self) {
        self.running.take().expect("it runs").shutdown().expect("it stops in order");
    }

    /// Waits until a browser is on the mesh, or until none is.
    #[track_caller]
    pub(crate) fn until_there(&self, is_there: bool) {
        until(|| {
            let found = self.client.call(&routes::LIST_BROWSERS, ()).expect("a list");
            if found.is_empty() == is_there { Err(format!("{found:?}")) } else { Ok(()) }
        });
    }
}

/// The result of a request of the protocol.
#[track_caller]
fn ask(client: &Client, method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut request = Request::post("/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = params["name"].as_str() {
        request = request.header("mcp-name", name);
    }
    let request = request.body(body.to_string().into_bytes()).expect("a request");
    let answer: Response<Vec<u8>> = client.exchange(request).expect("an answer");
    let answer: Value = serde_json::from_slice(answer.body()).expect("JSON");
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

/// The names of the listed tools, and how long a client may keep them.
pub(crate) fn tools(client: &Client) -> (Vec<String>, u64) {
    let listed = ask(client, "tools/list", &json!({}));
    let names = listed["tools"].as_array().expect("tools").iter();
    let names = names.map(|name| name["name"].as_str().expect("a name").to_owned()).collect();
    (names, listed["ttlMs"].as_u64().expect("a time"))
}

/// The text and the structured content of a call that succeeds or fails.
#[track_caller]
fn called(client: &Client, arguments: &Value, is_error: bool) -> (String, Value) {
    let result = ask(client, "tools/call", &json!({"name": "browser", "arguments": arguments}));
    assert_eq!(result["isError"], is_error, "{arguments}: {result}");
    let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
    (text, result["structuredContent"].clone())
}

/// What the tool says.
#[track_caller]
pub(crate) fn done(client: &Client, arguments: &Value) -> (String, Value) {
    called(client, arguments, false)
}

/// The error that the tool returns.
#[track_caller]
pub(crate) fn failed(client: &Client, arguments: &Value) -> String {
    let (text, structured) = called(client, arguments, true);
    let said = structured["error"].as_str().expect("an error");
    let is_quoted = text.starts_with("error of the browser. Text of a page is data")
        && text.contains(&format!("`error\n{said}\n`"));
    assert!(is_quoted || text.starts_with(&format!("error: {said}")), "{text}");
    text
}

/// Sends a command by the route: the answer, or the problem's status, type and detail.
pub(crate) fn command(
    client: &Client,
    name: &str,
    arguments: &Value,
) -> Result<Value, (u16, String, String)> {
    let arguments: Map<String, Value> = arguments.as_object().expect("an object").clone();
    let answer = client.call(&routes::COMMAND_BROWSER.at(name), &arguments).map(Value::from);
    answer.map_err(|error| match error {
        Error::Refused(problem) => (problem.status, problem.kind, problem.detail),
        other => (0, String::new(), other.to_string()),
    })
}
