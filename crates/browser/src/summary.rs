//! A page as data, in the form of the brief and within a budget.

mod budget;
mod diff;
mod extract;
mod lines;
mod room;
mod show;

pub use self::budget::{TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN, tokens_in};
pub(crate) use self::diff::Known;
pub(crate) use self::extract::{
    CONTROLS, ERRORS, Entry, Extract, FORMS, Found, HEADINGS, LINKS, List, TABLES,
};
pub(crate) use self::room::Room;
pub(crate) use self::show::{Around, Mode, reach, show};
