//! The load engine (under construction).
mod error;
mod head;
mod histogram;
mod links;
mod outcome;
mod request;
mod scanner;
mod schedule;
mod spec;
mod sys;

pub use error::Error;
pub use histogram::Distribution;
pub use outcome::{ErrorCounts, ErrorKind};
pub use spec::{Arm, LoadSpec, Request, Window};
