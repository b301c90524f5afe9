//! The traffic to offer: how it arrives, and how long a visit and a pause are. Input, and nothing
//! but input: what is drawn from it is in `schedule`.
//!
//! As a message its names are those of `Workload` in Python.

use std::sync::Arc;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};

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
    #[serde(deserialize_with = "endless")]
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

impl Arrival {
    /// Requests at an even, endless rate.
    pub fn constant(rate_per_s: f64) -> Self {
        let stage =
            Stage { duration_s: f64::INFINITY, from_per_s: rate_per_s, to_per_s: rate_per_s };
        Self::Open { stages: vec![stage], is_poisson: false }
    }

    /// How long they go on, in seconds; `None`: they have no schedule.
    pub(super) fn duration_s(&self) -> Option<f64> {
        match self {
            Self::Closed => None,
            Self::Open { stages, .. } | Self::Sessions { stages } => {
                Some(stages.iter().map(|stage| stage.duration_s).sum())
            }
            Self::Replay { offsets_ns, .. } => {
                Some(offsets_ns.last().map_or(0.0, |&last_ns| last_ns as f64 / 1e9))
            }
        }
    }
}

/// Arrivals by the names that people know.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Kind {
    Closed,
    Constant {
        rate_per_s: f64,
    },
    Poisson {
        rate_per_s: f64,
    },
    Stages {
        stages: Vec<Stage>,
        is_poisson: bool,
    },
    Sessions {
        stages: Vec<Stage>,
    },
    /// What a log came to, as columns of numbers in this machine's order of bytes.
    Replay {
        #[serde(with = "serde_bytes")]
        offsets_ns: Vec<u8>,
        #[serde(with = "serde_bytes")]
        steps: Vec<u8>,
    },
}

impl<'de> Deserialize<'de> for Arrival {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let even = |rate_per_s, is_poisson| match Self::constant(rate_per_s) {
            Self::Open { stages, .. } => Self::Open { stages, is_poisson },
            other => other,
        };
        Ok(match Kind::deserialize(from)? {
            Kind::Closed => Self::Closed,
            Kind::Constant { rate_per_s } => even(rate_per_s, false),
            Kind::Poisson { rate_per_s } => even(rate_per_s, true),
            Kind::Stages { stages, is_poisson } => Self::Open { stages, is_poisson },
            Kind::Sessions { stages } => Self::Sessions { stages },
            Kind::Replay { offsets_ns, steps } => Self::Replay {
                offsets_ns: numbers(&offsets_ns, u64::from_ne_bytes).collect(),
                steps: numbers(&steps, u32::from_ne_bytes).collect(),
            },
        })
    }
}

fn numbers<T, const SIZE: usize>(
    column: &[u8],
    of: impl Fn([u8; SIZE]) -> T,
) -> impl Iterator<Item = T> {
    column.as_chunks().0.iter().map(move |&bytes| of(bytes))
}

#[derive(Deserialize)]
struct Visit {
    mean_steps: f64,
    is_geometric: bool,
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Visit { mean_steps: mean, is_geometric } = Visit::deserialize(from)?;
        if is_geometric {
            return Ok(Self::Geometric { mean });
        }
        if mean.fract() != 0.0 {
            return Err(D::Error::invalid_value(Unexpected::Float(mean), &"a whole number"));
        }
        // What is beyond is so afterwards too, and refused.
        Ok(Self::Fixed(mean as u32))
    }
}

#[derive(Deserialize)]
struct Pause {
    mean_s: f64,
    is_exponential: bool,
}

impl<'de> Deserialize<'de> for Think {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Pause { mean_s, is_exponential } = Pause::deserialize(from)?;
        Ok(match is_exponential {
            _ if mean_s == 0.0 => Self::None,
            true => Self::Exponential { mean_s },
            false => Self::Fixed { s: mean_s },
        })
    }
}

/// None has no end.
fn endless<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
}
