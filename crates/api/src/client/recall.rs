//! Recall for agents' sessions.

use super::{Client, Result, encoded};
use crate::query::{encode, with_query};
use crate::{
    RecallBriefRequest, RecallCompactionRequest, RecallEntry, RecallListRequest,
    RecallPromptRequest, RecallSession, RecallSessionRequest, RecallTurns, RecallTurnsRequest,
    RecallWhy, RecallWhyRequest, Recalled,
};

impl Client {
    /// `GET /api/recall`.
    pub fn recall(&self, request: &RecallListRequest) -> Result<Vec<RecallEntry>> {
        self.read(self.send("GET", &with_query("/api/recall", request))?)
    }

    /// `GET /api/recall/sessions/{session}`.
    pub fn recall_session(
        &self,
        session: &str,
        request: &RecallSessionRequest,
    ) -> Result<RecallSession> {
        let mut path = "/api/recall/sessions/".to_owned();
        encode(session, &mut path);
        self.read(self.send("GET", &with_query(&path, request))?)
    }

    /// `POST /api/recall/brief`.
    pub fn recall_brief(&self, request: &RecallBriefRequest) -> Result<Recalled> {
        self.read(self.send_json("POST", "/api/recall/brief", request)?)
    }

    /// `POST /api/recall/prompt`.
    pub fn recall_prompt(&self, request: &RecallPromptRequest) -> Result<Recalled> {
        self.read(self.send_json("POST", "/api/recall/prompt", request)?)
    }

    /// `POST /api/recall/turns`.
    pub fn record_turns(&self, request: &RecallTurnsRequest) -> Result<RecallTurns> {
        self.read(self.send_once("POST", "/api/recall/turns", Some(&encoded(request)?))?)
    }

    /// `POST /api/recall/compaction`.
    pub fn note_compaction(&self, request: &RecallCompactionRequest) -> Result<()> {
        self.send_once("POST", "/api/recall/compaction", Some(&encoded(request)?)).map(drop)
    }

    /// `POST /api/recall/why`.
    pub fn why_recall(&self, request: &RecallWhyRequest) -> Result<RecallWhy> {
        self.read(self.send_json("POST", "/api/recall/why", request)?)
    }
}
