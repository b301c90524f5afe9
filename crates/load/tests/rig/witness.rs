//! Tests that need the machine's attention, and whether they had it.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::affinity;

/// How long its sleepers sleep at a time.
const NAP: Duration = Duration::from_millis(2);

/// A core is lent to another thread for a few milliseconds; who waits longer for one was not
/// beside busy threads but on a core that somebody took.
const TAKEN: Duration = Duration::from_millis(10);

/// The part of a try from which on it is spoilt.
const MOST_TAKEN_RATIO: f64 = 0.05;

/// Tells whether the cores were taken away for a while, by the host or by whoever goes first:
/// one thread on each of them sleeps and sees how late it wakes. It knows nothing of the engine.
pub(crate) struct Witness {
    began: Instant,
    stolen_before_s: f64,
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
        Self { began: Instant::now(), stolen_before_s: stolen_s(), is_over, sleepers }
    }

    /// Whether a core was away for more than 5 % of the time since the start, or the host says
    /// that it took as much.
    pub(crate) fn saw_a_core_taken(mut self) -> bool {
        let lasted_s = self.began.elapsed().as_secs_f64();
        let stolen_s = stolen_s() - self.stolen_before_s;
        self.is_over.store(true, Ordering::Relaxed);
        let taken =
            std::mem::take(&mut self.sleepers).into_iter().map(|sleeper| sleeper.join().unwrap());
        let longest_s = taken.max().unwrap_or_default().as_secs_f64();
        longest_s.max(stolen_s) > MOST_TAKEN_RATIO * lasted_s
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

/// How long this machine's cores were taken away by its host since it started, all together.
fn stolen_s() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let stolen = text.split_whitespace().nth(8).and_then(|ticks| ticks.parse::<f64>().ok());
    stolen.unwrap_or(0.0) / 100.0
}

/// Try what needs the machine's attention up to three times: one that is busy elsewhere may
/// spoil a try, an engine that is wrong spoils all. Where the cores were taken away in each of
/// them, nothing can be tested. What must hold on any machine is for `attempt` to assert.
#[track_caller]
pub(crate) fn within_three_tries(mut attempt: impl FnMut() -> Result<(), String>) {
    let mut reasons = Vec::new();
    let mut n_taken = 0;
    for _ in 0..3 {
        let witness = Witness::start();
        match attempt() {
            Ok(()) => return,
            Err(reason) => reasons.push(reason),
        }
        n_taken += usize::from(witness.saw_a_core_taken());
    }
    if n_taken == reasons.len() {
        skipped(&format!("the cores were taken away in each try: {reasons:#?}"));
        return;
    }
    panic!("three times: {reasons:#?}");
}

/// Try what cannot go wrong on cores that are there: again, up to three times in all, only where
/// they were taken away meanwhile. One undisturbed try that fails is enough.
#[track_caller]
pub(crate) fn unless_taken(mut attempt: impl FnMut() -> Result<(), String>) {
    let mut reasons = Vec::new();
    for _ in 0..3 {
        let witness = Witness::start();
        match attempt() {
            Ok(()) => return,
            Err(reason) => reasons.push(reason),
        }
        assert!(witness.saw_a_core_taken(), "undisturbed: {reasons:#?}");
    }
    skipped(&format!("the cores were taken away in each try: {reasons:#?}"));
}

/// What a try needs; why it is not so, where it is not.
pub(crate) fn ensure(is_so: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(reason()) }
}

/// Say that something could not be tested, also where what passing tests print is not shown.
pub(crate) fn skipped(reason: &str) {
    let test = thread::current();
    let test = test.name().unwrap_or("a test");
    // eprintln! would write to where libtest keeps what a test says.
    std::io::stderr().write_all(format!("skipped: {test}: {reason}\n").as_bytes()).unwrap();
}
