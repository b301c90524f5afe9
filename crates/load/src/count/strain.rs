//! Whether answers take longer when more requests are under way.
//!
//! When an open loop has no connection left for a request that is due, either the server takes
//! requests only one after the other (or so many at a time), and they queue inside it; or it would
//! answer more of them in the same time, and there are too few connections. The beginning of a
//! window tells: nothing is in flight then, and the first requests meet an idle server. Their
//! service times against those of the rest is what this module keeps, for each request of the
//! table by itself: a mix of cheap and dear ones must not look like a queue.
//!
//! A closed loop has as many under way as it has users all the time, and few first requests. There
//! two more things tell whether the server would do more if it were asked for more. Where service
//! times hardly vary, even one first request says what an idle server takes. Where they vary, those
//! who wait in one queue wait for the same things, so answers that come one after the other took
//! alike; where nobody waits for anybody, they tell nothing of each other. So do a loop's answers
//! where an open one asks for more than it gets.
//!
//! A server's first answer may be a cold one, and as late as all later ones are for their queue. Who
//! answers one after the other answers at even gaps, though; those who need not wait come as they
//! were sent. And whatever was sent before the first answer waited for the same cold start: of that
//! all took alike, however little the others do.

use super::ended::Ended;

/// Service times of one request of the table.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    light_ns: u128,
    n_light: u64,
    loaded_ns: u128,
    n_loaded: u64,
    warm: Warm,
}

/// Service times under load of what was sent after the first answer, in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Warm {
    n: u64,
    sum: f64,
    squares: f64,
    /// Of products with the one before.
    products: f64,
    latest: f64,
}

/// Keeps service times apart by whether few requests were under way.
#[derive(Debug)]
pub(crate) struct Strain {
    times: Vec<Times>,
    /// So many under way on this thread's connections are few.
    few: u64,
    /// When it first were more.
    light_until_ns: u64,
    /// When the first answer ended.
    cold_until_ns: u64,
    /// When the latest answer under load ended; 0 before any did.
    ended_ns: u64,
    gaps: Gaps,
}

/// Gaps between the ends of answers under load, in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Gaps {
    n: u64,
    sum: f64,
    squares: f64,
}

impl Warm {
    fn add(&mut self, taken: f64) {
        let before = if self.n == 0 { taken } else { self.latest };
        self.n += 1;
        self.sum += taken;
        self.squares += taken * taken;
        self.products += taken * before;
        self.latest = taken;
    }

    fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        self.squares += other.squares;
        self.products += other.products;
    }
}

impl Gaps {
    /// Standard deviation over mean; 0 of none.
    fn spread(&self) -> f64 {
        if self.sum > 0.0 {
            (self.n as f64 * self.squares / (self.sum * self.sum) - 1.0).max(0.0).sqrt()
        } else {
            0.0
        }
    }
}

/// Service times under load over those of an idle server.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Inflation {
    /// 0 when nothing can be said.
    pub(crate) ratio: f64,
    /// Answers that it was told from an idle server by.
    pub(crate) n_light: u64,
    /// Standard deviation over mean of the service times under load, the cold ones left out.
    pub(crate) spread: f64,
    /// How alike service times under load are that ended one after the other on a thread: their
    /// correlation.
    pub(crate) likeness: f64,
    /// Of how many.
    pub(crate) n_loaded: u64,
    /// Standard deviation over mean of the gaps between their ends on a thread.
    pub(crate) gap_spread: f64,
}

/// Of the connections: with all of them under way a server's queue is four times as long.
const FEW_RATIO: f64 = 0.25;
/// However many connections there are: most servers take so many at a time, if any.
const MAX_FEW: u64 = 16;

impl Strain {
    pub(super) fn new(n_requests: usize, n_connections: usize) -> Self {
        let few = ((n_connections as f64 * FEW_RATIO) as u64).clamp(1, MAX_FEW);
        let times = vec![Times::default(); n_requests.max(1)];
        let gaps = Gaps::default();
        Self { times, few, light_until_ns: u64::MAX, cold_until_ns: u64::MAX, ended_ns: 0, gaps }
    }

