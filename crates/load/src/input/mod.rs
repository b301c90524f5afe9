//! What a run is asked to do, and the refusal of what makes no sense.

mod check;
mod check_arm;
#[cfg(test)]
mod example;
mod spec;
mod tls_options;
mod traffic;

pub use check::count_expected;
pub(crate) use check::{check, check_descriptors, nanoseconds, places};
#[cfg(test)]
pub(crate) use example::example;
pub use spec::{Arm, Credit, LoadSpec, Order, Request, Slow, Step, Users, Window};
pub use tls_options::{Tls, TlsVersions};
pub use traffic::{Arrival, Length, Stage, Think};
