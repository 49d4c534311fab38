mod cursor;
mod dictionary;
mod explain;
mod forward;
mod inverted;
mod merge;
mod pruned;
mod sealed;
mod search;
mod segment;
mod snapshot;
mod tail;
mod window;

pub use self::inverted::{Stats, TextIndex};
pub use self::merge::{Merge, Merged};
pub(crate) use self::search::TermStrength;
pub use self::search::{TextPart, TextSearch, TitleMatch};