    pub(super) fn reset(&mut self) {
        self.times.fill(Times::default());
        (self.light_until_ns, self.cold_until_ns) = (u64::MAX, u64::MAX);
        (self.ended_ns, self.gaps) = (0, Gaps::default());
    }

    /// So many are under way from now on.
    #[inline]
    pub(super) fn take_up(&mut self, now_ns: u64, n_under_way: u64) {
        if n_under_way > self.few && self.light_until_ns == u64::MAX {
            self.light_until_ns = now_ns;
        }
    }

    /// Count the service time of a request that was answered, or given up after it was sent.
    #[inline]
    pub(super) fn end(&mut self, request: &Ended) {
        let (Some(issued_ns), Some(written_ns)) = (request.issued_ns, request.written_ns) else {
            return;
        };
        let Some(times) = self.times.get_mut(request.request as usize) else { return };
        let service_ns = u128::from(request.end_ns.saturating_sub(written_ns));
        self.cold_until_ns = self.cold_until_ns.min(request.end_ns);
        if issued_ns < self.light_until_ns {
            times.light_ns += service_ns;
            times.n_light += 1;
            return;
        }
        times.loaded_ns += service_ns;
        times.n_loaded += 1;
        if issued_ns >= self.cold_until_ns {
            times.warm.add(service_ns as f64 / 1e9);
        }
        if self.ended_ns > 0 {
            let gap_s = request.end_ns.saturating_sub(self.ended_ns) as f64 / 1e9;
            self.gaps.n += 1;
            self.gaps.sum += gap_s;
            self.gaps.squares += gap_s * gap_s;
        }
        self.ended_ns = request.end_ns;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.times.iter_mut().zip(&other.times) {
            mine.light_ns += theirs.light_ns;
            mine.n_light += theirs.n_light;
            mine.loaded_ns += theirs.loaded_ns;
            mine.n_loaded += theirs.n_loaded;
            mine.warm.merge(&theirs.warm);
        }
        self.gaps.n += other.gaps.n;
        self.gaps.sum += other.gaps.sum;
        self.gaps.squares += other.gaps.squares;
    }

