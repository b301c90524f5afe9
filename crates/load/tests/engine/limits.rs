//! Who was limiting, in scenarios that are built so that it is known: the verdict names it, and
//! never the server where it was the client.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::rig::placed::{CLIENT_CPU, SERVER_CPU, has_two_cpus, is_limited_by, load, server};
use crate::rig::{affinity, arm, counted, run_one, timed};
use httpdyno_load::{Arm, LimitedBy, LoadSpec, Request, WindowResult};
use httpdyno_oracle::{Oracle, OracleConfig};

/// It is slow, but not for want of anything: each further connection would bring as much again.
/// So slow that a pause of the machine in its first answers, of two milliseconds, is not a fifth of
/// what they take: then nothing would tell whether they met an idle server.
#[test]
fn a_slow_server_that_takes_everybody_at_once() {
    if has_two_cpus() {
        let oracle = server("fixed:40ms", None);
        is_limited_by(LimitedBy::Connections, || run_one(&load(&oracle, 0.0)));
    }
}

/// All are sent in the first instant, in which the client is busy, and then it only waits.
#[test]
fn a_number_of_requests_that_all_go_out_at_once() {
    if has_two_cpus() {
        let oracle = server("fixed:100ms", None);
        let windows = counted(arm(&oracle, &["/"]), 10).windows;
        let spec = LoadSpec { connections: 50, windows, ..load(&oracle, 0.0) };
        is_limited_by(LimitedBy::Rate, || run_one(&spec));
    }
}

#[test]
fn a_server_of_one_worker_that_is_saturated() {
    if has_two_cpus() {
        for rate_per_s in [0.0, 1500.0] {
            let oracle = server("fixed:2ms", Some(1));
            is_limited_by(LimitedBy::Server, || run_one(&load(&oracle, rate_per_s)));
        }
    }
}

#[test]
fn a_server_with_a_queue_and_a_connection_for_every_request() {
    if has_two_cpus() {
        let oracle = server("fixed:4ms", Some(1));
        let spec = LoadSpec { connections: 1000, ..load(&oracle, 500.0) };
        is_limited_by(LimitedBy::Server, || run_one(&spec));
    }
}

#[test]
fn a_server_that_answers_with_errors() {
    let oracle = server("fixed:0s", None);
    let spec = LoadSpec { arms: vec![arm(&oracle, &["/status/503"])], ..load(&oracle, 300.0) };
    is_limited_by(LimitedBy::Nobody, || run_one(&spec));
    let half = vec![arm(&oracle, &["/status/503", "/"])];
    let spec = LoadSpec { arms: half, ..load(&oracle, 300.0) };
    is_limited_by(LimitedBy::Server, || run_one(&spec));
}

#[test]
fn a_rate_that_is_reached() {
    if has_two_cpus() {
        for rate_per_s in [200.0, 2000.0] {
            let oracle = server("exp:1ms", None);
            is_limited_by(LimitedBy::Rate, || run_one(&load(&oracle, rate_per_s)));
        }
    }
}

#[test]
fn too_few_connections_to_a_server_that_could_do_more() {
    // Whether service times that vary say anything of each other shows over thousands of them: of
    // few, a correlation of nothing is as often too large as not.
    for (service, rate_per_s, seconds) in [("fixed:20ms", 1000.0, 1.0), ("exp:5ms", 3000.0, 3.0)] {
        let oracle = server(service, None);
        let windows = timed(arm(&oracle, &["/"]), seconds).windows;
        let spec = LoadSpec { connections: 8, windows, ..load(&oracle, rate_per_s) };
        is_limited_by(LimitedBy::Connections, || run_one(&spec));
    }
}

#[test]
fn a_client_on_the_servers_core() {
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
    if has_two_cpus() {
        let oracle = server("fixed:0s", None);
        let spec = load(&oracle, 0.0);
        is_limited_by(LimitedBy::ClientCpu, || beside_hogs(|| run_one(&spec)));
        // Late, and yet all of it.
        let spec = load(&oracle, 1000.0);
        is_limited_by(LimitedBy::Rate, || beside_hogs(|| run_one(&spec)));
    }
}

#[test]
fn a_client_that_has_more_to_read_than_it_can() {
    if has_two_cpus() {
        let request = Request::get("heavy.test", "/");
        let arms = vec![Arm::new(heavy_server().to_string(), vec![request])];
        let spec = LoadSpec { arms, ..load(&crate::rig::oracle(), 0.0) };
        is_limited_by(LimitedBy::ClientCpu, || run_one(&spec));
    }
}

/// A server that writes an answer of a chunk for each byte, which it made once: the client has to
/// look at each. So few that beside others a whole answer is read in a window too.
fn heavy_server() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let chunks = "1\r\nx\r\n".repeat(20_000);
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
fn a_backlog_that_is_too_short() {
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
    let config = OracleConfig { backlog: Some(1), accepts: false, ..OracleConfig::default() };
    let oracle = Oracle::start(config).unwrap();
    let spec = LoadSpec { timeout_s: 0.3, cpus: Vec::new(), ..load(&oracle, 0.0) };
    is_limited_by(LimitedBy::Nobody, || run_one(&spec));
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
