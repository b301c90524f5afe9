//! The loop in virtual time: everything here is exact.

mod closed_loops;
mod entrances;
mod open_loops;
mod slow_lines;
mod visits;
mod windows;