    pub(crate) fn inflation(&self) -> Inflation {
        let (mut seen_ns, mut expected_ns, mut n_light) = (0.0, 0.0, 0);
        let (mut variance, mut covariance, mut n_loaded) = (0.0, 0.0, 0);
        for warm in self.times.iter().map(|times| &times.warm).filter(|warm| warm.n > 1) {
            let n = warm.n as f64;
            // Around each request's own mean, and relative to it.
            let square = (warm.sum * warm.sum / n).max(f64::MIN_POSITIVE);
            variance += n * (warm.squares - warm.sum * warm.sum / n).max(0.0) / square;
            covariance += n * (warm.products - warm.sum * warm.sum / n) / square;
            n_loaded += warm.n;
        }
        for times in self.times.iter().filter(|times| times.n_light > 0 && times.n_loaded > 0) {
            seen_ns += times.loaded_ns as f64;
            expected_ns += times.n_loaded as f64 * times.light_ns as f64 / times.n_light as f64;
            n_light += times.n_light;
        }
        let ratio = if expected_ns > 0.0 { seen_ns / expected_ns } else { 0.0 };
        let spread = if n_loaded > 0 { (variance / n_loaded as f64).sqrt() } else { 0.0 };
        let likeness = if variance > 0.0 { (covariance / variance).clamp(-1.0, 1.0) } else { 0.0 };
        Inflation { ratio, n_light, spread, likeness, n_loaded, gap_spread: self.gaps.spread() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::schedule::random::{hash, unit};

    fn answered(request: u32, issued_ns: u64, service_ns: u64) -> Ended {
        Ended {
            request,
            issued_ns: Some(issued_ns),
            written_ns: Some(issued_ns),
            end_ns: issued_ns + service_ns,
            ..Ended::default()
        }
    }

    /// Requests that are taken up one per nanosecond and take so long, on 16 connections.
    fn strained(n_requests: u32, service_ns: impl Fn(u64, u32) -> u64) -> Inflation {
        let mut strain = Strain::new(n_requests as usize, 16);
        for n in 0..16 {
            strain.take_up(n, n + 1);
        }
        for n in 0..16 {
            let request = n as u32 % n_requests;
            strain.end(&answered(request, n, service_ns(n, request)));
        }
        strain.inflation()
    }

    #[test]
    fn a_queue_in_the_server_shows_and_a_slow_server_does_not() {
        let queue = strained(1, |n, _| (n + 1) * 1000);
        assert_eq!(queue.n_light, 4);
        // Mean of 5 to 16 over mean of 1 to 4.
        assert!((queue.ratio - 10.5 / 2.5).abs() < 1e-9, "{queue:?}");
        let slow = strained(1, |_, _| 1_000_000);
        assert!((slow.ratio - 1.0).abs() < 1e-9, "{slow:?}");
    }

    /// Two thousand answers with these service times, after one of a second from an idle server.
    fn steady(mut service_ns: impl FnMut() -> u64) -> Inflation {
        let mut strain = Strain::new(1, 4);
        strain.take_up(0, 1);
        strain.end(&answered(0, 0, 1_000_000_000));
        strain.take_up(1, 2);
        for _ in 0..2000 {
            strain.end(&answered(0, 1_000_000_000, service_ns()));
        }
        strain.inflation()
    }

    #[test]
    fn service_times_that_vary_by_themselves_are_told_from_a_queue_that_comes_and_goes() {
        let mut n = 0;
        let mut exponential = move || {
            n += 1;
            (-(1.0 - unit(hash(7, 0, n))).ln() * 1e9) as u64
        };
        let alone = steady(&mut exponential);
        assert!((alone.spread - 1.0).abs() < 0.15, "{alone:?}");
        assert!(alone.likeness.abs() < 0.08, "{alone:?}");
        // Each waits for the six before it at two workers, then for its own.
        let mut queue = VecDeque::from(vec![1_000_000_000; 6]);
        let waiting = steady(|| {
            queue.push_back(exponential() / 2);
            queue.pop_front();
            queue.iter().sum::<u64>() + exponential()
        });
        assert!(waiting.likeness > 0.3, "{waiting:?}");
        let even = steady(|| 1_000_000_000);
        assert!(even.spread < 1e-6 && even.n_loaded == 2000, "{even:?}");
    }

    #[test]
    fn what_waited_for_a_cold_start_tells_nothing_of_what_came_after_it() {
        let mut strain = Strain::new(1, 4);
        strain.take_up(0, 4);
        for _ in 0..4 {
            strain.end(&answered(0, 1, 900_000_000));
        }
        for n in 0..400 {
            strain.end(&answered(0, 900_000_001 + n, 20_000_000));
        }
        let seen = strain.inflation();
        assert!(seen.spread < 1e-6 && seen.n_loaded == 400, "{seen:?}");
    }

    #[test]
    fn who_answers_one_after_the_other_answers_at_even_gaps() {
        let ends = |gaps_ns: [u64; 4]| {
            let mut strain = Strain::new(1, 4);
            strain.take_up(0, 2);
            let mut now_ns = 0;
            for gap_ns in gaps_ns.into_iter().cycle().take(400) {
                now_ns += gap_ns;
                strain.end(&answered(0, now_ns, 0));
            }
            strain.inflation().gap_spread
        };
        assert!(ends([5_000_000; 4]) < 1e-6);
        // Four of 20 ms each that were sent a millisecond apart.
        assert!((ends([1_000_000, 1_000_000, 1_000_000, 17_000_000]) - 1.39).abs() < 0.02);
    }

    #[test]
    fn a_mix_of_cheap_and_dear_requests_is_no_queue() {
        let mix = strained(3, |_, request| 10_u64.pow(request));
        assert!((mix.ratio - 1.0).abs() < 1e-9, "{mix:?}");
    }

    #[test]
    fn without_load_there_is_nothing_to_tell() {
        let mut strain = Strain::new(1, 16);
        strain.take_up(5, 1);
        strain.end(&answered(0, 5, 7));
        assert_eq!(strain.inflation(), Inflation::default());
    }
}
