//! The Model Context Protocol over HTTP, byte for byte.

mod clients;
mod faults;
mod hostile;
mod protocol;
mod tools;

use serde_json::{Value, json};

use crate::client::Answer;
use crate::service::{Service, send};

const MODERN: &str = "2026-07-28";
const ACCEPT: &str = "application/json, text/event-stream";

/// The body of a request of the revision 2026-07-28.
fn message(method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// Sends a body with the usual headers and these.
fn post(service: &Service, token: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let usual = [("accept", ACCEPT), ("content-type", "application/json")];
    let headers = [&usual[..], headers].concat();
    send(service.address, "POST", "/mcp", token, &headers, body.to_string().as_bytes())
}

/// A request of the revision 2026-07-28, with the headers that it requires.
fn ask(service: &Service, token: &str, method: &str, params: &Value) -> Answer {
    let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str);
    let mut headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
    headers.extend(name.map(|name| ("mcp-name", name)));
    post(service, token, &headers, &message(method, params))
}

/// The result of a request.
#[track_caller]
fn result(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let answer = answer.json();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)));
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

/// The error of a request that was answered with that status and code.
#[track_caller]
fn error(answer: &Answer, status: u16, code: i64) -> Value {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let error = answer.json()["error"].clone();
    assert_eq!(error["code"], code, "{}", answer.text());
    assert!(error["message"].as_str().is_some_and(|it| !it.is_empty()));
    error
}

/// The names of the listed tools.
fn names(service: &Service, token: &str) -> Vec<String> {
    let listed = result(&ask(service, token, "tools/list", &json!({})));
    let tools = listed["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

/// The result of a call.
#[track_caller]
fn call_as(service: &Service, token: &str, name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    let result = result(&ask(service, token, "tools/call", &params));
    assert!(text(&result).lines().count() > 0);
    result
}

/// The structured result of a call that succeeds.
#[track_caller]
fn call(service: &Service, name: &str, arguments: &Value) -> Value {
    let result = call_as(service, &service.token, name, arguments);
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].clone()
}

/// The text of a result.
fn text(result: &Value) -> String {
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{result}");
    assert_eq!(result["content"][0]["type"], "text");
    result["content"][0]["text"].as_str().expect("a text").to_owned()
}

/// The text of a call that fails; the structured content says the same.
#[track_caller]
fn failure(service: &Service, token: &str, name: &str, arguments: &Value) -> String {
    let result = call_as(service, token, name, arguments);
    assert_eq!(result["isError"], true, "{result}");
    let text = text(&result);
    let said = result["structuredContent"]["error"].as_str().expect("an error");
    assert!(text.starts_with(&format!("error: {said}")), "{text}");
    text
}

/// What `ctl mcp` says while no service responds; `UPDATE_EXPECT=1` rewrites it.
#[test]
fn the_results_without_a_service_are_those_of_a_service() {
    let service = Service::start();
    let client = ("waypost-mcp-client", "1");
    let mut results = serde_json::Map::new();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let initialized = post(&service, &service.token, &[client], &initialize);
    results.insert("initialize".to_owned(), result(&initialized));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    results.insert("ping".to_owned(), result(&post(&service, &service.token, &[], &ping)));
    for method in ["server/discover", "tools/list", "resources/list", "resources/templates/list"] {
        let found = result(&ask(&service, &service.token, method, &json!({})));
        results.insert(method.to_owned(), found);
    }
    let page = serde_json::to_string_pretty(&results).expect("JSON") + "\n";
    expect_test::expect_file![concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mcp.json")]
        .assert_eq(&page);
}
