//! Server-sent events, as far as this service uses them.

use std::io::{BufRead, BufReader, ErrorKind, Read};

use super::{Error, Result};

/// Far above the length of any progress line.
const LINE_BYTES_MAX: u64 = 8 << 20;

/// One event.
#[derive(Debug, Default)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

/// Passes on each event until `each` returns a value.
pub(super) fn follow<T>(
    input: impl Read,
    mut each: impl FnMut(Event) -> Result<Option<T>>,
) -> Result<T> {
    let mut input = BufReader::new(input);
    let mut event = Event::default();
    let mut line = String::new();
    loop {
        line.clear();
        let read =
            input.by_ref().take(LINE_BYTES_MAX).read_line(&mut line).map_err(Error::broken_off)?;
        if read == 0 {
            return Err(Error::broken_off(ErrorKind::UnexpectedEof.into()));
        }
        let text = line.trim_end_matches(['\n', '\r']);
        if text.is_empty() {
            let whole = std::mem::take(&mut event);
            if !whole.data.is_empty()
                && let Some(done) = each(whole)?
            {
                return Ok(done);
            }
            continue;
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut event.name),
            "data" if event.data.is_empty() => value.clone_into(&mut event.data),
            "data" => {
                event.data.push('\n');
                event.data.push_str(value);
            }
            _ => {}
        }
    }
}
