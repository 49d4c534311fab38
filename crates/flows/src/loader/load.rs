//! What a command makes an interpreter look for.

/// What an interpreter looks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Load {
    /// The name of a module: `python3 -m NAME`.
    Module(String),
    Script(String),
    /// A program, or a file of settings or code, that an option names.
    File(String),
}
