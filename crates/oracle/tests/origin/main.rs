//! The origin as its clients see it, in one program: what each file asks stands at its head.
#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]

mod behaviour;
mod client;
mod cookies;
mod doors;
mod faults;
mod program;
mod record;
mod timing;
mod tls;
