//! Who sends when over which connection: a thread's loop.

mod connecting;
mod connection;
mod credited;
mod exchange;
mod links;
mod loopback;
mod pace;
mod progress;
mod shared;
mod throttle;
mod timers;
mod turn;
mod visit;
mod visits;
mod worker;

pub(crate) use shared::Shared;
pub(crate) use worker::{Command, Setup, Worker};
