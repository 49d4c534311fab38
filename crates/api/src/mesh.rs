//! The mesh, through the service's own peer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use crate::Problem;
use crate::limits::{Check, Faults};

/// A peer of the mesh; an element of `GET /api/mesh/peers`. Its name and targets are its own claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeshPeer {
    /// The name that it gives itself.
    pub name: String,
    /// Its id, which is new at each start: 32 hexadecimal digits.
    pub id: String,
    /// Where it is: `local`, or the name of a paired machine.
    pub origin: String,
    /// The targets that it serves.
    pub targets: Vec<String>,
}

/// Body of `POST /api/mesh/call`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MeshCallRequest {
    /// The target, such as `browser.relay`.
    pub target: String,
    /// The command, such as `click`.
    pub command: String,
    /// The argument, which the target defines: up to 1 MiB.
    #[serde(default)]
    pub argument: Value,
    /// How long to wait for the result, in milliseconds: up to 180000; default: 60000.
    pub timeout: Option<u64>,
}

impl Check for MeshCallRequest {
    fn check(&self, faults: &mut Faults) {
        if self.timeout.is_some_and(|timeout| timeout > MESH_TIMEOUT_MS_MAX) {
            faults.add("timeout", format!("must be at most {MESH_TIMEOUT_MS_MAX} ms"));
        }
    }
}

/// The longest time that a call may take, in milliseconds.
pub const MESH_TIMEOUT_MS_MAX: u64 = 180_000;

/// The result of a call of the mesh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MeshResult {
    /// What the target returned.
    pub result: Value,
}

/// Body of `POST /api/mesh/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MeshBroadcastRequest {
    /// What the event is about.
    pub source: String,
    /// The event, with a `type`: up to 64 KiB.
    pub event: Map<String, Value>,
}

impl Check for MeshBroadcastRequest {
    // The mesh decides which events are valid.
    fn check(&self, _faults: &mut Faults) {}
}

/// An event that was broadcast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MeshBroadcast {
    /// Its id: 32 hexadecimal digits.
    pub id: String,
}

/// Query parameters of `GET /api/mesh/events`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MeshListenRequest {
    /// Only events of this type, or of this source and type, as `SOURCE/TYPE`; `*` matches anything.
    pub pattern: Option<String>,
}

impl Check for MeshListenRequest {
    fn check(&self, _faults: &mut Faults) {}
}

/// An event that a peer broadcast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeshEvent {
    /// Its id: 32 hexadecimal digits.
    pub id: String,
    /// What it is about, such as `browser.relay`.
    pub source: String,
    /// Its type, such as `human_click`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it comes from: `local`, or the name of a paired machine.
    pub origin: String,
    /// The name that the sender gives itself.
    pub from: String,
    /// When it happened, by the sender's clock, in milliseconds since 1970.
    pub at: i64,
    /// The event itself.
    pub event: Value,
}

/// Events of the mesh that were lost, because they arrived faster than the client read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MeshLost {
    /// How many.
    pub events: u64,
}

/// What the `type` of a problem of a target of the mesh begins with.
const PROBLEM: &str = "urn:waypost:mesh:";

/// The `type` of a problem of a target of the mesh: of a code such as `not_found`.
pub fn mesh_problem(code: &str) -> String {
    format!("{PROBLEM}{code}")
}

impl Problem {
    /// The code of a problem of a target of the mesh, whose `detail` is that peer's text.
    pub fn mesh_code(&self) -> Option<&str> {
        self.kind.strip_prefix(PROBLEM)
    }
}
