//! A page as data, in the form of the brief and within a budget.

mod budget;
mod diff;
mod extract;
mod lines;
mod page;
mod room;
mod show;
mod wire;

pub use self::budget::{TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN, tokens_in};
pub(crate) use self::diff::Known;
pub(crate) use self::extract::Shown;
pub use self::extract::{
    Control, ControlState, ErrorKind, Extract, Field, Form, FrameInfo, Heading, Link, Listing,
    Message, PageError, Place, Table,
};
pub use self::page::{Content, Cut, Flag, Login, Mode, Part, Removed, Summary};
pub(crate) use self::room::Room;
pub(crate) use self::show::{Around, reach, show};
pub(crate) use self::wire::{dialog, download, summary};
