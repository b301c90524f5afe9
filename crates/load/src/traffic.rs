//! The traffic to offer: how it arrives, and how long a visit and a pause are. Input, and nothing
//! but input: what is drawn from it is in `arrival` and `visit_draw`.

use std::sync::Arc;

use serde::Deserialize;

use crate::spec_message;

/// How requests, pages or users arrive.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// A user sends again `users.think` after the answer.
    Closed,
    /// Requests (or pages) arrive whatever the server does.
    Open {
        /// The rate over time; at least one.
        stages: Vec<Stage>,
        /// Independent of each other (exponential gaps), rather than evenly spaced.
        is_poisson: bool,
    },
    /// Users arrive independently of each other (a Poisson process), each for one visit.
    Sessions {
        /// The rate of users over time; at least one.
        stages: Vec<Stage>,
    },
    /// Requests arrive when a log says.
    Replay {
        /// Offsets from the opening of the window, ascending.
        offsets_ns: Arc<[u64]>,
        /// For each of them, the index in `arm.steps`.
        steps: Arc<[u32]>,
    },
}

/// A stretch of time in which the rate goes linearly from one value to the other.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Stage {
    /// Above 0. The last stage of a schedule may be infinite, and is constant then.
    #[serde(deserialize_with = "spec_message::endless")]
    pub duration_s: f64,
    /// The rate at the beginning; at least 0 and finite.
    pub from_per_s: f64,
    /// The rate at the end; at least 0 and finite.
    pub to_per_s: f64,
}

/// How many steps a visit has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
    /// Always so many; at least 1.
    Fixed(u32),
    /// After each step the user leaves with probability `1 / mean`.
    Geometric {
        /// At least 1.
        mean: f64,
    },
}

/// How long a user pauses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Think {
    /// Not at all.
    None,
    /// Always as long.
    Fixed {
        /// At least 0.
        s: f64,
    },
    /// Without memory: the longest pauses are many times the mean.
    Exponential {
        /// At least 0.
        mean_s: f64,
    },
}
