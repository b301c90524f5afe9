//! The scanner against a reference that reads all of an answer at once, on answers by the million.
//!
//! The tests have a short run. The long one, ten million cases on all processors:
//!
//! ```text
//! cargo test --release -p httpdyno-load --lib fuzz_scanner_long -- --ignored --nocapture
//! ```
//!
//! `HTTPDYNO_FUZZ_CASES` and `HTTPDYNO_FUZZ_SEED` change how many and which. It fails with the
//! shortest input found on which the two differ.

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::*;

mod answers;
mod reference;

use answers::Case;

/// All that the engine learns from an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Outcome {
    end: End,
    /// 0 before the end of the head.
    status: u16,
    body_bytes: u64,
    /// Of an answer whose head is whole.
    cookies: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum End {
    #[default]
    Bad,
    Open(AtClose),
    Whole {
        consumed: usize,
        keeps_alive: bool,
    },
}

/// What the scanner makes of a case. It may have seen others.
fn scanned(scanner: &mut Scanner, case: &Case) -> Outcome {
    scanner.expect(case.is_answer_to_head);
    let (mut before, mut cookies) = (0, Vec::new());
    for piece in case.pieces() {
        let progress = scanner.feed_with(piece, |cookie| {
            let text = reference::harmless(cookie, 0);
            cookies.push(text.trim_ascii().to_vec());
        });
        match progress {
            Err(Malformed) => return Outcome::default(),
            Ok(Scanned::Partial) => before += piece.len(),
            Ok(Scanned::Whole { consumed }) => {
                return Outcome {
                    end: End::Whole {
                        consumed: before + consumed,
                        keeps_alive: scanner.keeps_alive(),
                    },
                    status: scanner.status(),
                    body_bytes: scanner.body_bytes(),
                    cookies,
                };
            }
        }
    }
    let end = End::Open(scanner.at_close());
    if scanner.at_close() == AtClose::InHead {
        return Outcome { end, ..Outcome::default() };
    }
    Outcome { end, status: scanner.status(), body_bytes: scanner.body_bytes(), cookies }
}

/// How many cases ended how.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    whole: u64,
    whole_and_kept: u64,
    with_body: u64,
    with_cookie: u64,
    in_head: u64,
    in_body: u64,
    at_close: u64,
    bad: u64,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        match outcome.end {
            End::Bad => self.bad += 1,
            End::Open(AtClose::InHead) => self.in_head += 1,
            End::Open(AtClose::InBody) => self.in_body += 1,
            End::Open(AtClose::Whole) => self.at_close += 1,
            End::Whole { keeps_alive, .. } => {
                self.whole += 1;
                self.whole_and_kept += u64::from(keeps_alive);
            }
        }
        self.with_body += u64::from(outcome.body_bytes > 0);
        self.with_cookie += u64::from(!outcome.cookies.is_empty());
    }

    fn merge(self, other: Self) -> Self {
        Self {
            whole: self.whole + other.whole,
            whole_and_kept: self.whole_and_kept + other.whole_and_kept,
            with_body: self.with_body + other.with_body,
            with_cookie: self.with_cookie + other.with_cookie,
            in_head: self.in_head + other.in_head,
            in_body: self.in_body + other.in_body,
            at_close: self.at_close + other.at_close,
            bad: self.bad + other.bad,
        }
    }

    fn total(&self) -> u64 {
        self.whole + self.in_head + self.in_body + self.at_close + self.bad
    }
}

/// A case on which scanner and reference differ.
struct Mismatch {
    number: u64,
    /// Cut down, unless it takes the case before it.
    case: Case,
    outcome: Outcome,
    expected: Outcome,
    needs_the_case_before: bool,
}

impl Debug for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        writeln!(f, "case {} differs; an input that shows it:", self.number)?;
        if self.needs_the_case_before {
            writeln!(f, "  (only with a scanner that has just seen the case before it)")?;
        }
        for piece in self.case.pieces() {
            writeln!(f, "  b\"{}\"", piece.escape_ascii())?;
        }
        writeln!(f, "  is_answer_to_head: {}", self.case.is_answer_to_head)?;
        writeln!(f, "  scanner:   {:?}", self.outcome)?;
        write!(f, "  reference: {:?}", self.expected)
    }
}

/// What is tried: the scanner, or in the tests of this file something worse.
trait Subject: Fn(&mut Scanner, &Case) -> Outcome + Sync {}
impl<F: Fn(&mut Scanner, &Case) -> Outcome + Sync> Subject for F {}

fn expected(case: &Case) -> Outcome {
    reference::outcome(&case.bytes, case.is_answer_to_head)
}

/// Try the cases `numbers` of `seed` on `n_threads` threads.
fn fuzz(
    subject: impl Subject,
    seed: u64,
    numbers: std::ops::Range<u64>,
    n_threads: u64,
) -> Result<Counts, Box<Mismatch>> {
    let is_over = AtomicBool::new(false);
    let of_thread = |thread: u64| {
        let (mut scanner, mut counts) = (Scanner::new(), Counts::default());
        for number in numbers.clone().filter(|number| number % n_threads == thread) {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let case = Case::numbered(seed, number);
            // One scanner for all: what an answer leaves behind must not change the next one.
            let outcome = subject(&mut scanner, &case);
            let expected = expected(&case);
            if outcome != expected {
                is_over.store(true, Ordering::Relaxed);
                return Err(smallest(&subject, number, case, outcome));
            }
            counts.add(&expected);
        }
        Ok(counts)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..n_threads).map(|thread| scope.spawn(move || of_thread(thread))).collect();
        threads
            .into_iter()
            .try_fold(Counts::default(), |counts, thread| Ok(counts.merge(thread.join().unwrap()?)))
    })
}

