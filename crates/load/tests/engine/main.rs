//! The whole engine against the oracle, in one program: what each file asks stands at its head.
//!
//! Tests that change what belongs to the whole process (its allocator, its limits), or that look at
//! who has the CPUs, are programs of their own beside this folder.
#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]

#[path = "../rig/mod.rs"]
mod rig;

mod answers;
mod credit;
mod endings;
mod faults;
mod limits;
mod measured;
mod rooms;
mod scenarios;
mod traffic;
mod truth;
mod visits;
mod windows;
