//! When requests, pages or users arrive.
//!
//! A schedule never looks at the server: it says at which offset from the opening of a window each
//! arrival is *due*, and latency counts from that instant. A stalled server shows up as latency,
//! not as a lower rate ("coordinated omission").
//!
//! Both kinds of open loop are one: arrivals fall where the cumulative rate Λ(t), the number of
//! arrivals expected by `t`, reaches ascending levels. The levels are 0, 1, 2, … for an even
//! schedule, and the running sum of exponential gaps of mean 1 for a Poisson process (Çinlar,
//! Introduction to Stochastic Processes, 1975, section 4.7). Each offset is computed from its level
//! in closed form, never by adding gaps of time: nothing drifts.
//!
//! The sequence is a function of arrival, seed and window alone. Each thread walks all of it and
//! keeps what is its own. Nothing here sleeps or reads a clock.

use std::sync::Arc;

use super::random::{self, Bits, stream};
use crate::input::{Arrival, Stage};

const NS_PER_S: f64 = 1e9;

/// The arrivals of one window, over all threads, in order.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals {
    source: Source,
    /// How many were given.
    count: u64,
    last_ns: u64,
}

#[derive(Debug, Clone)]
enum Source {
    Even(Rate),
    Poisson { rate: Rate, bits: Bits, level: Level },
    Replay { offsets_ns: Arc<[u64]> },
}

impl Arrivals {
    /// `None` where the users themselves decide when to send.
    ///
    /// The gaps of a Poisson process differ between windows, and are the same again for the same
    /// seed and window. The stages must be as [`Stage`] says.
    pub(crate) fn new(arrival: &Arrival, seed: u64, window: usize) -> Option<Self> {
        let source = match arrival {
            Arrival::Closed => return None,
            Arrival::Open { stages, is_poisson: false } => Source::Even(Rate::new(stages)),
            Arrival::Open { stages, is_poisson: true } | Arrival::Sessions { stages } => {
                let of_window = random::hash(seed, stream::ARRIVAL, window as u64);
                Source::Poisson {
                    rate: Rate::new(stages),
                    bits: Bits::new(of_window, stream::ARRIVAL),
                    level: Level::default(),
                }
            }
            Arrival::Replay { offsets_ns, .. } => {
                Source::Replay { offsets_ns: Arc::clone(offsets_ns) }
            }
        };
        Some(Self { source, count: 0, last_ns: 0 })
    }

    /// The offset of the next arrival from the opening of the window, at least that of the last
    /// one; `None` when there are no more.
    pub(crate) fn next_ns(&mut self) -> Option<u64> {
        let offset_ns = match &mut self.source {
            Source::Even(rate) => rate.reaches_ns(Level { whole: self.count as f64, part: 0.0 })?,
            Source::Poisson { rate, bits, level } => {
                let next = level.after(random::exponential(bits.at(self.count)));
                let offset_ns = rate.reaches_ns(next)?;
                *level = next;
                offset_ns
            }
            Source::Replay { offsets_ns } => *offsets_ns.get(self.count as usize)?,
        };
        self.count += 1;
        // Rounding could put one before its neighbour where a million fall on a nanosecond.
        self.last_ns = self.last_ns.max(offset_ns);
        Some(self.last_ns)
    }

    /// How many arrivals to expect before `until_ns`: exactly so many in a replay, on average in a
    /// Poisson process; an even schedule has this number rounded up.
    #[cfg(test)]
    fn expected_count(&self, until_ns: u64) -> f64 {
        match &self.source {
            Source::Even(rate) | Source::Poisson { rate, .. } => rate.expected_count(until_ns),
            Source::Replay { offsets_ns } => {
                offsets_ns.partition_point(|&offset_ns| offset_ns < until_ns) as f64
            }
        }
    }
}

/// A number that does not lose its fraction as it grows: a whole number, and what it is off by.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    whole: f64,
    /// From −½ to ½.
    part: f64,
}

impl Level {
    #[inline]
    fn after(self, gap: f64) -> Self {
        /// Beside it a number has no room for a fraction, so adding it rounds.
        const TO_WHOLE: f64 = (1_u64 << 52) as f64;
        let part = self.part + gap;
        let carried = part + TO_WHOLE - TO_WHOLE;
        Self { whole: self.whole + carried, part: part - carried }
    }

    /// How far this is above `other`; below 0 where it is below.
    #[inline]
    fn above(self, other: Self) -> f64 {
        (self.whole - other.whole) + (self.part - other.part)
    }
}

/// A rate that is linear in pieces, and where in it the last arrival fell.
#[derive(Debug, Clone)]
struct Rate {
    pieces: Box<[Piece]>,
    current: usize,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    start_ns: u64,
    end_ns: u64,
    /// Λ where it starts and ends; the end of an endless piece is never reached.
    from: Level,
    to: Level,
    from_per_s: f64,
    /// Per second and second; 0 when the rate is constant.
    slope: f64,
}

impl Rate {
    fn new(stages: &[Stage]) -> Self {
        let (mut start_ns, mut from) = (0_u64, Level::default());
        let pieces = stages.iter().map(|stage| {
            let piece = Piece::new(stage, start_ns, from);
            (start_ns, from) = (piece.end_ns, piece.to);
            piece
        });
        Self { pieces: pieces.collect(), current: 0 }
    }

