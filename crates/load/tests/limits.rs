//! Who was limiting, in scenarios that are built so that it is known: the verdict names it, and
//! never the server where it was the client.
//!
//! A client that is stopped, or has no descriptors, needs a process of its own: this program, run
//! once more for the one test that is ignored otherwise.
#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]
#![allow(clippy::print_stdout, reason = "between processes")]

mod rig;

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use httpdyno_load::{Arm, LimitedBy, LoadSpec, Request, Run, WindowResult};
use httpdyno_oracle::{Oracle, OracleConfig, Service};
use rig::{
    PATIENCE, Witness, affinity, arm, brief, counted, ensure, finish, run_one, skipped, timed,
    within_three_tries,
};

/// They look at who has the CPU: they do not share the machine with each other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// On a machine that others load all the time, nothing can be told.
const MOST_TRIES: usize = 10;

/// The core of the client, and that of the server.
const CLIENT_CPU: usize = 0;
const SERVER_CPU: usize = 1;

fn has_two_cpus() -> bool {
    let has = thread::available_parallelism().is_ok_and(|n| n.get() >= 2);
    if !has {
        skipped("client and server need a core each");
    }
    has
}

/// A server on its own core.
fn server(service: &str, workers: Option<usize>) -> Oracle {
    let config = OracleConfig {
        service: Service::parse(service).unwrap(),
        workers: workers.and_then(NonZeroUsize::new),
        cpu: Some(SERVER_CPU),
        ..OracleConfig::default()
    };
    Oracle::start(config).unwrap()
}

/// Sixteen connections of a client on its own core for a second; a closed loop, if not `rate`.
fn load(oracle: &Oracle, rate_per_s: f64) -> LoadSpec {
    let spec = timed(arm(oracle, &["/"]), 1.0);
    LoadSpec {
        connections: 16,
        arrival: rig::arrival(rate_per_s),
        cpus: vec![CLIENT_CPU],
        timeout_s: 5.0,
        drain_s: 1.0,
        ..spec
    }
}

/// The verdict of three tries at most; of more, where others took the client's core from it. Where
/// they did so each time, the client was short of CPU time indeed, and nothing can be tested.
#[track_caller]
fn is_limited_by(expected: LimitedBy, attempt: impl Fn() -> WindowResult) {
    let is_clients = |verdict| matches!(verdict, LimitedBy::ClientCpu | LimitedBy::ClientSchedule);
    let mut reasons = Vec::new();
    let mut n_taken = 0;
    for _ in 0..MOST_TRIES {
        let witness = Witness::start();
        let result = attempt();
        let is_taken = witness.saw_a_core_taken();
        let told = result.limited_by;
        if told == expected {
            return;
        }
        // Once is too often.
        let is_server = matches!(told, LimitedBy::Server | LimitedBy::ServerOrConnections);
        let is_blamed = is_clients(expected) && is_server;
        assert!(!is_blamed, "the server was blamed for the client: {}", brief(&result));
        let is_disturbed = result.evidence.client_wait_ratio > 0.05;
        if is_taken || is_clients(told) && is_disturbed {
            n_taken += usize::from(is_taken);
            thread::sleep(Duration::from_millis(500));
            continue;
        }
        reasons.push(format!("{told}: {}", brief(&result)));
        if reasons.len() == 3 {
            break;
        }
    }
    if reasons.is_empty() && n_taken > MOST_TRIES / 2 {
        skipped(&format!("the cores were taken away in {n_taken} of {MOST_TRIES} tries"));
        return;
    }
    panic!("never {expected}: {reasons:#?}");
}

/// It is slow, but not for want of anything: each further connection would bring as much again.
#[test]
fn a_slow_server_that_takes_everybody_at_once() {
    let _alone = alone();
    if has_two_cpus() {
        let oracle = server("fixed:10ms", None);
        is_limited_by(LimitedBy::Connections, || run_one(&load(&oracle, 0.0)));
    }
}

