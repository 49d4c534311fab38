//! A page as data, in the form of the brief and within a budget.

mod budget;
mod diff;
mod extract;
mod room;
mod show;

pub use self::budget::{TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN, tokens_in};
pub(crate) use self::diff::Known;
pub(crate) use self::extract::Shown;
pub use self::extract::{
    Control, ErrorKind, Extract, Field, Form, FrameInfo, Heading, Link, Listing, Message,
    PageError, Place, Table,
};
pub(crate) use self::room::Room;
pub(crate) use self::show::{Around, reach, scrub, show};

use serde::{Deserialize, Serialize};

/// How much a summary contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Headings, forms, tables and errors.
    Outline,
    /// Usable elements: forms, controls, links.
    Interactive,
    /// Everything.
    #[default]
    Full,
    /// What is new since the same page was last read, and what is gone.
    Diff,
}
