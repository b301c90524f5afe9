//! Who sends when over which connection: a thread's loop.
//!
//! The worker stands on three parts that use each other one way only: the users decide who asks
//! for what next, the connections carry it, the clock says when.

mod clock;
mod connections;
mod context;
mod event_loop;
mod ids;
mod loopback;
mod platform;
mod role;
mod shared;
mod users;
#[cfg(test)]
mod virtual_rig;
#[cfg(test)]
mod virtual_tests;

pub(crate) use event_loop::{Command, Worker};
pub(crate) use role::Role;
pub(crate) use shared::Shared;
