//! Closed sets of names.

/// The values that a field of the wire may have, each with its name and meaning.
///
/// The names are those that serde reads and writes; a test compares them.
pub trait Vocabulary: Copy + 'static {
    /// Every value, in the order of the documentation.
    const ALL: &'static [Self];

    /// The value's name on the wire, and its meaning in a line of help.
    fn describe(self) -> (&'static str, &'static str);

    /// The value's name on the wire.
    fn as_str(self) -> &'static str {
        self.describe().0
    }

    /// The value with that name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.as_str() == name)
    }
}
