//! Publishing, reading and following events.

use serde::Deserialize;
use ureq::http::header::ACCEPT;

use super::{Client, Result, SILENCE_TIME_MAX, Stored, encoded, events, with_query};
use crate::{EVENT_STREAM, Event, EventsRequest, PublishRequest, Published, StreamRequest};

/// A page of events.
#[derive(Debug, Clone, PartialEq)]
pub struct EventsPage {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// The last examined event: continue after it.
    pub next_after: u64,
}

/// A message of an event stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// An event.
    Event(Event),
    /// Events are missing: they were dropped.
    Reset {
        /// The first remaining event.
        first: u64,
    },
}

#[derive(Deserialize)]
struct Gap {
    first: u64,
}

impl Client {
    /// `POST /api/events`, with the given idempotency key or one of its own.
    pub fn publish(
        &self,
        request: &PublishRequest,
        idempotency_key: Option<&str>,
    ) -> Result<Stored<Published>> {
        let body = encoded(request)?;
        self.stored(self.send_keyed("POST", "/api/events", Some(&body), idempotency_key)?)
    }

    /// `GET /api/events`.
    pub fn events(&self, request: &EventsRequest) -> Result<EventsPage> {
        let response = self.send("GET", &with_query("/api/events", request))?;
        let header = response.headers().get(crate::NEXT_AFTER_HEADER);
        let next_after = header.and_then(|it| it.to_str().ok()).and_then(|it| it.parse().ok());
        let events: Vec<Event> = self.read(response)?;
        let last = events.last().map_or(0, |it| it.id);
        Ok(EventsPage { next_after: next_after.unwrap_or(last), events })
    }

    /// `GET /api/events/{id}`.
    pub fn event(&self, id: u64) -> Result<Event> {
        self.read(self.send("GET", &format!("/api/events/{id}"))?)
    }

    /// `GET /api/events/stream`: passes each event to `each` until it returns false or the stream ends.
    pub fn follow_events(
        &self,
        request: &StreamRequest,
        each: &mut dyn FnMut(Told) -> Result<bool>,
    ) -> Result<()> {
        let path = with_query("/api/events/stream", request);
        let http = self.request("GET", &path).header(ACCEPT, EVENT_STREAM);
        let mut response = self.run(http, b"", Some(SILENCE_TIME_MAX))?;
        let reader = response.body_mut().with_config().limit(u64::MAX).reader();
        let bad = |error: &serde_json::Error| self.not_understood(error);
        events::follow(reader, |event| {
            let told = match event.name.as_str() {
                "" | "message" => {
                    Told::Event(serde_json::from_str(&event.data).map_err(|it| bad(&it))?)
                }
                "reset" => {
                    let gap: Gap = serde_json::from_str(&event.data).map_err(|it| bad(&it))?;
                    Told::Reset { first: gap.first }
                }
                "end" => return Ok(Some(())),
                _ => return Ok(None),
            };
            Ok((!each(told)?).then_some(()))
        })
    }
}