/// What cutting one case down may cost: seconds.
const MOST_BYTES_TRIED: usize = 20_000_000;

/// Cut a case down for as long as it shows a difference.
fn smallest(
    subject: &impl Subject,
    number: u64,
    mut case: Case,
    outcome: Outcome,
) -> Box<Mismatch> {
    let mut bytes_left = MOST_BYTES_TRIED;
    let mut differs = |case: &Case| {
        let is_tried = case.bytes.len() < bytes_left;
        bytes_left -= if is_tried { case.bytes.len() } else { 0 };
        is_tried && subject(&mut Scanner::new(), case) != expected(case)
    };
    let needs_the_case_before = !differs(&case);
    if needs_the_case_before {
        let expected = expected(&case);
        return Box::new(Mismatch { number, case, outcome, expected, needs_the_case_before });
    }
    let mut size = case.bytes.len();
    while size > 0 {
        let mut at = 0;
        while at + size <= case.bytes.len() {
            let less = without(&case, at, size);
            if differs(&less) {
                case = less;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    for cut in (0..case.cuts.len()).rev() {
        let mut less = case.clone();
        less.cuts.remove(cut);
        if differs(&less) {
            case = less;
        }
    }
    let (outcome, expected) = (subject(&mut Scanner::new(), &case), expected(&case));
    Box::new(Mismatch { number, case, outcome, expected, needs_the_case_before })
}

fn without(case: &Case, at: usize, size: usize) -> Case {
    let mut less = case.clone();
    less.bytes.drain(at..at + size);
    less.cuts.iter_mut().for_each(|cut| *cut -= (*cut).clamp(at, at + size) - at);
    less
}

#[test]
fn the_scanner_agrees_with_the_reference() {
    let n_cases = 30_000;
    let counts = fuzz(scanned, 1, 0..n_cases, 2).unwrap();
    assert_eq!(counts.total(), n_cases);
    // Every way to end is tried, and most answers get far.
    for (what, count, least_percent) in [
        ("whole", counts.whole, 35),
        ("whole and kept", counts.whole_and_kept, 25),
        ("with a body", counts.with_body, 30),
        ("with a cookie", counts.with_cookie, 8),
        ("ended in the head", counts.in_head, 5),
        ("ended in the body", counts.in_body, 2),
        ("ended by closing", counts.at_close, 8),
        ("bad", counts.bad, 20),
    ] {
        assert!(count * 100 >= n_cases * least_percent, "{what}: {count} of {n_cases}");
    }
}

#[test]
#[ignore = "minutes on all processors"]
#[expect(clippy::print_stdout, reason = "the figures are what it is run for")]
fn fuzz_scanner_long() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().unwrap())
    };
    let n_cases = number("HTTPDYNO_FUZZ_CASES", 10_000_000);
    let seed = number("HTTPDYNO_FUZZ_SEED", 0);
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let start = Instant::now();
    let counts = fuzz(scanned, seed, 0..n_cases, n_threads as u64).unwrap();
    let took_s = start.elapsed().as_secs_f64();
    // On a line of its own: with one processor the test's name is on this one.
    println!(
        "\n{} cases of seed {seed} in {took_s:.1} s ({:.0} a second, {n_threads} threads), all \
         equal: {counts:?}",
        counts.total(),
        counts.total() as f64 / took_s,
    );
    assert_eq!(counts.total(), n_cases);
}

/// What would be wrong with the scanner, so that the comparison must see it.
#[test]
fn planted_faults_are_found_and_cut_down() {
    const N_SEEDS: u64 = 9;
    fn found(name: &str, fault: fn(&Case, &mut Outcome)) {
        let subject = |scanner: &mut Scanner, case: &Case| {
            let mut outcome = scanned(scanner, case);
            fault(case, &mut outcome);
            outcome
        };
        // A body in chunks can hardly be cut down, whose sizes have to fit: so of several seeds.
        let mut n_bytes: Vec<_> = (0..N_SEEDS)
            .map(|seed| {
                let mismatch = fuzz(subject, seed, 0..5_000, 1).expect_err(name);
                assert!(!mismatch.needs_the_case_before);
                mismatch.case.bytes.len()
            })
            .collect();
        n_bytes.sort_unstable();
        assert!(n_bytes[n_bytes.len() / 2] < 90, "{name}: {n_bytes:?}");
    }
    found("one byte too many", |_, outcome| {
        if let End::Whole { consumed, .. } = &mut outcome.end {
            *consumed += usize::from(outcome.body_bytes > 8);
        }
    });
    found("always kept", |_, outcome| {
        if let End::Whole { keeps_alive, .. } = &mut outcome.end {
            *keeps_alive = true;
        }
    });
    found("a body counted short", |_, outcome| {
        outcome.body_bytes = outcome.body_bytes.min(20);
    });
    found("a status cut off", |_, outcome| outcome.status = outcome.status.min(500));
    found("the second cookie lost", |_, outcome| outcome.cookies.truncate(1));
    found("a head for a body", |_, outcome| {
        if outcome.end == End::Open(AtClose::InHead) {
            outcome.end = End::Open(AtClose::InBody);
        }
    });
    found("a bad line let through", |case, outcome| {
        if outcome.end == End::Bad && case.bytes.contains(&0) {
            outcome.end = End::Open(AtClose::InHead);
        }
    });
    found("a fault of single bytes", |case, outcome| {
        if case.cuts.len() > 20 {
            outcome.end = End::Bad;
        }
    });
}