/// All are sent in the first instant, in which the client is busy, and then it only waits.
#[test]
fn a_number_of_requests_that_all_go_out_at_once() {
    let _alone = alone();
    if has_two_cpus() {
        let oracle = server("fixed:100ms", None);
        let windows = counted(arm(&oracle, &["/"]), 10).windows;
        let spec = LoadSpec { connections: 50, windows, ..load(&oracle, 0.0) };
        is_limited_by(LimitedBy::Rate, || run_one(&spec));
    }
}

#[test]
fn a_server_of_one_worker_that_is_saturated() {
    let _alone = alone();
    if has_two_cpus() {
        for rate_per_s in [0.0, 1500.0] {
            let oracle = server("fixed:2ms", Some(1));
            is_limited_by(LimitedBy::Server, || run_one(&load(&oracle, rate_per_s)));
        }
    }
}

#[test]
fn a_server_with_a_queue_and_a_connection_for_every_request() {
    let _alone = alone();
    if has_two_cpus() {
        let oracle = server("fixed:4ms", Some(1));
        let spec = LoadSpec { connections: 1000, ..load(&oracle, 500.0) };
        is_limited_by(LimitedBy::Server, || run_one(&spec));
    }
}

#[test]
fn a_server_that_answers_with_errors() {
    let _alone = alone();
    let oracle = server("fixed:0s", None);
    let spec = LoadSpec { arms: vec![arm(&oracle, &["/status/503"])], ..load(&oracle, 300.0) };
    is_limited_by(LimitedBy::Server, || run_one(&spec));
}

#[test]
fn a_rate_that_is_reached() {
    let _alone = alone();
    if has_two_cpus() {
        for rate_per_s in [200.0, 2000.0] {
            let oracle = server("exp:1ms", None);
            is_limited_by(LimitedBy::Rate, || run_one(&load(&oracle, rate_per_s)));
        }
    }
}

#[test]
fn too_few_connections_to_a_server_that_could_do_more() {
    let _alone = alone();
    for service in ["fixed:20ms", "exp:20ms"] {
        let oracle = server(service, None);
        let spec = LoadSpec { connections: 8, ..load(&oracle, 1000.0) };
        is_limited_by(LimitedBy::Connections, || run_one(&spec));
    }
}

#[test]
fn a_client_on_the_servers_core() {
    let _alone = alone();
    if has_two_cpus() {
        let oracle = server("fixed:0s", None);
        let spec = LoadSpec { cpus: vec![SERVER_CPU], ..load(&oracle, 0.0) };
        is_limited_by(LimitedBy::ClientCpu, || run_one(&spec));
        // As much as both together cannot do.
        let spec = LoadSpec { cpus: vec![SERVER_CPU], ..load(&oracle, 200_000.0) };
        is_limited_by(LimitedBy::ClientCpu, || run_one(&spec));
    }
}

#[test]
fn others_that_want_the_clients_core() {
    let _alone = alone();
    if has_two_cpus() {
        for rate_per_s in [0.0, 4000.0] {
            let oracle = server("fixed:0s", None);
            let spec = load(&oracle, rate_per_s);
            is_limited_by(LimitedBy::ClientCpu, || beside_hogs(|| run_one(&spec)));
        }
    }
}

#[test]
fn a_client_that_has_more_to_read_than_it_can() {
    let _alone = alone();
    if has_two_cpus() {
        let request = Request::get("heavy.test", "/");
        let arms = vec![Arm::new(heavy_server().to_string(), vec![request])];
        let spec = LoadSpec { arms, ..load(&rig::oracle(), 0.0) };
        is_limited_by(LimitedBy::ClientCpu, || run_one(&spec));
    }
}

/// A server that writes an answer of a chunk for each byte, which it made once: the client has to
/// look at each.
fn heavy_server() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let chunks = "1\r\nx\r\n".repeat(100_000);
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer: Arc<[u8]> = format!("{head}{chunks}0\r\n\r\n").into_bytes().into();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), Arc::clone(&answer));
            thread::spawn(move || {
                affinity::pin_to(SERVER_CPU);
                while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0)
                    && stream.write_all(&answer).is_ok()
                {}
            });
        }
    });
    address
}

