//! Publishing an event.

use waypost_events::{Data, EventType};

use super::values::Values;
use crate::task::Unready;

/// Publishes an event.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Emit {
    /// Its type; not one of the service's own.
    pub event: EventType,
    /// Its data.
    pub data: Values,
}

impl Emit {
    pub(super) fn new(event: EventType, data: Values) -> Result<Self, String> {
        if event.is_reserved() {
            let namespace = event.namespace();
            return Err(format!("only the service publishes events of {namespace}:"));
        }
        let mut names = Data::default();
        for (name, _) in &data.0 {
            names.insert(name, "").map_err(|error| error.to_string())?;
        }
        Ok(Self { event, data })
    }

    /// The data of the event to publish.
    pub(super) fn data(&self, of: &Data) -> Result<Data, Unready> {
        let mut data = Data::default();
        for (name, value) in self.data.render(of)? {
            let inserted = data.insert(name, value);
            inserted.map_err(|error| Unready(format!("data of the event to publish: {error}")))?;
        }
        Ok(data)
    }
}
