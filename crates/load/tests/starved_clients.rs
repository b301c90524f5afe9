//! A client that is stopped or throttled, or has neither descriptors nor ports, says so and never
//! blames the server.
//!
//! Most of that needs a process of its own: this program, run once more for the one test that is
//! ignored otherwise.
#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]
#![allow(clippy::print_stdout, reason = "between processes")]

mod rig;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use httpdyno_load::{Arm, LimitedBy, LoadSpec, Request};
use httpdyno_oracle::Oracle;
use rig::placed::{load, server};
use rig::{
    Hold, PATIENCE, brief, ensure, finish, run_one, skipped, start, timed, unless_disturbed,
};

#[test]
fn a_client_that_is_stopped_most_of_the_time() {
    for rate_per_s in [0.0, 1000.0] {
        let oracle = server("fixed:1ms", None);
        unless_disturbed(|| {
            let told = Client::start("load", &oracle, rate_per_s).stopped_in_turn();
            assert_ne!(told, "server", "the server was blamed for the client");
            ensure(told == "client_cpu", || told)
        });
    }
}

#[test]
fn a_client_with_a_quota_of_a_fiftieth_of_a_core() {
    let Some(group) = Quota::of_a_fiftieth() else {
        skipped("no control group can be made here");
        return;
    };
    // The rate takes several times as much, and so does the closed loop.
    for rate_per_s in [0.0, 5000.0] {
        let oracle = server("fixed:1ms", None);
        unless_disturbed(|| {
            let client = Client::start("quota", &oracle, rate_per_s);
            group.take_in(&client.child);
            let told = client.said();
            assert_ne!(told, "server", "the server was blamed for the client");
            ensure(told == "client_cpu", || told)
        });
    }
}

/// A control group that may use little CPU; it goes when its processes are gone.
struct Quota(PathBuf);

impl Quota {
    fn of_a_fiftieth() -> Option<Self> {
        let name = format!("{GROUP}{}", std::process::id());
        let versions = [
            ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "2000"),
            ("/sys/fs/cgroup", "cpu.max", "2000 100000"),
        ];
        versions.into_iter().find_map(|(root, file, quota)| {
            let group = Path::new(root).join(&name);
            fs::create_dir(&group).ok()?;
            let group = Self(group);
            fs::write(group.0.join(file), quota).is_ok().then_some(group)
        })
    }

    fn take_in(&self, child: &Child) {
        fs::write(self.0.join("cgroup.procs"), child.id().to_string()).unwrap();
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // A group that is not empty stays; nothing else could be done about it here.
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_client_without_descriptors() {
    let oracle = server("fixed:0s", None);
    let told = Client::start("descriptors", &oracle, 0.0).said();
    assert_eq!(told, "descriptors");
}

#[test]
fn a_client_without_ports() {
    // On a thread of its own: it does not come back from its network namespace.
    let told = thread::spawn(|| {
        if !namespace::enter() {
            skipped("no network namespace without root");
            return None;
        }
        let range = "/proc/thread-self/root/proc/sys/net/ipv4/ip_local_port_range";
        fs::write(range, "40000 40199").unwrap();
        let oracle = rig::oracle();
        let spec = LoadSpec { connections: 300, ..load(&oracle, 0.0) };
        Some(run_one(&spec))
    });
    if let Some(result) = told.join().unwrap() {
        assert_eq!(result.limited_by, LimitedBy::Ports, "{}", brief(&result));
    }
}

/// What the names of control groups begin with.
const GROUP: &str = "httpdyno-limits-";
const JOB: &str = "HTTPDYNO_LIMITS_JOB";
const ADDRESS: &str = "HTTPDYNO_LIMITS_ADDRESS";
const RATE: &str = "HTTPDYNO_LIMITS_RATE";

/// A client in a process of its own, which loads the machine as well as a run in this one.
struct Client {
    child: Child,
    _machine: Hold,
}

impl Client {
    fn start(job: &str, oracle: &Oracle, rate_per_s: f64) -> Self {
        let machine = Hold::shared();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "client_of_other_tests", "--nocapture"])
            .env(JOB, job)
            .env(ADDRESS, oracle.addr().to_string())
            .env(RATE, rate_per_s.to_string())
            .stdout(Stdio::piped())
            .spawn();
        Self { child: child.unwrap(), _machine: machine }
    }

    /// Stop it for 80 ms of each 100, as a CPU quota would, until it is done.
    fn stopped_in_turn(mut self) -> String {
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline);
            signal::send(&self.child, libc::SIGSTOP);
            thread::sleep(Duration::from_millis(80));
            signal::send(&self.child, libc::SIGCONT);
            thread::sleep(Duration::from_millis(20));
        }
        self.said()
    }

    fn said(self) -> String {
        let output = self.child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        // Shown where the test fails.
        println!("{text}");
        let line = text.lines().find_map(|line| line.split_once("limited by "));
        line.unwrap_or_else(|| panic!("no verdict in {text:?}")).1.to_owned()
    }
}

#[test]
#[ignore = "the client of other tests, in a process of its own"]
fn client_of_other_tests() {
    let of = |name| std::env::var(name).unwrap();
    let request = Request::get("oracle.test", "/");
    let arm = Arm::new(of(ADDRESS), vec![request]);
    let arrival = rig::arrival(of(RATE).parse().unwrap());
    let spec = LoadSpec { connections: 16, arrival, ..timed(arm, 2.0) };
    let job = of(JOB);
    while job == "quota" && !fs::read_to_string("/proc/self/cgroup").unwrap().contains(GROUP) {
        thread::sleep(Duration::from_millis(1));
    }
    let on_edge = move |_: usize, is_opening: bool| {
        if is_opening && job == "descriptors" {
            descriptors::leave_only(8);
        }
        ControlFlow::Continue(())
    };
    let result = finish(&start(&spec, Some(Box::new(on_edge))).unwrap()).remove(0);
    println!("{}\nlimited by {}", brief(&result), result.limited_by);
}

mod signal {
    #![allow(unsafe_code, reason = "std can only kill")]

    /// Signal a child that was not waited for: its number is still its own.
    pub(crate) fn send(child: &std::process::Child, signal: libc::c_int) {
        // SAFETY: no pointers are passed.
        unsafe { libc::kill(libc::pid_t::try_from(child.id()).unwrap(), signal) };
    }
}

mod descriptors {
    #![allow(unsafe_code, reason = "std has no access to resource limits")]

    /// Let this process open so many more.
    pub(crate) fn leave_only(n: u64) {
        let n_open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        let limit = libc::rlimit { rlim_cur: n_open + n, rlim_max: n_open + n };
        // SAFETY: the kernel reads one rlimit.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
    }
}

mod namespace {
    #![allow(unsafe_code, reason = "std knows no namespaces")]

    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    /// Have the calling thread, and those that it starts, in a network of their own with a
    /// loopback device; false where that is not allowed.
    pub(crate) fn enter() -> bool {
        // SAFETY: no pointers are passed.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return false;
        }
        // SAFETY: an ifreq is plain integers, for which zero is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = libc::c_char::try_from(*from).unwrap();
        }
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        // SAFETY: SIOCSIFFLAGS reads an ifreq.
        let result =
            unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
        assert_eq!(result, 0, "the loopback device could not be started");
        true
    }
}
