//! A spec is checked in full before anything is opened.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::Error;
use crate::request::Rendered;
use crate::spec::{LoadSpec, Window};
use crate::sys;

/// Descriptors left for everybody else in the process while the engine runs.
const SPARE_DESCRIPTORS: u64 = 32;
/// An epoll instance, a waker and the scheduler's account.
const DESCRIPTORS_OF_A_THREAD: u64 = 3;
/// More than this would only be a mistake; epoll tokens have room for it.
const MAX_CONNECTIONS: usize = 1_000_000;
/// One due time per nanosecond.
const MAX_RATE_PER_S: f64 = 1e9;
/// About 30 years: everything fits `u64` nanoseconds with room.
const MAX_TIME_S: f64 = 1e9;

/// An arm, ready to load.
pub(crate) type Target = (SocketAddr, Arc<[Rendered]>);

/// Refuse what makes no sense, and return the arms with their requests rendered.
pub(crate) fn check(spec: &LoadSpec) -> Result<Vec<Target>, Error> {
    if !(1..=MAX_CONNECTIONS).contains(&spec.connections) {
        return Err(Error::invalid("connections", spec.connections, "1 to 1000000"));
    }
    if spec.threads == 0 {
        return Err(Error::invalid("threads", 0, "at least 1"));
    }
    if !(0.0..=MAX_RATE_PER_S).contains(&spec.rate_per_s) {
        let expected = "0 for a closed loop, or a rate up to 1e9 per second";
        return Err(Error::invalid("rate_per_s", spec.rate_per_s, expected));
    }
    check_time("timeout_s", spec.timeout_s)?;
    if spec.timeout_s == 0.0 {
        return Err(Error::invalid("timeout_s", 0, "a time above 0"));
    }
    check_time("drain_s", spec.drain_s)?;
    check_time("spin_s", spec.spin_s)?;
    for (index, &cpu) in spec.cpus.iter().enumerate() {
        if cpu >= sys::MAX_CPUS {
            return Err(Error::invalid(format!("cpus[{index}]"), cpu, "the number of a CPU"));
        }
    }
    if spec.arms.is_empty() {
        return Err(Error::invalid("arms", "empty", "at least one"));
    }
    if spec.windows.is_empty() {
        return Err(Error::invalid("windows", "empty", "at least one"));
    }
    for (index, window) in spec.windows.iter().enumerate() {
        check_window(index, window, spec.arms.len())?;
    }
    let targets = targets(spec)?;
    check_descriptors(spec)?;
    Ok(targets)
}

/// A time in seconds that was checked, in nanoseconds.
pub(crate) fn nanoseconds(time_s: f64) -> u64 {
    Duration::from_secs_f64(time_s).as_nanos() as u64
}

fn check_time(field: &str, time_s: f64) -> Result<(), Error> {
    if (0.0..=MAX_TIME_S).contains(&time_s) {
        return Ok(());
    }
    Err(Error::invalid(field, time_s, "a time of 0 s or more"))
}

fn check_window(index: usize, window: &Window, n_arms: usize) -> Result<(), Error> {
    let field = |name: &str| format!("windows[{index}].{name}");
    if window.arm >= n_arms {
        let expected = format!("the index of one of {n_arms} arms");
        return Err(Error::invalid(field("arm"), window.arm, expected));
    }
    check_time(&field("lead_in_s"), window.lead_in_s)?;
    if window.measure_s == f64::INFINITY && window.n_requests > 0 {
        return Ok(());
    }
    if window.measure_s == f64::INFINITY {
        let expected = "a finite time, or n_requests to end the window";
        return Err(Error::invalid(field("measure_s"), "infinite", expected));
    }
    check_time(&field("measure_s"), window.measure_s)?;
    if window.measure_s == 0.0 {
        return Err(Error::invalid(field("measure_s"), 0, "a time above 0"));
    }
    Ok(())
}

fn targets(spec: &LoadSpec) -> Result<Vec<Target>, Error> {
    let target = |(index, arm): (usize, &crate::Arm)| {
        let field = format!("arms[{index}]");
        let address: SocketAddr = arm.address.parse().map_err(|_| {
            let value = format!("{:?}", arm.address);
            Error::invalid(format!("{field}.address"), value, "ip:port, such as 127.0.0.1:8080")
        })?;
        if address.port() == 0 {
            return Err(Error::invalid(format!("{field}.address"), address, "a port above 0"));
        }
        if arm.requests.is_empty() {
            return Err(Error::invalid(format!("{field}.requests"), "empty", "at least one"));
        }
        let rendered = arm.requests.iter().enumerate().map(|(number, request)| {
            Rendered::new(request, spec.keep_alive, &format!("{field}.requests[{number}]"))
        });
        Ok((address, rendered.collect::<Result<Vec<_>, _>>()?.into()))
    };
    spec.arms.iter().enumerate().map(target).collect()
}

