//! Texts that say nearly the same: finding them without comparing all pairs, and what differs in two
//! of them.

mod align;
mod comparison;
mod index;
mod signature;
mod words;

pub use self::comparison::{Comparison, Difference, Verdict};
pub use self::index::{Similar, SimilarIndex};
pub use self::signature::Signature;
