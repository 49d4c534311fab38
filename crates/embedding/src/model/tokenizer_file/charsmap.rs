//! SentencePiece's compiled rules of normalisation: a trie of what is replaced, as a double array,
//! and the replacements, each of which ends at a zero byte.

use std::collections::HashSet;

use super::{Checks, Fault};

/// That of XLM-R has 240 KB.
const BYTES_MAX: usize = 2 << 20;
/// The library looks up characters, and clusters of fewer bytes than six.
const KEY_BYTES_MAX: usize = 5;

/// The bytes that a byte can become by these rules.
pub(super) fn growth(at: &str, base64: &str) -> Checks<f64> {
    if base64.len() > BYTES_MAX / 3 * 4 {
        let count = base64.len() / 4 * 3;
        let reason = format!("it has {count} bytes; valid: up to {BYTES_MAX}");
        return Err(Fault::unsupported(at, reason));
    }
    let bytes = decode(base64).ok_or_else(|| Fault::damaged(at, "it is not base64"))?;
    let (units, replacements) = parse(&bytes).ok_or_else(|| {
        let reason = "it is not a number of bytes, a trie of so many bytes, and UTF-8 text";
        Fault::damaged(at, reason)
    })?;
    let lengths = lengths(replacements.as_bytes());
    let mut growth = 1.0_f64;
    let mut nodes = HashSet::from([Node::root(&units)]);
    for key in 1..=KEY_BYTES_MAX {
        let mut next = HashSet::new();
        for node in nodes {
            for (child, value) in node.children(&units) {
                if let Some(length) = value.and_then(|it| lengths.get(it)) {
                    growth = growth.max(*length as f64 / key as f64);
                }
                next.insert(child);
            }
        }
        nodes = next;
    }
    Ok(growth)
}

/// Where the children of a node are in the array.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node(usize);

impl Node {
    fn root(units: &[u32]) -> Self {
        Self(units.first().map_or(0, |unit| offset(*unit)))
    }

    /// Each child, and the place of its replacement if a key ends there. Places outside the array
    /// are no children: the library panics there, which is caught.
    fn children(self, units: &[u32]) -> impl Iterator<Item = (Self, Option<usize>)> {
        (1..=u8::MAX).filter_map(move |byte| {
            let place = self.0 ^ usize::from(byte);
            let unit = *units.get(place)?;
            // The upper bit is set in values.
            if unit & (1 << 31 | 0xFF) != u32::from(byte) {
                return None;
            }
            let child = Self(place ^ offset(unit));
            let ends = unit >> 8 & 1 == 1;
            let value = units.get(child.0).filter(|_| ends);
            Some((child, value.map(|value| (value & !(1 << 31)) as usize)))
        })
    }
}

fn offset(unit: u32) -> usize {
    ((unit >> 10) as usize) << ((unit & 1 << 9) >> 6)
}

fn parse(bytes: &[u8]) -> Option<(Vec<u32>, &str)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let units = u32::from_le_bytes(*length) as usize / 4;
    let (units, replacements) = rest.split_at_checked(units.checked_mul(4)?)?;
    // The library reads the first without asking whether there is one.
    let (units, _) = units.as_chunks();
    let units: Vec<u32> = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
    Some((units, str::from_utf8(replacements).ok()?)).filter(|(units, _)| !units.is_empty())
}

/// The bytes from each place to the next zero or the end.
fn lengths(replacements: &[u8]) -> Vec<usize> {
    let mut length = 0;
    let mut lengths: Vec<usize> = replacements
        .iter()
        .rev()
        .map(|byte| {
            length = if *byte == 0 { 0 } else { length + 1 };
            length
        })
        .collect();
    lengths.reverse();
    lengths
}

/// The bytes of a text in base64, with its padding.
fn decode(base64: &str) -> Option<Vec<u8>> {
    let digits = base64.trim_end_matches('=');
    if !base64.len().is_multiple_of(4) || base64.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0_u32, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xFF) as u8);
        }
    }
    Some(bytes)
}
