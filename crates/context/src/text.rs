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
