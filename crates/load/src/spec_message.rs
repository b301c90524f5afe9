//! How a spec is read where it comes from elsewhere. Its names are those of `Workload` in Python
//! and of what is in it, so that no third form lies between: what differs is here.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};

use crate::spec::Credit;
use crate::traffic::{Arrival, Length, Stage, Think};

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

/// A window says both of its times always; without a tail it is not credited.
pub(crate) fn credit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Credit>, D::Error> {
    let credit = Credit::deserialize(from)?;
    Ok((credit.tail_s != 0.0).then_some(credit))
}

/// None has no end.
pub(crate) fn endless<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
}

/// None is any.
pub(crate) fn any<'de, D: Deserializer<'de>>(from: D) -> Result<u16, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
