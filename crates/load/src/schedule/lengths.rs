//! What is drawn for a visit: its length and its pauses. Pure functions of random bits.

use super::random;
use crate::input::{Length, Think};

const NS_PER_S: f64 = 1e9;

impl Length {
    /// The number of steps of the visit that `bits` belong to; at least 1.
    pub(crate) fn draw(&self, bits: u64) -> u32 {
        match *self {
            Self::Fixed(steps) => steps.max(1),
            Self::Geometric { mean } if mean > 1.0 => {
                // The number of whole steps that an exponential life lasts.
                // For a huge mean 1 − 1 / mean has lost all digits; the limit of the logarithm,
                // which is never below it, has not.
                let p = 1.0 / mean;
                let ended_per_step = (-libm::log(1.0 - p)).max(p);
                let steps = random::exponential(bits) / ended_per_step;
                // A cast cuts off, and stops at the largest.
                (steps as u32).saturating_add(1)
            }
            Self::Geometric { .. } => 1,
        }
    }
}

impl Think {
    /// The pause that `bits` belong to, in nanoseconds.
    pub(crate) fn draw(&self, bits: u64) -> u64 {
        match *self {
            Self::None => 0,
            Self::Fixed { s } => (s * NS_PER_S).round() as u64,
            Self::Exponential { mean_s } => (random::exponential(bits) * mean_s * NS_PER_S) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::random::{Bits, stream};

    const N_DRAWS: u64 = 200_000;

    fn lengths(length: Length) -> Vec<u32> {
        let bits = Bits::new(5, stream::VISIT_LENGTH);
        (0..N_DRAWS).map(|visit| length.draw(bits.at(visit))).collect()
    }

    #[test]
    fn a_geometric_length_has_its_mean_and_no_memory() {
        for mean in [1.0, 1.2, 2.0, 7.5, 300.0] {
            let draws = lengths(Length::Geometric { mean });
            assert!(draws.iter().all(|&steps| steps >= 1));
            let seen = draws.iter().map(|&steps| f64::from(steps)).sum::<f64>() / N_DRAWS as f64;
            let deviation = (mean * (mean - 1.0)).sqrt();
            assert!((seen - mean).abs() <= 4.0 * deviation / (N_DRAWS as f64).sqrt(), "{seen}");
            // After one step, two, three: the same part of those who are still there leaves.
            for step in 1..4 {
                let there = draws.iter().filter(|&&steps| steps >= step).count() as f64;
                let left = draws.iter().filter(|&&steps| steps == step).count() as f64;
                let bound = 4.0 * (there / mean * (1.0 - 1.0 / mean)).sqrt();
                assert!((left - there / mean).abs() <= bound, "mean {mean}, step {step}: {left}");
            }
        }
    }

    #[test]
    fn a_fixed_length_is_fixed() {
        assert!(lengths(Length::Fixed(3)).iter().all(|&steps| steps == 3));
        assert_eq!(Length::Fixed(0).draw(1), 1);
    }

    #[test]
    fn extreme_lengths_stay_in_range() {
        assert_eq!(Length::Geometric { mean: 1e300 }.draw(u64::MAX), u32::MAX);
        assert_eq!(Length::Geometric { mean: 1e12 }.draw(0), 1);
        assert_eq!(Length::Geometric { mean: 1.0 }.draw(u64::MAX), 1);
    }

    #[test]
    fn pauses_have_their_mean_and_spread() {
        assert_eq!(Think::None.draw(u64::MAX), 0);
        assert_eq!(Think::Fixed { s: 0.25 }.draw(u64::MAX), 250_000_000);
        let bits = Bits::new(5, stream::THINK);
        let think = Think::Exponential { mean_s: 2.0 };
        let pauses: Vec<f64> =
            (0..N_DRAWS).map(|pause| think.draw(bits.at(pause)) as f64 / NS_PER_S).collect();
        let mean = pauses.iter().sum::<f64>() / N_DRAWS as f64;
        let variance = pauses.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / N_DRAWS as f64;
        // Four standard errors: of the mean 2 / √n, of the deviation about √2 · 2 / √n.
        assert!((mean - 2.0).abs() < 8.0 / (N_DRAWS as f64).sqrt(), "{mean}");
        assert!((variance.sqrt() - 2.0).abs() < 11.4 / (N_DRAWS as f64).sqrt(), "{variance}");
    }
}
