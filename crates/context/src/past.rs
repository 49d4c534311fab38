//! The history of a project, if it has one.

#[cfg(feature = "git")]
pub(crate) use crate::history::{History, Present, changed};

#[cfg(not(feature = "git"))]
pub(crate) use self::none::{History, Present, changed};

/// Without git there is no history, and no file is known to be uncommitted.
#[cfg(not(feature = "git"))]
mod none {
    use std::path::Path;

    use crate::{Result, Timestamp};

    #[derive(Debug, Clone)]
    pub(crate) enum History {}

    /// The change of an uncommitted file; no value exists.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Change {}

    #[derive(Debug, Clone, Copy)]
    #[expect(dead_code, reason = "as it is with git")]
    pub(crate) struct Present<'a> {
        pub(crate) path: &'a str,
        pub(crate) bytes: u64,
        pub(crate) modified_ns: i64,
    }

    /// A commit; none exists.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Commit<'a>(&'a History);

    impl<'a> Commit<'a> {
        pub(crate) fn id(&self) -> &'a str {
            match *self.0 {}
        }

        pub(crate) fn time(&self) -> Timestamp {
            match *self.0 {}
        }

        pub(crate) fn subject(&self) -> &'a str {
            match *self.0 {}
        }

        pub(crate) fn body(&self) -> &'a str {
            match *self.0 {}
        }

        pub(crate) fn paths(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
            std::iter::empty()
        }

        pub(crate) fn places(&self) -> impl ExactSizeIterator<Item = (u32, &'a str)> + use<'a> {
            std::iter::empty()
        }
    }

    impl History {
        pub(crate) fn head(&self) -> &str {
            match *self {}
        }

        pub(crate) fn frecency(&self, _path: &str) -> f32 {
            match *self {}
        }

        pub(crate) fn last_change(&self, _path: &str) -> Option<Timestamp> {
            match *self {}
        }

        pub(crate) fn commits(&self) -> impl ExactSizeIterator<Item = Commit<'_>> {
            std::iter::empty()
        }

        pub(crate) fn commit(&self, _place: usize) -> Option<Commit<'_>> {
            None
        }

        pub(crate) fn paths_len(&self) -> usize {
            0
        }

        pub(crate) fn encode(&self) -> Vec<u8> {
            match *self {}
        }

        pub(crate) fn decode(_bytes: &[u8]) -> Option<Self> {
            None
        }
    }

    pub(crate) fn changed<'a>(
        _root: &Path,
        _present: impl IntoIterator<Item = Present<'a>>,
        _read: &dyn Fn(&str) -> Option<Vec<u8>>,
        _cancel: &dyn Fn() -> bool,
    ) -> Result<Vec<(String, Change)>> {
        Ok(Vec::new())
    }
}
