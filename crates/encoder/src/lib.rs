//! The forward pass of encoders of BERT's form, on the processor, in vector instructions.
//!
//! The weights are packed once as 16-bit floats, in the order in which the products read them; sums
//! are 32-bit floats. Results have the same bits on every machine, with any instructions, in any
//! batch and on any number of threads. The crate reads no files: the caller provides the weights.
//!
//! It is a crate of its own so that it alone is compiled with all optimisations in builds for tests.

mod attention;
mod math;
mod packed;
mod product;
mod relative;
mod row;
mod simd;

pub use half::f16;

pub use self::math::Norm;
pub use self::packed::{Layer, Packed};
pub use self::product::{Linear, PANEL, halves};
pub use self::relative::Relative;
pub use self::row::Row;
pub use self::simd::Kernel;
