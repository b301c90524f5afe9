//! What comes back: where an answer ends, its head, its cookies.

mod cookie_date;
mod head;
mod jar;
mod scanner;

pub(crate) use head::{Malformed, is_token_byte};
pub(crate) use jar::Jar;
pub(crate) use scanner::{AtClose, Scanned, Scanner};
