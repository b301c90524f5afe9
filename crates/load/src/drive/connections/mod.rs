//! A thread's connections: who is free, what goes out, what comes in, how a request ends.

mod connecting;
mod connection;
#[expect(clippy::module_inception, reason = "what the folder is about")]
mod connections;
mod ending;
mod events;
mod exchange;
mod identities;
mod lists;
mod read_budget;
mod reading;
mod slow_line;
mod throttle;
mod writing;

pub(super) use connections::{Connections, Settings};
pub(super) use exchange::{Finished, Order};
