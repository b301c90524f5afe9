//! When what is due, and all that is drawn at random: pure functions of seed and spec.

mod arrivals;
mod lengths;
mod mix;
mod plan;
pub(crate) mod random;
mod schedule_hash;

pub(crate) use arrivals::Arrivals;
pub(crate) use mix::Mix;
pub(crate) use plan::{Model, Plan};
