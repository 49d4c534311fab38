//! What is not a message of the protocol.

use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, ProtocolVersion, RequestId};
use serde_json::{Value, json};
use waypost_api::repeated_key;

/// The error that JSON-RPC defines for bytes that are not a message. It has the id of the request, if there is one.
pub(super) fn error(bytes: &[u8]) -> JsonRpcError {
    match serde_json::from_slice::<Value>(bytes) {
        Err(why) => {
            let message = format!("not valid JSON: {why}");
            JsonRpcError::new(None, ErrorData::new(ErrorCode::PARSE_ERROR, message, None))
        }
        Ok(value) => {
            let repeated = repeated_key(bytes).map(|key| format!("not a valid message: {key}"));
            let message = repeated.unwrap_or_else(|| EXPECTED.to_owned());
            JsonRpcError::new(id(&value), ErrorData::invalid_request(message, None))
        }
    }
}

/// The error for a message in which an object, at any depth, has the same key twice: which of the values counts is for
/// each reader to decide.
pub(super) fn repeated(bytes: &[u8]) -> Option<JsonRpcError> {
    repeated_key(bytes).is_some().then(|| error(bytes))
}

/// The error for a revision that does not exist, in a header.
pub(super) fn unknown_version(bytes: &[u8], version: &str) -> JsonRpcError {
    let id = serde_json::from_slice(bytes).ok().and_then(|value| id(&value));
    let data = json!({ "requested": version, "supported": ProtocolVersion::KNOWN_VERSIONS });
    let message = "Unsupported protocol version";
    let code = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
    JsonRpcError::new(id, ErrorData::new(code, message, Some(data)))
}

const EXPECTED: &str = "not a message of JSON-RPC 2.0: expected one object with \"jsonrpc\": \"2.0\", a \"method\", \
    an \"id\" that is an integer or a string, and valid \"params\"";

/// The id of a request. The id of a response is one of ours.
fn id(value: &Value) -> Option<RequestId> {
    let is_response = value.get("result").or_else(|| value.get("error")).is_some();
    let id = value.get("id").filter(|_| !is_response)?;
    serde_json::from_value(id.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_id_of_the_request() {
        for (bytes, code, id) in [
            ("{", -32700, None),
            ("", -32700, None),
            ("{}", -32600, None),
            ("[]", -32600, None),
            (r#"{"id":7}"#, -32600, Some(json!(7))),
            (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, Some(json!("a"))),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None),
            (r#"{"id":7,"result":1}"#, -32600, None),
            (r#"{"id":7,"params":{"arguments":{"a":1,"a":2}}}"#, -32600, Some(json!(7))),
        ] {
            let found = serde_json::to_value(error(bytes.as_bytes())).expect("JSON");
            assert_eq!(found["error"]["code"], code, "{bytes}: {found}");
            assert_eq!(found.get("id"), id.as_ref(), "{bytes}: {found}");
        }
    }
}
