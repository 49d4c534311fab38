//! Ranking: pure functions of an index, a query and a time.

mod ask;
mod budget;
mod candidate;
mod candidates;
mod commits;
mod lanes;
mod select;
mod signals;
mod test_files;
mod weights;

pub(crate) use self::ask::Ask;
pub use self::ask::check_glob;
pub(crate) use self::budget::fit;
pub(crate) use self::candidate::{Candidate, What};
pub(crate) use self::candidates::{candidates, date};
pub(crate) use self::commits::Commits;
pub(crate) use self::lanes::{Now, lanes};
pub(crate) use self::select::Selection;
pub(crate) use self::test_files::below_tested;
pub use self::weights::Weights;
