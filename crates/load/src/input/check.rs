//! A spec is checked in full before anything is opened.

use std::time::Duration;

use super::check_arm::{CONNECTIONS_PER_PAGE, check_arm};
use super::spec::{Arm, LoadSpec, Window};
use super::traffic::{Arrival, Length, Stage, Think, VISIT_STEPS};
use crate::error::Error;
use crate::sys;

/// Descriptors left for everybody else in the process while the engine runs.
const SPARE_DESCRIPTORS: u64 = 32;
/// An epoll instance, a waker, the scheduler's account, and the connection to itself that keeps
/// the kernel's way warm.
const DESCRIPTORS_OF_A_THREAD: u64 = 5;
/// More than this would only be a mistake; epoll tokens have room for it.
const MAX_CONNECTIONS: usize = 1_000_000;
/// One due time per nanosecond.
const MAX_RATE_PER_S: f64 = 1e9;
/// About 30 years: everything fits `u64` nanoseconds with room.
const MAX_TIME_S: f64 = 1e9;
/// A user is named by a `u32`.
const MAX_USERS: usize = u32::MAX as usize;
/// Of a visit: nobody is there longer.
const MAX_STEPS: u32 = 1_000_000_000;
/// More than any kernel gives.
const MAX_BUFFER_BYTES: usize = 1 << 30;

const CONNECTIONS: &str = "1 to 1000000";
const RETURNING_USERS: &str = "1 to 4294967295";
const AT_LEAST_ONE: &str = "at least 1";

/// What is expected of the counts that are 1 or more, by the name of the field: for who reads a
/// message with a number that the field's type cannot hold, such as one below 0.
pub fn count_expected(field: &str) -> Option<&'static str> {
    match field {
        "connections" => Some(CONNECTIONS),
        "connections_per_page" => Some(CONNECTIONS_PER_PAGE),
        "n_returning" => Some(RETURNING_USERS),
        "threads" => Some(AT_LEAST_ONE),
        _ => None,
    }
}

/// Refuse what makes no sense. Addresses, certificates and the bytes of requests are refused where
/// they are prepared: `Target`.
pub(crate) fn check(spec: &LoadSpec) -> Result<(), Error> {
    if !(1..=MAX_CONNECTIONS).contains(&spec.connections) {
        return Err(Error::invalid("connections", spec.connections, CONNECTIONS));
    }
    if spec.threads == 0 {
        return Err(Error::invalid("threads", 0, AT_LEAST_ONE));
    }
    check_length("timeout_s", spec.timeout_s)?;
    check_time("drain_s", spec.drain_s)?;
    check_time("spin_s", spec.spin_s)?;
    for (index, &cpu) in spec.cpus.iter().enumerate() {
        if cpu >= sys::MAX_CPUS {
            return Err(Error::invalid(format!("cpus[{index}]"), cpu, "the number of a CPU"));
        }
    }
    check_traffic(spec)?;
    if spec.arms.is_empty() {
        return Err(Error::invalid("arms", "empty", "at least one"));
    }
    for (index, arm) in spec.arms.iter().enumerate() {
        check_arm(arm, spec, &format!("arms[{index}]"))?;
    }
    if spec.windows.is_empty() {
        return Err(Error::invalid("windows", "empty", "at least one"));
    }
    let is_endless = spec.arrival.duration_s().is_none_or(f64::is_infinite);
    for (index, window) in spec.windows.iter().enumerate() {
        check_window(index, window, spec.arms.len(), is_endless)?;
        check_credit(index, window, &spec.arrival)?;
    }
    Ok(())
}

/// A time in seconds that was checked, in nanoseconds.
pub(crate) fn nanoseconds(time_s: f64) -> u64 {
    Duration::from_secs_f64(time_s).as_nanos() as u64
}

fn check_time(field: &str, time_s: f64) -> Result<(), Error> {
    if (0.0..=MAX_TIME_S).contains(&time_s) {
        return Ok(());
    }
    Err(Error::invalid(field, time_s, "a time from 0 s to 1e9 s"))
}

fn check_length(field: &str, time_s: f64) -> Result<(), Error> {
    if time_s > 0.0 && time_s <= MAX_TIME_S {
        return Ok(());
    }
    Err(Error::invalid(field, time_s, "a time above 0 s, at most 1e9 s"))
}

fn check_window(
    index: usize,
    window: &Window,
    n_arms: usize,
    is_endless: bool,
) -> Result<(), Error> {
    let field = |name: &str| format!("windows[{index}].{name}");
    if window.arm >= n_arms {
        let expected = format!("the index of one of {n_arms} arms");
        return Err(Error::invalid(field("arm"), window.arm, expected));
    }
    check_time(&field("lead_in_s"), window.lead_in_s)?;
    if window.measure_s == f64::INFINITY && (window.n_requests > 0 || !is_endless) {
        return Ok(());
    }
    if window.measure_s == f64::INFINITY {
        let expected = "a finite time, or n_requests to end the window";
        return Err(Error::invalid(field("measure_s"), "infinite", expected));
    }
    check_length(&field("measure_s"), window.measure_s)
}

