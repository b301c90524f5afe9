//! Whether the machine was disturbed by others than this program: by its host, by who goes before
//! everybody else, or by other programs that want its cores. It knows nothing of the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{affinity, used};

/// How long its sleepers sleep at a time.
const NAP: Duration = Duration::from_millis(2);

/// A core is lent to another thread for a few milliseconds; who waits longer for one was not
/// beside busy threads but on a core that somebody took.
const TAKEN: Duration = Duration::from_millis(10);

/// The part of a try, in cores, from which on it is spoilt where nobody ran or the host took it:
/// a verdict rests on a hundredth of the requests, and so many are due in so long.
const MOST_TAKEN_RATIO: f64 = 0.01;

/// The same for what other programs used. The kernel counts that by looking who runs at each of
/// its ticks, so that over half a second it may be wrong by a tenth of a core.
const MOST_USED_RATIO: f64 = 0.25;

/// Watches from its start on: one thread on each core sleeps and sees how late it wakes, and the
/// kernel's accounts are compared.
pub(crate) struct Witness {
    began: Instant,
    stolen_before_s: f64,
    others_before_s: f64,
    is_over: Arc<AtomicBool>,
    sleepers: Vec<JoinHandle<Duration>>,
}

impl Witness {
    pub(crate) fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let sleepers = affinity::allowed()
            .into_iter()
            .map(|cpu| {
                let is_over = Arc::clone(&is_over);
                thread::spawn(move || taken(cpu, &is_over))
            })
            .collect();
        let (stolen_before_s, others_before_s) = (used::stolen_s(), used::others_s());
        Self { began: Instant::now(), stolen_before_s, others_before_s, is_over, sleepers }
    }

    /// Who disturbed the time since the start, and by how much; `None` where nobody did.
    pub(crate) fn disturbance(self) -> Option<String> {
        self.seen().disturbance()
    }

    /// What it saw since the start.
    pub(crate) fn seen(mut self) -> Seen {
        let lasted_s = self.began.elapsed().as_secs_f64();
        let stolen_s = used::stolen_s() - self.stolen_before_s;
        let others_s = used::others_s() - self.others_before_s;
        self.is_over.store(true, Ordering::Relaxed);
        let away =
            std::mem::take(&mut self.sleepers).into_iter().map(|sleeper| sleeper.join().unwrap());
        let away_s = away.max().unwrap_or_default().as_secs_f64();
        Seen { stolen: stolen_s / lasted_s, away: away_s / lasted_s, others: others_s / lasted_s }
    }
}

/// Parts of a try, each in cores.
pub(crate) struct Seen {
    /// What the host took, by its own account.
    pub(crate) stolen: f64,
    /// The core that was away for longest.
    pub(crate) away: f64,
    /// What other programs used.
    pub(crate) others: f64,
}

impl Seen {
    /// Who disturbed more than is allowed for.
    pub(crate) fn disturbance(&self) -> Option<String> {
        if self.stolen > MOST_TAKEN_RATIO {
            return Some(format!("the host took {:.2} cores", self.stolen));
        }
        if self.away > MOST_TAKEN_RATIO {
            return Some(format!("a core was away for {:.2} of the time", self.away));
        }
        let others = self.others;
        self.is_crowded().then(|| format!("other programs used {others:.2} cores"))
    }

    /// Whether other programs used more than is allowed for.
    pub(crate) fn is_crowded(&self) -> bool {
        self.others > MOST_USED_RATIO
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// The sum of the times for which this CPU was away.
fn taken(cpu: usize, is_over: &AtomicBool) -> Duration {
    affinity::pin_to(cpu);
    let mut taken = Duration::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        let asleep = Instant::now();
        thread::sleep(NAP);
        let late = asleep.elapsed().saturating_sub(NAP);
        if late > TAKEN {
            taken += late;
        }
    }
    taken
}
