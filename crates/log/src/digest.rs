use std::fmt;

/// A digest of a store at a position, which replicas compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    /// The number of the last record that it covers.
    pub position: u64,
    /// A SHA-256.
    pub sha256: [u8; 32],
}

impl fmt::Display for Digest {
    /// `POSITION:HEX`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.position)?;
        self.sha256.iter().try_for_each(|sha256| write!(f, "{sha256:02x}"))
    }
}
