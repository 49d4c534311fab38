//! The mesh.

use ureq::http::header::{ACCEPT, CONTENT_TYPE};

use super::answer::Heard;
use super::{Client, Result, SILENCE_TIME_MAX, encoded, events, with_query};
use crate::{
    EVENT_STREAM, MeshBroadcast, MeshBroadcastRequest, MeshCallRequest, MeshListenRequest,
    MeshLost, MeshPeer, MeshResult,
};

impl Client {
    /// `GET /api/mesh/peers`.
    pub fn mesh_peers(&self) -> Result<Vec<MeshPeer>> {
        self.read(self.send("GET", "/api/mesh/peers")?)
    }

    /// `POST /api/mesh/call`, which waits as long as the request says.
    pub fn call_mesh(&self, request: &MeshCallRequest) -> Result<MeshResult> {
        let http = self.request("POST", "/api/mesh/call").header(CONTENT_TYPE, "application/json");
        self.read(self.run(http, &encoded(request)?, None)?)
    }

    /// `POST /api/mesh/events`.
    pub fn broadcast_mesh(&self, request: &MeshBroadcastRequest) -> Result<MeshBroadcast> {
        let http =
            self.request("POST", "/api/mesh/events").header(CONTENT_TYPE, "application/json");
        self.read(self.run(http, &encoded(request)?, None)?)
    }

    /// `GET /api/mesh/events`: passes each event to `each` until it returns false or the stream ends.
    pub fn follow_mesh(
        &self,
        request: &MeshListenRequest,
        each: &mut dyn FnMut(Heard) -> Result<bool>,
    ) -> Result<()> {
        let path = with_query("/api/mesh/events", request);
        let http = self.request("GET", &path).header(ACCEPT, EVENT_STREAM);
        let mut response = self.run(http, b"", Some(SILENCE_TIME_MAX))?;
        let reader = response.body_mut().with_config().limit(u64::MAX).reader();
        let bad = |error: serde_json::Error| self.not_understood(&error);
        events::follow(reader, |event| {
            let heard = match event.name.as_str() {
                "" => Heard::Event(serde_json::from_str(&event.data).map_err(bad)?),
                "lost" => {
                    let lost: MeshLost = serde_json::from_str(&event.data).map_err(bad)?;
                    Heard::Lost(lost.events)
                }
                "end" => return Ok(Some(())),
                _ => return Ok(None),
            };
            Ok((!each(heard)?).then_some(()))
        })
    }
}