/// Refuse to credit what has no cycles, or no end that is planned.
fn check_credit(index: usize, window: &Window, arrival: &Arrival) -> Result<(), Error> {
    let Some(credit) = &window.credit else { return Ok(()) };
    let field = |name: &str| format!("windows[{index}].credit{name}");
    check_time(&field(".spread_s"), credit.spread_s)?;
    check_length(&field(".tail_s"), credit.tail_s)?;
    let is_timed = window.n_requests == 0 && window.measure_s.is_finite();
    if is_timed && matches!(arrival, Arrival::Closed) {
        return Ok(());
    }
    let expected = "none but for a window of a closed loop that ends by time alone";
    Err(Error::invalid(field(""), "given", expected))
}

/// Refuse arrivals and users that make no sense.
fn check_traffic(spec: &LoadSpec) -> Result<(), Error> {
    let stages = match &spec.arrival {
        Arrival::Closed => None,
        Arrival::Open { stages, .. } | Arrival::Sessions { stages } => Some(stages),
        Arrival::Replay { offsets_ns, steps } => {
            check_replay(offsets_ns, steps)?;
            None
        }
    };
    if let Some(stages) = stages {
        check_stages(stages)?;
    }
    check_ratio("users.new_ratio", spec.users.new_ratio)?;
    if !(1..=MAX_USERS).contains(&spec.users.n_returning) {
        let value = spec.users.n_returning;
        return Err(Error::invalid("users.n_returning", value, RETURNING_USERS));
    }
    match spec.users.visit {
        Length::Fixed(steps) if !(1..=MAX_STEPS).contains(&steps) => {
            return Err(Error::invalid("users.visit", steps, VISIT_STEPS));
        }
        Length::Geometric { mean } if !(1.0..=f64::from(MAX_STEPS)).contains(&mean) => {
            return Err(Error::invalid("users.visit", mean, VISIT_STEPS));
        }
        Length::Fixed(_) | Length::Geometric { .. } => {}
    }
    match spec.users.think {
        Think::None => {}
        Think::Fixed { s } | Think::Exponential { mean_s: s } => check_time("users.think", s)?,
    }
    check_rate("connections_per_s", spec.connections_per_s)?;
    if let Some(slow) = &spec.slow {
        check_ratio("slow.ratio", slow.ratio)?;
        if !(0.0..=MAX_RATE_PER_S).contains(&slow.bytes_per_s) {
            let expected = "at most 1e9 bytes per second";
            return Err(Error::invalid("slow.bytes_per_s", slow.bytes_per_s, expected));
        }
        if slow.receive_buffer_bytes > MAX_BUFFER_BYTES {
            let value = slow.receive_buffer_bytes;
            return Err(Error::invalid("slow.receive_buffer_bytes", value, "at most 1 GiB"));
        }
    }
    Ok(())
}

fn check_stages(stages: &[Stage]) -> Result<(), Error> {
    if stages.is_empty() {
        return Err(Error::invalid("arrival.stages", "empty", "at least one"));
    }
    for (index, stage) in stages.iter().enumerate() {
        let field = |name: &str| format!("arrival.stages[{index}].{name}");
        check_rate(&field("from_per_s"), stage.from_per_s)?;
        check_rate(&field("to_per_s"), stage.to_per_s)?;
        let is_last = index + 1 == stages.len();
        if stage.duration_s == f64::INFINITY {
            if !is_last || stage.from_per_s.to_bits() != stage.to_per_s.to_bits() {
                let expected = "a finite time: only a last stage of one rate has no end";
                return Err(Error::invalid(field("duration_s"), "infinite", expected));
            }
        } else {
            check_length(&field("duration_s"), stage.duration_s)?;
        }
    }
    if stages.iter().all(|stage| stage.from_per_s == 0.0 && stage.to_per_s == 0.0) {
        return Err(Error::invalid("arrival.stages", "0/s throughout", "a rate above 0"));
    }
    Ok(())
}

fn check_replay(offsets_ns: &[u64], steps: &[u32]) -> Result<(), Error> {
    if offsets_ns.is_empty() || offsets_ns.len() != steps.len() {
        let value = format!("{} offsets and {} steps", offsets_ns.len(), steps.len());
        return Err(Error::invalid("arrival", value, "as many of both, and at least one"));
    }
    if !offsets_ns.is_sorted() {
        return Err(Error::invalid("arrival.offsets_ns", "not ascending", "ascending times"));
    }
    Ok(())
}

fn check_ratio(field: &str, ratio: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&ratio) {
        return Ok(());
    }
    Err(Error::invalid(field, ratio, "a share from 0 to 1, which is 100 %"))
}

