//! What stops a run, or keeps it from starting.

use std::fmt::Display;
use std::io;

/// Why the engine cannot run. Each message is one sentence that names the thing and the value.
///
/// What the server does, however bad, is never one of these: it is counted in a
/// [`WindowResult`](crate::WindowResult).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of the spec makes no sense.
    #[error("{field} is {value}; expected {expected}")]
    Invalid {
        /// The field, as it is called in [`LoadSpec`](crate::LoadSpec), with its index.
        field: String,
        /// What was given.
        value: String,
        /// What would have been right.
        expected: String,
    },
    /// The process may not open as many sockets as the spec needs.
    #[error(
        "the run needs {needed} file descriptors; this process may open {allowed}: \
         use fewer connections or raise `ulimit -n`"
    )]
    Descriptors {
        /// Sockets of all arms, the engine's own descriptors and what is open already.
        needed: u64,
        /// The hard limit.
        allowed: u64,
    },
    /// A system call that should not fail did.
    #[error("{call} failed: {source}")]
    System {
        /// The call, and what it was for.
        call: &'static str,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A thread of the engine ended by a panic: a bug.
    #[error("a thread of the load engine died; this is a bug")]
    ThreadDied,
}

impl Error {
    /// A field that was refused.
    pub(crate) fn invalid(
        field: impl Into<String>,
        value: impl Display,
        expected: impl Into<String>,
    ) -> Self {
        Self::Invalid { field: field.into(), value: value.to_string(), expected: expected.into() }
    }

    /// For `map_err` on the result of a system call.
    pub(crate) fn system(call: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { call, source }
    }
}
