//! Embeds texts as vectors: sentence models of the BERT family and its kin, run with candle.
//!
//! ```no_run
//! use std::path::Path;
//! use waypost_embedding::{Model, fetch};
//!
//! let cache = Path::new("/home/me/.cache/waypost/models");
//! let folder =
//!     fetch::ensure(fetch::DEFAULT_MODEL, cache, &fetch::Options::default(), &mut |_| {})?;
//! let model = Model::load(&folder)?;
//! let vectors = model.embed(&["a lighthouse keeper", "the man who tends the light"])?;
//! assert_eq!(vectors[0].len(), model.dimensions());
//! # Ok::<(), waypost_embedding::Error>(())
//! ```
//!
//! There are two features, both on by default: `inference` enables [`Model`] (candle and
//! tokenizers), `fetch` enables [`mod@fetch`] (the hub's client, `pip download`, archives) and
//! needs neither candle nor tokenizers.
//!
//! The crate reads no environment variables and prints nothing; folders, endpoints and secrets are
//! arguments.

mod error;
#[cfg(feature = "fetch")]
pub mod fetch;
#[cfg(any(feature = "inference", feature = "fetch"))]
mod files;
#[cfg(any(feature = "inference", feature = "fetch"))]
mod manifest;
#[cfg(feature = "inference")]
mod model;
#[cfg(any(feature = "inference", feature = "fetch"))]
#[cfg_attr(
    not(feature = "inference"),
    expect(dead_code, reason = "the settings of the network itself are for running it")
)]
mod recipe;

#[cfg(any(feature = "inference", feature = "fetch"))]
mod weights_file;

pub use error::{Attempt, Error, ErrorKind, Result};
#[cfg(feature = "inference")]
pub use model::{CrossEncoder, Model};
#[cfg(feature = "inference")]
pub use waypost_encoder::Kernel;