fn check_rate(field: &str, rate_per_s: f64) -> Result<(), Error> {
    if (0.0..=MAX_RATE_PER_S).contains(&rate_per_s) {
        return Ok(());
    }
    Err(Error::invalid(field, rate_per_s, "a rate from 0 to 1e9 per second"))
}

/// The connections that an arm may have at a time, over all threads.
///
/// A user has further ones for the objects of pages, and for nothing else.
pub(crate) fn places(spec: &LoadSpec, arm: &Arm) -> usize {
    let has_pages = arm.steps.iter().any(|step| !step.objects.is_empty());
    match spec.arrival {
        Arrival::Closed if has_pages => spec.connections * arm.connections_per_page,
        _ => spec.connections,
    }
}

/// Raise the limit of open files as far as it goes, and refuse what goes beyond.
pub(crate) fn check_descriptors(spec: &LoadSpec) -> Result<(), Error> {
    let allowed = sys::raise_descriptor_limit().map_err(Error::system("raising RLIMIT_NOFILE"))?;
    // Connections of an arm stay open while others are loaded only where they are kept at all.
    let places = spec.arms.iter().map(|arm| places(spec, arm));
    let sockets: usize =
        if spec.requests_per_connection == 1 { places.max().unwrap_or(0) } else { places.sum() };
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let needed = (sockets + open) as u64
        + spec.threads.min(spec.connections) as u64 * DESCRIPTORS_OF_A_THREAD
        + SPARE_DESCRIPTORS;
    if needed > allowed { Err(Error::Descriptors { needed, allowed }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{example::example as good, spec::Slow};

    fn refusal(change: impl Fn(&mut LoadSpec)) -> String {
        let mut spec = good();
        change(&mut spec);
        check(&spec).unwrap_err().to_string()
    }

    #[test]
    fn a_good_spec_is_taken() {
        check(&good()).unwrap();
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
        let rate = "arrival.stages[0].from_per_s is";
        expect(|s| s.arrival = Arrival::constant(-1.0), &format!("{rate} -1"));
        expect(|s| s.arrival = Arrival::constant(f64::NAN), &format!("{rate} NaN"));
        expect(|s| s.arrival = Arrival::constant(f64::INFINITY), &format!("{rate} inf"));
        expect(|s| s.arrival = Arrival::constant(0.0), "arrival.stages is 0/s throughout");
        expect(|s| s.arrival = Arrival::Sessions { stages: vec![] }, "arrival.stages is empty");
        let endless = Stage { duration_s: f64::INFINITY, from_per_s: 1.0, to_per_s: 2.0 };
        let ramp = move |s: &mut LoadSpec| s.arrival = Arrival::Sessions { stages: vec![endless] };
        let message = refusal(ramp);
        assert!(message.starts_with("arrival.stages[0].duration_s is infinite"), "{message}");
        expect(
            |s| {
                let (offsets_ns, steps) = ([2, 1].into(), [0, 0].into());
                s.arrival = Arrival::Replay { offsets_ns, steps };
            },
            "arrival.offsets_ns is not ascending",
        );
        expect(|s| s.users.new_ratio = 1.5, "users.new_ratio is 1.5");
        expect(|s| s.users.n_returning = 0, "users.n_returning is 0");
        expect(|s| s.users.n_returning = MAX_USERS + 1, "users.n_returning is 4294967296");
        expect(|s| s.users.visit = Length::Fixed(0), "users.visit is 0");
        expect(|s| s.users.visit = Length::Fixed(u32::MAX), "users.visit is 4294967295");
        expect(|s| s.users.think = Think::Fixed { s: -1.0 }, "users.think is -1");
        let slow = Slow { ratio: 2.0, bytes_per_s: 1.0, receive_buffer_bytes: 0 };
        let message = refusal(|s| s.slow = Some(slow));
        assert!(message.starts_with("slow.ratio is 2"), "{message}");
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
    }

    #[test]
    fn a_user_has_further_connections_for_the_objects_of_pages_only() {
        let mut spec = good();
        spec.arms[0].connections_per_page = 6;
        assert_eq!(places(&spec, &spec.arms[0]), spec.connections);
        spec.arms[0].steps[0].objects = vec![0];
        assert_eq!(places(&spec, &spec.arms[0]), 6 * spec.connections);
        spec.arrival = Arrival::constant(1.0);
        assert_eq!(places(&spec, &spec.arms[0]), spec.connections);
    }

    #[test]
    fn more_connections_than_descriptors_are_refused_with_the_way_out() {
        let spec = LoadSpec { connections: MAX_CONNECTIONS, ..good() };
        let message = check_descriptors(&spec).unwrap_err().to_string();
        let limit = sys::raise_descriptor_limit().unwrap();
        assert!(message.contains(&format!("may open {limit}")), "{message}");
        assert!(message.contains("ulimit -n"), "{message}");
    }
}
