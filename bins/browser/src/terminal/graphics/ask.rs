//! Queries the abilities of the terminal.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use crossterm::terminal::window_size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A terminal that has not answered by then does not answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(1);
/// The maximum length of an answer; a longer one is ignored.
const ANSWER_BYTES_MAX: usize = 512;
/// The size of a cell in pixels; and the device attributes, which every terminal reports.
const QUESTION: &[u8] = b"\x1b[16t\x1b[c";
/// The attribute of a terminal with sixels.
const SIXEL: &str = "4";

/// The reported abilities of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Answers {
    /// It supports sixels.
    pub(crate) sixel: bool,
    /// The size of a cell in pixels: width, height.
    pub(crate) cell: Option<(u16, u16)>,
}

/// Queries the terminal, and waits briefly for the answer. No other thread may read from the
/// terminal meanwhile.
pub(crate) fn ask() -> Answers {
    // A terminal that does not answer has reported nothing.
    let said = exchange().unwrap_or_default();
    let mut answers = read(&said);
    let by_size = window_size().ok().filter(|size| size.columns > 0 && size.rows > 0);
    let cell = by_size.map(|size| (size.width / size.columns, size.height / size.rows));
    answers.cell = answers.cell.or(cell.filter(|cell| cell.0 > 0 && cell.1 > 0));
    answers
}

fn exchange() -> io::Result<Vec<u8>> {
    let mut out = io::stdout();
    out.write_all(QUESTION)?;
    out.flush()?;
    let begun = Instant::now();
    let stdin = io::stdin();
    let mut said = Vec::new();
    while !is_answered(&said) && said.len() < ANSWER_BYTES_MAX {
        let left = ANSWER_TIME_MAX.saturating_sub(begun.elapsed());
        let left = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(0),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        if poll(&mut fds, Some(&left))? == 0 {
            break;
        }
        let mut bytes = [0; 64];
        match rustix::io::read(stdin.as_fd(), &mut bytes)? {
            0 => break,
            count => said.extend_from_slice(&bytes[..count]),
        }
    }
    Ok(said)
}

/// Everything that starts like an answer, without that start.
fn sequences(said: &[u8]) -> impl Iterator<Item = &[u8]> {
    let begins = (0..said.len()).filter(|number| said[*number..].starts_with(b"\x1b["));
    begins.map(|at| &said[at + 2..])
}

/// The answer to a query: its numbers, which precede the final letter.
fn numbers(sequence: &[u8], last: u8) -> Option<Vec<&str>> {
    let is_last = |byte: &u8| (0x40..=0x7e).contains(byte);
    let end = sequence.iter().position(is_last).filter(|at| sequence[*at] == last)?;
    Some(std::str::from_utf8(&sequence[..end]).ok()?.split(';').collect())
}

fn is_answered(said: &[u8]) -> bool {
    sequences(said).any(|sequence| sequence.starts_with(b"?") && numbers(sequence, b'c').is_some())
}

fn read(said: &[u8]) -> Answers {
    let mut answers = Answers::default();
    for sequence in sequences(said) {
        if let Some(kinds) = sequence.strip_prefix(b"?").and_then(|rest| numbers(rest, b'c')) {
            // The first number is the terminal's family, which may have the same value.
            answers.sixel |= kinds.iter().skip(1).any(|kind| *kind == SIXEL);
        } else if let Some(["6", height, width]) = numbers(sequence, b't').as_deref() {
            answers.cell = width.parse().ok().zip(height.parse().ok());
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::{Answers, is_answered, read};

    #[test]
    fn answers_are_read_among_what_is_typed() {
        let none = Answers::default();
        let sixel = Answers { sixel: true, ..none };
        let cell = |width, height| Answers { cell: Some((width, height)), ..none };
        let cases: [(&[u8], bool, Answers); 8] = [
            (b"", false, none),
            (b"\x1b[?62;4;22c", true, sixel),
            (b"\x1b[?4;6c", true, none),
            (b"\x1b[6;20;10t\x1b[?62;4c", true, Answers { sixel: true, ..cell(10, 20) }),
            (b"gj\x1b[6;18;9tq\x1b[A\x1b[?1;2cx", true, cell(9, 18)),
            (b"\x1b[6;18", false, none),
            (b"\x1b[6;99999;9t\x1b[?c", true, none),
            (b"\xff\x1b[?\xff;4c\x1b", false, none),
        ];
        for (said, is_whole, answers) in cases {
            let shown = String::from_utf8_lossy(said);
            assert_eq!(is_answered(said), is_whole, "{shown:?}");
            assert_eq!(read(said), answers, "{shown:?}");
        }
    }
}
