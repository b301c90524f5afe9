//! Who was the limit, and why one may believe it.

mod evidence;
mod host;
mod network;
mod quota;
mod stolen;
mod verdict;
pub(crate) mod watchdog;

pub use evidence::Evidence;
pub use host::remember_idle_host;
pub(crate) use host::{HostChange, HostMeter};
pub use verdict::LimitedBy;
pub(crate) use verdict::{Case, verdict};
