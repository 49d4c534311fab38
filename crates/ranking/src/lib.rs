//! Text and vector ranking: terms, exact BM25, exact vector search, fusion, explanations.
//!
//! Pure computation over memory: no files, no clock, no threads, no randomness. The same calls give
//! the same bits on every run, in whatever order an index was built, sealed or merged.
//!
//! # How the pieces fit
//!
//! A *space* is one [`Slots`], one [`TextIndex`] and one [`VectorIndex`]. `Slots` numbers the
//! space's documents densely, so that both indexes can use plain arrays. A search takes any number
//! of spaces as *parts* and treats them as one collection: document count, document frequencies and
//! average length are the sums over all parts.
//!
//! 1. [`Analyzer::document`] turns a title and a content into a [`Document`] (outside any lock),
//!    [`TextIndex::insert`] indexes it.
//! 2. [`Analyzer::query`] makes a [`Query`]; [`TextSearch`] finds its best documents by BM25.
//! 3. [`Feedback`] expands the query from the first results.
//! 4. [`VectorSearch`] finds the vectors nearest to a query vector.
//! 5. [`Range`] maps each signal to 0–1, [`fuse`] adds them up, [`Neighbours`] raises the
//!    neighbours of a hit, and [`Explanation`] shows where each score comes from.
//!
//! Beside searches, [`SimilarIndex`] finds documents with nearly the same terms, and
//! [`Analyzer::compare`] says in what two texts differ.
//!
//! # Exactness
//!
//! A text score is a sum of whole units (a power of two, chosen per query), so the order of
//! summation cannot change it: [`TextSearch::top`] equals [`TextSearch::exhaustive`], and an index
//! that was sealed, merged, decoded or rebuilt gives the same scores, to the bit.
//! [`VectorSearch::top`] equals [`VectorSearch::exact`], because its first pass bounds its own
//! error. Filters are called inside the searches, so the best `k` are the best `k` of the documents
//! that pass. Ties go to the lowest id.
//!
//! # Maintenance and snapshots
//!
//! New documents go into a small open part of a [`TextIndex`] and are found at once.
//! [`TextIndex::maintain`] seals and merges parts; where other threads must not wait,
//! [`TextIndex::plan`], [`Merge::run`] (without the index) and [`TextIndex::install`] do the same
//! in three steps. [`Slots`], [`TextIndex`] and [`VectorIndex`] each have `encode` and `decode`;
//! rebuild from the documents what `decode` rejects.
//!
//! # An example
//!
//! ```
//! use waypost_ranking::{
//!     Analyzer, Bm25, Range, Signal, Slots, TextIndex, TextPart, TextSearch, VectorIndex, VectorPart,
//!     VectorSearch, fuse,
//! };
//!
//! let analyzer = Analyzer::english();
//! let mut slots = Slots::default();
//! let mut text = TextIndex::default();
//! let mut vectors = VectorIndex::new(3)?;
//! for (id, title, content, vector) in [
//!     (7, "Parser", "parseHttpURL splits an address", [1.0, 0.1, 0.0]),
//!     (9, "Cats", "the cat sleeps on the keyboard", [0.0, 1.0, 0.2]),
//! ] {
//!     let slot = slots.assign(id);
//!     text.insert(slot, &analyzer.document(title, content));
//!     vectors.insert(slot, &vector)?;
//! }
//!
//! let query = analyzer.query("parse a URL");
//! let text_parts = [TextPart { slots: &slots, index: &text, filter: None }];
//! let words = TextSearch::new(&text_parts, &query, Bm25::default()).top(10);
//! let vector_parts = [VectorPart { slots: &slots, index: &vectors, filter: None }];
//! let meaning = VectorSearch::new(&vector_parts, &[0.9, 0.2, 0.0])?.top(10);
//!
//! let fused = fuse(&[
//!     Signal::new("text", 0.5, Range::from_zero(&words), &words),
//!     Signal::new("vector", 0.5, Range::min_max(&meaning.hits), &meaning.hits),
//! ]);
//! assert_eq!(fused[0].id, 7);
//! # Ok::<(), waypost_ranking::Error>(())
//! ```

mod codec;
mod error;
mod hit;
mod slots;
mod top;

mod bm25;
mod text;

mod index;

mod numbers;
mod simd;
mod vector;

mod cues;
mod dates;
mod explanation;
mod feedback;
mod fuse;
mod neighbours;
mod similar;

pub use bm25::Bm25;
pub use cues::{Cues, asks_for_latest, names, substance};
pub use dates::{PERIODS_MAX, Period, periods};
pub use error::{Error, ErrorKind};
pub use explanation::Explanation;
pub use feedback::{Feedback, VectorFeedback};
pub use fuse::{Range, Signal, explain_fused, fuse, reciprocal_rank_fusion};
pub use hit::{Filter, Hit};
pub use index::{Merge, Merged, Stats, TextIndex, TextPart, TextSearch, TitleMatch, Titled};
pub use neighbours::Neighbours;
pub use numbers::{NumberHasher, NumberMap};
pub use similar::{Comparison, Difference, Signature, Similar, SimilarIndex, Verdict};
pub use slots::{Slot, Slots};
pub use text::{Analyzer, Document, Query, QueryTerm};
pub use vector::{Nearest, VectorIndex, VectorPart, VectorSearch, Work};
