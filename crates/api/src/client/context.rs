//! Project context for a task.

use super::{Client, Result};
use crate::{ContextAnswer, ContextRequest, ContextScan, ContextStatus};

impl Client {
    /// `POST /api/context`.
    pub fn context(&self, request: &ContextRequest) -> Result<ContextAnswer> {
        self.read(self.send_json("POST", "/api/context", request)?)
    }

    /// `GET /api/context/status`.
    pub fn context_status(&self) -> Result<ContextStatus> {
        self.read(self.send("GET", "/api/context/status")?)
    }

    /// `POST /api/context/rescan`; returns when the whole project has been compared with its index.
    pub fn rescan_context(&self) -> Result<ContextScan> {
        let request = self.request("POST", "/api/context/rescan");
        self.read(self.run(request, b"", None)?)
    }
}