#[test]
fn a_client_that_is_stopped_most_of_the_time() {
    let _alone = alone();
    for rate_per_s in [0.0, 1000.0] {
        let oracle = server("fixed:1ms", None);
        within_three_tries(|| {
            let told = Client::start("load", &oracle, rate_per_s).stopped_in_turn();
            assert_ne!(told, "server", "the server was blamed for the client");
            ensure(told == "client_cpu", || told)
        });
    }
}

#[test]
fn a_client_with_a_quota_of_a_tenth_of_a_core() {
    let _alone = alone();
    let Some(group) = Quota::of_a_tenth() else {
        skipped("no control group can be made here");
        return;
    };
    // The rate takes about twice as much.
    for rate_per_s in [0.0, 5000.0] {
        let oracle = server("fixed:1ms", None);
        within_three_tries(|| {
            let client = Client::start("quota", &oracle, rate_per_s);
            group.take_in(&client.0);
            let told = client.said();
            assert_ne!(told, "server", "the server was blamed for the client");
            ensure(told == "client_cpu", || told)
        });
    }
}

/// A control group that may use little CPU; it goes when its processes are gone.
struct Quota(PathBuf);

impl Quota {
    fn of_a_tenth() -> Option<Self> {
        let name = format!("{GROUP}{}", std::process::id());
        let versions = [
            ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "10000"),
            ("/sys/fs/cgroup", "cpu.max", "10000 100000"),
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
    let _alone = alone();
    let oracle = server("fixed:0s", None);
    let told = Client::start("descriptors", &oracle, 0.0).said();
    assert_eq!(told, "descriptors");
}

#[test]
fn a_client_without_ports() {
    let _alone = alone();
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

#[test]
fn a_backlog_that_is_too_short() {
    let _alone = alone();
    let config = OracleConfig { backlog: Some(1), ..OracleConfig::default() };
    let oracle = Oracle::start(config).unwrap();
    let spec = LoadSpec {
        connections: 64,
        requests_per_connection: 1,
        cpus: Vec::new(),
        ..load(&oracle, 0.0)
    };
    is_limited_by(LimitedBy::Network, || run_one(&spec));
}

#[test]
fn a_server_that_never_accepts() {
    let _alone = alone();
    let config = OracleConfig { backlog: Some(1), accepts: false, ..OracleConfig::default() };
    let oracle = Oracle::start(config).unwrap();
    let spec = LoadSpec { timeout_s: 0.3, cpus: Vec::new(), ..load(&oracle, 0.0) };
    is_limited_by(LimitedBy::Network, || run_one(&spec));
}

/// Do it while four others want the client's core all the time.
fn beside_hogs(work: impl FnOnce() -> WindowResult) -> WindowResult {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                affinity::pin_to(CLIENT_CPU);
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        is_over.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What the names of control groups begin with.
const GROUP: &str = "httpdyno-limits-";
const JOB: &str = "HTTPDYNO_LIMITS_JOB";
const ADDRESS: &str = "HTTPDYNO_LIMITS_ADDRESS";
const RATE: &str = "HTTPDYNO_LIMITS_RATE";

/// A client in a process of its own.
struct Client(Child);

impl Client {
    fn start(job: &str, oracle: &Oracle, rate_per_s: f64) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "client_of_other_tests", "--nocapture"])
            .env(JOB, job)
            .env(ADDRESS, oracle.addr().to_string())
            .env(RATE, rate_per_s.to_string())
            .stdout(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    /// Stop it for 80 ms of each 100, as a CPU quota would, until it is done.
    fn stopped_in_turn(mut self) -> String {
        let deadline = Instant::now() + PATIENCE;
        while self.0.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline);
            signal::send(&self.0, libc::SIGSTOP);
            thread::sleep(Duration::from_millis(80));
            signal::send(&self.0, libc::SIGCONT);
            thread::sleep(Duration::from_millis(20));
        }
        self.said()
    }

    fn said(self) -> String {
        let output = self.0.wait_with_output().unwrap();
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
    let result = finish(&Run::start(&spec, Some(Box::new(on_edge))).unwrap()).remove(0);
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
