//! The dashboard: the files of its page, and the codes with which people open it.
//!
//! The files are the same for everybody and need no token; everything else that the page shows
//! comes from the routes that other clients use, with a token.

mod assets;
mod codes;

pub(crate) use self::assets::{PAGE, asset, router};
pub(crate) use self::codes::{Codes, Key, Opened, Refused, TOKEN_VALID};
