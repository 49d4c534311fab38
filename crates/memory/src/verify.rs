//! Checking an export before any of it is imported.

use std::io::BufRead;

use crate::store::import::{check_header, read_line};
use crate::wire::Line;
use crate::{Error, Result};

/// Maximum length of the end line of an export; longer lines are not parsed.
const END_BYTES_MAX: usize = 256;

/// Checks without a store that the input is a complete export with a valid checksum. Does not check
/// its lines: an import can still reject some of them.
///
/// # Errors
/// [`Error::Invalid`] if it is not an export, is truncated or was changed; [`Error::Newer`] if a
/// newer release wrote it.
///
/// ```
/// let cut = b"{\"format\":\"waypost-memory\",\"version\":1}\n";
/// assert!(waypost_memory::verify_export(&mut cut.as_slice()).is_err());
/// ```
pub fn verify_export(input: &mut dyn BufRead) -> Result<()> {
    let invalid = |reason: String| Error::invalid("the export", reason);
    let (mut number, mut sum) = (0, 0);
    let mut is_complete = false;
    let mut line = Vec::new();
    while read_line(input, &mut line)? {
        number += 1;
        let text = line.trim_ascii_end();
        if number == 1 {
            check_header(text)?;
        } else if is_complete {
            if !text.is_empty() {
                return Err(invalid(format!("continues after its end, with line {number}")));
            }
        } else if text.len() <= END_BYTES_MAX
            && let Ok(Line::End(end)) = Line::read(text)
        {
            is_complete = true;
            if end.crc32c != format!("{sum:08x}") {
                return Err(invalid("was changed or damaged: invalid checksum".to_owned()));
            }
        }
        sum = crc32c::crc32c_append(sum, &line);
    }
    match number {
        0 => Err(invalid("is empty".to_owned())),
        _ if !is_complete => Err(invalid(format!("is truncated after line {number}"))),
        _ => Ok(()),
    }
}