/// Raise the limit of open files as far as it goes, and refuse what goes beyond.
fn check_descriptors(spec: &LoadSpec) -> Result<(), Error> {
    let allowed = sys::raise_descriptor_limit().map_err(Error::system("raising RLIMIT_NOFILE"))?;
    // Connections of an arm stay open while others are loaded only where they are kept at all.
    let n_pools = if spec.keep_alive { spec.arms.len() } else { 1 };
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let needed = (spec.connections * n_pools + open) as u64
        + spec.threads.min(spec.connections) as u64 * DESCRIPTORS_OF_A_THREAD
        + SPARE_DESCRIPTORS;
    if needed > allowed { Err(Error::Descriptors { needed, allowed }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arm, Request};

    fn good() -> LoadSpec {
        LoadSpec {
            arms: vec![Arm {
                address: "127.0.0.1:80".to_owned(),
                requests: vec![Request::get("h", "/")],
            }],
            windows: vec![Window { arm: 0, lead_in_s: 0.0, measure_s: 1.0, n_requests: 0 }],
            connections: 2,
            keep_alive: true,
            rate_per_s: 0.0,
            timeout_s: 1.0,
            drain_s: 1.0,
            threads: 1,
            cpus: Vec::new(),
            seed: 0,
            spin_s: 0.0,
        }
    }

    fn refusal(change: impl Fn(&mut LoadSpec)) -> String {
        let mut spec = good();
        change(&mut spec);
        check(&spec).unwrap_err().to_string()
    }

    #[test]
    fn a_good_spec_is_taken() {
        assert_eq!(check(&good()).unwrap().len(), 1);
        let mut endless = good();
        endless.windows[0].measure_s = f64::INFINITY;
        endless.windows[0].n_requests = 5;
        check(&endless).unwrap();
    }

    #[test]
    fn each_mistake_is_one_sentence_with_field_value_and_expectation() {
        let expect = |change: fn(&mut LoadSpec), start: &str| {
            let message = refusal(change);
            assert!(message.starts_with(start), "{message}");
            assert!(message.contains("; expected "), "{message}");
            assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
        };
        expect(|s| s.connections = 0, "connections is 0");
        expect(|s| s.threads = 0, "threads is 0");
        expect(|s| s.rate_per_s = -1.0, "rate_per_s is -1");
        expect(|s| s.rate_per_s = f64::NAN, "rate_per_s is NaN");
        expect(|s| s.rate_per_s = f64::INFINITY, "rate_per_s is inf");
        expect(|s| s.timeout_s = 0.0, "timeout_s is 0");
        expect(|s| s.drain_s = -0.5, "drain_s is -0.5");
        expect(|s| s.spin_s = f64::NAN, "spin_s is NaN");
        expect(|s| s.cpus = vec![0, 99_999], "cpus[1] is 99999");
        expect(|s| s.arms.clear(), "arms is empty");
        expect(|s| s.windows.clear(), "windows is empty");
        expect(|s| s.windows[0].arm = 1, "windows[0].arm is 1");
        expect(|s| s.windows[0].lead_in_s = f64::INFINITY, "windows[0].lead_in_s is inf");
        expect(|s| s.windows[0].measure_s = 0.0, "windows[0].measure_s is 0");
        expect(|s| s.windows[0].measure_s = f64::INFINITY, "windows[0].measure_s is infinite");
        expect(
            |s| s.arms[0].address = "localhost:80".into(),
            "arms[0].address is \"localhost:80\"",
        );
        expect(|s| s.arms[0].address = "127.0.0.1:0".into(), "arms[0].address is 127.0.0.1:0");
        expect(|s| s.arms[0].requests.clear(), "arms[0].requests is empty");
        expect(|s| s.arms[0].requests[0].target.clear(), "arms[0].requests[0].target is \"\"");
    }

    #[test]
    fn more_connections_than_descriptors_are_refused_with_the_way_out() {
        let message = refusal(|spec| spec.connections = MAX_CONNECTIONS);
        let limit = sys::raise_descriptor_limit().unwrap();
        assert!(message.contains(&format!("may open {limit}")), "{message}");
        assert!(message.contains("ulimit -n"), "{message}");
    }
}
