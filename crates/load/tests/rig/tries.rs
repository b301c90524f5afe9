//! Tests that need the machine's attention: one at a time, and again only where it was disturbed.

use std::cell::RefCell;
use std::io::Write as _;
use std::ops::Deref;
use std::rc::{Rc, Weak};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use httpdyno_load::{Error, LoadSpec, Observer, Run};

use super::Witness;

/// Of a test, all together.
const MOST_TRIES: usize = 3;

/// What disturbed a try is given so long to end, and is looked for in pieces of this.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(500);

/// Held for reading while a test loads the machine, and for writing while one needs it for itself.
static MACHINE: RwLock<()> = RwLock::new(());

thread_local! {
    /// What this thread has of the machine, while anything of it does: it does not ask twice.
    static HELD: RefCell<Weak<Held>> = const { RefCell::new(Weak::new()) };
}

/// The lock, for one thing or the other.
#[allow(dead_code, reason = "held, not read")]
enum Held {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

/// A hold on the machine, beside which no other test has it for itself. A thread's holds are of
/// one lock, which goes with the last of them.
pub(crate) struct Hold(#[allow(dead_code, reason = "held, not read")] Rc<Held>);

impl Hold {
    /// Wait until no test needs the machine for itself, but for the one that asks.
    pub(crate) fn shared() -> Self {
        HELD.with_borrow_mut(|held| {
            Self(held.upgrade().unwrap_or_else(|| {
                let lock = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
                let lock = Rc::new(Held::Shared(lock));
                *held = Rc::downgrade(&lock);
                lock
            }))
        })
    }

    /// Wait until no test loads the machine.
    fn alone() -> Self {
        HELD.with_borrow_mut(|held| {
            let is_loading = held.upgrade().is_some();
            assert!(!is_loading, "a test that needs the machine for itself is loading it");
            let lock = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
            let lock = Rc::new(Held::Alone(lock));
            *held = Rc::downgrade(&lock);
            Self(lock)
        })
    }
}

/// A run, beside which no other test needs the machine for itself.
pub(crate) struct Started {
    run: Run,
    _machine: Hold,
}

impl Deref for Started {
    type Target = Run;

    fn deref(&self) -> &Run {
        &self.run
    }
}

/// Start a run when no test needs the machine for itself, but for the one that asks.
pub(crate) fn start(spec: &LoadSpec, on_edge: Option<Observer>) -> Result<Started, Error> {
    let machine = Hold::shared();
    Ok(Started { run: Run::start(spec, on_edge)?, _machine: machine })
}

/// Try something that an engine which is right cannot fail on a machine that lets it run.
///
/// No other test loads the machine meanwhile. A try that fails counts, unless the machine's own
/// account says that others disturbed it: then it is said and tried again, up to three times in
/// all. What has to hold on any machine is for `attempt` to assert.
#[track_caller]
pub(crate) fn unless_disturbed(mut attempt: impl FnMut() -> Result<(), String>) {
    let _alone = Hold::alone();
    let watched = || {
        let witness = Witness::start();
        attempt().map_err(|reason| Failure { reason, disturbance: witness.disturbance() })
    };
    let judged = tried(watched, |failure| {
        told("tried again", failure);
        wait_for_quiet();
    });
    if let Err(reasons) = judged {
        panic!("{reasons}");
    }
}

/// A try that failed, and who disturbed it.
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) disturbance: Option<String>,
}

/// The rule: one undisturbed failure is enough, and so are three.
pub(crate) fn tried(
    mut attempt: impl FnMut() -> Result<(), Failure>,
    mut before_another: impl FnMut(&str),
) -> Result<(), String> {
    let mut reasons = Vec::new();
    loop {
        let Err(Failure { reason, disturbance }) = attempt() else { return Ok(()) };
        let Some(disturbance) = disturbance else {
            return Err(format!("undisturbed: {reason}, after {reasons:#?}"));
        };
        reasons.push(format!("{reason} ({disturbance})"));
        if reasons.len() == MOST_TRIES {
            return Err(format!("disturbed in each of {MOST_TRIES} tries: {reasons:#?}"));
        }
        before_another(&reasons[reasons.len() - 1]);
    }
}

/// Wait until nobody disturbs any more, or for long enough.
fn wait_for_quiet() {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let witness = Witness::start();
        thread::sleep(LOOK);
        if witness.disturbance().is_none() {
            return;
        }
    }
}

/// What a try needs; why it is not so, where it is not.
pub(crate) fn ensure(is_so: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(reason()) }
}

/// Say that something could not be tested; `tests/rust.py` counts the tests that say so.
pub(crate) fn skipped(reason: &str) {
    told("skipped", reason);
}

/// Say something of this test in one line, also where what passing tests print is not shown.
fn told(what: &str, reason: &str) {
    let test = thread::current();
    let test = test.name().unwrap_or("a_test");
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    // eprintln! would write to where libtest keeps what a test says.
    std::io::stderr().write_all(format!("{what}: {test}: {reason}\n").as_bytes()).unwrap();
}
