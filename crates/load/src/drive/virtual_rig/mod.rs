//! A world for tests in which time passes only while the loop waits, and servers do what a script
//! says: so what comes of it is exact, and takes no time.

mod link;
mod run;
mod script;
mod world;

pub(super) use run::{Outcome, counted, run_all, run_one, run_thread, window};
pub(super) use script::{Door, MS, Reply, S, answer};
pub(super) use world::World;
