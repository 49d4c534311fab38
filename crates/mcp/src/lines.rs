//! The lines of an input, none longer than a limit.

use std::io;
use std::mem;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Bytes of a line at most, without its end.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 20;

/// Reads lines. The last one may end with the input.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    /// What was read of the line.
    line: Vec<u8>,
    /// Whether that is more than the limit, and the rest is skipped.
    is_too_long: bool,
}

/// A line that has been read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Whole(Vec<u8>),
    TooLong,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input: BufReader::new(input), line: Vec::new(), is_too_long: false }
    }

    /// The next line; none at the end. A call that is cancelled loses nothing.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.input.fill_buf().await?;
            let is_end = available.is_empty();
            let newline = available.iter().position(|it| *it == b'\n');
            let length = newline.unwrap_or(available.len());
            if self.line.len().saturating_add(length) > LINE_BYTES_MAX {
                self.is_too_long = true;
                self.line = Vec::new();
            }
            if !self.is_too_long {
                self.line.extend(available.iter().take(length));
            }
            self.input.consume(length + usize::from(newline.is_some()));
            let line = mem::take(&mut self.line);
            if newline.is_some() || is_end && (self.is_too_long || !line.is_empty()) {
                let is_too_long = mem::take(&mut self.is_too_long);
                return Ok(Some(if is_too_long { Line::TooLong } else { Line::Whole(line) }));
            }
            if is_end {
                return Ok(None);
            }
            self.line = line;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_end_with_a_newline_or_with_the_input() {
        let mut lines = Lines::new(&b"a\n\nb c\r\nd"[..]);
        for expected in ["a", "", "b c\r", "d"] {
            let found = lines.next().await.expect("it can be read");
            assert_eq!(found, Some(Line::Whole(expected.into())));
        }
        assert_eq!(lines.next().await.expect("it can be read"), None);
    }

    #[tokio::test]
    async fn a_line_beyond_the_limit_is_skipped_to_its_end() {
        let longest = "x".repeat(LINE_BYTES_MAX);
        let input = format!("{longest}\n{longest}y\nz\n{longest}{longest}");
        let mut lines = Lines::new(input.as_bytes());
        let whole = |it: &str| Some(Line::Whole(it.into()));
        for expected in
            [whole(&longest), Some(Line::TooLong), whole("z"), Some(Line::TooLong), None]
        {
            assert!(lines.next().await.expect("it can be read") == expected);
        }
    }
}