    /// The first instant after which Λ is above `level`. Levels must ascend from call to call.
    ///
    /// This is not the first instant at which Λ is `level`: an arrival falls where the rate is
    /// above 0, so the first one after a silence falls at its end.
    #[inline]
    fn reaches_ns(&mut self, level: Level) -> Option<u64> {
        loop {
            let piece = self.pieces.get(self.current)?;
            if level.above(piece.to) < 0.0 {
                return Some(piece.reaches_ns(level));
            }
            self.current += 1;
        }
    }

    #[cfg(test)]
    fn expected_count(&self, until_ns: u64) -> f64 {
        self.pieces.iter().map(|piece| piece.expected_count(until_ns)).sum()
    }
}

impl Piece {
    fn new(stage: &Stage, start_ns: u64, from: Level) -> Self {
        let &Stage { duration_s, from_per_s, to_per_s } = stage;
        let is_constant = from_per_s.total_cmp(&to_per_s).is_eq() || duration_s.is_infinite();
        let slope = if is_constant { 0.0 } else { (to_per_s - from_per_s) / duration_s };
        let mean_per_s = if is_constant { from_per_s } else { f64::midpoint(from_per_s, to_per_s) };
        // Nothing times forever is nothing.
        let area = if mean_per_s > 0.0 { mean_per_s * duration_s } else { 0.0 };
        Self {
            start_ns,
            end_ns: start_ns.saturating_add((duration_s * NS_PER_S).round() as u64),
            from,
            to: end_of(from, area),
            from_per_s,
            slope,
        }
    }

    /// Where Λ reaches `level`, which is one of this piece's.
    #[inline]
    fn reaches_ns(&self, level: Level) -> u64 {
        let above = level.above(self.from);
        // above = a t + s t² / 2 solved for t. In this form of the root nothing cancels, and it is
        // right for ramps from 0, to 0 and hardly ramping at all.
        let offset_ns = if self.slope == 0.0 {
            // The product first: it is exact for whole levels where a gap in ns would not be.
            above * NS_PER_S / self.from_per_s
        } else if above > 0.0 {
            let a = self.from_per_s;
            // Below 0 by rounding only, at the end of a ramp to 0.
            let end_per_s = (a * a + 2.0 * self.slope * above).max(0.0).sqrt();
            2.0 * above * NS_PER_S / (a + end_per_s)
        } else {
            0.0
        };
        // Adding a half and cutting off is rounding, at a third of its cost.
        self.start_ns.saturating_add((offset_ns + 0.5) as i64 as u64).min(self.end_ns)
    }

    #[cfg(test)]
    fn expected_count(&self, until_ns: u64) -> f64 {
        if until_ns <= self.start_ns {
            return 0.0;
        }
        if until_ns >= self.end_ns {
            return self.to.above(self.from);
        }
        let t = (until_ns - self.start_ns) as f64 / NS_PER_S;
        t * (self.from_per_s + self.slope * t / 2.0)
    }
}

/// `from + area`. What is whole but for rounding is made whole: else a stage of 100 s at 0.07/s,
/// an area of 7.000000000000001, would have an eighth arrival on its very end.
fn end_of(from: Level, area: f64) -> Level {
    // Of an endless piece the end is never seen: 142 years at a million a second.
    let end = from.after(area.min((1_u64 << 52) as f64));
    let rounding = 4.0 * f64::EPSILON * area.max(1.0);
    if end.part.abs() <= rounding { Level { part: 0.0, ..end } } else { end }
}

/// A number for the provenance of a run: the same for the same arrival, seed and window, and the
/// same first `n` offsets.
pub(super) fn schedule_hash(arrival: &Arrival, seed: u64, window: usize, n: usize) -> u64 {
    let mut chain = Chain(0);
    let stages = |chain: &mut Chain, kind: u64, stages: &[Stage]| {
        chain.add(kind);
        for stage in stages {
            for number in [stage.duration_s, stage.from_per_s, stage.to_per_s] {
                chain.add(number.to_bits());
            }
        }
    };
    match arrival {
        Arrival::Closed => chain.add(0),
        Arrival::Open { stages: of, is_poisson } => {
            stages(&mut chain, 1 + u64::from(*is_poisson), of);
        }
        Arrival::Sessions { stages: of } => stages(&mut chain, 3, of),
        Arrival::Replay { offsets_ns, steps } => {
            chain.add(4);
            chain.add(offsets_ns.len() as u64);
            steps.iter().take(n).for_each(|&step| chain.add(u64::from(step)));
        }
    }
    chain.add(seed);
    chain.add(window as u64);
    if let Some(mut arrivals) = Arrivals::new(arrival, seed, window) {
        std::iter::from_fn(|| arrivals.next_ns()).take(n).for_each(|at_ns| chain.add(at_ns));
    }
    chain.0
}

/// Each number changes what all later ones do.
struct Chain(u64);

impl Chain {
    fn add(&mut self, number: u64) {
        self.0 = random::hash(self.0, number, 0);
    }
}

#[cfg(test)]
#[path = "arrivals_tests.rs"]
mod tests;
