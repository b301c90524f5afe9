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
#[serde(deny_unknown_fields)]
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

/// What is expected of the length of a visit.
pub(super) const VISIT_STEPS: &str = "1 to 1e9 steps";

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

/// Arrivals by the names that people know. What is unknown is refused: serde keeps what has a tag
/// aside before it reads it, where nobody could see what it leaves out.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Kind {
    Closed {},
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
            Kind::Closed {} => Self::Closed,
            Kind::Constant { rate_per_s } => even(rate_per_s, false),
            Kind::Poisson { rate_per_s } => even(rate_per_s, true),
            Kind::Stages { stages, is_poisson } => Self::Open { stages, is_poisson },
            Kind::Sessions { stages } => Self::Sessions { stages },
            Kind::Replay { offsets_ns, steps } => Self::Replay {
                offsets_ns: numbers("offsets_ns", &offsets_ns, u64::from_ne_bytes)?,
                steps: numbers("steps", &steps, u32::from_ne_bytes)?,
            },
        })
    }
}

fn numbers<T, E: Error, const SIZE: usize>(
    name: &str,
    column: &[u8],
    of: impl Fn([u8; SIZE]) -> T,
) -> Result<Arc<[T]>, E> {
    let (numbers, rest) = column.as_chunks();
    if !rest.is_empty() {
        let n_bytes = column.len();
        return Err(E::custom(format!("{name} has {n_bytes} bytes; expected {SIZE} for each")));
    }
    Ok(numbers.iter().map(|&bytes| of(bytes)).collect())
}

#[derive(Deserialize)]
struct Visit {
    mean_steps: f64,
    is_geometric: bool,
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Visit::deserialize(from)?.length()
    }
}

impl Visit {
    fn length<E: Error>(&self) -> Result<Length, E> {
        let mean = self.mean_steps;
        let refusal =
            |expected: &str| E::invalid_value(Unexpected::Other(&format!("`{mean}`")), &expected);
        if self.is_geometric {
            Ok(Length::Geometric { mean })
        } else if mean.fract() != 0.0 {
            Err(refusal("a whole number"))
        } else if (0.0..=f64::from(u32::MAX)).contains(&mean) {
            Ok(Length::Fixed(mean as u32))
        } else {
            Err(refusal(VISIT_STEPS))
        }
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

#[cfg(test)]
mod tests {
    use serde::de::value::Error as Refusal;

    use super::*;

    fn refused<T: std::fmt::Debug>(read: Result<T, Refusal>) -> String {
        read.unwrap_err().to_string()
    }

    #[test]
    fn a_visit_is_refused_with_the_length_that_it_was_given() {
        let fixed = |mean_steps| Visit { mean_steps, is_geometric: false }.length::<Refusal>();
        assert_eq!(fixed(4.0), Ok(Length::Fixed(4)));
        for (steps, said) in [
            (-3.0, "`-3`, expected 1 to 1e9 steps"),
            (1e12, "`1000000000000`, expected 1 to 1e9 steps"),
            (2.5, "`2.5`, expected a whole number"),
            (f64::NAN, "`NaN`, expected a whole number"),
        ] {
            assert_eq!(refused(fixed(steps)), format!("invalid value: {said}"));
        }
    }

    #[test]
    fn a_column_that_ends_within_a_number_is_refused_by_name() {
        let steps = |bytes: &[u8]| numbers("steps", bytes, u32::from_ne_bytes);
        let two = [7_u32.to_ne_bytes(), 9_u32.to_ne_bytes()].concat();
        assert_eq!(&*steps(&two).unwrap(), [7, 9]);
        assert_eq!(refused(steps(&two[..7])), "steps has 7 bytes; expected 4 for each");
    }
}
