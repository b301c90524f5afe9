//! A process without descriptors left. A program of its own: the limit is the whole process's.
#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]

mod rig;

use std::fs::File;
use std::ops::ControlFlow;

use httpdyno_load::{Error, LoadSpec, Run};
use rig::{arm, counted, errors, finish, oracle};

#[test]
fn a_process_without_descriptors_says_so_and_loses_no_request() {
    let oracle = oracle();

    // All descriptors go after the check at the start and before the first connection.
    limit::set(256);
    let spec = counted(arm(&oracle, &["/"]), 20);
    let on_edge = |_: usize, is_opening: bool| {
        let taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        assert!(taken.is_empty() != is_opening, "{} taken", taken.len());
        // Kept open until the process ends.
        std::mem::forget(taken);
        ControlFlow::Continue(())
    };
    let run = Run::start(&spec, Some(Box::new(on_edge))).unwrap();
    let result = finish(&run).remove(0);
    assert_eq!(errors(&result), [("no_descriptors", 20)]);
    assert_eq!((result.offered, result.completed), (20, 0));
    assert_eq!(oracle.stats().connections, 0);

    // A run that could never have as many is refused before it begins, in a sentence.
    let error = Run::start(&LoadSpec { connections: 1000, ..spec }, None).unwrap_err();
    assert!(matches!(error, Error::Descriptors { allowed: 256, .. }), "{error}");
    assert!(error.to_string().contains("ulimit -n"), "{error}");
}

mod limit {
    #![allow(unsafe_code, reason = "std has no access to resource limits")]

    /// Lower both limits, for good: an engine may raise the soft one up to the hard one.
    pub(crate) fn set(descriptors: u64) {
        let limit = libc::rlimit { rlim_cur: descriptors, rlim_max: descriptors };
        // SAFETY: the kernel reads one rlimit.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
    }
}
