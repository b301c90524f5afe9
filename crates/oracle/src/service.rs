//! How long an answer takes: distributions, and workers to queue for.
//!
//! Nothing here sleeps or reads a clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::Error;

/// The distribution of a service time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Service {
    /// The same every time; zero answers at once.
    Fixed(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    /// Lognormal: the median, and the standard deviation of the logarithm.
    Lognormal(Duration, f64),
    /// Two values; the second with the given probability.
    Bimodal(Duration, Duration, f64),
}

impl Service {
    /// No service time.
    pub const IMMEDIATE: Self = Self::Fixed(Duration::ZERO);

    /// Parse `fixed:20ms`, `exp:5ms`, `lognormal:5ms:0.5` or `bimodal:1ms:20ms:0.1`.
    ///
    /// # Errors
    /// [`Error::Service`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let parts: Vec<&str> = text.split(':').collect();
        Self::from_parts(&parts).ok_or_else(|| Error::Service(text.to_owned()))
    }

    pub(crate) fn from_parts(parts: &[&str]) -> Option<Self> {
        match *parts {
            ["fixed", time] => Some(Self::Fixed(parse_time(time)?)),
            ["exp", mean] => Some(Self::Exponential(parse_time(mean)?)),
            ["lognormal", median, sigma] => {
                let sigma = sigma.parse().ok().filter(|s: &f64| s.is_finite() && *s >= 0.0)?;
                Some(Self::Lognormal(parse_time(median)?, sigma))
            }
            ["bimodal", usual, rare, share] => {
                let share = share.parse().ok().filter(|p| (0.0..=1.0).contains(p))?;
                Some(Self::Bimodal(parse_time(usual)?, parse_time(rare)?, share))
            }
            _ => None,
        }
    }

    /// Draw one service time in nanoseconds.
    pub(crate) fn draw_ns(self, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(time) => time.as_nanos() as u64,
            Self::Exponential(mean) => (-rng.unit().ln() * mean.as_nanos() as f64) as u64,
            Self::Lognormal(median, sigma) => {
                (median.as_nanos() as f64 * (sigma * rng.normal()).exp()) as u64
            }
            Self::Bimodal(usual, rare, share) => {
                let time = if rng.unit() <= share { rare } else { usual };
                time.as_nanos() as u64
            }
        }
    }
}

/// Parse `20ms`, `5us`, `1.5s` or `100ns`.
pub(crate) fn parse_time(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let unit_s = match &text[unit_at..] {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    let number: f64 = text[..unit_at].parse().ok()?;
    Duration::try_from_secs_f64(number * unit_s).ok()
}

/// The workers that requests queue for, first come first served.
///
/// A request's end follows from its arrival, so that no lateness of a timer ever lowers the
/// capacity: it is the number of workers over the mean service time, exactly.
#[derive(Debug)]
pub(crate) struct Workers {
    /// When each worker is free again; empty for unlimited concurrency.
    free_at_ns: BinaryHeap<Reverse<u64>>,
}

impl Workers {
    pub(crate) fn new(count: Option<NonZeroUsize>) -> Self {
        let count = count.map_or(0, NonZeroUsize::get);
        Self { free_at_ns: std::iter::repeat_n(Reverse(0), count).collect() }
    }

    /// Queue a request; return when its service ends.
    pub(crate) fn finish_ns(&mut self, arrived_ns: u64, service_ns: u64) -> u64 {
        let Some(Reverse(free_ns)) = self.free_at_ns.pop() else {
            return arrived_ns + service_ns;
        };
        let finish_ns = arrived_ns.max(free_ns) + service_ns;
        self.free_at_ns.push(Reverse(finish_ns));
        finish_ns
    }
}

/// `SplitMix64`: small, seedable, and the same on every machine and release.
///
/// Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014).
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in (0, 1]: its logarithm is finite.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(text: &str, n: usize) -> Vec<f64> {
        let service = Service::parse(text).unwrap();
        let mut rng = Rng::new(7);
        let mut draws: Vec<f64> = (0..n).map(|_| service.draw_ns(&mut rng) as f64 / 1e6).collect();
        draws.sort_by(f64::total_cmp);
        draws
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn each_distribution_has_the_moments_it_was_asked_for() {
        assert_eq!(draws("fixed:20ms", 3), [20.0; 3]);
        let exponential = draws("exp:5ms", 100_000);
        assert!((mean(&exponential) / 5.0 - 1.0).abs() < 0.02);
        assert!((exponential[99_000] / (5.0 * 100_f64.ln()) - 1.0).abs() < 0.03);
        let lognormal = draws("lognormal:5ms:0.5", 100_000);
        assert!((lognormal[50_000] / 5.0 - 1.0).abs() < 0.02);
        assert!((mean(&lognormal) / (5.0 * 0.125_f64.exp()) - 1.0).abs() < 0.02);
        let bimodal = draws("bimodal:1ms:20ms:0.1", 100_000);
        assert!((mean(&bimodal) / 2.9 - 1.0).abs() < 0.03);
        assert!(bimodal.iter().all(|t| [1.0, 20.0].contains(t)));
    }

    #[test]
    fn a_seed_gives_its_service_times_again() {
        assert_eq!(draws("exp:5ms", 100), draws("exp:5ms", 100));
    }

    #[test]
    fn workers_serve_first_come_first_served_and_no_faster_than_their_capacity() {
        let mut two = Workers::new(NonZeroUsize::new(2));
        let ends: Vec<u64> = (0..6).map(|_| two.finish_ns(100, 10)).collect();
        assert_eq!(ends, [110, 110, 120, 120, 130, 130]);
        assert_eq!(two.finish_ns(500, 10), 510);
        let mut unlimited = Workers::new(None);
        assert_eq!((0..3).map(|_| unlimited.finish_ns(1, 9)).collect::<Vec<_>>(), [10; 3]);
    }

    #[test]
    fn what_is_not_a_service_time_is_refused_by_name() {
        for text in ["", "fixed", "fixed:20", "fixed:-1ms", "exp:5m", "bimodal:1ms:2ms:1.5"] {
            assert_eq!(Service::parse(text).unwrap_err(), Error::Service(text.to_owned()));
        }
    }
}
