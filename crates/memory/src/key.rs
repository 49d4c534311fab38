//! Request keys: what makes it safe to send a change twice.

use sha2::{Digest, Sha256};

/// The key of a request for a change, and what it asks for.
///
/// A store carries out the first command that comes with a key, and keeps the key and the outcome in
/// the append of the change. Another command with the same key gets the first outcome, if it asks for
/// the same; otherwise it is refused with [`Error::KeyReused`](crate::Error::KeyReused). A command that
/// fails leaves no key, and may be tried again.
///
/// Keys are kept for [`KEY_WINDOW`](crate::limits::KEY_WINDOW) and for
/// [`KEY_WINDOW_REQUESTS`](crate::limits::KEY_WINDOW_REQUESTS), whichever is longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestKey {
    pub(crate) id: [u8; 16],
    pub(crate) request: [u8; 16],
}

impl RequestKey {
    /// The key that `owner` calls `key`, for a request of these parts. Two owners never share a key.
    pub fn new(owner: &str, key: &str, request: &[&[u8]]) -> Self {
        Self { id: hash(&[owner.as_bytes(), key.as_bytes()]), request: hash(request) }
    }

    /// The key of one part of a request that is carried out in parts, with its number and content. The
    /// parts of one request have different keys.
    #[must_use]
    pub fn part(&self, number: u64, content: &[u8]) -> Self {
        Self {
            id: hash(&[&self.id, &number.to_le_bytes()]),
            request: hash(&[&self.request, content]),
        }
    }

    /// The same key for a request that also has this content.
    #[must_use]
    pub(crate) fn and(self, content: &[u8]) -> Self {
        Self { request: hash(&[&self.request, content]), ..self }
    }
}

/// The first 128 bits of the SHA-256 of some parts with their lengths.
fn hash(parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    *hasher.finalize().first_chunk().expect("a SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_keys_and_parts_are_apart() {
        let key = RequestKey::new("a", "bc", &[b"x", b"yz"]);
        assert_eq!(key, RequestKey::new("a", "bc", &[b"x", b"yz"]));
        for other in [("ab", "c"), ("a", "b"), ("b", "bc")] {
            assert_ne!(key.id, RequestKey::new(other.0, other.1, &[]).id);
        }
        assert_ne!(key.request, RequestKey::new("a", "bc", &[b"xy", b"z"]).request);
        let part = key.part(1, b"line");
        assert!(part.id != key.id && part.id != key.part(2, b"line").id);
        assert_eq!(part.id, key.part(1, b"other").id);
        assert_ne!(part.request, key.part(1, b"other").request);
    }
}
