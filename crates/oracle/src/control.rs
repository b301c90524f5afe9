//! What `/oracle/` does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::answer::{self, Script};
use crate::counters::count;
use crate::log::kept_to_json;
use crate::route::Control;
use crate::server::Server;
use crate::stats::sessions_to_json;
use crate::sys::monotonic_ns;

impl Server {
    pub(crate) fn control(&self, control: Control) -> Script {
        let shared = &self.shared;
        let recorder = &shared.recorder;
        count(&recorder.counters.control);
        let json = match control {
            Control::Log { since_ns } => recorder.log(since_ns).to_json(),
            Control::Stats => recorder.stats().to_json(),
            Control::Connections => recorder.connections().to_json(),
            Control::Sessions => sessions_to_json(&recorder.sessions()),
            Control::Requests => kept_to_json(&recorder.kept()),
            Control::Stall(duration) => told(&shared.stall_until_ns, duration),
            Control::Hold(duration) => told(&shared.hold_until_ns, duration),
            Control::StallAccept(duration) => told(&shared.accept_stall_until_ns, duration),
            Control::Receive(reception, count) => {
                shared.tell_reception(reception, count);
                format!("{{\"reception\":\"{}\"}}", reception.name())
            }
        };
        answer::control(&json)
    }
}

fn told(instant: &AtomicU64, duration: Duration) -> String {
    let until_ns = monotonic_ns().saturating_add(duration.as_nanos() as u64);
    instant.store(until_ns, Ordering::Release);
    format!("{{\"until_ns\":{until_ns}}}")
}
