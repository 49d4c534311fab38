//! Flows and their runs.

use super::{Client, Result, encode, encoded, with_query};
use crate::{
    AllowRequest, FlowFileInfo, FlowFileTexts, FlowInfo, FlowTest, FlowTestRequest, FlowWhy, Flows,
    PauseRequest, Replay, ReplayRequest, Run, RunsRequest, WhyRequest,
};

impl Client {
    /// `GET /api/flows`.
    pub fn flows(&self) -> Result<Flows> {
        self.read(self.send("GET", "/api/flows")?)
    }

    /// `POST /api/flows/rescan`.
    pub fn rescan_flows(&self) -> Result<Flows> {
        self.read(self.send("POST", &path(&["rescan"]))?)
    }

    /// `GET /api/flows/runs`: newest first.
    pub fn flow_runs(&self, request: &RunsRequest) -> Result<Vec<Run>> {
        self.read(self.send("GET", &with_query("/api/flows/runs", request))?)
    }

    /// `GET /api/flows/runs/{id}`: with the output of its programs.
    pub fn flow_run(&self, id: &str) -> Result<Run> {
        self.read(self.send("GET", &path(&["runs", id]))?)
    }

    /// `POST /api/flows/runs/{id}/retry`.
    pub fn retry_run(&self, id: &str) -> Result<Run> {
        self.read(self.send_once("POST", &path(&["runs", id, "retry"]), None)?)
    }

    /// `POST /api/flows/runs/{id}/cancel`.
    pub fn cancel_run(&self, id: &str) -> Result<Run> {
        self.read(self.send_once("POST", &path(&["runs", id, "cancel"]), None)?)
    }

    /// `POST /api/flows/{name}/test`.
    pub fn test_flow(&self, name: &str, request: &FlowTestRequest) -> Result<FlowTest> {
        self.read(self.send_json("POST", &path(&[name, "test"]), request)?)
    }

    /// `POST /api/flows/{name}/replay`.
    pub fn replay_flow(&self, name: &str, request: &ReplayRequest) -> Result<Replay> {
        self.read(self.send_once("POST", &path(&[name, "replay"]), Some(&encoded(request)?))?)
    }

    /// `POST /api/flows/{name}/pause`.
    pub fn pause_flow(&self, name: &str, request: &PauseRequest) -> Result<FlowInfo> {
        self.read(self.send_once("POST", &path(&[name, "pause"]), Some(&encoded(request)?))?)
    }

    /// `POST /api/flows/{name}/resume`.
    pub fn resume_flow(&self, name: &str) -> Result<FlowInfo> {
        self.read(self.send_once("POST", &path(&[name, "resume"]), None)?)
    }

    /// `GET /api/flows/why`.
    pub fn why(&self, event: u64) -> Result<Vec<FlowWhy>> {
        self.read(self.send("GET", &with_query("/api/flows/why", &WhyRequest { event }))?)
    }

    /// `GET /api/flows/files/{name}`.
    pub fn flow_file(&self, name: &str) -> Result<FlowFileTexts> {
        self.read(self.send("GET", &path(&["files", name]))?)
    }

    /// `POST /api/flows/files/{name}/allow`.
    pub fn allow_flow_file(&self, name: &str, request: &AllowRequest) -> Result<FlowFileInfo> {
        self.read(self.send_once(
            "POST",
            &path(&["files", name, "allow"]),
            Some(&encoded(request)?),
        )?)
    }
}

/// A path below that of flows; the parts are escaped, so they may contain anything.
fn path(parts: &[&str]) -> String {
    let mut path = "/api/flows".to_owned();
    for part in parts {
        path.push('/');
        encode(part, &mut path);
    }
    path
}
