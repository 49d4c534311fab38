//! The stored part of a program's output.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Bytes stored from the beginning of an output.
pub const HEAD_BYTES_MAX: usize = 256 << 10;
/// Bytes stored from its end.
pub const TAIL_BYTES_MAX: usize = 768 << 10;

/// The beginning and the end of an output.
#[derive(Debug, Clone, Default)]
pub struct Captured {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Captured {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = HEAD_BYTES_MAX - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let kept = &rest[rest.len().saturating_sub(TAIL_BYTES_MAX)..];
        let over = (self.tail.len() + kept.len()).saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..over);
        self.tail.extend(kept);
        self.dropped += (over + rest.len() - kept.len()) as u64;
    }

    /// How many bytes were written, stored or not.
    pub fn bytes(&self) -> u64 {
        (self.head.len() + self.tail.len()) as u64 + self.dropped
    }

    /// The stored bytes. Where bytes are missing, a line gives their number. It contains whatever
    /// the program wrote, valid UTF-8 or not, control characters included.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        if self.dropped > 0 {
            bytes.extend_from_slice(format!("\n[{} bytes omitted]\n", self.dropped).as_bytes());
        }
        let (front, back) = self.tail.as_slices();
        bytes.extend_from_slice(front);
        bytes.extend_from_slice(back);
        bytes
    }

    /// Writes it to a file, in a folder that is created if needed; does nothing if there was no
    /// output. Not synced: output is for people, and the journal records the result of the run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        if self.bytes() == 0 {
            return Ok(());
        }
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        File::create(path)?.write_all(&self.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
        let mut captured = Captured::default();
        for step in [1_usize, 7, 4096, 100_000, 2_000_000] {
            captured = Captured::default();
            let all: Vec<u8> =
                (0..3_000_000_u32).map(|number| number as u8 ^ (number >> 8) as u8).collect();
            for part in all.chunks(step) {
                captured.push(part);
            }
            assert_eq!(captured.bytes(), 3_000_000);
            let dropped = 3_000_000 - HEAD_BYTES_MAX - TAIL_BYTES_MAX;
            assert_eq!(captured.dropped, dropped as u64);
            let bytes = captured.to_bytes();
            assert_eq!(bytes[..HEAD_BYTES_MAX], all[..HEAD_BYTES_MAX]);
            assert!(bytes.ends_with(&all[3_000_000 - TAIL_BYTES_MAX..]));
        }
        assert!(String::from_utf8_lossy(&captured.to_bytes()).contains("1951424 bytes omitted"));
    }
}
