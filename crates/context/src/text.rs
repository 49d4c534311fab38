//! Small functions on texts.

use sha2::{Digest, Sha256};

/// The longest prefix of a text with at most this many bytes.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The hash that identifies a content.
pub(crate) fn hash(bytes: &[u8]) -> [u8; 16] {
    Sha256::digest(bytes).first_chunk().copied().unwrap_or_default()
}

/// The same in eight bytes, where a collision costs little.
pub(crate) fn short_hash(bytes: &[u8]) -> u64 {
    hash(bytes).first_chunk().copied().map_or(0, u64::from_le_bytes)
}

/// Tokens of titles and contents, at four bytes a token.
pub(crate) fn tokens(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(4)).unwrap_or(u32::MAX)
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A file's name without its extension.
pub(crate) fn stem(path: &str) -> &str {
    let name = file_name(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// FNV-1a, ignoring case.
pub(crate) fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
    })
}
